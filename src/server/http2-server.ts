import type { RequestListener } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { CertificateFiles } from './certificate-files.ts'
import { type ClosableServer, TIME_LIMITS } from './connections.ts'
import { KEEP_ALIVE_MS, REQUEST_LIMIT_MS } from './limits.ts'

/** Requests of one connection at a time. Beyond a burst, Node itself ends a connection that resets its requests. */
const STREAMS_MAX = 100
/** As much as Node takes of HTTP/1.1. */
const HEADERS_MAX_BYTES = 16_384

/** Speaks TLS with HTTP/2 for clients that offer it, and HTTP/1.1 for all others. */
export function createTlsServer(certificate: CertificateFiles, answer: RequestListener): ClosableServer {
  const { asksClients } = certificate
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  const server = createSecureServer(
    {
      ...TIME_LIMITS,
      allowHTTP1: true,
      settings: { maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: HEADERS_MAX_BYTES, enablePush: false },
      requestCert: asksClients,
      rejectUnauthorized: asksClients
    },
    (request, response) => {
      if (request.httpVersionMajor === 2) prepare(request)
      answer(request as never, response as never)
    }
  )
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    closeWhenIdle(session)
  })
  // A session fails as a connection does: there is no peer left to notify.
  server.on('sessionError', () => {})
  // Connections that are open keep the certificate that they began with.
  certificate.use(({ context }) => server.setSecureContext(context))
  const closeIdleHttp1 = (server as unknown as ClosableServer).closeIdleConnections.bind(server)
  return Object.assign(server, {
    closeIdleConnections() {
      closeIdleHttp1()
      for (const session of sessions) session.close()
    },
    closeAllConnections() {
      for (const socket of sockets) socket.destroy()
    }
  })
}

/** As HTTP/1.1 would have brought it: with a host, a header that tells of its body, and a limit of time for it. */
function prepare(request: Http2ServerRequest): void {
  if (request.authority !== undefined) request.headers.host = request.authority
  if (request.stream.endAfterHeaders) return
  // Otherwise Fastify would not read it: over HTTP/2, no header needs to tell of a body.
  request.headers['transfer-encoding'] ??= 'chunked'
  const limit = setTimeout(() => request.complete || request.stream.destroy(), REQUEST_LIMIT_MS)
  request.stream.once('close', () => clearTimeout(limit))
}

function closeWhenIdle(session: ServerHttp2Session): void {
  let open = 0
  session.on('stream', (stream) => {
    open += 1
    stream.once('close', () => (open -= 1))
  })
  const wait = () => session.setTimeout(KEEP_ALIVE_MS, () => (open === 0 ? session.close() : wait()))
  wait()
}
