import { OpenAPIHandler } from '@orpc/openapi/fastify'
import { SmartCoercionPlugin } from '@orpc/json-schema'
import type { OpenAPI } from '@orpc/contract'
import { onError, ORPCError, type Router } from '@orpc/server'
import { RPCHandler, type RPCHandlerOptions } from '@orpc/server/fastify'
import { ZodToJsonSchemaConverter } from '@orpc/zod/zod4'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../engine/index.ts'
import type { RouterContext } from '../engine/router/router.ts'
import type { Clock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import type { OperationMeta } from '../shared/contract/index.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { createWireErrorInterceptor } from '../shared/wire-errors.ts'
import { checkFields, parseFields, pickFields, type Wanted } from './api/fields.ts'
import { API_EVENTS, findJob, findJobOfSchedule, serveLog } from './api/serve-log.ts'
import { parseJsonBody } from './api/json-body.ts'
import { answerJsonRpc, answerToUnusableBody, costOfCalls } from './api/json-rpc.ts'
import { answerOnce, type KeyedResponse } from './api/once.ts'
import { RequestedOperations } from './api/requested-operations.ts'
import { checkQuery, checkRestParts } from './api/unknown-parts.ts'
import { asSchedulerSays, crawlDoor } from './api/crawl-door.ts'
import { knowsPassword } from './auth/authenticator.ts'
import type { DoorLimits } from './auth/door-limits.ts'
import { parseContractForms } from './forms/contract-form.ts'
import { MAX_JSON_BYTES } from './limits.ts'
import { apiPageDoor } from './openapi/page.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- oRPC itself types a router of any contract like this.
type AnyRouter = Router<any, RouterContext>

/** What the HTTP layer knows about a request, in addition to what the engine gets. */
interface DoorContext extends RouterContext {
  callerId?: string
  /** Metadata of the requested operation; absent: the contract has none for this request. */
  operation?: OperationMeta | undefined
  /** The requested parts of the response. */
  fields?: Wanted
  /** The REST request as received, for checking it against what the operation accepts. */
  request?: Parameters<typeof checkRestParts>[0]
}

declare module 'fastify' {
  interface FastifyRequest {
    operation: OperationMeta | undefined
  }
}

interface DoorsOptions {
  engine: Pick<Engine, 'router' | 'answers' | 'incoming' | 'crawlCacheSeconds'>
  limits: DoorLimits
  clock: Clock
  logger: Logger
  logOutEverywhere: () => number
}

/** Comments at this interval keep proxies from closing a quiet stream. */
const KEEP_ALIVE_MS = 15_000

/**
 * The contract over HTTP: `/api/rpc` for our own clients; for all others REST at `/api/v1`, with additional features
 * (fields, idempotency keys, logs as lines), the same operations as JSON-RPC, and their documentation.
 */
export async function contractDoors(app: FastifyInstance, options: DoorsOptions): Promise<void> {
  const { engine, limits, clock, logger } = options
  const router: AnyRouter = engine.router
  // A function: the handlers' plugins modify the arrays they are given.
  const common = (): RPCHandlerOptions<DoorContext> => ({
    clientInterceptors: [
      createWireErrorInterceptor((error) => logger.error({ err: error }, 'A call of the contract failed'))
    ],
    interceptors: [onError((error) => reportOutside(error, logger))],
    eventIteratorKeepAliveEnabled: true,
    eventIteratorKeepAliveInterval: KEEP_ALIVE_MS
  })
  const rpc = new RPCHandler<DoorContext>(router, common())
  const ofRest = common()
  const rest = new OpenAPIHandler<DoorContext>(router, {
    ...ofRest,
    clientInterceptors: [...ofRest.clientInterceptors!, refuseUnknownParts],
    rootInterceptors: [takeFromQuery, createOnceInterceptor(engine), pickPartsOfAnswer, nameAsScheduler, keepRequest],
    plugins: [new SmartCoercionPlugin({ schemaConverters: [new ZodToJsonSchemaConverter()] })]
  })

  parseOnlyJsonAndForms(app, engine)
  const contextOf = (source: 'ui' | 'api', request: FastifyRequest): RouterContext => ({
    source,
    showsPassword: knowsPassword(request),
    logOutEverywhere: options.logOutEverywhere
  })
  const operations = new RequestedOperations(router)
  app.decorateRequest('operation')
  app.addHook('preHandler', async (request, reply) => {
    request.operation = await operations.find(request.method, request.raw.url!)
    const isJsonRpc = request.routeOptions.url === '/api/v1/jsonrpc'
    const cost = isJsonRpc ? costOfCalls(request.body) : (request.operation?.cost ?? 1)
    limits.chargeApi(request, reply, cost)
  })
  app.all('/api/rpc/*', (request, reply) => serve(rpc, '/api/rpc', contextOf('ui', request), request, reply))
  app.post('/api/v1/jsonrpc', {
    handler: (request, reply) => serveJsonRpc(contextOf('api', request), request, reply, options),
    errorHandler(error, _request, reply) {
      const answer = answerToUnusableBody(error)
      if (answer === null) throw error
      reply.header('cache-control', 'no-store').send(answer)
    }
  })
  const logs = { router: engine.router, clock, logger }
  app.get('/api/v1/jobs/:id/logs', (request, reply) =>
    serveLog(request, reply, { ...logs, operation: 'jobs.logs', find: findJob, events: API_EVENTS })
  )
  app.get('/api/v1/schedules/:id/logs', (request, reply) =>
    serveLog(request, reply, { ...logs, operation: 'schedules.logs', find: findJobOfSchedule, events: API_EVENTS })
  )
  crawlDoor(app, {
    ...logs,
    serveApi: (request, reply) => serve(rest, undefined, contextOf('api', request), request, reply)
  })
  app.all('/api/v1/*', (request, reply) => serve(rest, '/api/v1', contextOf('api', request), request, reply))
  let description: Promise<OpenAPI.Document> | null = null
  await apiPageDoor(app, { describe: () => (description ??= describe()) })
}

/** Loaded with the first request for it. */
async function describe(): Promise<OpenAPI.Document> {
  const { describeApi } = await import('./openapi/describe.ts')
  return describeApi()
}

/**
 * Rejects body types that a form on any web page can send without a preflight (`text/plain`, urlencoded). Bodies are
 * parsed here, within Fastify's limits; oRPC uses the result in `request.body`.
 */
function parseOnlyJsonAndForms(app: FastifyInstance, { incoming }: DoorsOptions['engine']): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: MAX_JSON_BYTES },
    (_request, body, done) => {
      try {
        done(null, parseJsonBody(body as string))
      } catch (error) {
        done(error as ScrapdeckError)
      }
    }
  )
  parseContractForms(app, incoming)
}

/** Failures outside the call itself: a request that cannot be parsed, a response that cannot be serialized. */
function reportOutside(error: unknown, logger: Logger): void {
  if (!(error instanceof ORPCError)) logger.error({ err: error }, 'A request or an answer of the contract is malformed')
}

type Handler = Pick<RPCHandler<DoorContext>, 'handle'>

async function serve(
  handler: Handler,
  prefix: `/${string}` | undefined,
  routerContext: RouterContext,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  reply.header('cache-control', 'no-store')
  const { caller, operation } = request
  const context = { ...routerContext, callerId: caller.id, operation }
  const { matched } = await handler.handle(request, reply, { ...(prefix !== undefined && { prefix }), context })
  if (!matched)
    throw new ScrapdeckError('NOT_FOUND', `The API has no ${request.method} ${request.url.split('?', 1)[0]}.`)
  return reply
}

type RootInterceptor = NonNullable<RPCHandlerOptions<DoorContext>['rootInterceptors']>[number]

/** Fields that a client may send in the query instead of the body (OperationMeta.alsoInQuery). */
const takeFromQuery: RootInterceptor = async ({ request, context, prefix, next }) => {
  const { searchParams } = request.url
  const names = (context.operation?.alsoInQuery ?? []).filter((name) => searchParams.has(name))
  if (names.length === 0) return next()
  const inBody = (await request.body()) as Record<string, unknown> | undefined
  const body = { ...inBody }
  for (const name of names) {
    const said = body[name]
    const [text, ...others] = searchParams.getAll(name)
    if (others.length > 0 || (said != null && String(said) !== text)) {
      throw new ScrapdeckError('BAD_INPUT', `"${name}" is given twice, with different values. Give it once`)
    }
    body[name] = text
  }
  return next({ context, prefix, request: { ...request, body: async () => body } })
}

/** Requests with an Idempotency-Key are performed once per key (api/once.ts). */
function createOnceInterceptor(engine: DoorsOptions['engine']): RootInterceptor {
  return async ({ request, context, prefix, next }) => {
    const key = request.headers['idempotency-key']
    const { callerId = '', operation } = context
    if (key === undefined || operation?.takesKey !== true) return next()
    const { method, url } = request
    const body = await request.body()
    const path = `${url.pathname}${url.search}`
    const repeatableForMs = operation.repeatableForMs?.(body, engine) ?? 0
    // A stream, or no response, goes to this client directly.
    const own: { result?: Awaited<ReturnType<typeof next>> } = {}
    const response = await answerOnce(
      engine.answers,
      { key, credential: callerId, method, path, body, repeatableForMs },
      async (onceKey) => {
        own.result = await next({
          ...{ request, prefix },
          context: onceKey === null ? context : { ...context, onceKey }
        })
        const made = own.result.response
        const isFinal = made !== undefined && made.status < 300 && isJson(made.body)
        return { response: { status: made?.status ?? 404, headers: {}, body: made?.body }, isFinal }
      }
    )
    return own.result ?? { matched: true, response }
  }
}

/** `?fields=`: returns only the requested parts of the response (api/fields.ts). */
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

/** Outside the API, an order has a job_id in any case: a repeated one is followed by its schedule's (crawl-door.ts). */
const nameAsScheduler: RootInterceptor = async ({ prefix, next }) => {
  const result = await next()
  const { response } = result
  if (prefix !== undefined || response === undefined || response.status >= 300) return result
  return { ...result, response: { ...response, body: asSchedulerSays(response.body) } }
}

const keepRequest: RootInterceptor = ({ request, context, prefix, next }) =>
  next({ request, prefix, context: { ...context, request } })

/** The first point where the operation is known and nothing has been done yet. */
const refuseUnknownParts: NonNullable<RPCHandlerOptions<DoorContext>['clientInterceptors']>[number] = async ({
  context,
  procedure,
  path,
  input,
  next
}) => {
  if (context.fields !== undefined) checkFields(context.fields, procedure)
  await checkRestParts(context.request!, { procedure, operation: path.join('.'), input })
  return next()
}

const queryOf = ({ url }: FastifyRequest): URLSearchParams => new URL(url, 'http://x').searchParams

function isJson(body: unknown): boolean {
  const isTree = body === undefined || Array.isArray(body) || Object.getPrototypeOf(Object(body)) === Object.prototype
  return isTree && !(typeof body === 'object' && body !== null && Symbol.asyncIterator in body)
}

async function serveJsonRpc(
  routerContext: RouterContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { engine, logger }: DoorsOptions
): Promise<FastifyReply> {
  const { body, caller, method, url } = request
  checkQuery(queryOf(request), [], 'jsonrpc')
  const key = request.headers['idempotency-key']
  const perform = async (onceKey: string | null) => {
    const context = onceKey === null ? routerContext : { ...routerContext, onceKey }
    const answers = await answerJsonRpc(body, { router: engine.router, context, logger })
    const response: KeyedResponse = { status: answers === null ? 204 : 200, headers: {}, body: answers ?? undefined }
    // Completed calls of a batch cannot be undone: the key is free again only if every call failed.
    return { response, isFinal: answers === null || [answers].flat().some((one) => 'result' in one) }
  }
  const asked = { key, credential: caller.id, method, path: url, body, repeatableForMs: 0 }
  const given =
    key === undefined ? (await perform(null)).response : await answerOnce(engine.answers, { ...asked, key }, perform)
  return reply.code(given.status).headers(given.headers).header('cache-control', 'no-store').send(given.body)
}
