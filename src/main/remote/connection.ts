import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import type { ContractRouterClient } from '@orpc/contract'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import type { Clock } from '../../engine/runtime/clock.ts'
import { discard, encodingProblem, PLAIN_BODIES } from '../../engine/runtime/plain-bodies.ts'
import { saidOf } from '../../engine/runtime/said-error.ts'
import { connectThrough } from '../../engine/nodes/ssh/connect-through.ts'
import type { SshTunnels } from '../../engine/nodes/ssh/ssh-tunnels.ts'
import { describeTlsProblem, isUntrusted, mayWantTls, networkCode } from '../../remote/network-words.ts'
import { onlyTrusting } from '../../shared/pinned-certificate.ts'
import type { Contract } from '../../shared/contract/index.ts'
import type { EngineCredentials, SeenCertificate } from '../../shared/desktop/contract.ts'
import { ERROR_CODES, type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/desktop.ts'
import { asSentence } from '../../shared/texts/message.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { splitAddress } from '../../shared/ssh-address.ts'
import { fromWireError } from '../../shared/wire-errors.ts'
import { APP_HEADER } from '../../shared/wire.ts'
import { type DetailedPeerCertificate, connect } from 'node:tls'

/** Receives the undecoded response, unless it is a stream. */
export interface CallContext {
  onBytes?: (answer: Uint8Array) => void
}
export type EngineClient = ContractRouterClient<Contract, CallContext>

export interface RemoteAddress {
  name: string
  /** Without a trailing slash. */
  url: string
  /** null for a sign-in, which sends no credentials. */
  credentials: EngineCredentials | null
  /** The only trusted certificate, or null if the system's authorities apply. */
  certificate: { pem: string; fingerprint: string } | null
}

/** A connection to one engine over HTTP. Its calls reject with what happened and what to do next. */
export interface RemoteConnection {
  client: EngineClient
  /** Returns the operations in the engine's own description, such as `POST /jobs/{id}/retry`. Rejects like a call. */
  readOperations(): Promise<Set<string>>
  /** Posts a form to a path outside the API. Rejects like a call. */
  post(path: string, form: Record<string, string>, signal: AbortSignal): Promise<{ status: number; text: string }>
  /** Sends any request to the engine's server without our credentials, and returns the raw response. */
  request(
    to: Pick<Dispatcher.RequestOptions, 'method' | 'path'> & {
      headers: Record<string, string | string[]>
      body: Buffer | null
      signal: AbortSignal
    }
  ): Promise<Dispatcher.ResponseData>
  /** Returns the certificate of the engine's server. Rejects if there is no response. */
  readCertificate(): Promise<PeerCertificate>
  explain(error: unknown): Promise<ScrapdeckError>
  retryNow(): void
  close(): Promise<void>
}

interface Sent {
  method?: string
  headers?: [string, string][]
  body?: Uint8Array | Readable | null
  signal?: AbortSignal
}

const CONNECT_MS = 10_000
/** The engine sends a comment in each stream every 15 s, so a stream that is silent for longer is broken. */
const SILENT_MS = 40_000
/** How long to wait for the start of a response. Searches and compressed logs take a long time. */
const ANSWER_MS = 300_000
const DESCRIPTION_MAX_BYTES = 16_000_000
const ERROR_MAX_BYTES = 1_000_000
const JSON_MAX_BYTES = 64_000_000

export function connectRemote(
  { name, url: address, credentials, certificate }: RemoteAddress,
  { tunnels, clock }: { tunnels: Pick<SshTunnels, 'use'>; clock: Clock }
): RemoteConnection {
  const { ssh, inner: url } = splitAddress(address)
  const tunnel = ssh === null ? null : tunnels.use(ssh)
  const openSocket = () => connectThrough(tunnel!, new URL(url), { clock, timeoutMs: CONNECT_MS })
  const options = { timeout: CONNECT_MS, ...(certificate !== null && onlyTrusting(certificate.pem)) }
  const agent = new Agent({
    headersTimeout: ANSWER_MS,
    bodyTimeout: SILENT_MS,
    connect: tunnel === null ? options : connectorThrough(openSocket, options)
  })
  const label = `${name} (${address})`
  const authorization = credentials === null ? null : authorizationOf(credentials)
  const ownHeaders: [string, string][] = [[APP_HEADER, 'desktop']]
  if (authorization !== null) ownHeaders.push(['authorization', authorization])
  const readCertificate = async () =>
    readPeerCertificate(new URL(url), CONNECT_MS, tunnel === null ? undefined : await openSocket())

  // Never follows redirects, which would send the credentials to another address.
  async function request(address: string, { method = 'GET', headers = [], body = null, signal }: Sent) {
    const { origin, pathname, search } = new URL(address)
    const answer = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: method as 'GET',
      body,
      signal,
      headers: { ...Object.fromEntries(headers), ...PLAIN_BODIES }
    })
    const problem = encodingProblem(answer.headers['content-encoding'])
    if (problem === null) return answer
    discard(answer.body)
    throw new ScrapdeckError('ENGINE_UNREACHABLE', sentence('desktop.problem_with_proxy', { label, problem }))
  }

  async function send(address: string, { headers = [], ...sent }: Sent): Promise<Response> {
    const own = { ...sent, headers: [...headers, ...ownHeaders] }
    const { statusCode: status, headers: answered, body } = await request(address, own)
    const type = String(answered['content-type'] ?? '')
    if (status === 401) {
      discard(body)
      const what =
        credentials?.kind === 'password' ? `the user name "${credentials.username}" or its password` : 'the token'
      throw new ScrapdeckError('UNAUTHORIZED', sentence('desktop.credentials_refused', { label, what }))
    }
    // The response is from a login page or another program.
    if (type.includes('html') || (status >= 300 && !type.includes('json'))) {
      discard(body)
      throw notScrapdeck(`${status} (${type || 'no content'})`)
    }
    if (status >= 400) {
      const text = String(await readBounded(body, ERROR_MAX_BYTES))
      const refusal = refusalOf(text)
      if (refusal !== null) throw refusal
      return new Response(text, { status, headers: { 'content-type': type } })
    }
    const received = new Headers(Object.entries(answered).map(([name, value]) => [name, String(value)]))
    const isEmpty = status === 204 || status === 205
    return new Response(isEmpty ? null : (Readable.toWeb(body) as ReadableStream), { status, headers: received })
  }

  const notScrapdeck = (what: string) =>
    new ScrapdeckError('ENGINE_UNREACHABLE', sentence('desktop.response_unexpected', { label, what }))

  const client: EngineClient = createORPCClient(
    new RPCLink<CallContext>({
      url: `${url}/api/rpc`,
      async fetch(request, _, { context: { onBytes } }) {
        const { method, body, signal, headers } = request
        const init = { method, signal, headers: [...headers] }
        // Stream a file while reading it. All other bodies are small.
        const isForm = headers.get('content-type')?.startsWith('multipart/') === true
        if (isForm) return send(request.url, { ...init, body: body && Readable.fromWeb(body as WebStream) })
        const sent = body === null ? init : { ...init, body: new Uint8Array(await request.arrayBuffer()) }
        const answer = await send(request.url, sent)
        const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
        if (!isJson || !answer.ok) return answer
        const bytes = await readBounded(answer.body, JSON_MAX_BYTES)
        onBytes?.(bytes)
        return new Response(bytes, answer)
      }
    })
  )

  return {
    client,
    async readOperations() {
      const answer = await send(`${url}/api/openapi.json`, { signal: AbortSignal.timeout(CONNECT_MS) })
      const text = String(await readBounded(answer.body, DESCRIPTION_MAX_BYTES))
      const { paths } = JSON.parse(text) as { paths?: Record<string, object> }
      if (typeof paths !== 'object' || paths === null) throw notScrapdeck('a description without paths')
      return new Set(
        Object.entries(paths).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
        )
      )
    },
    async post(path, form, signal) {
      const headers: [string, string][] = [['content-type', 'application/x-www-form-urlencoded']]
      const body = new URLSearchParams(form).toString()
      const answer = await request(`${url}${path}`, { method: 'POST', body: Buffer.from(body), headers, signal })
      return { status: answer.statusCode, text: String(await readBounded(answer.body, ERROR_MAX_BYTES)) }
    },
    // Used by the sign-in relay. Does not decode the body, because the browser does.
    request: (to) => agent.request({ ...to, origin: new URL(url).origin }),
    readCertificate,
    retryNow: () => tunnel?.retryNow(),
    async explain(error) {
      const code = networkCode(error)
      // oRPC throws these errors for a response in another format.
      const isForeign = error instanceof Error && /^(Cannot parse response|Invalid RPC)/.test(error.message)
      if (code === null) return isForeign ? notScrapdeck('something else') : fromWireError(error)
      if (isUntrusted(code)) return explainCertificate(label, { url, certificate, readCertificate }, error)
      // Before the first connection to an SSH host, only the tunnel can cause a timeout.
      const waiting = code === 'ETIMEDOUT' ? (tunnel?.whyWaiting() ?? null) : null
      const why = waiting === null ? null : asSentence(waiting)
      const problem = why === null ? problemOf(code, url, error) : sentence('desktop.cannot_be_reached', { why })
      const text = sentence('desktop.engine_unreachable', { label, problem })
      return new ScrapdeckError('ENGINE_UNREACHABLE', text, { cause: error })
    },
    async close() {
      await agent.destroy()
      tunnel?.release()
    }
  }
}

/** Like undici's own connector, but over a connection from an SSH host. */
function connectorThrough(
  openSocket: () => Promise<Socket>,
  options: buildConnector.BuildOptions
): buildConnector.connector {
  const secure = buildConnector({ ...options, allowH2: false })
  return (to, callback) => {
    openSocket().then(
      (socket) => (to.protocol === 'https:' ? secure({ ...to, httpSocket: socket }, callback) : callback(null, socket)),
      (error: Error) => callback(error, null)
    )
  }
}

function problemOf(code: string, url: string, error: unknown): Sentence {
  const tls = describeTlsProblem(code)
  if (tls !== null) return tls
  if (code === 'SSH_DOWN' || code === 'SSH_LOST')
    return sentence('desktop.cannot_be_reached', { why: saidBySsh(error) })
  if (code === 'SSH_REFUSED') {
    return sentence('desktop.refused_behind_ssh', { why: saidBySsh(error) })
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return sentence('desktop.name_unknown', { errorCode: code })
  return sentence('desktop.no_response', { errorCode: code, mayWantTls: mayWantTls(code, url) })
}

function saidBySsh(error: unknown): Sentence | string {
  for (let one = error, depth = 0; depth < 8 && one instanceof Error; depth += 1) {
    if (String((one as { code?: unknown }).code).startsWith('SSH_')) {
      const said = saidOf(one)
      return typeof said === 'string' ? said : asSentence(said)
    }
    one = one.cause
  }
  return sentence('desktop.ssh_ended')
}

function authorizationOf(credentials: EngineCredentials): string {
  if (credentials.kind === 'token') return `Bearer ${credentials.token}`
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
}

async function explainCertificate(
  label: string,
  {
    url,
    certificate: pinned,
    readCertificate
  }: Pick<RemoteAddress, 'url' | 'certificate'> & Pick<RemoteConnection, 'readCertificate'>,
  cause: unknown
): Promise<ScrapdeckError> {
  let seen
  try {
    seen = await readCertificate()
  } catch (error) {
    const problem = problemOf(networkCode(error) ?? '', url, error)
    const text = sentence('desktop.engine_unreachable', { label, problem })
    return new ScrapdeckError('ENGINE_UNREACHABLE', text, { cause })
  }
  const { pem: _, ...certificate } = seen
  if (pinned === null) {
    const text = sentence('desktop.certificate_untrusted', { label })
    return new ScrapdeckError('ENGINE_CERTIFICATE_UNTRUSTED', text, { cause, data: { certificate } })
  }
  const text = sentence('desktop.certificate_changed', {
    label,
    fingerprint: certificate.fingerprint,
    trusted: pinned.fingerprint
  })
  return new ScrapdeckError('ENGINE_CERTIFICATE_CHANGED', text, { cause, data: { certificate } })
}

async function readBounded(body: AsyncIterable<Uint8Array> | null, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body ?? []) {
    size += piece.byteLength
    if (size > maxBytes) throw new ScrapdeckError('ENGINE_UNREACHABLE', sentence('desktop.answer_too_large'))
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/**
 * Errors that occur before the engine finds the operation, such as a rate limit, do not have the format of the
 * contract's own errors.
 */
function refusalOf(text: string): ScrapdeckError | null {
  const { code, message, data } = Object(JSON.parse(text)) as { code?: unknown; message?: unknown; data?: unknown }
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code)) return null
  return new ScrapdeckError(code as ErrorCode, String(message), { data: { ...Object(data) } })
}

interface PeerCertificate extends SeenCertificate {
  pem: string
}

const PEM_COLUMNS = /.{1,64}/g

/**
 * Reads a server's certificate, over `through` if given, otherwise over a new connection. Sends nothing, because trust
 * is decided later.
 */
function readPeerCertificate(url: URL, timeoutMs: number, through?: Socket): Promise<PeerCertificate> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const servername = /^[\d.]+$|:/.test(host) ? '' : host
  return new Promise((resolve, reject) => {
    const to = through === undefined ? { host, port: Number(url.port || 443) } : { socket: through }
    const socket = connect({ ...to, servername, rejectUnauthorized: false })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(timeoutMs, () => fail(Object.assign(new Error('No TLS handshake'), { code: 'ETIMEDOUT' })))
    socket.once('error', fail)
    socket.once('secureConnect', () => {
      const seen = socket.getPeerCertificate(true)
      socket.destroy()
      resolve(describe(seen))
    })
  })
}

function describe({ raw, fingerprint256, subject, issuer, valid_to: until }: DetailedPeerCertificate): PeerCertificate {
  const lines = raw.toString('base64').match(PEM_COLUMNS) ?? []
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    fingerprint: fingerprint256,
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    validUntilMs: Date.parse(until)
  }
}

/** Reduces a name in a certificate to one short line, because the certificate's creator can put any text into it. */
function nameOf(name: Partial<Record<string, string | string[]>> | undefined): string {
  const text = [name?.['CN'] ?? name?.['O'] ?? ''].flat().join(', ')
  return text.replaceAll(/[^\P{C}]/gu, ' ').slice(0, 200) || 'without a name'
}
