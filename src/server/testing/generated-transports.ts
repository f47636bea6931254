import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { ENDPOINTS } from '../scrapyd/endpoints.ts'
import type { Request } from './generated-requests.ts'

export const TRANSPORTS = ['rest', 'rpc', 'json-rpc', 'batch'] as const
export type Transport = (typeof TRANSPORTS)[number]

const JSON_TYPE = { 'content-type': 'application/json' }

/** Converts the request to another transport. Returns it unchanged if that transport cannot send it. */
export function through(transport: Transport, { options, call }: Request): InjectOptions {
  if (transport === 'rest' || call === null) return options
  const headers = { ...options.headers, ...JSON_TYPE }
  const post = (url: string, payload: unknown): InjectOptions => ({
    method: 'POST',
    url,
    headers,
    payload: JSON.stringify(payload)
  })
  if (transport === 'rpc') return post(`/api/rpc/${call.method.replace('.', '/')}`, { json: call.params })
  return post('/api/v1/jsonrpc', transport === 'json-rpc' ? call : [call, { ...call, id: 2 }])
}

export interface ScrapydNames {
  projects: string[]
  spiders: string[]
  versions: string[]
  jobs: string[]
}

/** The fields of each endpoint. Excludes jobids that a client chooses, because they have no project. */
const FIELDS: Readonly<Record<string, [required: string[], optional: string[]]>> = {
  daemonstatus: [[], []],
  listprojects: [[], []],
  listversions: [['project'], []],
  listspiders: [['project'], ['_version']],
  listjobs: [[], ['project']],
  status: [['job'], ['project']],
  schedule: [
    ['project', 'spider'],
    ['_version', 'priority']
  ],
  cancel: [['project', 'job'], []],
  addversion: [['project', 'version', 'egg'], []],
  delversion: [['project', 'version'], []],
  delproject: [['project'], []]
}

/** Requests of Scrapyd clients by name, for its API and for its pages and files. */
export function scrapydRequests(names: ScrapydNames): Map<string, fc.Arbitrary<InjectOptions>> {
  const [project, spider, version, job] = [names.projects, names.spiders, names.versions, names.jobs].map((some) =>
    fc.constantFrom(...some)
  ) as [fc.Arbitrary<string>, fc.Arbitrary<string>, fc.Arbitrary<string>, fc.Arbitrary<string>]
  const values: Record<string, fc.Arbitrary<string>> = {
    project,
    spider,
    version,
    _version: version,
    job,
    priority: fc.constant('1'),
    egg: fc.constant('x')
  }
  const endpoints = Object.entries(FIELDS).map(([endpoint, [required, optional]]) => {
    const name = `${endpoint}.json`
    const { method } = ENDPOINTS[name]!
    const fields = Object.fromEntries([...required, ...optional].map((field) => [field, values[field]!]))
    const request = fc.record(fields, { requiredKeys: required }).map((given): InjectOptions => {
      const text = new URLSearchParams(given as Record<string, string>).toString()
      if (method === 'GET') return { method, url: `/${name}?${text}` }
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return { method, url: `/${name}`, headers, payload: text }
    })
    return [name, request] as const
  })
  const path = fc.oneof(
    fc.tuple(project, spider, job).map(([one, two, three]) => `${one}/${two}/${three}.log`),
    fc.tuple(project, spider, job).map(([one, two, three]) => `${one}/${two}/${three}.jl`),
    fc.tuple(project, spider).map(([one, two]) => `${one}/${two}/`),
    project.map((one) => `${one}/`)
  )
  const get = (url: string): InjectOptions => ({ method: 'GET', url })
  return new Map([
    ...endpoints,
    ['/logs', path.map((one) => get(`/logs/${one}`))] as const,
    ['/items', path.map((one) => get(`/items/${one}`))] as const,
    ['pages', fc.constantFrom('/', '/jobs', '/logs/', '/items/', '/metrics', '/health').map(get)] as const
  ])
}
