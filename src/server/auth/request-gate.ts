import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../engine/runtime/clock.ts'
import { isCrawlRoute } from '../api/crawl-door.ts'
import type { AddressList } from '../address-list.ts'
import type { Connections } from '../connections.ts'
import { STRANGER_BODY_LIMIT_MS } from '../limits.ts'
import { type Authenticator, NOBODY } from './authenticator.ts'
import { addressOf } from './client-address.ts'
import { isFromPeer } from './peer-requests.ts'
import type { DoorLimits } from './door-limits.ts'
import { changesNothing, checkRequestOrigin } from './request-rule.ts'

export interface RequestGateOptions {
  authenticator: Authenticator
  limits: DoorLimits
  connections: Connections
  isOurHost: (host: string | undefined) => boolean
  /** Who may read /metrics without a password. */
  readsMetrics: AddressList
  clock: Clock
}

/** What every request passes before its route: the origin check, then authentication, then the rate limit. */
export class RequestGate {
  readonly #options: RequestGateOptions

  constructor(options: RequestGateOptions) {
    this.#options = options
  }

  /** Sets `request.caller`, or throws. `isFromSocket`: no web page can have sent it. */
  admit(request: FastifyRequest, reply: FastifyReply, { isFromSocket }: { isFromSocket: boolean }): void {
    const { authenticator, limits, connections, isOurHost } = this.#options
    request.caller = NOBODY
    try {
      // The engine that forwarded a request has compared its host with its own names.
      const isKnownHost = isFromPeer(request.raw) ? () => true : isOurHost
      if (!isFromSocket)
        checkRequestOrigin(request, { isOurHost: isKnownHost, changesNothing: changesNothing(request) })
      if (!isOpenToAll(request) && !this.#isOpenToScraper(request)) request.caller = authenticator.check(request)
    } catch (error) {
      this.#chargeStranger(request, reply)
      throw error
    }
    if (request.caller.kind === 'nobody') {
      // Whoever floods the login must not keep out those who logged in from the same address before: there, only what
      // fails is charged, and each new session.
      if (!isLogin(request) || !authenticator.knows(request)) this.#chargeStranger(request, reply)
      this.limitBody(request)
      return
    }
    connections.trust(request.raw.socket)
    authenticator.bindResponse(request.caller, reply.raw)
    // The API charges itself (contract-doors.ts).
    if (!isApi(request)) limits.chargeDoor(request, reply)
  }

  /** Whoever is over the limit starts again with a new connection, which costs more than another request. */
  #chargeStranger(request: FastifyRequest, reply: FastifyReply): void {
    try {
      this.#options.limits.chargeOpen(request, reply)
    } catch (error) {
      reply.header('connection', 'close')
      throw error
    }
  }

  /** Judged by the route, as isOpenToAll, and by the client's address, never by what a client says of itself. */
  #isOpenToScraper(request: FastifyRequest): boolean {
    return request.routeOptions.url === '/metrics' && this.#options.readsMetrics.has(addressOf(request))
  }

  /**
   * Gives the rest of the request's body a few seconds: a stranger gets no more, and after an answer it is only read so
   * that the client gets to see the answer.
   */
  limitBody({ raw, headers }: FastifyRequest): void {
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
    if (!hasBody || raw.complete || raw.readableEnded) return
    const limit = this.#options.clock.setTimer(STRANGER_BODY_LIMIT_MS, () => raw.destroy())
    const cancel = () => limit.cancel()
    raw.once('end', cancel).once('close', cancel)
  }
}

/** Only login and health checks. Compares the route: a raw path can be spelled in many ways. */
function isOpenToAll(request: FastifyRequest): boolean {
  const { url } = request.routeOptions
  return isLogin(request) || url === '/health' || url === '/health/live' || url === '/health/ready'
}

function isLogin({ routeOptions: { url } }: FastifyRequest): boolean {
  return url === '/ui/login'
}

/** Served by contract-doors.ts. */
function isApi({ routeOptions: { url } }: FastifyRequest): boolean {
  return url !== undefined && (/^\/api(\/|$)/.test(url) || isCrawlRoute(url))
}
