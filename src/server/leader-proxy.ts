import replyFrom from '@fastify/reply-from'
import { Agent } from 'undici'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Membership } from '../engine/index.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { PEER_HEADER } from '../engine/runtime/peer-header.ts'
import type { EngineCertificate } from '../engine/index.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { onlyTrusting } from '../shared/pinned-certificate.ts'
import { SAFE_HEADERS } from './app.ts'
import { addressOf, plainAddress, AddressList } from './auth/client-address.ts'
import { createHostRule } from './auth/host-rule.ts'
import { isFromPeer, peerHeaderOf, recognizePeer } from './auth/peer-requests.ts'
import { requireOurHost } from './auth/request-rule.ts'
import { createErrorHandler } from './error-handler.ts'
import type { RequestHandler } from './front.ts'

/** How long a request waits for a new leader before it is rejected with NO_LEADER. */
const LEADER_WAIT_MS = 900
/**
 * How long to wait for a connection to the leader. If the leader is stalled, a new leader takes over long before this.
 */
const CONNECT_LIMIT_MS = 2_000
const CONNECTIONS_MAX = 1_000

export interface LeaderProxyOptions {
  membership: Pick<
    Membership,
    'secret' | 'name' | 'leaderAddress' | 'leaderCertificate' | 'isConnected' | 'change' | 'isLeading'
  >
  bindAddress: string
  port: () => number
  allowedHosts: string[]
  /** This engine's certificate, or null if it uses plain HTTP. */
  certificate: EngineCertificate | null
  trustedProxies: readonly string[]
  /** Proxies that may state the user of a request. */
  vouchingProxies: readonly string[]
  logger: Logger
}

/**
 * Forwards requests while another engine leads, except health checks of this engine. The leader authenticates the
 * client and charges its limits as if the request had arrived directly.
 */
export function createLeaderProxy(options: LeaderProxyOptions): RequestHandler & { stop(): Promise<void> } {
  const { membership, logger, trustedProxies } = options
  const isOurHost = createHostRule({ ...options, isEncrypted: options.certificate !== null })
  const fastify = Fastify({
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 100_000 },
    bodyLimit: Number.MAX_SAFE_INTEGER
  })
  fastify.removeAllContentTypeParsers()
  // This engine only forwards bodies. The leader enforces the limits.
  fastify.addContentTypeParser('*', (_request, body, done) => done(null, body))
  const connections = new LeaderConnections(membership, options.certificate)
  fastify.register(replyFrom, { undici: connections as never, disableRequestLogging: true })
  fastify.setErrorHandler(createErrorHandler({ logger }))
  const fromSocket = new WeakSet<object>()
  fastify.addHook('onRequest', async (request, reply) => {
    recognizePeer(request.raw, membership.secret)
    // The forwarding engine still considers this engine the leader. That engine and its client both retry shortly.
    if (isFromPeer(request.raw)) throw noLeader(reply)
    if (!fromSocket.has(request.raw)) requireOurHost(request.headers.host, request.raw, isOurHost)
  })
  serveHealth(fastify, membership)
  const vouching = new AddressList(options.vouchingProxies)
  fastify.all('/*', (request, reply) => forward(request, reply, { membership, vouching }))
  const ready = fastify.ready()
  return {
    handle: (request, response) => void ready.then(() => fastify.routing(request, response)),
    handleOnSocket(request, response) {
      fromSocket.add(request)
      void ready.then(() => fastify.routing(request, response))
    },
    async stop() {
      connections.end()
      await fastify.close()
    }
  }
}

/** Connections to the leader. When another engine becomes the leader, requests to the former leader are aborted. */
class LeaderConnections {
  readonly #membership: Pick<Membership, 'leaderAddress' | 'leaderCertificate'>
  readonly #own: EngineCertificate | null
  #leader: { address: string | null; certificate: string | null } | null = null
  #agent: Agent | null = null

  constructor(membership: Pick<Membership, 'leaderAddress' | 'leaderCertificate'>, own: EngineCertificate | null) {
    this.#membership = membership
    this.#own = own
  }

  request(...args: Parameters<Agent['request']>): ReturnType<Agent['request']> {
    const address = this.#membership.leaderAddress()
    const certificate = this.#membership.leaderCertificate()
    const isOther = address !== this.#leader?.address
    if (this.#agent === null || (address !== null && (isOther || certificate !== this.#leader?.certificate))) {
      // If only the leader's certificate was renewed, let the requests in progress complete.
      if (isOther) this.end()
      else void this.#agent?.close()
      this.#leader = { address, certificate }
      const connect = {
        timeout: CONNECT_LIMIT_MS,
        ...(certificate !== null && onlyTrusting(certificate)),
        ...(this.#own !== null && { cert: this.#own.context.cert, key: this.#own.context.key })
      }
      this.#agent = new Agent({
        connections: CONNECTIONS_MAX,
        pipelining: 1,
        // Each request needs its own connection, and the build leaves out HTTP/2 (service.vite.config.ts).
        allowH2: false,
        connect,
        bodyTimeout: 0,
        headersTimeout: 0
      })
    }
    return this.#agent.request(...args)
  }

  end(): void {
    this.#agent?.destroy().catch(() => {})
    this.#agent = null
  }
}

function serveHealth(fastify: FastifyInstance, membership: LeaderProxyOptions['membership']): void {
  fastify.get('/health/live', async (_request, reply) =>
    reply.headers(SAFE_HEADERS).send({ status: 'ok', live: true, engine: membership.name, leads: false })
  )
  const sendReady = async (_request: FastifyRequest, reply: FastifyReply) => {
    const ready = membership.isConnected() && (await findLeader(membership)) !== null
    const status = ready ? 'ok' : 'unavailable'
    const body = { status, live: true, ready, engine: membership.name, leads: false }
    return reply
      .code(ready ? 200 : 503)
      .headers(SAFE_HEADERS)
      .send(body)
  }
  fastify.get('/health', sendReady)
  fastify.get('/health/ready', sendReady)
}

async function findLeader(membership: LeaderProxyOptions['membership']): Promise<string | null> {
  const giveUp = AbortSignal.timeout(LEADER_WAIT_MS)
  while (membership.leaderAddress() === null && !giveUp.aborted) await membership.change(LEADER_WAIT_MS)
  return membership.leaderAddress()
}

async function forward(
  request: FastifyRequest,
  reply: FastifyReply,
  { membership, vouching }: { membership: LeaderProxyOptions['membership']; vouching: AddressList }
): Promise<FastifyReply> {
  const leader = await findLeader(membership)
  if (leader === null) throw noLeader(reply)
  const isVouchedFor = vouching.has(plainAddress(request.raw.socket.remoteAddress ?? ''))
  const passed = peerHeaderOf(membership.secret, { address: addressOf(request), isVouchedFor })
  return reply.from(addressAt(leader, request.raw.url ?? '/'), {
    // Do not retry, because the former leader may have started to process the request.
    retryDelay: () => null,
    rewriteRequestHeaders: (_request, headers) => ({ ...headers, host: request.headers.host, [PEER_HEADER]: passed }),
    onError: (failed) => void (failed as FastifyReply).send(noLeader(failed as FastifyReply))
  })
}

/** A request line can contain another host (`//other/`, `http://other/`), which must not get the secret and cookies. */
function addressAt(leader: string, asked: string): string {
  const path = asked.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return `${new URL(leader).origin}${path.startsWith('/') ? '' : '/'}${path}`
}

function noLeader(reply: FastifyReply): ScrapdeckError {
  reply.header('retry-after', '1').headers(SAFE_HEADERS)
  return new ScrapdeckError('NO_LEADER', sentence('server.no_leader'))
}
