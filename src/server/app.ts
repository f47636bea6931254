import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Engine } from '../engine/index.ts'
import type { Clock } from '../engine/runtime/clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { Authenticator, type Caller, NOBODY } from './auth/authenticator.ts'
import { createHostRule } from './auth/host-rule.ts'
import { checkRequestOrigin } from './auth/request-rule.ts'
import { createRequestLimiter } from './auth/request-limiter.ts'
import { contractDoors } from './contract-doors.ts'
import { closeInOrder } from './orderly-close.ts'
import { docsDoor } from './docs-door.ts'
import { createErrorAnswer } from './error-answer.ts'
import { healthDoor } from './health.ts'
import { countRequests, metricsDoor } from './metrics-door.ts'
import { API_REQUESTS_PER_SECOND } from './limits.ts'
import { scrapydDoor } from './scrapyd/door.ts'
import type { ScrapydDoorSettings } from './scrapyd/settings.ts'
import { NO_SUCH_FILE, NO_SUCH_PAGE, sendPage } from './scrapyd/twisted-pages.ts'
import { userInterfaceDoor } from './user-interface.ts'

export interface AppOptions {
  engine: Pick<Engine, 'router' | 'scrapyd' | 'credentials' | 'health' | 'metrics' | 'answers'>
  /** Where sessions are stored. */
  dataDirectory: string
  /** The built UI, with its index.html. */
  uiDirectory: string
  /** The documentation served at /docs. */
  docsDirectory: string
  /** Rate limit of the API per credential; 0: none. */
  apiRequestsPerSecond?: number | undefined
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

/** Limit for a whole request: an egg of 200 MB at 2 Mbit/s. Without it, anybody could hold connections forever. */
const REQUEST_LIMIT_MS = 15 * 60_000

const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  // default-src does not cover forms and bases.
  'content-security-policy': "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin'
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
    requestTimeout: REQUEST_LIMIT_MS,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { ignoreDuplicateSlashes: true, maxParamLength: 2000 },
    frameworkErrors: (_error, request, reply) =>
      answerUnreadable(request.raw.url ?? '', reply as unknown as FastifyReply)
  })
  closeInOrder(fastify)
  // Fastify refuses shared objects as defaults; the hook below sets it before anybody reads it.
  fastify.decorateRequest('caller')
  const fromSocket = new WeakSet<IncomingMessage>()

  fastify.addHook('onRequest', async (request, reply) => {
    reply.headers(SAFE_HEADERS)
    if (!fromSocket.has(request.raw)) checkRequestOrigin(request.headers, isOurHost)
    request.caller = isOpenToAll(request) ? NOBODY : authenticator.check(request)
    authenticator.bindResponse(request.caller, reply.raw)
  })
  fastify.setErrorHandler(answerError)
  fastify.setNotFoundHandler((request, reply) => sendPage(request, reply, NO_SUCH_PAGE, 404))
  fastify.register(healthDoor, { engine })
  fastify.register(metricsDoor, { engine, requests: countRequests(fastify) })
  fastify.register(scrapydDoor, {
    fleet: engine.scrapyd,
    settings: options.scrapyd,
    logger,
    hasSession,
    nowMs: () => clock.nowMs()
  })
  const perSecond = options.apiRequestsPerSecond ?? API_REQUESTS_PER_SECOND
  const logOutEverywhere = () => authenticator.logOutEverywhere()
  fastify.register(contractDoors, {
    ...{ engine, clock, logger, logOutEverywhere },
    limiter: createRequestLimiter({ clock, perSecond })
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
  return url === '/ui/login' || url === '/health' || url === '/health/live' || url === '/health/ready'
}
