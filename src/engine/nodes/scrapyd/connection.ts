import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { type Client, type Dispatcher, errors } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { saidOf } from '../../runtime/said-error.ts'
import type { ChannelRefused } from '../ssh/ssh-streams.ts'
import { PLAIN_BODIES, unwantedEncoding } from '../../runtime/plain-bodies.ts'
import type { NodeProgram } from '../../../shared/texts/en-node-errors.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import type { NodeError } from '../node-client.ts'
import { failure } from '../node-failure.ts'
import { nameOfSshHost, type SshHost, splitAddress } from '../../../shared/ssh-address.ts'
import type { SshTunnels, TunnelUse } from '../ssh/ssh-tunnels.ts'
import { chooseProxy, type Environment } from './proxy.ts'
import { createTransport, type NodeAddressParts, type ProxyRefused, type Transport } from './transport.ts'

export interface NodeRequest {
  method: 'GET' | 'POST' | 'OPTIONS' | 'DELETE' | 'PATCH'
  /** Relative to the node's base path, percent-encoded, without a leading slash. */
  path: string
  headers?: Record<string, string>
  body?: string | Readable
  timeoutMs: number
  /** Called with the head of the response. Returns the function that receives each piece of the body. */
  receive: (head: AnswerHead) => (piece: Buffer) => 'more' | 'enough' | 'too_large'
}

export interface AnswerHead {
  status: number
  headers: IncomingHttpHeaders
}

export interface Connection {
  /** Used in messages: `eu-1 (http://eu-1:6800)`. */
  readonly label: string
  /** Resolves, whatever the status, when `receive` has enough or the body ends. Rejects with NodeError. */
  send(request: NodeRequest, signal?: AbortSignal): Promise<AnswerHead>
  /** Absent: the node is not behind an SSH host. */
  readonly tunnel?: TunnelUse | undefined
  close(): Promise<void>
}

// The maximum number of connections to a node, enough to poll while a log is read and jobs are sent. Requests on
// more connections would only wait for Scrapyd's single thread.
const CONNECTIONS_MAX = 4
const DRAINED_MAX_BYTES = 16_384

/** Connects with the first request. Does not follow redirects or decompress bodies. */
export function createConnection(options: {
  address: NodeAddressParts
  name: string
  clock: Clock
  /** The program at the address, for messages. */
  program?: NodeProgram
  /** The source of proxies for nodes without their own setting (chooseProxy). */
  environment?: Environment
  tunnels?: Pick<SshTunnels, 'use'> | undefined
}): Connection {
  const { address, name, clock, program = 'scrapyd', environment = process.env } = options
  const { ssh, inner } = splitAddress(address.url)
  const base = new URL(inner)
  const tunnel = ssh === null ? undefined : tunnelTo(ssh, options.tunnels)
  const { proxyUrl, proxyProblem } = tunnel === undefined ? proxyOf(address, environment) : NO_PROXY
  const transport = createTransport(base, tunnel ?? proxyUrl, { address, clock })
  // An undici Pool would take 20 kB per node even before it connects, and there can be thousands of nodes.
  const clients: { client: Client; inFlight: number }[] = []
  const label = `${name} (${address.url.replace(/\/$/, '')})`
  const headers = {
    accept: '*/*',
    ...PLAIN_BODIES,
    'user-agent': 'Scrapdeck',
    ...basicAuthorization(address),
    ...transport.headers
  }
  let hasAnswered = false
  const aborts = new WeakMap<AbortSignal, Set<() => void>>()

  function freestClient(): { client: Client; inFlight: number } {
    let freest = clients[0]
    for (const one of clients) if (one.inFlight < freest!.inFlight) freest = one
    if (freest !== undefined && (freest.inFlight === 0 || clients.length === CONNECTIONS_MAX)) return freest
    const one = { client: transport.createClient(), inFlight: 0 }
    clients.push(one)
    return one
  }

  /** Uses one listener per signal, because an observer's signal lasts through thousands of requests. */
  function onceAborted(signal: AbortSignal, listener: () => void): () => void {
    let listeners = aborts.get(signal)
    if (listeners === undefined) aborts.set(signal, (listeners = listenersOf(signal)))
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  function send(request: NodeRequest, signal?: AbortSignal): Promise<AnswerHead> {
    if (proxyProblem !== null) {
      const said = say('node_error.proxy_unusable', { label, why: proxyProblem })
      return Promise.reject(failure('unreachable', said, 'no'))
    }
    return new Promise((resolve, reject) => {
      // undici calls onRequestStart just before it writes the first byte. Until then, nothing was delivered.
      let begun = false
      let settled = false
      let abort: ((reason: Error) => void) | null = null
      let stopListening: (() => void) | null = null
      const settle = (finish: () => void) => {
        if (settled) return
        settled = true
        timer.cancel()
        stopListening?.()
        finish()
      }
      const giveUp = (error: NodeError) => {
        settle(() => reject(error))
        abort?.(error)
      }
      const delivered = () => (begun ? 'unknown' : 'no')
      const onAbort = () =>
        giveUp(failure('aborted', say('node_error.aborted', { label }), delivered(), signal?.reason))
      const endpoint = () => request.path.split('?')[0] ?? ''
      const timer = clock.setTimer(request.timeoutMs, () => {
        const waiting = tunnel?.whyWaiting()
        if (!begun && waiting) {
          return giveUp(failure('unreachable', say('node_error.ssh_down', { label, why: waiting }), 'no'))
        }
        // A Scrapyd without TLS mistakes our handshake for the start of a request and waits for more.
        const hasNoTls = base.protocol === 'https:' && !begun && !hasAnswered
        const code = hasNoTls ? 'node_error.no_answer_to_tls' : 'node_error.no_answer'
        const said = say(code, { label, endpoint: endpoint(), seconds: request.timeoutMs / 1000 })
        giveUp(failure('timeout', said, delivered()))
      })
      if (signal?.aborted === true) return onAbort()
      if (signal !== undefined) stopListening = onceAborted(signal, onAbort)

      let head: AnswerHead | null = null
      let receivedBytes = 0
      let receivePiece: ReturnType<NodeRequest['receive']> = () => 'more'
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart(controller) {
          abort = (reason) => controller.abort(reason)
          if (settled) controller.abort(new Error('abandoned before it was sent'))
          else begun = true
        },
        onResponseStart(_controller, status, headers) {
          if (status < 200) return
          hasAnswered = true
          const encoding = unwantedEncoding(headers['content-encoding'])
          if (encoding !== null) {
            return giveUp(failure('not_scrapyd', say('node_error.encoded', { label, encoding }), 'unknown'))
          }
          head = { status, headers }
          receivePiece = request.receive(head)
        },
        onResponseData(controller, piece) {
          receivedBytes += piece.length
          if (settled || head === null) return
          const verdict = receivePiece(piece)
          if (verdict === 'more') return
          const answer = head
          if (verdict === 'enough') settle(() => resolve(answer))
          else giveUp(failure('too_large', say('node_error.too_large', { label, endpoint: endpoint() }), 'unknown'))
          // Reading the few remaining bytes is cheaper than a new connection.
          if (verdict === 'enough' && sizeOf(answer) - receivedBytes <= DRAINED_MAX_BYTES) return
          controller.abort(new Error('enough was read'))
        },
        onResponseEnd() {
          one.inFlight -= 1
          const answer = head
          if (answer !== null) settle(() => resolve(answer))
        },
        onResponseError(_controller, error) {
          one.inFlight -= 1
          settle(() => reject(transportError(error, begun)))
        }
      }
      const one = freestClient()
      one.inFlight += 1
      try {
        one.client.dispatch(
          {
            method: request.method,
            path: transport.pathPrefix + request.path,
            headers: request.headers === undefined ? headers : { ...headers, ...request.headers },
            body: request.body ?? null
          },
          handler
        )
      } catch (error) {
        one.inFlight -= 1
        settle(() => reject(transportError(error, false)))
      }
    })
  }

  function transportError(error: unknown, begun: boolean): NodeError {
    const code = errorCode(error)
    if (begun) {
      if (code === 'SSH_LOST') {
        return failure('reset', say('node_error.ssh_lost', { label, why: saidOf(error) }), 'unknown', error)
      }
      if (error instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW') {
        return failure('not_scrapyd', say('node_error.not_http', { label }), 'unknown', error)
      }
      if (/ALERT/.test(code)) {
        // With TLS 1.3, the rejection arrives after we have sent the request, which the server never reads.
        return failure('unreachable', certificateRejected(label, code), 'no', error)
      }
      // With TLS 1.3, servers check a client certificate after our handshake. Some then only close the connection.
      const mayWantCertificate = base.protocol === 'https:' && !hasAnswered
      const said = say('node_error.closed_early', { label, errorCode: code, mayWantCertificate })
      return failure('reset', said, 'unknown', error)
    }
    const said = whyUnreachable(code, { label, base, firstHop: transport.firstHop, error, program })
    return failure('unreachable', said, 'no', error)
  }

  return {
    label,
    send,
    tunnel,
    async close() {
      await Promise.all(clients.map(({ client }) => client.destroy()))
      tunnel?.release()
    }
  }
}

const NO_PROXY = { proxyUrl: null, proxyProblem: null }

function tunnelTo(ssh: SshHost, tunnels: Pick<SshTunnels, 'use'> | undefined): TunnelUse {
  if (tunnels === undefined) throw new Error(`${nameOfSshHost(ssh)} cannot be used here: SSH is not set up`)
  const tunnel = tunnels.use(ssh)
  // Adding or editing a node may have solved the problem.
  tunnel.retryNow()
  return tunnel
}

/** Reports a bad environment variable as a problem of the node with each request, so that the engine can start. */
function proxyOf(address: NodeAddressParts, environment: Environment) {
  try {
    return { proxyUrl: chooseProxy(address.proxyUrl ?? null, address.url, environment), proxyProblem: null }
  } catch (error) {
    if (!isScrapdeckError(error)) throw error
    return { proxyUrl: null, proxyProblem: error.message }
  }
}

/** A separate function, because a closure inside `send` would keep the first request alive as long as the signal. */
function listenersOf(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>()
  signal.addEventListener('abort', () => [...listeners].forEach((each) => each()), { once: true })
  return listeners
}

function sizeOf({ headers }: AnswerHead): number {
  const declared = headers['content-length']
  return declared !== undefined && /^\d{1,15}$/.test(declared) ? Number(declared) : Number.POSITIVE_INFINITY
}

export function collectBody(limitBytes: number) {
  const pieces: Buffer[] = []
  let sizeBytes = 0
  return {
    receive: (_head: AnswerHead) => (piece: Buffer) => {
      sizeBytes += piece.length
      if (sizeBytes > limitBytes) return 'too_large' as const
      pieces.push(piece)
      return 'more' as const
    },
    body: () => (pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
  }
}

function basicAuthorization(address: NodeAddressParts): Record<string, string> {
  if (!address.username) return {}
  const credentials = Buffer.from(`${address.username}:${address.password ?? ''}`, 'utf8')
  return { authorization: `Basic ${credentials.toString('base64')}` }
}

function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'unknown error'
}

interface Unreached {
  label: string
  base: URL
  firstHop: Transport['firstHop']
  error: unknown
  program: NodeProgram
}

function whyUnreachable(code: string, unreached: Unreached): Message {
  const { label, base, firstHop, error, program } = unreached
  const { host } = base
  const hop = { label, ...firstHop }
  switch (code) {
    case 'ECONNREFUSED':
      return firstHop.via === null
        ? say('node_error.nothing_listens', { label, host, program })
        : say('node_error.nothing_listens_first', hop)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return say('node_error.name_unresolved', { ...hop, at: firstHop.at.replace(/:\d+$/, '') })
    case 'SSH_DOWN':
    case 'SSH_LOST':
      return say('node_error.ssh_down', { label, why: saidOf(error) })
    case 'SSH_TIMEOUT':
      return say('node_error.ssh_timeout', { ...hop, host })
    case 'SSH_REFUSED':
      return refusedBySshHost(error as ChannelRefused, unreached)
    case 'FORBIDDEN_ADDRESS':
      return say('node_error.forbidden_address', { label, host: base.hostname })
    case 'PROXY_UNAUTHORIZED':
      return say('node_error.proxy_rejects_login', hop)
    case 'PROXY_REFUSED':
      return say('node_error.proxy_refused', { ...hop, host, status: (error as ProxyRefused).status })
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return say('node_error.no_connection', hop)
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return say('node_error.closed_here', { label })
  }
  if (/ALERT/.test(code)) return certificateRejected(label, code)
  if (/CERT|SIGNATURE|ERR_TLS|ISSUER/.test(code)) {
    return say('node_error.certificate_untrusted', { label, errorCode: code })
  }
  if (/ERR_SSL|EPROTO/.test(code)) return say('node_error.no_tls', { ...hop, errorCode: code })
  return say('node_error.unreachable', { label, why: error instanceof Error ? error.message.slice(0, 300) : code })
}

/** Reason 1: administratively prohibited (RFC 4254, 5.1). */
function refusedBySshHost(error: ChannelRefused, { label, base: { host }, firstHop, program }: Unreached): Message {
  if (error.reason === 1) return say('node_error.ssh_forbids', { label, ...firstHop, host })
  const why = showUnseen(error.message.slice(0, 200))
  return say('node_error.ssh_refused', { label, ...firstHop, host, why, program })
}

const certificateRejected = (label: string, errorCode: string): Message =>
  say('node_error.client_certificate_rejected', { label, errorCode })
