import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import type { ContractRouterClient } from '@orpc/contract'
import { Agent, type RequestInit, fetch } from 'undici'
import type { Contract } from '../../shared/contract/index.ts'
import type { EngineCredentials } from '../../shared/desktop/contract.ts'
import { ERROR_CODES, type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import { onlyTrusting } from '../../shared/pinned-certificate.ts'
import { fromWireError } from '../../shared/wire-errors.ts'
import { readPeerCertificate } from './certificate.ts'

export type EngineClient = ContractRouterClient<Contract>

export interface RemoteAddress {
  name: string
  /** Without a trailing slash. */
  url: string
  credentials: EngineCredentials
  /** The only certificate that is trusted; null: the system's authorities decide. */
  certificate: { pem: string; fingerprint: string } | null
}

/** One engine over HTTP. Its calls reject with what happened and what to do next. */
export interface RemoteConnection {
  client: EngineClient
  /** The operations in the engine's own description: `POST /jobs/{id}/retry`. Rejects like a call. */
  readOperations(): Promise<Set<string>>
  /** Any error of `client` as a ScrapdeckError. */
  explain(error: unknown): Promise<ScrapdeckError>
  close(): Promise<void>
}

type Sent = Omit<RequestInit, 'headers'> & { headers?: [string, string][] }

const CONNECT_MS = 10_000
/** Streams have a comment every 15 s: one that is silent for longer is cut off, even if nobody closed it. */
const SILENT_MS = 40_000
/** Searches and compressed logs take their time. */
const ANSWER_MS = 300_000
const DESCRIPTION_MAX_BYTES = 16_000_000
const ERROR_MAX_BYTES = 1_000_000

export function connectRemote({ name, url, credentials, certificate }: RemoteAddress): RemoteConnection {
  const agent = new Agent({
    headersTimeout: ANSWER_MS,
    bodyTimeout: SILENT_MS,
    connect: {
      timeout: CONNECT_MS,
      ...(certificate !== null && onlyTrusting(certificate.pem))
    }
  })
  const label = `${name} (${url})`
  const authorization = authorizationOf(credentials)

  async function send(address: string, { headers = [], ...init }: Sent): Promise<Response> {
    const answer = await fetch(address, {
      ...init,
      headers: [...headers, ['authorization', authorization]],
      // An address that leads elsewhere would be sent the credentials.
      redirect: 'manual',
      dispatcher: agent
    })
    const type = answer.headers.get('content-type') ?? ''
    if (answer.status === 401) {
      await answer.body?.cancel()
      const what =
        credentials.kind === 'token' ? 'the token' : `the user name "${credentials.username}" or its password`
      throw new ScrapdeckError(
        'UNAUTHORIZED',
        `${label} refused ${what}. It may have been revoked or changed: edit the engine and enter it again.`
      )
    }
    // A login page, or another program.
    if (type.includes('html') || (answer.status >= 300 && !type.includes('json'))) {
      await answer.body?.cancel()
      throw notScrapdeck(`${answer.status} (${type || 'no content'})`)
    }
    if (answer.status >= 400) {
      const text = await readBounded(answer.body, ERROR_MAX_BYTES)
      const refusal = refusalOf(text)
      if (refusal !== null) throw refusal
      return new Response(text, { status: answer.status, headers: { 'content-type': type } })
    }
    // The client compares with the classes of the platform, which differ from those of the package.
    return new Response(answer.body as ReadableStream | null, {
      status: answer.status,
      headers: [...answer.headers]
    })
  }

  const notScrapdeck = (what: string) =>
    new ScrapdeckError(
      'ENGINE_UNREACHABLE',
      `${label} answered with ${what}, which is not a response of Scrapdeck. Check the address, and the proxy before it.`
    )

  const client: EngineClient = createORPCClient(
    new RPCLink({
      url: `${url}/api/rpc`,
      async fetch(request) {
        const { method, body, signal, headers } = request
        const init = { method, signal, headers: [...headers] }
        if (body === null) return send(request.url, init)
        // A file is passed on as it is read; everything else is small.
        const isForm = headers.get('content-type')?.startsWith('multipart/') === true
        if (isForm) return send(request.url, { ...init, body, duplex: 'half' })
        return send(request.url, { ...init, body: new Uint8Array(await request.arrayBuffer()) })
      }
    })
  )

  return {
    client,
    async readOperations() {
      const answer = await send(`${url}/api/openapi.json`, { signal: AbortSignal.timeout(CONNECT_MS) })
      const text = await readBounded(answer.body, DESCRIPTION_MAX_BYTES)
      const { paths } = JSON.parse(text) as { paths?: Record<string, object> }
      if (typeof paths !== 'object' || paths === null) throw notScrapdeck('a description without paths')
      return new Set(
        Object.entries(paths).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
        )
      )
    },
    async explain(error) {
      const code = networkCode(error)
      // What oRPC says of an answer in another form.
      const isForeign = error instanceof Error && /^(Cannot parse response|Invalid RPC)/.test(error.message)
      if (code === null) return isForeign ? notScrapdeck('something else') : fromWireError(error)
      const isUntrusted = /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ALTNAME|CERT_UNTRUSTED/.test(code)
      if (isUntrusted) return explainCertificate(label, url, certificate, error)
      return new ScrapdeckError('ENGINE_UNREACHABLE', `${label} ${problemOf(code, url)}`, { cause: error })
    },
    close: () => agent.destroy()
  }
}

function authorizationOf(credentials: EngineCredentials): string {
  if (credentials.kind === 'token') return `Bearer ${credentials.token}`
  return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
}

async function explainCertificate(
  label: string,
  url: string,
  pinned: RemoteAddress['certificate'],
  cause: unknown
): Promise<ScrapdeckError> {
  let seen
  try {
    seen = await readPeerCertificate(new URL(url), CONNECT_MS)
  } catch (error) {
    return new ScrapdeckError('ENGINE_UNREACHABLE', `${label} ${problemOf(networkCode(error) ?? '', url)}`, { cause })
  }
  const { pem: _, ...certificate } = seen
  if (pinned === null) {
    const text = `The certificate of ${label} was not issued by an authority that this computer trusts. Compare its fingerprint with the one on that machine, then trust it, or use a certificate of an authority.`
    return new ScrapdeckError('ENGINE_CERTIFICATE_UNTRUSTED', text, { cause, data: { certificate } })
  }
  const text = `${label} shows another certificate than the one that you trusted (now ${certificate.fingerprint}, trusted ${pinned.fingerprint}). Nothing was sent. If it was replaced on purpose, edit the engine and trust the new one; otherwise somebody may be intercepting the connection.`
  return new ScrapdeckError('ENGINE_CERTIFICATE_CHANGED', text, { cause, data: { certificate } })
}

/** The code of an error of the network or of TLS, wherever in its causes; null: it is none. */
function networkCode(error: unknown): string | null {
  for (let one = error, depth = 0; depth < 8 && typeof one === 'object' && one !== null; depth += 1) {
    const { code, message, name, cause, errors } = one as Record<string, unknown>
    if (one instanceof ScrapdeckError) return null
    if (code === 'EPROTO' && /wrong version number|packet length too long/.test(String(message))) return NO_TLS
    if (typeof code === 'string' && /^(E[A-Z]+$|UND_ERR|ERR_(SSL|TLS)|CERT_|DEPTH_|SELF_|UNABLE_)/.test(code))
      return code
    if (name === 'TimeoutError') return 'ETIMEDOUT'
    one = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  // What `fetch` says when a connection ends in the middle.
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message) ? 'ECONNRESET' : null
}

const NO_TLS = 'NO_TLS'

function problemOf(code: string, url: string): string {
  if (code === NO_TLS || /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code)) {
    return 'does not use TLS. Use http:// if that is intended.'
  }
  if (code === 'CERT_HAS_EXPIRED') return 'has a certificate that has expired. Renew it there.'
  if (code === 'CERT_NOT_YET_VALID')
    return 'has a certificate that is not valid yet. Check the clocks of both machines.'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `does not exist under this name (${code}). Check the address.`
  const isReset = /ECONNRESET|UND_ERR_SOCKET/.test(code) && url.startsWith('http:')
  return `does not respond (${code || 'no connection'}). ${isReset ? 'If it uses TLS, use https://. ' : ''}Check that it is running and that this computer can reach it.`
}

async function readBounded(body: AsyncIterable<Uint8Array> | null, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body ?? []) {
    size += piece.byteLength
    if (size > maxBytes) throw new ScrapdeckError('ENGINE_UNREACHABLE', 'The answer of the engine is too large.')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** What is answered before a call is found, such as a rate limit, is not in the form of the contract's own errors. */
function refusalOf(text: string): ScrapdeckError | null {
  const { code, message } = Object(JSON.parse(text)) as { code?: unknown; message?: unknown }
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code)) return null
  return new ScrapdeckError(code as ErrorCode, String(message))
}
