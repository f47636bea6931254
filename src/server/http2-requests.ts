import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Returns the HTTP/2 view of the request (http2-server.ts), or null if it arrived over HTTP/1.1. */
export function overHttp2(request: IncomingMessage): Http2ServerRequest | null {
  return request.httpVersionMajor === 2 ? (request as unknown as Http2ServerRequest) : null
}

/** Makes the connection accept no further requests and close when all open requests are complete. */
export function closeAfter(request: FastifyRequest, reply: FastifyReply): void {
  const http2 = overHttp2(request.raw)
  if (http2 === null) reply.header('connection', 'close')
  else http2.stream.session?.close()
}

export function abandon(request: IncomingMessage): void {
  const http2 = overHttp2(request)
  if (http2 === null) request.destroy()
  else http2.stream.destroy()
}
