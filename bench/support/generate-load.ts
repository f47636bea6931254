import { fork } from 'node:child_process'
import type { LoadOrder, LoadResult } from './load.ts'
import { basicAuthorization } from '../../e2e/support/basic-authorization.ts'

/** The endpoints of Scrapyd's API. `mixed` requests the four read-only endpoints in rotation. */
export const ENDPOINTS = ['daemonstatus', 'listprojects', 'listspiders', 'listjobs', 'schedule', 'mixed'] as const
export type Endpoint = (typeof ENDPOINTS)[number]

export interface Server {
  url: string
  credentials: { username: string; password: string } | null
  project: string
  spider: string
}

const TYPICAL_READS = ['daemonstatus', 'listjobs', 'daemonstatus', 'listprojects'] as const
const SCHEDULED_EVERY = 100
const FORM = 'application/x-www-form-urlencoded'

export async function generateLoad(
  server: Server,
  endpoint: Endpoint | 'typical',
  load: Pick<LoadOrder, 'connections' | 'until'>
): Promise<LoadResult> {
  const { url, credentials, project, spider } = server
  const query = new URLSearchParams({ project }).toString()
  const reads = {
    daemonstatus: 'daemonstatus.json',
    listprojects: 'listprojects.json',
    listspiders: `listspiders.json?${query}`,
    listjobs: `listjobs.json?${query}`
  }
  const isWrite = endpoint === 'schedule'
  const paths = pathsOf()
  const form = new URLSearchParams({ project, spider, setting: 'LOG_LEVEL=INFO', page: '1' })
  const order: LoadOrder = {
    urls: paths.map((path) => url + path),
    method: isWrite ? 'POST' : 'GET',
    headers: {
      ...(credentials === null
        ? {}
        : {
            authorization: basicAuthorization(credentials)
          }),
      ...(isWrite ? { 'content-type': FORM } : {})
    },
    body: isWrite ? form.toString() : null,
    ...(endpoint === 'typical'
      ? { posts: { every: SCHEDULED_EVERY, url: `${url}schedule.json`, contentType: FORM, body: form.toString() } }
      : {}),
    ...load,
    expected: '"status": "ok"'
  }
  const generator = fork(`${import.meta.dirname}/load.ts`)
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>()
  generator.once('message', (result) => resolve(result as LoadResult))
  generator.once('exit', (code) => reject(new Error(`the load generator ended with ${code}`)))
  generator.send(order)
  return promise

  function pathsOf(): string[] {
    if (endpoint === 'schedule') return ['schedule.json']
    if (endpoint === 'mixed') return Object.values(reads)
    return endpoint === 'typical' ? TYPICAL_READS.map((name) => reads[name]) : [reads[endpoint]]
  }
}
