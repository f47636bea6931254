import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pickLength } from '../../../scripts/test-length.mjs'
import { createEngine, type Engine } from '../../engine/index.ts'
import { plain } from '../../shared/texts/message.ts'
import { failure } from '../../engine/nodes/node-failure.ts'
import { createConnection } from '../../engine/nodes/scrapyd/connection.ts'
import { buildEgg } from '../../engine/projects/egg-builder.ts'
import { systemClock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { FakeNode } from '../../engine/testing/fake-node.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../engine/testing/temporary-directory.ts'
import { contract } from '../../shared/contract/index.ts'
import { ERROR_CODES, type ErrorCode } from '../../shared/errors.ts'
import { createApp } from '../app.ts'
import { describeApi } from '../openapi/describe.ts'
import { exampleOf } from '../../shared/examples/operations.ts'
import { OWNER } from '../../engine/access/principal.ts'
import type { Known } from '../testing/arbitrary-of-schema.ts'
import { createRequestGenerator, type Operation, type Request } from '../testing/generated-requests.ts'

/**
 * Sends generated requests, valid and invalid, to a whole engine. No response may be a 500 or differ from our OpenAPI
 * document. `SCRAPDECK_PROPERTY_RUNS=500 npx vitest run …` sends more. SCRAPDECK_PROPERTY_SEED repeats a run.
 */
const RUNS = Number(process.env['SCRAPDECK_PROPERTY_RUNS'] || pickLength(4, 40))
const LIMIT_MS = 30_000 + RUNS * 2_000
const SEED = Number(process.env['SCRAPDECK_PROPERTY_SEED'] || 5)
const RESOURCES = join(import.meta.dirname, '..', '..', '..', 'resources')
const HOST = '127.0.0.1:6800'

const OTHERS = [
  'jobs.logs',
  'jobs.itemsExport',
  'logs.zipFile',
  'schedules.logs',
  'scheduler.status',
  'scheduler.logs',
  'jsonrpc'
]

const document = await describeApi()
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ ...document, $id: 'api' } as object)
const isError = ajv.compile({ $ref: 'api#/components/schemas/Error' })
const isAnswer = ajv.compile({ $ref: 'api#/paths/~1jsonrpc/post/responses/200/content/application~1json/schema' })

let directory: TemporaryDirectory
let engine: Engine
let fastify: FastifyInstance
const known: Known = {
  cursors: {},
  parts: {
    project: ['shop'],
    spider: ['prices'],
    spiders: [['prices'], ['stock', 'prices']],
    version: ['1', null],
    zone: ['UTC', 'Europe/Berlin'],
    expression: ['0 7 * * *'],
    ids: []
  },
  ids: [],
  names: ['shop', 'prices', '1', 'eu', 'UTC', 'Europe/Berlin', '0 7 * * *']
}
const HEADERS = {
  host: HOST,
  authorization: `Basic ${Buffer.from('deck:hush').toString('base64')}`,
  'content-type': 'application/json'
}
const { operations, requestsFor } = createRequestGenerator(document, { known, headers: HEADERS })
const answersOf = new Map(
  operations.map(({ operationId, answers }) => [
    operationId,
    new Map(
      [...answers].map(([status, { type, schema }]) => [
        status,
        { type, isRight: ajv.compile(schema === null ? {} : { $ref: schema }) }
      ])
    )
  ])
)
const logged: string[] = []
const asked = { requests: 0, calls: 0, replayed: 0, pages: 0, picked: 0 }

beforeAll(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
  const clock = systemClock
  const keep = (facts: object, text: string) =>
    logged.push(`${text} ${String((facts as { err?: Error }).err?.stack ?? '')}`)
  const logger: Logger = { debug() {}, info() {}, warn() {}, error: keep }
  engine = await createEngine({
    dataDirectory: directory.path,
    host: 'service',
    resourcesDirectory: RESOURCES,
    scrapdeckVersion: 'test',
    credentials: { username: 'deck', password: 'hush' },
    logger,
    seams: {
      clock,
      localNode: null,
      createNodeClient: () => new FakeNode(clock, { slots: 2 }),
      // Nothing leaves this process, whatever addresses are generated.
      connect(options) {
        const nobody = failure('unreachable', plain('nobody is there'), 'no')
        return { ...createConnection(options), send: () => Promise.reject(nobody) }
      },
      resolver: { addresses: async () => [], services: async () => [] },
      post: async () => ({ kind: 'status', status: 204, retryAfterSeconds: null })
    }
  })
  fastify = createApp({
    engine,
    dataDirectory: directory.path,
    uiDirectory: directory.path,
    docsDirectory: directory.path,
    rateLimits: { api: null },
    bindAddress: '127.0.0.1',
    port: () => 6800,
    allowedHosts: [],
    clock,
    logger
  }).fastify
  await fill()
})

afterAll(async () => {
  await fastify.close()
  await engine.stop()
  await directory.remove()
})

async function fill(): Promise<void> {
  const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from('') }
  ])
  const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
  await client.projects.upload({ file, project: 'shop', version: '1' })
  const node = await client.nodes.add({ url: 'http://127.0.0.1:9/' })
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices', 'stock'] })
  const jobIds = jobs.map(({ id }) => id)
  const ids: Record<string, string[]> = { nodes: [node.id], jobs: jobIds }
  for (const noun of Object.keys(contract)) {
    const example = exampleOf(`${noun}.create`)
    if (example === undefined) continue
    const { create } = client[noun as 'chains'] as unknown as { create: (input: unknown) => Promise<object> }
    // The engine rejects an example that names a thing of another noun.
    const created: object = await create(example.input).catch(() => ({}))
    ids[noun] = Object.values(created).flatMap((thing) => (thing as { id?: string }).id ?? [])
  }
  expect(ids).toMatchObject({ schedules: [expect.any(String)], chains: [expect.any(String)] })
  known.ids.push(...Object.values(ids).flat())
  for (const [noun, some] of Object.entries(ids)) if (some.length > 0) known.parts[`${noun}.id`] = some
  known.parts['ids'] = [jobIds, [jobIds[0]]]
}

describe('requests generated from the document', () => {
  it('cover every operation: those of the contract and the additional ones of the API', () => {
    const names = operations.map(({ operationId }) => operationId)
    expect(names).toEqual(expect.arrayContaining(['crawl', 'jobs.status', 'jobs.logs', 'jsonrpc']))
    const inContract = Object.entries(contract).flatMap(([noun, verbs]) =>
      '~orpc' in verbs ? [noun] : Object.keys(verbs).map((verb) => `${noun}.${verb}`)
    )
    expect(names.toSorted()).toEqual([...inContract, ...OTHERS].toSorted())
  })

  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s, as REST and as JSON-RPC: no 500 and no undocumented response',
    async (_name, operation) => {
      await fc.assert(
        fc.asyncProperty(requestsFor(operation), async (request) => {
          logged.length = 0
          if (request.call !== null) await checkCall(request.call)
          const first = await ask(request)
          const answer = checkAnswer(operation, request, first)
          if (answer === null || operation.isForm) return
          if (request.isKeyed && first.type.includes('json')) await checkReplay(request, first)
          await checkNextPage(operation, request, answer)
        }),
        { numRuns: RUNS, seed: SEED, endOnFailure: true }
      )
    },
    LIMIT_MS
  )

  it(
    'broken, hostile and unknown paths are rejected by every API without a 500',
    async () => {
      const paths = operations.map(({ path }) => path.split('/').slice(1))
      const segment = fc.oneof(fc.constantFrom(...HOSTILE_SEGMENTS), fc.constantFrom(...paths.flat()), fc.string())
      const broken = fc
        .tuple(
          fc.constantFrom(...paths),
          fc.array(fc.tuple(fc.nat({ max: 5 }), segment), { minLength: 1, maxLength: 3 })
        )
        .map(([parts, changes]) =>
          changes.reduce((path, [at, one]) => path.with(Math.min(at, path.length - 1), one), parts)
        )
      const door = fc.constantFrom('/api/v1/', '/api/rpc/', '/api/files/', '/docs/', '/api/v1//', '/logs/', '/ui/')
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...METHODS),
          door,
          broken,
          fc.constantFrom('', '{}', '[]'),
          async (method, at, path, body) => {
            logged.length = 0
            const url = `${at}${path.join('/')}`.replace(/[^\x21-\x7e]/g, (sign) =>
              encodeURIComponent(sign.toWellFormed())
            )
            const options = {
              method,
              url,
              headers: HEADERS,
              ...(method === 'GET' || body === '' ? {} : { payload: body })
            }
            const { status, type, body: text } = await ask({ options })
            const told = `${method} ${url}: ${status} ${text.slice(0, 500)}\n${logged.join('\n')}`
            expect(status, told).not.toBe(500)
            if (
              status >= 400 &&
              method !== 'HEAD' &&
              at.startsWith('/api/v1') &&
              type.includes('json') &&
              !isError(JSON.parse(text))
            ) {
              throw new Error(`No error of ours: ${told}`)
            }
          }
        ),
        { numRuns: 20 * RUNS, seed: SEED, endOnFailure: true }
      )
    },
    LIMIT_MS
  )

  it('used each feature: replays, pages, parts', () => {
    if (process.env['SCRAPDECK_PROPERTY_RUNS'] !== undefined) console.log(asked)
    for (const [what, count] of Object.entries(asked)) expect([what, count]).not.toEqual([what, 0])
  })
})

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'] as const
const HOSTILE_SEGMENTS = [
  ...['.', '..', '%2e%2e', '..%2f..%2fetc%2fpasswd', '%2F', '%00', '%ff', '%c0%af', '%', '%zz', '', 'a'.repeat(3_000)],
  ...[
    '__proto__',
    'constructor',
    '~orpc',
    '*',
    ':id',
    '{id}',
    '%F0%9F%A6%8A',
    '%ED%A0%80',
    ';x=1',
    '?',
    '#',
    '\\',
    '0'.repeat(32)
  ]
]

/** Returns the parsed response, or null if it is a documented failure, is not JSON, or was reduced by `fields`. */
function checkAnswer(operation: Operation, request: Request, { status, type, body }: Answer): unknown {
  const told = `${request.options.method} ${String(request.options.url)}: ${status} ${body.slice(0, 2_000)}\n${logged.join('\n')}`
  if (status >= 400) {
    const answer = JSON.parse(body) as { code: ErrorCode; status: number; message: string }
    if (!isError(answer)) throw new Error(`No error of ours: ${told}`)
    expect([ERROR_CODES[answer.code].status, answer.status], told).toEqual([status, status])
    expect(answer.code, told).not.toBe('INTERNAL')
    // Other generated values can be the reason for the failure, but the names in `fields` exist.
    if (request.fields !== null) expect(answer.message, told).not.toContain('"fields"')
    return null
  }
  const expected = answersOf.get(operation.operationId)!.get(String(status))
  if (expected === undefined) throw new Error(`The document knows no ${told}`)
  if (expected.type === '') return null
  expect(type, told).toContain(expected.type)
  if (expected.type !== 'application/json') return null
  const answer = JSON.parse(body) as unknown
  if (request.fields !== null) {
    asked.picked += 1
    const wanted = request.fields.map((path) => path.split('.')[0])
    expect(wanted, told).toEqual(expect.arrayContaining(Object.keys(answer as object)))
  }
  if (request.hasFields) return null
  if (!expected.isRight(answer)) throw new Error(`${ajv.errorsText(expected.isRight.errors)} in ${told}`)
  for (const [name, cursor] of Object.entries(answer ?? {})) {
    const list = (known.cursors[name.replace(/^next/, '').toLowerCase()] ??= [])
    if (/^next(Before|After)$/.test(name) && cursor !== null && list.length < 20) list.push(cursor)
  }
  return answer
}

async function checkReplay(request: Request, first: Answer): Promise<void> {
  // If all calls failed, the key is free again.
  if (request.options.url === '/api/v1/jsonrpc' && !first.body.includes('"result":')) return
  const again = await ask(request)
  expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([first.status, first.body, 'true'])
  asked.replayed += 1
}

async function checkNextPage(operation: Operation, request: Request, answer: unknown): Promise<void> {
  const { nextBefore, nextAfter, ...lists } = (answer ?? {}) as Record<string, unknown>
  const cursor = nextBefore ?? nextAfter
  if (cursor === undefined || cursor === null || operation.method !== 'GET') return
  const url = new URL(String(request.options.url), 'http://x')
  url.searchParams.set(nextBefore == null ? 'after' : 'before', String(cursor))
  const next = await ask({ options: { ...request.options, url: url.pathname + url.search } })
  const told = `${url.pathname}${url.search}: ${next.body.slice(0, 500)}`
  expect(next.status, told).toBe(200)
  if (!answersOf.get(operation.operationId)!.get('200')!.isRight(JSON.parse(next.body)))
    throw new Error(`No page: ${told}`)
  const idsOf = (page: object) =>
    Object.values(page).flatMap((list) => (Array.isArray(list) ? list.map(({ id, seq }) => String(id ?? seq)) : []))
  const seen = new Set(idsOf(lists))
  expect(
    idsOf(JSON.parse(next.body) as object).filter((id) => seen.has(id)),
    told
  ).toEqual([])
  asked.pages += 1
}

interface Answer {
  status: number
  type: string
  headers: Record<string, unknown>
  body: string
}

async function checkCall(call: object): Promise<void> {
  asked.calls += 1
  const response = await fastify.inject({ method: 'POST', url: '/api/v1/jsonrpc', headers: HEADERS, payload: call })
  const answer = response.json<{ error?: { code: number } }>()
  const told = `${JSON.stringify(call)} ${response.body}\n${logged.join('\n')}`
  expect([response.statusCode, isAnswer(answer)], told).toEqual([200, true])
  expect(answer.error?.code, told).not.toBe(-32603)
}

/** Streams may never end, so only their headers are read. */
async function ask({ options }: Pick<Request, 'options'>): Promise<Answer> {
  asked.requests += 1
  const response = await fastify.inject({ ...options, payloadAsStream: true })
  const { statusCode: status, headers } = response
  const type = String(headers['content-type'] ?? '')
  const stream = response.stream()
  if (type.includes('event-stream')) {
    stream.destroy()
    return { status, type, headers, body: '' }
  }
  return { status, type, headers, body: Buffer.concat(await stream.toArray()).toString() }
}
