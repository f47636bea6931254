import { request as sendHttp, type IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { type StandardLinkClient, StandardLink } from '@orpc/client/standard'
import type { ClientContext, ClientLink } from '@orpc/client'
import {
  StandardBracketNotationSerializer,
  StandardOpenAPIJsonSerializer,
  StandardOpenAPISerializer,
  StandardOpenapiLinkCodec
} from '@orpc/openapi-client/standard'
import { PLAIN_BODIES, requirePlainBody } from '../../engine/runtime/plain-bodies.ts'
import { onlyTrusting } from '../../shared/pinned-certificate.ts'
import { routes } from './routes.ts'

type StandardRequest = Parameters<StandardLinkClient<ClientContext>['call']>[0]

/** A request that can be sent more than once. */
export interface RestCall {
  method: string
  url: URL
  headers: Record<string, string | string[] | undefined>
  body: string | Uint8Array | null
  signal: AbortSignal | undefined
}

export interface Answer {
  status: number
  type: string
  /** Empty for an event stream. */
  text: string
  events?: AsyncIterable<unknown> | undefined
}

const SOCKET = 'unix:'
const EVENTS = 'text/event-stream'
/**
 * How long to wait for data. Event streams send a comment every few seconds, and all other responses start sooner than
 * this.
 */
const SILENT_MS = 300_000

/** The URL for requests to a service. The host has no meaning on a Unix socket. */
export const httpUrlOf = (address: string): string => (address.startsWith(SOCKET) ? 'http://localhost' : address)

/**
 * The REST API over Node's HTTP client, because `fetch` takes longer to load than everything else in a command. The
 * globals FormData, Request and Response also load slowly, so only uploads use them.
 */
export function createRestLink(options: {
  baseUrl: () => Promise<string>
  send: (call: RestCall) => Promise<Answer>
}): ClientLink<ClientContext> {
  const serializer = new PlainSerializer(new StandardOpenAPIJsonSerializer(), new StandardBracketNotationSerializer())
  const codec = new StandardOpenapiLinkCodec(routes, serializer, { url: options.baseUrl })
  return new StandardLink(codec, {
    async call(request) {
      const { status, text, events } = await options.send(await callOf(request))
      return { status, headers: {}, body: async () => events ?? (text === '' ? undefined : JSON.parse(text)) }
    }
  })
}

class PlainSerializer extends StandardOpenAPISerializer {
  /** Returns JSON unchanged, because the check for a form would load `FormData`. */
  override deserialize(data: unknown): unknown {
    const isStream = typeof data === 'object' && data !== null && Symbol.asyncIterator in data
    return isStream ? super.deserialize(data) : data
  }
}

async function callOf({ method, url, headers, body, signal }: StandardRequest): Promise<RestCall> {
  if (body === undefined) return { method, url, headers, body: null, signal }
  if (Object.prototype.toString.call(body) === '[object FormData]') {
    const form = new Response(body as FormData)
    const type = form.headers.get('content-type') ?? ''
    return { method, url, headers: { ...headers, 'content-type': type }, body: await form.bytes(), signal }
  }
  return {
    method,
    url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal
  }
}

/** If `certificate` is null, the system's certificate authorities decide. */
interface Target {
  url: string
  certificate?: string | null
}

/** Sends to an `http:`, `https:` or `unix:PATH` address. Never follows a redirect. Rejects with Node's own errors. */
export async function sendOverHttp(target: Target, call: RestCall): Promise<Answer> {
  const message = await open(target, call)
  requirePlainBody({ headers: message.headers, body: message }, 'The server')
  const status = message.statusCode ?? 502
  const type = message.headers['content-type'] ?? ''
  if (type.startsWith(EVENTS)) return { status, type, text: '', events: await readEvents(message) }
  return { status, type, text: await readText(message) }
}

async function open({ url: address, certificate }: Target, { url, body, ...call }: RestCall): Promise<IncomingMessage> {
  const trusting = certificate == null ? {} : onlyTrusting(certificate)
  const socketPath = address.startsWith(SOCKET) ? address.slice(SOCKET.length) : undefined
  const send = url.protocol === 'https:' ? (await import('node:https')).request : sendHttp
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const headers = { ...call.headers, ...PLAIN_BODIES, ...length }
    const where = socketPath === undefined ? {} : { socketPath }
    const sent = send(url, { ...call, headers, ...where, ...trusting }, resolve)
    sent.setTimeout(SILENT_MS, () => sent.destroy(Object.assign(new Error('No response'), { code: 'ETIMEDOUT' })))
    sent.on('error', reject)
    sent.end(body ?? undefined)
  })
}

async function readEvents(message: IncomingMessage): Promise<AsyncIterable<unknown>> {
  const { toEventIterator } = await import('@orpc/standard-server-node')
  return toEventIterator(message)
}
