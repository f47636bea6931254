import { type AnyContractProcedure, getEventIteratorSchemaDetails, isContractProcedure } from '@orpc/contract'
import { type AnyProcedure, isProcedure, Procedure } from '@orpc/server'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { contract } from '../../shared/contract/index.ts'
import { exampleOf } from '../../shared/examples/operations.ts'
import { arbitraryOf, type JsonSchema } from '../testing/arbitrary-of-schema.ts'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { openTestApp } from '../testing/test-app.ts'
import { checkParts } from './unknown-parts.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const UNKNOWN = 'unknwon'
const JOB_ID = '019b0000000000000000000000000009'

const operations = Object.entries(contract).flatMap(([noun, verbs]): [string, AnyContractProcedure][] =>
  isContractProcedure(verbs)
    ? [[noun, verbs]]
    : Object.entries(verbs).map(([verb, procedure]) => [`${noun}.${verb}`, procedure])
)

function openCountingApp() {
  const done: string[] = []
  const count = (router: object, path: string[]): object =>
    Object.fromEntries(
      Object.entries(router).map(([name, part]: [string, object]) => {
        const here = [...path, name]
        if (!isProcedure(part)) return [name, count(part, here)]
        const { handler, ...rest } = (part as AnyProcedure)['~orpc']
        const counted: typeof handler = (options) => {
          done.push(here.join('.'))
          return handler(options)
        }
        return [name, new Procedure({ ...rest, handler: counted })]
      })
    )
  const engine = createFakeEngine()
  const counted = count(engine.parts, []) as typeof engine.parts
  const app = openTestApp({ engine: { ...engine, router: async () => counted }, ...FAST })
  return { ...app, done }
}
const FAST = { rateLimits: { api: null } }

const schemaOf = ({ '~orpc': { inputSchema } }: AnyContractProcedure): JsonSchema =>
  inputSchema === undefined
    ? { type: 'object', properties: {} }
    : (z.toJSONSchema(inputSchema as z.ZodType, { io: 'input', unrepresentable: 'any' }) as JsonSchema)

interface Spoiled {
  value: unknown
  path: string[]
}

/** For each object in the input, returns an input with an unknown name in that object. Skips maps with free names. */
function spoilEach(schema: JsonSchema): Spoiled[] {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return choices.flatMap(spoilEach)
  if (schema.type === 'array')
    return spoilEach(schema.items ?? {}).map(({ value, path }) => ({ value: [value], path: ['0', ...path] }))
  if (schema.type !== 'object') return []
  const { properties, additionalProperties: more } = schema
  const kinds = Object.entries(properties ?? {}).filter(([, part]) => part.const !== undefined)
  const own = Object.fromEntries(kinds.map(([name, part]) => [name, part.const]))
  const below = Object.entries(properties ?? { any: typeof more === 'object' ? more : {} }).flatMap(([name, part]) =>
    spoilEach(part).map(({ value, path }) => ({ value: { ...own, [name]: value }, path: [name, ...path] }))
  )
  return properties === undefined ? below : [{ value: { ...own, [UNKNOWN]: 1 }, path: [UNKNOWN] }, ...below]
}

function restRequest({ '~orpc': { route } }: AnyContractProcedure, input: Record<string, unknown>): InjectOptions {
  const { method, path = '' } = route as { method: 'GET' | 'POST'; path?: string }
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const address = path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(String(input[name] ?? 'x')))
  const others = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const url = `/api/v1${address}`
  if (method === 'GET') {
    const query = new URLSearchParams()
    for (const [name, value] of others) {
      if (Array.isArray(value)) for (const one of value) query.append(`${name}[]`, String(one))
      else query.append(name, String(value))
    }
    return { method, url: query.size === 0 ? url : `${url}?${query}` }
  }
  if (path !== '/projects') return { method, url, headers: JSON_TYPE, payload: Object.fromEntries(others) }
  const parts = Object.entries({ file: 'PK egg', ...Object.fromEntries(others) }).map(
    ([name, value]) =>
      `--of-parts\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="a.egg"' : ''}\r\n\r\n${String(value)}\r\n`
  )
  return {
    method,
    url,
    headers: { 'content-type': 'multipart/form-data; boundary=of-parts' },
    payload: `${parts.join('')}--of-parts--\r\n`
  }
}

const inputOf = (name: string) => (exampleOf(name)!.input ?? {}) as Record<string, unknown>

/** Whether the operation can be called over JSON-RPC, which has no streams and no files. */
const isCallable = (name: string, { '~orpc': { outputSchema } }: AnyContractProcedure): boolean =>
  getEventIteratorSchemaDetails(outputSchema) === undefined && name !== 'projects.upload'

const rpcRequest = (method: string, params: unknown): InjectOptions => ({
  method: 'POST',
  url: '/api/v1/jsonrpc',
  headers: JSON_TYPE,
  payload: { jsonrpc: '2.0', id: 1, method, params } as object
})

describe('an unknown property', () => {
  it('is rejected by each operation at any depth, over REST and JSON-RPC, before anything is done', async () => {
    const { ask, done } = openCountingApp()
    for (const [name, procedure] of operations) {
      const spoiled = spoilEach(schemaOf(procedure))
      expect(spoiled.length, name).toBeGreaterThan(0)
      for (const { value, path } of spoiled) {
        const field = path.join('.')
        const rest = await ask(restRequest(procedure, value as Record<string, unknown>))
        const told = `${name} ${field}: ${rest.body}`
        expect([rest.statusCode, rest.json().code, rest.json().data.field], told).toEqual([400, 'BAD_INPUT', field])
        expect(rest.json().message, told).toContain(`${name} has no "${field}"`)
        if (!isCallable(name, procedure)) continue
        const { error } = (await ask(rpcRequest(name, value))).json()
        expect([error.code, error.data.data.field], told).toEqual([-32602, field])
      }
    }
    expect(done).toEqual([])
  })

  it('is rejected in the query of every write, where even the known ones are not allowed', async () => {
    const { ask, done } = openCountingApp()
    for (const [name, procedure] of operations) {
      if (procedure['~orpc'].route.method === 'GET') continue
      const request = restRequest(procedure, inputOf(name))
      const known = Object.keys(schemaOf(procedure).properties ?? {}).slice(0, 1)
      for (const part of [UNKNOWN, ...known]) {
        const answer = await ask({ ...request, url: `${String(request.url)}?${part}=1` })
        const told = `${name}: ${answer.body}`
        expect([answer.statusCode, answer.json().code, answer.json().data.field], told).toEqual([
          400,
          'BAD_INPUT',
          part
        ])
      }
    }
    expect(done).toEqual([])
  })

  it('does not occur in the examples: both APIs perform each of them', async () => {
    const { ask, done } = openCountingApp()
    const callable = operations.filter(([name, procedure]) => isCallable(name, procedure))
    for (const [name, procedure] of callable) {
      const rest = await ask(restRequest(procedure, inputOf(name)))
      const call = await ask(rpcRequest(name, inputOf(name)))
      expect(done.splice(0), `${rest.body} ${call.body}`).toEqual([name, name])
    }
  })

  it('is never reported for input that the schema accepts', async () => {
    const known = { ids: [], names: ['shop'], cursors: {}, parts: {} }
    const noReference = () => {
      throw new Error('There are no references.')
    }
    for (const [operation, procedure] of operations) {
      const check = (input: unknown) => checkParts({ procedure: procedure as AnyProcedure, operation, input })
      const given = arbitraryOf(schemaOf(procedure), known, noReference)
      await fc.assert(fc.asyncProperty(given, check), { numRuns: 10, seed: 5 })
    }
  })

  it('is reported with the likely intended name and the known ones', async () => {
    const { ask } = openTestApp()
    const post = async (payload: object, query = '') =>
      (await ask({ method: 'POST', url: `/api/v1/jobs${query}`, headers: JSON_TYPE, payload })).json()
    const run = { project: 'shop', spiders: ['a'] }
    expect(await post({ ...run, proirity: 5 })).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringMatching(
        /^jobs\.run has no "proirity"\. Did you mean "priority"\? It takes project, version, spiders,/
      ),
      data: { field: 'proirity', known: expect.arrayContaining(['priority', 'dedupe']) }
    })
    expect((await post({ ...run, retry: { atempts: 3 } })).message).toMatch(
      /has no "retry\.atempts"\. Did you mean "attempts"\? "retry" takes attempts, backoffSeconds,/
    )
    expect((await post(run, '?priority=5')).message).toBe(
      'jobs.run has no "priority" in its query. Send it in the body.'
    )
    expect((await ask({ url: '/api/v1/jobs?limt=5' })).json().message).toMatch(
      /^jobs\.list has no "limt" in its query\. Did you mean "limit"\? The query takes status, .*, fields\.$/
    )
    for (const url of ['/api/v1/jobs?fields[]=jobs.id', '/api/v1/jobs?fields=jobs.id&fields[x]=jobs'])
      expect((await ask({ url })).json().message).toMatch(/^jobs\.list has no "fields\[.*The query takes .*fields\.$/)
    expect(
      (await ask({ method: 'POST', url: '/api/v1/system/demo', headers: JSON_TYPE, payload: { x: 1 } })).json()
    ).toMatchObject({ message: 'system.runDemo has no "x". It takes nothing.' })
  })

  it('of another kind in a union is rejected: an interval has no expression', async () => {
    const { ask } = openTestApp()
    const timing = { zone: 'UTC', rules: [{ kind: 'interval', everySeconds: 60, anchorMs: 0, expression: '@daily' }] }
    const request = {
      method: 'POST',
      url: '/api/v1/schedules/preview',
      headers: JSON_TYPE,
      payload: { timing }
    } as const
    expect((await ask(request)).json().message).toMatch(
      /has no "timing\.rules\.0\.expression".* "timing\.rules\.0" takes kind, everySeconds, anchorMs\.$/
    )
  })

  it('can be as long or strange as it likes: the response stays short', async () => {
    const { ask } = openTestApp()
    for (const name of ['x'.repeat(1_000_000), '__proto__', 'constructor', '', '\u0000', '🦊']) {
      const payload = `{"project": "shop", "spiders": ["a"], ${JSON.stringify(name)}: 1}`
      const answer = await ask({ method: 'POST', url: '/api/v1/jobs', headers: JSON_TYPE, payload })
      expect([answer.statusCode, answer.json().code]).toEqual([400, 'BAD_INPUT'])
      expect(answer.body.length).toBeLessThan(2_000)
    }
  })
})

describe('free-form names stay free', () => {
  it.each([
    ['jobs.run', { project: 'shop', spiders: ['a'], args: { anything: 'x' }, settings: { ANY_SETTING: '1' } }],
    ['crawl', { spider: 'prices', params: { anything: 'x', spider: 'y', proirity: 1 } }]
  ])('in arguments, settings and params of %s', async (name, input) => {
    const { ask, done } = openCountingApp()
    const procedure = operations.find(([one]) => one === name)![1]
    expect((await ask(restRequest(procedure, input))).statusCode).toBe(200)
    expect((await ask(rpcRequest(name, input))).json().error).toBeUndefined()
    expect(done).toEqual([name, name])
  })

  it('in schedule.json, where anything that is not a parameter is an argument', async () => {
    const { ask, engine } = openTestApp()
    engine.versions.set('shop', new Map([['1', ['quotes']]]))
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const payload = 'project=shop&spider=quotes&proirity=5'
    const answer = await ask({ method: 'POST', url: '/schedule.json', headers, payload })
    expect(answer.json().status).toBe('ok')
    expect(engine.scheduled).toMatchObject([{ args: { proirity: '5' } }])
  })
})

describe('a request with parts in the wrong place', () => {
  it('is rejected if the body contradicts the path', async () => {
    const { ask, done } = openCountingApp()
    const mode = { method: 'POST', url: '/api/v1/nodes/n-0a/mode', headers: JSON_TYPE } as const
    for (const id of ['n-0b', 7, { toString: 1 }]) {
      const other = await ask({ ...mode, payload: { mode: 'active', id } })
      expect(other.statusCode).toBe(400)
      expect(other.json().message).toContain('leave "id" out of the body')
    }
    expect(done).toEqual([])
    await ask({ ...mode, payload: { mode: 'active', id: 'n-0a' } })
    expect(done).toEqual(['nodes.setMode'])
  })

  it.each([
    ['a list', '[{"force": true}]'],
    ['a text', '"force"']
  ])('is rejected if the body is %s, even if the operation needs no body', async (_name, payload) => {
    const { ask, done } = openCountingApp()
    for (const request of [
      { method: 'DELETE', url: '/api/v1/nodes/n-0a' },
      { method: 'POST', url: '/api/v1/system/demo' }
    ] as const) {
      const answer = await ask({ ...request, headers: JSON_TYPE, payload })
      expect([answer.statusCode, answer.json().message]).toEqual([400, expect.stringContaining('is not an object')])
    }
    expect(done).toEqual([])
  })

  it('is rejected if a GET has a body', async () => {
    const { ask, done } = openCountingApp()
    const answer = await ask({ method: 'GET', url: '/api/v1/jobs', headers: JSON_TYPE, payload: { limit: 5 } })
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'BAD_INPUT'])
    expect(done).toEqual([])
  })

  it('is rejected by API endpoints outside the contract', async () => {
    const { ask, done } = openCountingApp()
    const log = await ask({ url: `/api/v1/jobs/${JOB_ID}/logs?limit=5` })
    expect([log.statusCode, log.json().message]).toEqual([
      400,
      'jobs.logs has no "limit" in its query. The query takes nothing.'
    ])
    const call = rpcRequest('nodes.list', {})
    const query = await ask({ ...call, url: '/api/v1/jsonrpc?limit=5' })
    expect([query.statusCode, query.json().code]).toEqual([400, 'BAD_INPUT'])
    const parms = await ask({ ...call, payload: { jsonrpc: '2.0', id: 7, method: 'jobs.list', parms: { limit: 5 } } })
    expect(parms.json()).toMatchObject({
      id: 7,
      error: { code: -32600, message: expect.stringContaining('no "parms"') }
    })
    expect(done).toEqual([])
  })
})
