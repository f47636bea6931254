import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../engine/index.ts'
import { createConnection } from '../../engine/nodes/scrapyd/connection.ts'
import { buildEgg } from '../../engine/projects/egg-builder.ts'
import { systemClock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { FakeNode } from '../../engine/testing/fake-node.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../engine/testing/temporary-directory.ts'
import { ERROR_CODES, type ErrorCode } from '../../shared/errors.ts'
import { createApp } from '../app.ts'
import { describeApi } from '../openapi/describe.ts'
import { EXAMPLES } from '../openapi/examples.ts'
import { arbitraryOf, type JsonSchema, type Known, spoiled } from '../testing/arbitrary-of-schema.ts'

/**
 * Requests made from our own OpenAPI document, right ones and wrong ones, against a whole engine: none may be answered with 500, nor with
 * anything that the document does not say. `SCRAPDECK_PROPERTY_RUNS=500 npx vitest run …` asks more; SCRAPDECK_PROPERTY_SEED repeats.
 */
const RUNS = Number(process.env['SCRAPDECK_PROPERTY_RUNS'] || 8)
const SEED = Number(process.env['SCRAPDECK_PROPERTY_SEED'] || 5)
const RESOURCES = join(import.meta.dirname, '..', '..', '..', 'resources')
const HOST = '127.0.0.1:6800'

interface Operation {
  operationId: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  parameters: { name: string; in: string; required?: boolean; schema: JsonSchema }[]
  body: JsonSchema | null
  isForm: boolean
  answers: Map<string, { type: string; isRight: ValidateFunction }>
}

const document = await describeApi()
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ ...document, $id: 'api' } as object)
const isError = ajv.compile({ $ref: 'api#/components/schemas/Error' })
const isAnswer = ajv.compile({ $ref: 'api#/paths/~1jsonrpc/post/responses/200/content/application~1json/schema' })
const operations = readOperations()

let directory: TemporaryDirectory
let engine: Engine
let fastify: FastifyInstance
const known: Known = { ids: [], names: ['shop', 'prices', '1', 'eu', 'UTC', 'Europe/Berlin', '0 7 * * *'] }
const logged: string[] = []

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
      // Nothing leaves this process, whatever addresses are made up.
      connect(options) {
        const connection = createConnection(options)
        return {
          ...connection,
          send: async () => Promise.reject(connection.fail('unreachable', 'nobody is there', 'no'))
        }
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
    apiRequestsPerSecond: 0,
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

/** One of everything, so that requests find something to act on. */
async function fill(): Promise<void> {
  const client = createRouterClient(engine.router, { context: {} })
  const egg = await buildEgg([
    { path: 'scrapy.cfg', bytes: Buffer.from('[settings]\ndefault = shop.settings\n') },
    { path: 'shop/settings.py', bytes: Buffer.from('') }
  ])
  const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
  await client.projects.upload({ file, project: 'shop', version: '1' })
  const node = await client.nodes.add({ url: 'http://127.0.0.1:9/' })
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: ['prices', 'stock'] })
  const { schedule } = await client.schedules.create(EXAMPLES.schedules.create.input!)
  const { chain } = await client.chains.create(EXAMPLES.chains.create.input!)
  const { webhook } = await client.webhooks.create(EXAMPLES.webhooks.create.input!)
  known.ids.push(node.id, schedule.id, chain.id, webhook.id, ...jobs.map(({ id }) => id))
}

describe('requests made from the document', () => {
  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s, as REST and as JSON-RPC: no 500, and no answer that the document does not tell of',
    async (_name, operation) => {
      await fc.assert(
        fc.asyncProperty(requestsFor(operation), async (request) => {
          logged.length = 0
          if (request.call !== null) await checkCall(request.call)
          const { status, type, body } = await ask(request)
          const told = `${status} ${body.slice(0, 2_000)}\n${logged.join('\n')}`
          if (status >= 400) {
            const answer = JSON.parse(body) as { code: ErrorCode; status: number }
            if (!isError(answer)) throw new Error(`No error of ours: ${told}`)
            expect([ERROR_CODES[answer.code].status, answer.status], told).toEqual([status, status])
            expect(answer.code, told).not.toBe('INTERNAL')
            return
          }
          const answer = operation.answers.get(String(status))
          if (answer === undefined) throw new Error(`The document knows no ${told}`)
          if (answer.type === '') return
          expect(type, told).toContain(answer.type)
          if (answer.type !== 'application/json' || request.hasFields) return
          if (!answer.isRight(JSON.parse(body))) throw new Error(`${ajv.errorsText(answer.isRight.errors)} in ${told}`)
        }),
        { numRuns: RUNS, seed: SEED, endOnFailure: true }
      )
    },
    30_000
  )
})

const HEADERS = {
  host: HOST,
  authorization: `Basic ${Buffer.from('deck:hush').toString('base64')}`,
  'content-type': 'application/json'
}

interface Request {
  options: InjectOptions
  hasFields: boolean
  /** The same as JSON-RPC; null where it is not there. */
  call: object | null
}

async function checkCall(call: object): Promise<void> {
  const response = await fastify.inject({ method: 'POST', url: '/api/v1/jsonrpc', headers: HEADERS, payload: call })
  const answer = response.json<{ error?: { code: number } }>()
  const told = `${JSON.stringify(call)} ${response.body}\n${logged.join('\n')}`
  expect([response.statusCode, isAnswer(answer)], told).toEqual([200, true])
  expect(answer.error?.code, told).not.toBe(-32603)
}

/** Streams may have no end: their head tells all that is asked here. */
async function ask({ options }: Request): Promise<{ status: number; type: string; body: string }> {
  const response = await fastify.inject({ ...options, payloadAsStream: true })
  const { statusCode: status, headers } = response
  const type = String(headers['content-type'] ?? '')
  const stream = response.stream()
  if (type.includes('event-stream')) {
    stream.destroy()
    return { status, type, body: '' }
  }
  return { status, type, body: Buffer.concat(await stream.toArray()).toString() }
}

function requestsFor(operation: Operation): fc.Arbitrary<Request> {
  const values = Object.fromEntries(
    operation.parameters.map((parameter) => {
      const right = of(parameter.schema)
      return [
        parameter.name,
        parameter.in === 'query' ? fc.oneof({ weight: 4, arbitrary: right }, fc.jsonValue()) : right
      ]
    })
  )
  const requiredKeys = operation.parameters.filter(({ required }) => required === true).map(({ name }) => name)
  const right = operation.body === null ? fc.constant(undefined) : of(operation.body)
  const body = operation.body === null ? right : fc.oneof({ weight: 2, arbitrary: right }, spoiled(right))
  return fc.record({ given: fc.record(values, { requiredKeys }), body }).map(({ given, body: payload }) => {
    const value = (name: string) => (given as Record<string, unknown>)[name]
    const query = new URLSearchParams()
    const headers: Record<string, string> = { ...HEADERS }
    for (const parameter of operation.parameters) {
      const one = value(parameter.name)
      if (one === undefined) continue
      if (parameter.in === 'query') addToQuery(query, parameter.name, one)
      if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = String(one).replace(/[^\x20-\x7e]/g, '')
    }
    const path = operation.path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
      encodeURIComponent(wellFormed(String(value(name))))
    )
    const url = `/api/v1${path}${query.size === 0 ? '' : `?${query}`}`
    const options: InjectOptions = { method: operation.method, url, headers }
    if (operation.isForm) Object.assign(options, formOf(payload, headers))
    else if (payload !== undefined) options.payload = JSON.stringify(payload)
    else delete headers['content-type']
    return { options, hasFields: query.has('fields'), call: callOf(operation, given, payload) }
  })
}

function callOf(operation: Operation, given: object, payload: unknown): object | null {
  if (operation.isForm || operation.operationId === 'jsonrpc' || operation.operationId === 'jobs.logs') return null
  const named = operation.parameters.filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
  const own = Object.entries(given).filter(([name]) => name !== 'fields' && named.some((one) => one.name === name))
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload)
  const params = isObject || payload === undefined ? { ...(payload ?? {}), ...Object.fromEntries(own) } : payload
  return { jsonrpc: '2.0', id: 1, method: operation.operationId, params }
}

function of(schema: JsonSchema): fc.Arbitrary<unknown> {
  // Known ids come to be known after the tests are collected.
  return fc.constant(null).chain(() => arbitraryOf(schema, known, resolveReference))
}

function formOf(payload: unknown, headers: Record<string, string>): Partial<InjectOptions> {
  const fields = Object.entries((payload as Record<string, unknown> | null) ?? {})
  const parts = fields.map(([name, one]) => {
    const file = name === 'file' ? '; filename="x.egg"' : ''
    return `--b\r\nContent-Disposition: form-data; name="${name.replace(/["\r\n]/g, '')}"${file}\r\n\r\n${String(one)}\r\n`
  })
  return {
    payload: `${parts.join('')}--b--\r\n`,
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' }
  }
}

/** As oRPC reads it: brackets for what has parts. */
function addToQuery(query: URLSearchParams, name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) query.append(name, String(value))
  else for (const [key, part] of Object.entries(value)) addToQuery(query, `${name}[${key}]`, part)
}

function wellFormed(text: string): string {
  // A path that is none of ours: another route, and another test.
  const given = text.toWellFormed()
  return given === '' || given === '.' || given === '..' ? '%' : given
}

function resolveReference(reference: string): JsonSchema {
  const [, , kind, name] = reference.split('/') as [string, string, 'schemas', string]
  return document.components![kind]![name] as JsonSchema
}

function readOperations(): Operation[] {
  return Object.entries(document.paths!).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, object>).map(([method, raw]) => {
      const operation = raw as {
        operationId: string
        parameters?: ({ $ref: string } | Operation['parameters'][number])[]
        requestBody?: { content: Record<string, { schema: JsonSchema }> }
        responses: Record<string, { content?: Record<string, unknown> }>
      }
      const parameters = (operation.parameters ?? []).map((parameter) =>
        '$ref' in parameter
          ? (resolveReference(parameter.$ref) as unknown as Operation['parameters'][number])
          : parameter
      )
      const content = operation.requestBody?.content ?? {}
      const isForm = content['multipart/form-data'] !== undefined
      const pointer = `api#/paths/${path.replaceAll('/', '~1')}/${method}/responses`
      return {
        operationId: operation.operationId,
        method: method.toUpperCase() as Operation['method'],
        path,
        parameters,
        body: (content['multipart/form-data'] ?? content['application/json'])?.schema ?? null,
        isForm,
        answers: new Map(
          Object.entries(operation.responses).map(([status, response]) => {
            const type = Object.keys(response.content ?? {})[0] ?? ''
            const schema = `${encodeURI(pointer)}/${status}/content/${type.replaceAll('/', '~1')}/schema`
            return [status, { type, isRight: type === '' ? ajv.compile({}) : ajv.compile({ $ref: schema }) }]
          })
        )
      }
    })
  )
}
