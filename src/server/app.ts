import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Engine } from '../engine/index.ts'
import type { Clock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { Authenticator, type Caller, NOBODY } from './auth/authenticator.ts'
import { createHostRule } from './auth/host-rule.ts'
import { changesNothing, checkRequestOrigin } from './auth/request-rule.ts'
import { DoorLimits } from './auth/door-limits.ts'
import { Connections, TIME_LIMITS } from './connections.ts'
import { contractDoors } from './contract-doors.ts'
import { closeInOrder } from './orderly-close.ts'
import { docsDoor } from './docs-door.ts'
import { createErrorAnswer } from './error-answer.ts'
import { healthDoor } from './health.ts'
import { countRequests, metricsDoor } from './metrics-door.ts'
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
  DEFAULT_RATE_LIMITS,
  type RateLimits,
  STRANGER_BODY_LIMIT_MS
} from './limits.ts'
import { scrapydDoor } from './scrapyd/door.ts'
import type { ScrapydDoorSettings } from './scrapyd/settings.ts'
import { NO_SUCH_FILE, NO_SUCH_PAGE, sendPage } from './scrapyd/twisted-pages.ts'
import { userInterfaceDoor } from './user-interface.ts'

export interface AppOptions {
  engine: Pick<Engine, 'router' | 'scrapyd' | 'credentials' | 'health' | 'metrics' | 'answers' | 'incoming'>
  /** Where sessions are stored. */
  dataDirectory: string
  /** The built UI, with its index.html. */
  uiDirectory: string
  /** The documentation served at /docs. */
  docsDirectory: string
  /** Overrides of the defaults (limits.ts). */
  rateLimits?: Partial<RateLimits> | undefined
  connectionLimits?: Partial<ConnectionLimits> | undefined
  /** Addresses and networks of proxies that may name the client with X-Forwarded-For. Default: none. */
  trustedProxies?: readonly string[] | undefined
  bindAddress: string
  port: () => number
  allowedHosts: string[]
  /** Overrides of the defaults (scrapyd/settings.ts). */
  scrapyd?: Partial<ScrapydDoorSettings> | undefined
  clock: Clock
  logger: Logger
}

export interface App {
  fastify: FastifyInstance
  /** Path of a one-time login link, valid for ten minutes. */
  createLoginPath(): string
  /** Ends all browser sessions with their streams, and unused login links. Returns the number of sessions. */
  logOutEverywhere(): number
  /** Handles a request from a Unix socket. File permissions decide who can connect, and no web page can. */
  answerOnSocket(request: IncomingMessage, response: ServerResponse): void
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
}

const noSchema = () => {
  throw new Error('Our routes have no schemas of Fastify.')
}
/** Without these, Fastify loads two compilers of schemas that no route has, a tenth of the start. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } }

const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  // default-src does not cover forms and bases.
  'content-security-policy': "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  // A page that opened one of ours keeps no hold of its window.
  'cross-origin-opener-policy': 'same-origin',
  // Almost everything is behind a password; what may be kept says so itself.
  'cache-control': 'no-store'
}

/** The HTTP server without a socket. Every request passes the origin check, then authentication, then its route. */
export function createApp(options: AppOptions): App {
  const { engine, clock, logger, trustedProxies = [] } = options
  const authenticator = new Authenticator({
    credentials: engine.credentials,
    dataDirectory: options.dataDirectory,
    clock,
    logger
  })
  const hasSession = (request: FastifyRequest) => authenticator.hasSession(request)
  const isOurHost = createHostRule(options)
  const answerError = createErrorAnswer({ logger, hasSession })
  const fastify = Fastify({
    forceCloseConnections: 'idle',
    requestTimeout: TIME_LIMITS.requestTimeout,
    http: TIME_LIMITS,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { ignoreDuplicateSlashes: true, maxParamLength: 2000 },
    schemaController: NO_SCHEMAS,
    frameworkErrors: (_error, request, reply) =>
      answerUnreadable(request.raw.url ?? '', reply as unknown as FastifyReply)
  })
  const connections = new Connections({
    limits: { ...DEFAULT_CONNECTION_LIMITS, ...options.connectionLimits },
    trustedProxies
  })
  connections.watch(fastify.server)
  const limits = new DoorLimits({ limits: { ...DEFAULT_RATE_LIMITS, ...options.rateLimits }, clock })
  closeInOrder(fastify)
  // Fastify refuses shared objects as defaults; the hook below sets it before anybody reads it.
  fastify.decorateRequest('caller')
  const fromSocket = new WeakSet<IncomingMessage>()

  fastify.addHook('onRequest', async (request, reply) => {
    reply.headers(SAFE_HEADERS)
    if (!fromSocket.has(request.raw)) {
      checkRequestOrigin(request, { isOurHost, changesNothing: changesNothing(request) })
    }
    identify(request, reply)
    if (request.caller.kind === 'nobody') {
      // Whoever floods the login must not keep out those who logged in from the same address before.
      if (!authenticator.knows(request) || !isLogin(request)) limits.chargeOpen(request, reply)
      limitBody(request)
      return
    }
    connections.trust(request.raw.socket)
    authenticator.bindResponse(request.caller, reply.raw)
    // The API charges when it knows the operation.
    if (!isApi(request)) limits.chargeDoor(request, reply)
  })
  // An answer that did not need the body: the rest of it is read for a while, so that the client gets the answer.
  fastify.addHook('onResponse', async (request) => limitBody(request))

  function identify(request: FastifyRequest, reply: FastifyReply): void {
    request.caller = NOBODY
    if (isOpenToAll(request)) return
    try {
      request.caller = authenticator.check(request)
    } catch (error) {
      limits.chargeOpen(request, reply)
      throw error
    }
  }

  function limitBody({ raw, headers }: FastifyRequest): void {
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
    if (!hasBody || raw.complete || raw.readableEnded) return
    const limit = clock.setTimer(STRANGER_BODY_LIMIT_MS, () => raw.destroy())
    const cancel = () => limit.cancel()
    raw.once('end', cancel).once('close', cancel)
  }
  fastify.setErrorHandler(answerError)
  fastify.setNotFoundHandler((request, reply) => sendPage(request, reply, NO_SUCH_PAGE, 404))
  fastify.register(healthDoor, { engine })
  fastify.register(metricsDoor, { engine, requests: countRequests(fastify) })
  fastify.register(scrapydDoor, {
    fleet: engine.scrapyd,
    incoming: engine.incoming,
    settings: options.scrapyd,
    logger,
    hasSession,
    nowMs: () => clock.nowMs()
  })
  const logOutEverywhere = () => authenticator.logOutEverywhere()
  fastify.register(contractDoors, {
    engine,
    clock,
    logger,
    limits,
    logOutEverywhere
  })
  fastify.register(docsDoor, { docsDirectory: options.docsDirectory })
  fastify.register(userInterfaceDoor, { prefix: '/ui', authenticator, uiDirectory: options.uiDirectory })
  return {
    fastify,
    logOutEverywhere,
    createLoginPath: () => `/ui/login?token=${authenticator.links.create()}`,
    answerOnSocket(request, response) {
      fromSocket.add(request)
      fastify.routing(request, response)
    }
  }
}

/** Paths the router cannot parse never reach the hooks, so nobody is authenticated: the answer reveals nothing. */
function answerUnreadable(path: string, reply: FastifyReply): void {
  const page = /^\/(logs|items)\//.test(path) ? NO_SUCH_FILE : NO_SUCH_PAGE
  reply.code(404).headers(SAFE_HEADERS).type('text/html; charset=utf-8').send(page)
}

/** Only login and health checks. Compares the route: a raw path can be spelled in many ways. */
function isOpenToAll(request: FastifyRequest): boolean {
  const { url } = request.routeOptions
  return isLogin(request) || url === '/health' || url === '/health/live' || url === '/health/ready'
}

/** Served by contract-doors.ts. */
function isApi({ routeOptions: { url } }: FastifyRequest): boolean {
  return url !== undefined && /^\/api(\/|$)/.test(url)
}

function isLogin({ routeOptions: { url } }: FastifyRequest): boolean {
  return url === '/ui/login'
}
