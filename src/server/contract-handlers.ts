import { OpenAPIHandler } from '@orpc/openapi/fastify'
import { createRouterClient, onError, ORPCError, type Router, type AnyProcedure } from '@orpc/server'
import { RPCHandler, type RPCHandlerOptions } from '@orpc/server/fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../engine/index.ts'
import type { EngineRouter, RouterContext, SessionsOfCaller } from '../engine/api/router/router.ts'
import { keyOfRights } from '../engine/access/rights.ts'
import type { Clock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import type { AuditDoor } from '../shared/contract/index.ts'
import { readSwitch } from '../shared/ini.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { createWireErrorInterceptor } from '../shared/wire-errors.ts'
import { inSchedulerFormat, findEither, progressOf, SCHEDULER_EVENTS } from './api/crawl-answers.ts'
import { checkFields, parseFields, pickFields, type Wanted } from './api/fields.ts'
import {
  API_EVENTS,
  findJob,
  findJobOfSchedule,
  type LogRoute,
  serveLog,
  serveLogZip,
  serveItemsExport
} from './api/serve-files.ts'
import { longListsOf, readLongLists, type Coerce } from './api/long-lists.ts'
import { answerJsonRpc } from './api/json-rpc.ts'
import { answerOnce, type KeyedResponse } from './api/once.ts'
import { type RequestedOperation, RequestedOperations } from './api/requested-operations.ts'
import { checkQuery, checkRestParts } from './api/unknown-parts.ts'
import { isFromApp, originOf, sendRequestId } from './audit-origin.ts'
import { principalOf } from './auth/authenticator.ts'
import { JsonSchemaCoercer } from '@orpc/json-schema'
import type { JSONSchema } from '@orpc/openapi'
import { ZodToJsonSchemaConverter } from '@orpc/zod/zod4'
import type { z } from 'zod'

// oxlint-disable-next-line typescript/no-explicit-any -- oRPC itself types a router of any contract like this.
type AnyRouter = Router<any, RouterContext>

interface HandlerContext extends RouterContext {
  callerId?: string
  /** Absent if the contract has no such operation. */
  operation?: RequestedOperation | undefined
  fields?: Wanted
  /** The REST request as received, for checking it against what the operation accepts. */
  request?: Parameters<typeof checkRestParts>[0]
}

export interface HandlersOptions {
  engine: Pick<Engine, 'answers' | 'incoming' | 'crawlCacheSeconds'>
  clock: Clock
  logger: Logger
  logOutEverywhere: () => Promise<number>
  sessionsOf: (request: FastifyRequest) => SessionsOfCaller
  siteOf: (request: FastifyRequest) => NonNullable<RouterContext['site']>
}

type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export type HandlerOf = (
  name: {
    [Name in keyof ContractHandlers]: ContractHandlers[Name] extends RouteHandler ? Name : never
  }[keyof ContractHandlers]
) => RouteHandler

type Handler = Pick<RPCHandler<HandlerContext>, 'handle'>

/** How often to send a comment, so that proxies do not close a quiet stream. */
const KEEP_ALIVE_MS = 15_000

/** Only this file loads oRPC's handlers and all schemas, which take a fifth of the startup time. */
export class ContractHandlers {
  readonly #router: EngineRouter
  readonly #options: HandlersOptions
  readonly #rpc: Handler
  readonly #rest: Handler
  readonly #operations: RequestedOperations

  constructor(engineRouter: EngineRouter, options: HandlersOptions) {
    const { engine, logger } = options
    const router: AnyRouter = engineRouter
    this.#router = engineRouter
    this.#options = options
    // This is a function, because the handlers' plugins modify the arrays that are passed to them.
    const common = (): RPCHandlerOptions<HandlerContext> => ({
      clientInterceptors: [
        createWireErrorInterceptor((error) => logger.error({ err: error }, 'A call of the contract failed'))
      ],
      interceptors: [onError((error) => reportOutside(error, logger))],
      eventIteratorKeepAliveEnabled: true,
      eventIteratorKeepAliveInterval: KEEP_ALIVE_MS
    })
    const ofRpc = common()
    this.#rpc = new RPCHandler<HandlerContext>(router, {
      ...ofRpc,
      clientInterceptors: [...ofRpc.clientInterceptors!, readInSlices]
    })
    const ofRest = common()
    this.#rest = new OpenAPIHandler<HandlerContext>(router, {
      ...ofRest,
      clientInterceptors: [...ofRest.clientInterceptors!, readRestInput],
      rootInterceptors: [mergeFlags, createOnceInterceptor(engine), pickPartsOfAnswer, useSchedulerNames, keepRequest]
    })
    this.#operations = new RequestedOperations(router)
  }

  findOperation(request: FastifyRequest): Promise<RequestedOperation | undefined> {
    return this.#operations.find(request.method, request.raw.url!)
  }

  serveRpc(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return this.#serve(this.#rpc, '/api/rpc', isFromApp(request) ? 'ui' : 'api', request, reply)
  }

  serveRest(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return this.#serve(this.#rest, '/api/v1', 'api', request, reply)
  }

  /** Serves crawl orders outside the API, with the operation that has the same path in the API. */
  serveCrawl(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return this.#serve(this.#rest, undefined, 'api', request, reply)
  }

  async serveJsonRpc(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { body, method, url } = request
    const { engine, logger } = this.#options
    checkQuery(queryOf(request), [], 'jsonrpc')
    const key = request.headers['idempotency-key']
    const routerContext = this.#contextOf('api', request, 'jsonrpc')
    sendRequestId(request, reply)
    const perform = async (onceKey: string | null) => {
      const context = onceKey === null ? routerContext : { ...routerContext, onceKey }
      const answers = await answerJsonRpc(body, { router: this.#router, context, logger })
      const response: KeyedResponse = { status: answers === null ? 204 : 200, headers: {}, body: answers ?? undefined }
      // Completed calls of a batch cannot be undone, so the key can be used again only if every call failed.
      return { response, isFinal: answers === null || [answers].flat().some((one) => 'result' in one) }
    }
    const asked = { key, credential: credentialOf(request), method, path: url, body, repeatableForMs: 0 }
    const given =
      key === undefined ? (await perform(null)).response : await answerOnce(engine, { ...asked, key }, perform)
    return reply.code(given.status).headers(given.headers).header('cache-control', 'no-store').send(given.body)
  }

  serveLogOfJob(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return this.#serveLog({ operation: 'jobs.logs', find: findJob, events: API_EVENTS }, request, reply)
  }

  serveLogOfSchedule(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return this.#serveLog({ operation: 'schedules.logs', find: findJobOfSchedule, events: API_EVENTS }, request, reply)
  }

  serveLogOfCrawl(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return this.#serveLog({ operation: 'logs', find: findEither, events: SCHEDULER_EVENTS }, request, reply)
  }

  serveItemsExport(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return serveItemsExport(request, reply, { client: this.#clientOf(request) })
  }

  serveLogZip(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    return serveLogZip(request, reply, { client: this.#clientOf(request) })
  }

  async serveStatusOfCrawl(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { id } = request.params as { id: string }
    const progress = await progressOf(this.#clientOf(request), id)
    return reply.header('cache-control', 'no-store').send({ job_id: id, ...progress })
  }

  #clientOf(request: FastifyRequest) {
    return createRouterClient(this.#router, { context: this.#contextOf('api', request) })
  }

  #contextOf(source: 'ui' | 'api', request: FastifyRequest, door: AuditDoor = source): RouterContext {
    return {
      principal: principalOf(request),
      source,
      origin: originOf(request, door),
      logOutEverywhere: this.#options.logOutEverywhere,
      sessions: this.#options.sessionsOf(request),
      site: this.#options.siteOf(request),
      // A request with neither a session nor credentials comes from a page for whose user a proxy vouches.
      isFromPage: request.caller.kind === 'session' || request.headers.authorization === undefined
    }
  }

  async #serve(
    handler: Handler,
    prefix: `/${string}` | undefined,
    source: 'ui' | 'api',
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    reply.header('cache-control', 'no-store')
    const { operation } = request
    if (operation?.writes === true) sendRequestId(request, reply)
    const context = { ...this.#contextOf(source, request), callerId: credentialOf(request), operation }
    const { matched } = await handler.handle(request, reply, { ...(prefix !== undefined && { prefix }), context })
    if (!matched)
      throw new ScrapdeckError(
        'NOT_FOUND',
        sentence('server.no_operation', { method: request.method, url: request.url.split('?', 1)[0] })
      )
    return reply
  }

  #serveLog(route: LogRoute, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { clock, logger } = this.#options
    return serveLog(request, reply, { ...route, client: this.#clientOf(request), clock, logger })
  }
}

function reportOutside(error: unknown, logger: Logger): void {
  if (!(error instanceof ORPCError)) logger.error({ err: error }, 'A request or an answer of the contract is malformed')
}

/** An earlier response is repeated only for the same credentials with the same rights. */
const credentialOf = (request: FastifyRequest): string =>
  `${request.caller.id} ${keyOfRights(principalOf(request).rights)}`

type RootInterceptor = NonNullable<RPCHandlerOptions<HandlerContext>['rootInterceptors']>[number]

/** Merges flags that can be in the query, the body or both (OperationMeta.alsoInQuery). One `true` is enough. */
const mergeFlags: RootInterceptor = async ({ request, context, prefix, next }) => {
  const names = context.operation?.alsoInQuery ?? []
  const inBody = names.length === 0 ? undefined : ((await request.body()) as Record<string, unknown> | undefined)
  const saidOf = (name: string) =>
    [...request.url.searchParams.getAll(name), inBody?.[name]].filter((one) => one != null)
  const said = names.filter((name) => saidOf(name).length > 0)
  if (said.length === 0) return next()
  const body = { ...inBody }
  for (const name of said) {
    const flags = saidOf(name).map((flag) => (typeof flag === 'object' ? flag : (readSwitch(`${flag}`) ?? flag)))
    // Keep a value that is neither true nor false. Validation then rejects it together with the rest of the body.
    body[name] = flags.find((flag) => typeof flag !== 'boolean') ?? flags.includes(true)
  }
  return next({ context, prefix, request: { ...request, body: async () => body } })
}

function createOnceInterceptor(engine: HandlersOptions['engine']): RootInterceptor {
  return async ({ request, context, prefix, next }) => {
    const key = request.headers['idempotency-key']
    const { callerId = '', operation } = context
    if (key === undefined || operation?.takesKey !== true) return next()
    const { method, url } = request
    const body = await request.body()
    const path = `${url.pathname}${url.search}`
    const repeatableForMs = operation.repeatableForMs?.(body, engine) ?? 0
    // If this request is performed, its result is returned directly, because the result can be a stream or contain no
    // response.
    const own: { result?: Awaited<ReturnType<typeof next>> } = {}
    const response = await answerOnce(
      engine,
      { key, credential: callerId, method, path, body, repeatableForMs },
      async (onceKey) => {
        own.result = await next({
          request,
          prefix,
          context: onceKey === null ? context : { ...context, onceKey }
        })
        const made = own.result.response
        const { tellsSecret } = operation
        const isFinal = made !== undefined && made.status < 300 && isJson(made.body) && tellsSecret !== 'again'
        const response = { status: made?.status ?? 404, headers: {}, body: made?.body }
        return { response, isFinal, isSecret: tellsSecret === 'once' }
      }
    )
    return own.result ?? { matched: true, response }
  }
}

const pickPartsOfAnswer: RootInterceptor = async ({ request, context, prefix, next }) => {
  const texts = request.url.searchParams.getAll('fields')
  if (texts.length === 0) return next()
  const wanted = parseFields(texts.join(','))
  const result = await next({ request, prefix, context: { ...context, fields: wanted } })
  if (result.response === undefined) return result
  const { response } = result
  if (response.status >= 300 || !isJson(response.body)) return result
  return { ...result, response: { ...response, body: pickFields(response.body, wanted) } }
}

/** Outside the API, every order has a job_id. For a repeating order, this is the id of its schedule. */
const useSchedulerNames: RootInterceptor = async ({ prefix, next }) => {
  const result = await next()
  const { response } = result
  if (prefix !== undefined || response === undefined || response.status >= 300) return result
  return { ...result, response: { ...response, body: inSchedulerFormat(response.body) } }
}

const keepRequest: RootInterceptor = ({ request, context, prefix, next }) =>
  next({ request, prefix, context: { ...context, request } })

type CallInterceptor = NonNullable<RPCHandlerOptions<HandlerContext>['clientInterceptors']>[number]

const readInSlices: CallInterceptor = async (options) => options.next({ ...options, ...(await readLongLists(options)) })

/** Rejects unknown properties as soon as the operation is known, before it runs. */
const readRestInput: CallInterceptor = async (options) => {
  const { context, procedure, path } = options
  if (context.fields !== undefined) checkFields(context.fields, procedure)
  const coerce = coerceFor(procedure)
  const input = longListsOf(options).length === 0 ? coerce(options.input) : options.input
  await checkRestParts(context.request!, { procedure, operation: path.join('.'), input })
  return options.next({ ...options, ...(await readLongLists({ procedure, input }, coerce)) })
}

const queryOf = ({ url }: FastifyRequest): URLSearchParams => new URL(url, 'http://x').searchParams

function isJson(body: unknown): boolean {
  const isTree = body === undefined || Array.isArray(body) || Object.getPrototypeOf(Object(body)) === Object.prototype
  return isTree && !(typeof body === 'object' && body !== null && Symbol.asyncIterator in body)
}

const converter = new ZodToJsonSchemaConverter()
const coercer = new JsonSchemaCoercer()
const schemas = new WeakMap<object, Exclude<JSONSchema, boolean>>()

/**
 * Returns a function that converts strings to the expected types. Queries, forms and paths contain only strings, such
 * as `limit=5`. JSON bodies are also coerced.
 */
function coerceFor(procedure: AnyProcedure): Coerce {
  const { inputSchema } = procedure['~orpc']
  if (inputSchema === undefined) return (value) => value
  let schema = schemas.get(inputSchema)
  if (schema === undefined) {
    schema = converter.convert(inputSchema as z.ZodType, { strategy: 'input' })[1]
    schemas.set(inputSchema, schema)
  }
  const whole = schema
  return (value, list) => coercer.coerce(list === undefined ? whole : itemsOf(whole, list), value)
}

function itemsOf({ properties }: Exclude<JSONSchema, boolean>, list: string): JSONSchema {
  const schema = properties?.[list]
  return (typeof schema === 'object' && (schema.items as JSONSchema | undefined)) || {}
}
