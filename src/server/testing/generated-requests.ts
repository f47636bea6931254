import type { OpenAPI } from '@orpc/contract'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { arbitraryOf, fieldsOf, type JsonSchema, type Known, orKnown, spoiled } from './arbitrary-of-schema.ts'

export interface Operation {
  operationId: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  server: string
  path: string
  parameters: { name: string; in: string; required?: boolean; schema: JsonSchema }[]
  body: JsonSchema | null
  /** Names of parts of the operation's responses, for `fields`. */
  fields: string[]
  isForm: boolean
  /** Responses by status. `schema` is a reference into the document, which has the id `api`, or null without a body. */
  answers: Map<string, { type: string; schema: string | null }>
}

export interface Request {
  options: InjectOptions
  hasFields: boolean
  /** The names in `fields`. null if there are none or if they are invented. */
  fields: string[] | null
  /** Whether the request is a write with a key that no other request uses. */
  isKeyed: boolean
  /** The same request as JSON-RPC, or null if JSON-RPC does not have this operation. */
  call: { jsonrpc: '2.0'; id: number; method: string; params: unknown } | null
}

interface GeneratorOptions {
  /** The content of the service under test. It can be filled in later. */
  known: Known
  headers: Readonly<Record<string, string>>
  /** Whether to generate only requests that the document allows. By default, also generates others. */
  isRight?: boolean
}

export function createRequestGenerator(document: OpenAPI.Document, options: GeneratorOptions) {
  const { known, headers: base, isRight = false } = options
  const operations = readOperations()
  return { operations, requestsFor, batches }

  /** `only` lists the optional query parameters to use, because many others narrow a response to nothing. */
  function requestsFor(operation: Operation, { only }: { only?: readonly string[] } = {}): fc.Arbitrary<Request> {
    const values = Object.fromEntries(
      operation.parameters.map((parameter) => {
        const right = of(parameter.schema)
        if (parameter.name === 'Idempotency-Key')
          return [parameter.name, isRight ? fc.constant(undefined) : keys(right)]
        if (parameter.name === 'fields' && operation.fields.length > 0) {
          const there = fc.uniqueArray(fc.constantFrom(...operation.fields), { minLength: 1, maxLength: 3 })
          return [parameter.name, fc.oneof(there, right)]
        }
        if (!isRight && parameter.in === 'query' && ['before', 'after'].includes(parameter.name)) {
          const given = fc.constant(null).chain(() => fc.constantFrom(...(known.cursors[parameter.name] ?? []), 'x'))
          return [parameter.name, fc.oneof(given, right)]
        }
        if (parameter.name === 'limit') return [parameter.name, fc.oneof(fc.constant(isRight ? 50 : 1), right)]
        if (parameter.in === 'path') {
          const noun = `${operation.operationId.split('.')[0]}.${parameter.name}`
          const someId = fc.constant(null).chain(() => orKnown(right, known.parts[noun] ?? known.parts[parameter.name]))
          return [parameter.name, someId]
        }
        return [
          parameter.name,
          parameter.in === 'query' && !isRight
            ? fc.oneof({ weight: 4, arbitrary: right }, fc.jsonValue())
            : orKnown(right, known.parts[parameter.name])
        ]
      })
    )
    const requiredKeys = operation.parameters.filter(({ required }) => required === true).map(({ name }) => name)
    const right =
      operation.body === null
        ? fc.constant(undefined)
        : operation.operationId === 'jsonrpc'
          ? batches()
          : of(operation.body)
    const body =
      operation.body === null ? right : isRight ? right : fc.oneof({ weight: 2, arbitrary: right }, spoiled(right))
    // Each additional parameter can cause a rejection or an empty result, so half of the requests have few.
    const isFew = (name: string) =>
      only?.includes(name) || requiredKeys.includes(name) || name === 'limit' || name === 'Idempotency-Key'
    const few = Object.fromEntries(Object.entries(values).filter(([name]) => isFew(name)))
    const short = fc.record(few, { requiredKeys })
    const given = only !== undefined ? short : fc.oneof(short, fc.record(values, { requiredKeys }))
    return fc.record({ given, body }).map(({ given: those, body: payload }) => {
      const value = (name: string) => (those as Record<string, unknown>)[name]
      const query = new URLSearchParams()
      const headers: Record<string, string> = { ...base }
      for (const parameter of operation.parameters) {
        const one = value(parameter.name)
        if (one === undefined) continue
        if (parameter.name === 'fields' && Array.isArray(one)) query.append('fields', one.join(','))
        else if (parameter.in === 'query') addToQuery(query, parameter.name, one)
        if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = String(one).replace(/[^\x20-\x7e]/g, '')
      }
      const path = operation.path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
        encodeURIComponent(wellFormed(String(value(name))))
      )
      const url = `${operation.server}${path}${query.size === 0 ? '' : `?${query}`}`
      const options: InjectOptions = { method: operation.method, url, headers }
      if (operation.isForm) Object.assign(options, formOf(payload, headers))
      else if (payload !== undefined) options.payload = JSON.stringify(payload)
      else delete headers['content-type']
      const fields = value('fields')
      return {
        options,
        hasFields: query.has('fields'),
        fields: Array.isArray(fields) ? (fields as string[]) : null,
        isKeyed: operation.method !== 'GET' && headers['idempotency-key']?.startsWith(OWN_KEY) === true,
        call: callOf(operation, those, payload)
      }
    })
  }

  /** Calls of all operations, with and without ids, mixed with invalid ones. */
  function batches(): fc.Arbitrary<unknown> {
    const methods = operations.filter(({ operationId }) => operationId !== 'jsonrpc')
    const call = fc.constantFrom(...methods).chain((operation) =>
      fc.tuple(requestsFor(operation), fc.boolean()).map(([{ call: one }, isNotification]) => {
        const { id, ...rest } = (one ?? { id: 0, jsonrpc: '2.0', method: operation.operationId }) as Record<
          string,
          unknown
        >
        return isNotification ? rest : { ...rest, id }
      })
    )
    return fc.oneof(
      call,
      fc.array(fc.oneof({ weight: 5, arbitrary: call }, fc.jsonValue({ maxDepth: 1 })), { minLength: 1, maxLength: 4 })
    )
  }

  function of(schema: JsonSchema): fc.Arbitrary<unknown> {
    // Generate this late, because the known ids are filled in after the tests are collected.
    return fc.constant(null).chain(() => arbitraryOf(schema, known, resolveReference))
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
          servers?: { url: string }[]
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
          server: (operation.servers ?? document.servers!)[0]!.url,
          path,
          parameters,
          body: (content['multipart/form-data'] ?? content['application/json'])?.schema ?? null,
          isForm,
          fields: Object.entries(operation.responses).flatMap(([status, { content: given }]) => {
            const schema = given?.['application/json'] as { schema?: JsonSchema } | undefined
            return schema?.schema === undefined || status === 'default' ? [] : fieldsOf(schema.schema, resolveReference)
          }),
          answers: new Map(
            Object.entries(operation.responses).map(([status, response]) => {
              const type = Object.keys(response.content ?? {})[0] ?? ''
              const schema = `${encodeURI(pointer)}/${status}/content/${type.replaceAll('/', '~1')}/schema`
              return [status, { type, schema: type === '' ? null : schema }]
            })
          )
        }
      })
    )
  }
}

const OWN_KEY = 'own-'

/** Most keys are new. Some are repeated with a different request, and some are invalid. */
function keys(hostile: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const own = fc.uuid().map((id) => `${OWN_KEY}${id}`)
  return fc.oneof({ weight: 4, arbitrary: own }, fc.constantFrom('taken', 'two words'), hostile)
}

function callOf(operation: Operation, given: object, payload: unknown): Request['call'] {
  if (operation.isForm || operation.operationId === 'jsonrpc' || operation.operationId === 'jobs.logs') return null
  const named = operation.parameters.filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
  const own = Object.entries(given).filter(([name]) => name !== 'fields' && named.some((one) => one.name === name))
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload)
  const params = isObject || payload === undefined ? { ...(payload ?? {}), ...Object.fromEntries(own) } : payload
  return { jsonrpc: '2.0', id: 1, method: operation.operationId, params }
}

function formOf(payload: unknown, headers: Record<string, string>): Partial<InjectOptions> {
  const fields = Object.entries((payload as Record<string, unknown> | null) ?? {})
  const parts = fields.map(([name, one]) => {
    const file = name === 'file' ? '; filename="x.egg"' : ''
    return `--part-of-a-form\r\nContent-Disposition: form-data; name="${name.replace(/["\r\n]/g, '')}"${file}\r\n\r\n${String(one)}\r\n`
  })
  return {
    payload: `${parts.join('')}--part-of-a-form--\r\n`,
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=part-of-a-form' }
  }
}

/** Writes nested values in oRPC's bracket notation. */
function addToQuery(query: URLSearchParams, name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) query.append(name, String(value))
  else for (const [key, part] of Object.entries(value)) addToQuery(query, `${name}[${key}]`, part)
}

function wellFormed(text: string): string {
  // `.`, `..` and an empty string would change the path to another route, which another test covers.
  const given = text.toWellFormed()
  return given === '' || given === '.' || given === '..' ? '%' : given
}
