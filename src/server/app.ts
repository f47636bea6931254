import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Engine } from '../engine/index.ts'
import type { Clock } from '../engine/runtime/clock.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { Authenticator } from './auth/authenticator.ts'
import type { Caller } from './auth/request-rule.ts'
import { addressInBrowser } from './auth/session-reply.ts'
import { LoginEndpoints } from './login-endpoints.ts'
import { createHostRule, isLoopback, passkeySiteOf } from './auth/host-rule.ts'
import { NO_SIGN_IN, type SignInOptions } from './auth/sign-in-options.ts'
import { RequestGate } from './auth/request-gate.ts'
import { EndpointLimits } from './auth/endpoint-limits.ts'
import { AddressList } from './auth/client-address.ts'
import type { CertificateFiles } from './certificate-files.ts'
import { type Connections, isEncrypted, openConnections } from './connections.ts'
import { contractEndpoints } from './contract-endpoints.ts'
import type { ContractHandlers, HandlersOptions } from './contract-handlers.ts'
import { docsEndpoints } from './docs-endpoints.ts'
import { makeRequestId, recordRefusal } from './audit-origin.ts'
import { createErrorHandler } from './error-handler.ts'
import { countRequests, metricsEndpoint } from './metrics-endpoint.ts'
import { type ConnectionLimits, DEFAULT_RATE_LIMITS, type RateLimits } from './limits.ts'
import type { RequestHandler } from './front.ts'
import { recognizePeer } from './auth/peer-requests.ts'
import { PipelinedRequests } from './pipelined-requests.ts'
import { nodeEndpoints, kubernetesEggEndpoint } from './nodes/node-endpoints.ts'
import { scrapydEndpoints } from './scrapyd/routes.ts'
import type { ScrapydEndpointSettings } from './scrapyd/settings.ts'
import { NO_SUCH_FILE, NO_SUCH_PAGE, sendPage } from './scrapyd/twisted-pages.ts'
import { userInterfaceEndpoints } from './user-interface.ts'
import { closeAfter } from './http2-requests.ts'

export interface AppOptions {
  engine: Pick<
    Engine,
    | 'router'
    | 'scrapyd'
    | 'credentials'
    | 'health'
    | 'metrics'
    | 'answers'
    | 'incoming'
    | 'crawlCacheSeconds'
    | 'pulling'
    | 'cache'
    | 'openEgg'
    | 'access'
    | 'secondFactors'
    | 'signIns'
    | 'audit'
    | 'authenticate'
  > & { sharedAnswers: Pick<NonNullable<Engine['sharedAnswers']>, 'find'> | null }
  dataDirectory: string
  uiDirectory: string
  docsDirectory: string
  rateLimits?: Partial<RateLimits> | undefined
  connectionLimits?: Partial<ConnectionLimits> | undefined
  /** Tracks the connections of all the app's sockets. Absent if the app has no sockets. */
  connections?: Connections | undefined
  /** The secret with which other engines on the same database mark the requests that they forward. */
  peerSecret?: string | undefined
  /** The name of this engine among those on the same database. Absent if there are no others. */
  engineName?: string | undefined
  /** Addresses and networks of proxies that may state the client's address in X-Forwarded-For. Empty by default. */
  trustedProxies?: readonly string[] | undefined
  signIn?: SignInOptions | undefined
  /** By default, metrics are served, require authentication, and have the prefix `scrapdeck_`. */
  metrics?: { isServed: boolean; prefix: string; openTo: readonly string[] } | undefined
  /** The certificate of the app's TCP sockets. If absent, these sockets use plain HTTP. */
  certificate?: CertificateFiles | null | undefined
  bindAddress: string
  port: () => number
  allowedHosts: string[]
  scrapyd?: Partial<ScrapydEndpointSettings> | undefined
  clock: Clock
  logger: Logger
}

export interface App extends RequestHandler {
  fastify: FastifyInstance
  /** Creates a one-time login link, valid for ten minutes, and returns its path. */
  createLoginPath(): string
  /** Ends all browser sessions and their streams, and revokes unused login links. Returns the number of sessions. */
  logOutEverywhere(): Promise<number>
  /** Loads the handlers of the contract's routes. Otherwise, the first request to such a route loads them. */
  loadContract(): Promise<void>
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

const noSchema = () => {
  throw new Error('Our routes have no schemas of Fastify.')
}
/**
 * Turns off Fastify's schemas. Otherwise, Fastify loads two schema compilers, which no route uses and which take a
 * tenth of the startup time.
 */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } }

const DEFAULT_METRICS = { isServed: true, prefix: 'scrapdeck', openTo: [] }

export const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  // `default-src` does not apply to forms and base addresses.
  'content-security-policy': "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  // A foreign page that opens one of our pages must not control the window of our page.
  'cross-origin-opener-policy': 'same-origin',
  // Almost all responses require authentication. Routes with cacheable responses override this.
  'cache-control': 'no-store'
}

const ENDED = { data: { credentials: 'wrong' } }

/**
 * The value of Strict-Transport-Security: browsers use only TLS for a year. They ignore the header if they do not
 * trust the certificate.
 */
const ONLY_ENCRYPTED = 'max-age=31536000'
/**
 * Whether the browser uses a loopback host. Strict-Transport-Security is then not sent, because it would also apply to
 * servers on all other ports of that host.
 */
const isOnThisMachine = ({ headers: { host = '' } }: FastifyRequest) => isLoopback(host.replace(/:\d+$/, ''))

function stayEncrypted(request: FastifyRequest, reply: FastifyReply): void {
  if (isEncrypted(request.raw) && !isOnThisMachine(request)) reply.header('strict-transport-security', ONLY_ENCRYPTED)
}

/** Creates the HTTP server without a socket. Every request passes the gate (request-gate.ts) before its route. */
export function createApp(options: AppOptions): App {
  const { engine, clock, logger, trustedProxies = [], metrics = DEFAULT_METRICS, signIn = NO_SIGN_IN } = options
  const authenticator = new Authenticator({
    credentials: engine.credentials,
    authenticate: engine.authenticate,
    access: engine.access,
    secondFactors: engine.secondFactors,
    audit: engine.audit,
    dataDirectory: options.dataDirectory,
    cache: engine.cache,
    signIn,
    clock,
    logger
  })
  const handleError = createErrorHandler({ logger })
  const handleRefusal = async (error: Error, request: FastifyRequest, reply: FastifyReply) => {
    await recordRefusal(engine.audit, error, request)
    return handleError(error, request, reply)
  }
  const { peerSecret, connections = openConnections(options) } = options
  const fastify = Fastify({
    forceCloseConnections: 'idle',
    genReqId: makeRequestId,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { ignoreDuplicateSlashes: true, maxParamLength: 2000 },
    schemaController: NO_SCHEMAS,
    frameworkErrors: (_error, request, reply) => answerUnreadable(request, reply as unknown as FastifyReply)
  })
  const limits = new EndpointLimits({
    limits: { ...DEFAULT_RATE_LIMITS, ...options.rateLimits },
    clock,
    cache: engine.cache
  })
  const gate = new RequestGate({
    authenticator,
    limits,
    connections,
    isOurHost: createHostRule({ ...options, isEncrypted: options.certificate != null }),
    clock,
    readsMetrics: new AddressList(metrics.openTo),
    nodeOfToken: (token) => engine.pulling.authenticate(token)
  })
  closeInOrder(fastify)
  // Fastify does not allow a shared object as a default. The hook below sets the caller before any other code reads it.
  fastify.decorateRequest('caller')
  const requests = new PipelinedRequests((request, response) => {
    if (peerSecret !== undefined) recognizePeer(request, peerSecret)
    fastify.routing(request, response)
  })
  const fromSocket = new WeakSet<IncomingMessage>()
  const socketRequests = new PipelinedRequests((request, response) => {
    fromSocket.add(request)
    fastify.routing(request, response)
  })

  // The hooks of every request use callbacks, because promises would take a tenth of the time of a short request.
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers(SAFE_HEADERS)
    stayEncrypted(request, reply)
    let waiting: void | Promise<void>
    try {
      waiting = gate.admit(request, reply, { isFromSocket: fromSocket.has(request.raw) })
    } catch (error) {
      return done(error as Error)
    }
    if (waiting === undefined) done()
    else waiting.then(() => done(), done)
  })
  // Check access again, because a body can take minutes to arrive and its sender can lose access in the meantime.
  fastify.addHook('preHandler', (request, _reply, done) => {
    if (authenticator.isCurrent(request.caller)) done()
    else done(new ScrapdeckError('UNAUTHORIZED', sentence('server.session_ended'), ENDED))
  })
  fastify.addHook('onClose', async () => authenticator.stop())
  fastify.addHook('onResponse', (request, _reply, done) => {
    gate.limitBody(request)
    done()
  })
  fastify.setErrorHandler(handleRefusal)
  fastify.setNotFoundHandler((request, reply) => sendPage(request, reply, NO_SUCH_PAGE, 404))
  const logOutEverywhere = () => authenticator.logOutEverywhere()
  fastify.register(healthEndpoints, { engine, engineName: options.engineName })
  fastify.register(kubernetesEggEndpoint, { engine })
  if (metrics.isServed) {
    fastify.register(metricsEndpoint, { engine, requests: countRequests(fastify, metrics.prefix) })
  }
  // Register this before the Scrapyd endpoints, which add HTTP methods that only they handle.
  const siteOf = (request: FastifyRequest) => passkeySiteOf(addressInBrowser(request), signIn.publicUrl)
  const handlers = createContractHandlers({
    engine,
    clock,
    logger,
    logOutEverywhere,
    sessionsOf: (request) => authenticator.sessionsOf(request),
    siteOf
  })
  fastify.register(contractEndpoints, { incoming: engine.incoming, limits, handlers })
  fastify.register(nodeEndpoints, { pulling: engine.pulling })
  fastify.register(scrapydEndpoints, {
    scrapyd: engine.scrapyd,
    incoming: engine.incoming,
    settings: options.scrapyd,
    logger,
    audit: engine.audit,
    shared: engine.sharedAnswers,
    nowMs: () => clock.nowMs()
  })
  fastify.register(docsEndpoints, { docsDirectory: options.docsDirectory })
  const { uiDirectory } = options
  const { access, secondFactors, audit } = engine
  const login = new LoginEndpoints({ authenticator, access, secondFactors, audit, limits, clock, siteOf })
  fastify.register(userInterfaceEndpoints, {
    prefix: '/ui',
    authenticator,
    limits,
    audit: engine.audit,
    access: engine.access,
    signIns: engine.signIns,
    uiDirectory,
    login,
    publicUrl: signIn.publicUrl
  })
  return {
    fastify,
    logOutEverywhere,
    loadContract: async () => void (await handlers()),
    createLoginPath: () => `/ui/login?token=${authenticator.links.createHere()}`,
    handle: (request, response) => requests.receive(request, response),
    handleOnSocket: (request, response) => socketRequests.receive(request, response)
  }
}

type Handlers = () => Promise<ContractHandlers>

function createContractHandlers(options: HandlersOptions & { engine: Pick<Engine, 'router'> }): Handlers {
  let loading: Promise<ContractHandlers> | null = null
  return () => (loading ??= load())
  async function load(): Promise<ContractHandlers> {
    const router = await options.engine.router()
    const { ContractHandlers: Handlers } = await import('./contract-handlers.ts')
    return new Handlers(router, options)
  }
}

/** Requests with unparsable paths skip the hooks, including authentication, so the response must reveal nothing. */
function answerUnreadable(request: FastifyRequest, reply: FastifyReply): void {
  const path = request.raw.url ?? ''
  stayEncrypted(request, reply)
  const page = /^\/(logs|items)\//.test(path) ? NO_SUCH_FILE : NO_SUCH_PAGE
  reply.code(404).headers(SAFE_HEADERS).type('text/html; charset=utf-8').send(page)
}

/**
 * Cuts off event streams, which never end on their own. Their clients resume at a cursor. Closes every other
 * connection after its response, because keep-alive would delay the shutdown.
 */
function closeInOrder(fastify: FastifyInstance): void {
  const streams = new Set<ServerResponse>()
  let isClosing = false
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (isClosing) closeAfter(request, reply)
    if (String(reply.getHeader('content-type')).startsWith('text/event-stream')) {
      reply.header('x-accel-buffering', 'no').header('cache-control', 'no-store')
      streams.add(reply.raw)
      reply.raw.once('close', () => streams.delete(reply.raw))
    }
    done()
  })
  fastify.addHook('preClose', async () => {
    isClosing = true
    for (const stream of streams) stream.destroy()
  })
}

/**
 * Health checks without credentials. A service that is not live must be restarted. A service that is live but not ready
 * must get no requests for now, because it is stopping or cannot write to its disk.
 */
async function healthEndpoints(
  app: FastifyInstance,
  options: { engine: Pick<Engine, 'health'>; engineName?: string | undefined }
): Promise<void> {
  const { health } = options.engine
  // With several engines on one database, each reports its name (leader-proxy.ts does this for followers).
  const role = options.engineName === undefined ? {} : { engine: options.engineName, leads: true }
  app.get('/health', async (_request, reply) => sendReady(reply))
  app.get('/health/ready', async (_request, reply) => sendReady(reply))
  // Do not wait for the disk here, because supervisors kill a service that does not respond in time.
  app.get('/health/live', (_request, reply) => send(reply, { ...health.now(), ...role }, 'live'))

  async function sendReady(reply: FastifyReply): Promise<FastifyReply> {
    return send(reply, { ...(await health.check()), ...role }, 'ready')
  }
}

function send(reply: FastifyReply, health: ReturnType<Engine['health']['now']>, asked: 'live' | 'ready'): FastifyReply {
  const status = health[asked] ? 'ok' : 'unavailable'
  return reply
    .code(health[asked] ? 200 : 503)
    .header('cache-control', 'no-store')
    .send({ status, ...health })
}
