import type { RequestListener } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { CertificateFiles } from './certificate-files.ts'
import { type ClosableServer, TIME_LIMITS } from './connections.ts'
import { KEEP_ALIVE_MS, REQUEST_LIMIT_MS } from './limits.ts'

/**
 * The maximum number of concurrent requests per connection. Node itself closes a connection that resets too many
 * requests.
 */
const STREAMS_MAX = 100
/** The maximum size of a request's headers: Node's limit for HTTP/1.1. */
const HEADERS_MAX_BYTES = 16_384

/** Creates a TLS server, with HTTP/2 for clients that offer it and HTTP/1.1 for all others. */
export function createTlsServer(certificate: CertificateFiles, handle: RequestListener): ClosableServer {
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
      handle(request as never, response as never)
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
  // When a session fails, there is no peer left to notify.
  server.on('sessionError', () => {})
  // Open connections keep the certificate with which they started.
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

/** Makes the request look like HTTP/1.1: adds a host, a header that announces a body, and its time limit. */
function prepare(request: Http2ServerRequest): void {
  if (request.authority !== undefined) request.headers.host = request.authority
  if (request.stream.endAfterHeaders) return
  // Fastify reads a body only if it is announced, which HTTP/2 does not require.
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
