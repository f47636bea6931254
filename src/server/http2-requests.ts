import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A request that came over HTTP/2 (http2-server.ts), with what only that has; null: over HTTP/1.1. */
export function overHttp2(request: IncomingMessage): Http2ServerRequest | null {
  return request.httpVersionMajor === 2 ? (request as unknown as Http2ServerRequest) : null
}

/** The connection takes no further request, and ends when those that are open have been answered. */
export function closeAfter(request: FastifyRequest, reply: FastifyReply): void {
  const http2 = overHttp2(request.raw)
  if (http2 === null) reply.header('connection', 'close')
  else http2.stream.session?.close()
}

/** Reads nothing more of it. */
export function abandon(request: IncomingMessage): void {
  const http2 = overHttp2(request)
  if (http2 === null) request.destroy()
  else http2.stream.destroy()
}
