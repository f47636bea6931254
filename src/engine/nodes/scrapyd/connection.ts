import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { type Client, type Dispatcher, errors } from 'undici'
import type { Clock } from '../../runtime/clock.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { ChannelRefused } from '../ssh/ssh-streams.ts'
import { encodingProblem, PLAIN_BODIES } from '../../runtime/plain-bodies.ts'
import { NodeError, type NodeErrorKind } from '../node-client.ts'
import { nameOfSshHost, type SshHost, splitAddress } from '../../../shared/ssh-address.ts'
import type { SshTunnels, TunnelUse } from '../ssh/ssh-tunnels.ts'
import { chooseProxy, type Environment } from './proxy.ts'
import { createTransport, type NodeAddressParts } from './transport.ts'

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
  /** Resolves for every status, when `receive` has enough or the body ends. Rejects with NodeError. */
  send(request: NodeRequest, signal?: AbortSignal): Promise<AnswerHead>
  fail(kind: NodeErrorKind, problem: string, delivered: 'no' | 'unknown', cause?: unknown): NodeError
  /** Absent: the node is not behind an SSH host. */
  readonly tunnel?: TunnelUse | undefined
  close(): Promise<void>
}

// Enough to poll while a log is read and jobs are sent. More would only wait in Scrapyd's single thread.
const CONNECTIONS_MAX = 4
const DRAINED_MAX_BYTES = 16_384

/** Connects with the first request. Does not follow redirects or decompress bodies. */
export function createConnection(options: {
  address: NodeAddressParts
  name: string
  clock: Clock
  /** The program at the address, for messages. */
  program?: string
  /** The source of proxies for nodes without their own setting (chooseProxy). */
  environment?: Environment
  tunnels?: Pick<SshTunnels, 'use'> | undefined
}): Connection {
  const { address, name, clock, program = 'Scrapyd', environment = process.env } = options
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
  const fail: Connection['fail'] = (kind, problem, delivered, cause) =>
    new NodeError(kind, `Node ${label} ${problem}`, { delivered, cause })

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
    if (proxyProblem !== null) return Promise.reject(fail('unreachable', proxyProblem, 'no'))
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
      const onAbort = () => giveUp(fail('aborted', 'timed out.', delivered(), signal?.reason))
      const endpoint = () => request.path.split('?')[0]
      const timer = clock.setTimer(request.timeoutMs, () => {
        const waiting = tunnel?.whyWaiting()
        if (!begun && waiting) return giveUp(fail('unreachable', `cannot be reached: ${waiting}`, 'no'))
        const late = `did not answer ${endpoint()} within ${request.timeoutMs / 1000} s`
        // A Scrapyd without TLS mistakes our handshake for a request and waits for the rest of it.
        const hasNoTls = base.protocol === 'https:' && !begun && !hasAnswered
        const check = hasNoTls
          ? 'whether it uses TLS at all (else: http://), or is stuck'
          : 'whether it is overloaded or stuck'
        giveUp(fail('timeout', `${late}. Check ${check}.`, delivered()))
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
          const problem = encodingProblem(headers['content-encoding'])
          if (problem !== null) return giveUp(fail('not_scrapyd', `${problem}. Is this a Scrapyd?`, 'unknown'))
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
          else giveUp(fail('too_large', `sent too large a response to ${endpoint()}. Is this a Scrapyd?`, 'unknown'))
          // Reading the small rest of the response is cheaper than a new connection.
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
        const problem = `lost its connection before its response was complete: ${(error as Error).message}`
        return fail('reset', problem, 'unknown', error)
      }
      if (error instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW') {
        return fail('not_scrapyd', 'sent a response that is not HTTP. Check the port and http/https.', 'unknown', error)
      }
      if (/ALERT/.test(code)) {
        // With TLS 1.3, the rejection arrives only after we wrote the request. The server never read it.
        return fail('unreachable', clientCertificateProblem(code), 'no', error)
      }
      // With TLS 1.3, servers check a client certificate after our handshake. Some then just hang up.
      const hint = base.protocol === 'https:' && !hasAnswered ? ' It may require a client certificate.' : ''
      return fail('reset', `closed the connection before its response was complete (${code}).${hint}`, 'unknown', error)
    }
    return fail('unreachable', unreachableProblem(code, base, transport.firstHop, error, program), 'no', error)
  }

  return {
    label,
    send,
    fail,
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
    const proxyProblem = `cannot be reached: HTTP_PROXY or HTTPS_PROXY cannot be used: ${error.message} Correct it and restart Scrapdeck, or set a proxy for this node.`
    return { proxyUrl: null, proxyProblem }
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

function unreachableProblem(code: string, base: URL, firstHop: string, error: unknown, program: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return firstHop === base.host
        ? `cannot be reached: nothing listens on ${base.host}. Start ${program} there, or correct the address.`
        : `cannot be reached: nothing listens on ${firstHop}. Correct the node's proxy setting, or HTTP_PROXY and HTTPS_PROXY.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `cannot be reached: the name ${firstHop.replace(/:\d+$/, '')} does not resolve. Correct the address, or check DNS.`
    case 'SSH_DOWN':
    case 'SSH_LOST':
      return `cannot be reached: ${(error as Error).message}`
    case 'SSH_TIMEOUT':
      return `cannot be reached: ${firstHop} got no connection to ${base.host} in time. Check the network and firewall behind it, and the address.`
    case 'SSH_REFUSED':
      return refusedBySshHost(error as ChannelRefused, base, firstHop, program)
    case 'FORBIDDEN_ADDRESS':
      return `is not contacted: ${base.hostname} resolves to a link-local or cloud metadata address. Correct the address.`
    case 'PROXY_UNAUTHORIZED':
      return `cannot be reached: ${firstHop} rejects the user name or password (407). Correct them in the proxy setting of the node.`
    case 'PROXY_REFUSED':
      return `cannot be reached: ${firstHop} could not connect to ${base.host} (${(error as Error).message}). Correct the proxy or the address.`
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `cannot be reached: ${firstHop} did not accept a connection. Check the network, firewall and address.`
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return 'was not contacted: Scrapdeck closed the connection.'
  }
  if (/ALERT/.test(code)) return clientCertificateProblem(code)
  if (/CERT|SIGNATURE|ERR_TLS|ISSUER/.test(code)) {
    return `cannot be trusted: its TLS certificate was rejected (${code}). Add its CA certificate, or correct the address.`
  }
  if (/ERR_SSL|EPROTO/.test(code)) {
    return `cannot be reached: ${firstHop} does not accept TLS (${code}). Try http:// instead of https://.`
  }
  return `cannot be reached: ${error instanceof Error ? error.message.slice(0, 300) : code}. Check the address and the network.`
}

/** Reason 1: administratively prohibited (RFC 4254, 5.1). */
function refusedBySshHost(error: ChannelRefused, base: URL, firstHop: string, program: string): string {
  if (error.reason === 1) {
    return `cannot be reached: ${firstHop} does not allow connections to ${base.host}. See AllowTcpForwarding and PermitOpen in its sshd_config, and permitopen in authorized_keys.`
  }
  const reason = showUnseen(error.message.slice(0, 200))
  return `cannot be reached: ${firstHop} could not connect to ${base.host} (${reason}). Start ${program} there, or correct the address.`
}

function clientCertificateProblem(code: string): string {
  return `rejected the client certificate (${code}). Set a client certificate that it accepts, with its key, in the node's settings.`
}
