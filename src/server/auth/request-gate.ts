import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../engine/runtime/clock.ts'
import { isCrawlRoute } from '../api/crawl-endpoints.ts'
import type { Connections } from '../connections.ts'
import { STRANGER_BODY_LIMIT_MS, MAX_TEXT_BYTES, NODE_MESSAGE_BYTES } from '../limits.ts'
import { bearerToken, isNodeRoute, EGG_ROUTE } from '../nodes/node-endpoints.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { OWNER_PERMISSIONS } from '../../shared/permissions.ts'
import { requirePermission, requirePermissionEverywhere } from '../../engine/access/principal.ts'
import { type Authenticator } from './authenticator.ts'
import { abandon, closeAfter } from '../http2-requests.ts'
import { addressOf, type AddressList } from './client-address.ts'
import { PASSKEY_OPTIONS_PATH } from './login-page.ts'
import { isFromPeer } from './peer-requests.ts'
import { DEVICE_PATH, TOKEN_PATH } from '../../shared/sign-in.ts'
import { BACK_CHANNEL_PATH, CALLBACK_PATH, SIGN_IN_PATH } from './oidc-sign-in.ts'
import type { EndpointLimits } from './endpoint-limits.ts'
import { setSessionCookie } from './session-reply.ts'
import { changesNothing, checkRequestOrigin, ANONYMOUS, type Caller } from './request-rule.ts'

type Raw = FastifyRequest['raw']

/**
 * The maximum memory for incomplete bodies, which clients with credentials can take minutes to send. When it is used
 * up, the connection with the oldest body is closed.
 */
const ROOM_BYTES = 256 * 1024 * 1024

class BodyRoom {
  readonly #held = new Map<Raw, number>()
  #bytes = 0

  /** Reserves the length of the body, or the route's maximum if that is less or the length is unknown. */
  hold(request: FastifyRequest): void {
    const { raw, headers } = request
    const most = isNodeRoute(request) ? NODE_MESSAGE_BYTES : MAX_TEXT_BYTES
    const bytes = Math.min(Number(headers['content-length'] ?? most), most)
    const release = () => this.#release(raw)
    this.#held.set(raw, bytes)
    this.#bytes += bytes
    raw.once('end', release).once('close', release)
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= ROOM_BYTES) return
      this.#release(oldest)
      abandon(oldest)
    }
  }

  #release(raw: Raw): void {
    this.#bytes -= this.#held.get(raw) ?? 0
    this.#held.delete(raw)
  }
}

export interface RequestGateOptions {
  authenticator: Authenticator
  limits: EndpointLimits
  connections: Connections
  isOurHost: (host: string | undefined) => boolean
  /** Clients that may read /metrics without a password. */
  readsMetrics: AddressList
  nodeOfToken: (token: string) => string | null
  clock: Clock
}

/** The checks before each route: origin, authentication, permissions and rate limits. */
export class RequestGate {
  readonly #options: RequestGateOptions
  readonly #bodies = new BodyRoom()

  constructor(options: RequestGateOptions) {
    this.#options = options
  }

  /**
   * Sets `request.caller`, or throws or rejects. Usually returns no promise. Does not check the origin of requests on
   * the Unix socket, because no web page can use it.
   */
  admit(
    request: FastifyRequest,
    reply: FastifyReply,
    { isFromSocket }: { isFromSocket: boolean }
  ): void | Promise<void> {
    const { authenticator, isOurHost } = this.#options
    request.caller = ANONYMOUS
    let caller: Caller | Promise<Caller>
    try {
      // The engine that forwarded the request has already checked its host.
      const isKnownHost = isFromPeer(request.raw) ? () => true : isOurHost
      if (!isFromSocket)
        checkRequestOrigin(request, { isOurHost: isKnownHost, changesNothing: changesNothing(request) })
      if (isNodeRoute(request)) caller = this.#nodeThatSent(request)
      else caller = isOpenToAll(request) || this.#isOpenToScraper(request) ? ANONYMOUS : authenticator.check(request)
    } catch (error) {
      return this.#reject(request, reply, error)
    }
    if (!(caller instanceof Promise)) return this.#letIn(caller, request, reply)
    return caller.then(
      (found) => this.#letIn(found, request, reply),
      (error: unknown) => this.#reject(request, reply, error)
    )
  }

  #letIn(caller: Caller, request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const { authenticator, limits, connections } = this.#options
    request.caller = caller
    if (caller.kind === 'anonymous') {
      this.limitBody(request)
      // A flood of logins must not lock out known users, so known users are charged only for failures and new sessions.
      if (!isLogin(request) || !authenticator.knows(request)) return this.#chargeStranger(request, reply)
      return
    }
    connections.trust(request.raw.socket)
    if (hasUnreadBody(request)) this.#bodies.hold(request)
    if (caller.kind === 'node') return limits.chargeNode(request, reply)
    requireWhatRouteNeeds(request, caller)
    const renewed = authenticator.renew(caller, request)
    if (renewed !== null) setSessionCookie(request, reply, renewed)
    authenticator.bindResponse(caller, reply.raw)
    // contract-endpoints.ts charges API requests.
    if (!isApi(request)) return limits.chargeEndpoint(request, reply)
  }

  #reject(request: FastifyRequest, reply: FastifyReply, error: unknown): Promise<void> {
    const charged = this.#chargeStranger(request, reply)
    if (charged === undefined) throw error
    return charged.then(() => {
      throw error
    })
  }

  /** Node endpoints accept only the token of a node. No other endpoint accepts such a token. */
  #nodeThatSent({ headers }: FastifyRequest): Caller {
    const token = bearerToken(headers.authorization)
    const id = token === null ? null : this.#options.nodeOfToken(token)
    if (id !== null) return { kind: 'node', id, principal: null }
    throw new ScrapdeckError('UNAUTHORIZED', sentence('server.node_token_wrong'), {
      data: { credentials: token === null ? 'missing' : 'wrong' }
    })
  }

  /**
   * Charges a request to the limit of its client's address. Over the limit, closes the connection, because opening a
   * new one costs the client more than sending another request.
   */
  #chargeStranger(request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const close = (error: unknown) => {
      closeAfter(request, reply)
      throw error
    }
    try {
      return this.#options.limits.chargeOpen(request, reply)?.catch(close)
    } catch (error) {
      return close(error)
    }
  }

  /**
   * Whether the client can read the metrics without credentials. Compares the route and the client's address, never
   * anything that the client claims.
   */
  #isOpenToScraper(request: FastifyRequest): boolean {
    return request.routeOptions.url === '/metrics' && this.#options.readsMetrics.has(addressOf(request))
  }

  /**
   * Limits how long an anonymous client can take to send a body, and how long any client can continue to send its body
   * after the response.
   */
  limitBody(request: FastifyRequest): void {
    if (!hasUnreadBody(request)) return
    const { raw } = request
    const limit = this.#options.clock.setTimer(STRANGER_BODY_LIMIT_MS, () => abandon(raw))
    const cancel = () => limit.cancel()
    raw.once('end', cancel).once('close', cancel)
  }
}

function hasUnreadBody({ raw, headers }: FastifyRequest): boolean {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return hasBody && !raw.complete && !raw.readableEnded
}

/**
 * Whether the route is public: login, health checks and signed links. Compares the route, because a path can be
 * written in many ways.
 */
function isOpenToAll(request: FastifyRequest): boolean {
  const { url } = request.routeOptions
  return (
    isLogin(request) ||
    isSignIn(url) ||
    url === EGG_ROUTE ||
    url === '/health' ||
    url === '/health/live' ||
    url === '/health/ready'
  )
}

/** Routes whose callers have no credentials yet, or at most a code. */
const SIGN_IN_ROUTES: ReadonlySet<string> = new Set([
  ...[SIGN_IN_PATH, CALLBACK_PATH, BACK_CHANNEL_PATH, DEVICE_PATH, TOKEN_PATH]
])
const isSignIn = (url: string | undefined): boolean => url !== undefined && SIGN_IN_ROUTES.has(url)

function isLogin({ routeOptions: { url } }: FastifyRequest): boolean {
  return url === '/ui/login' || url === PASSKEY_OPTIONS_PATH
}

/** Throws ROLE_REQUIRED. Without a matching route there is nothing to protect, so all callers get the same response. */
function requireWhatRouteNeeds({ routeOptions, method }: FastifyRequest, { principal }: Caller): void {
  const { url, config } = routeOptions
  const { needs = OWNER_PERMISSIONS, isOfAll = needs === OWNER_PERMISSIONS } = config
  if (url === undefined || needs === 'operation') return
  const require = isOfAll ? requirePermissionEverywhere : requirePermission
  require(principal!, needs, `${method} ${url}`)
}

function isApi({ routeOptions: { url } }: FastifyRequest): boolean {
  return url !== undefined && (/^\/api(\/|$)/.test(url) || isCrawlRoute(url))
}
