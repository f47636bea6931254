import { request as sendRequest } from 'node:http'
import { Readable } from 'node:stream'

const SOCKET = 'unix:'

/** The URL under which a service is addressed; on a Unix socket the host has no meaning. */
export const httpUrlOf = (address: string): string => (address.startsWith(SOCKET) ? 'http://localhost' : address)

/** Like `fetch`, but never follows a redirect, and `unix:PATH` addresses go through that socket. */
export function fetchFrom(address: string, request: Request, init: RequestInit): Promise<Response> {
  return address.startsWith(SOCKET)
    ? fetchFromSocket(address.slice(SOCKET.length), request, init.signal ?? request.signal)
    : fetch(request, { ...init, redirect: 'manual' })
}

function fetchFromSocket(socketPath: string, request: Request, signal: AbortSignal): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const { method } = request
  return new Promise((resolve, reject) => {
    const headers = Object.fromEntries(request.headers)
    const sent = sendRequest({ socketPath, method, path: `${pathname}${search}`, headers, signal }, (answer) => {
      const status = answer.statusCode ?? 502
      const named = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value])
      )
      const body = status === 204 || status === 304 ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
      resolve(new Response(body, { status, headers: named }))
    })
    // Shaped as fetch does it: the code is in the cause.
    sent.on('error', (cause) => reject(new TypeError('fetch failed', { cause })))
    if (request.body === null) sent.end()
    else Readable.fromWeb(request.body as import('node:stream/web').ReadableStream).pipe(sent)
  })
}
