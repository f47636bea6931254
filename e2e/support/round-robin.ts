import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'

/** A load balancer for several engines: each request goes to the next one, without stickiness. */
export interface RoundRobin {
  url: string
  readonly counts: ReadonlyMap<string, number>
  close(): Promise<void>
}

/** The time limit for connecting. A stalled engine still accepts connections; a machine that is down does not. */
const CONNECT_LIMIT_MS = 2_000

/**
 * Works like nginx in docs/scaling.md: skips an engine that accepts no connection, but never repeats a request that
 * an engine may have started to execute.
 */
export async function startRoundRobin(
  addresses: () => string[],
  tls: { key: Buffer; cert: Buffer } | null = null
): Promise<RoundRobin> {
  const counts = new Map<string, number>()
  const sockets = new Set<net.Socket>()
  let turn = 0
  const answer = (request: http.IncomingMessage, response: http.ServerResponse) =>
    void pass(request, response).catch(() => request.socket.destroy())
  const server = tls === null ? http.createServer(answer) : https.createServer(tls, answer)

  async function pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const all = addresses()
    turn += 1
    for (let attempt = 0; attempt < all.length; attempt += 1) {
      const address = all[(turn + attempt) % all.length]!
      const socket = await connectTo(new URL(address))
      if (socket === null) continue
      counts.set(address, (counts.get(address) ?? 0) + 1)
      return passTo(socket, request, response)
    }
    response.writeHead(502).end()
  }
  // Long polls and streams stay open for as long as both sides want.
  server.requestTimeout = 0
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `${tls === null ? 'http://127.0.0.1' : 'https://localhost'}:${(server.address() as net.AddressInfo).port}`,
    counts,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}

function passTo(socket: net.Socket, request: http.IncomingMessage, response: http.ServerResponse): void {
  const onward = http.request({
    method: request.method,
    path: request.url,
    createConnection: () => socket,
    headers: { ...request.headers, connection: 'close' }
  })
  onward.once('response', (answer) => {
    const { connection: _ours, ...headers } = answer.headers
    response.writeHead(answer.statusCode!, headers)
    answer.pipe(response)
    answer.once('error', () => request.socket.destroy())
  })
  onward.once('error', () => request.socket.destroy())
  response.once('close', () => onward.destroy())
  request.pipe(onward)
}

async function connectTo({ hostname, port }: URL): Promise<net.Socket | null> {
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_LIMIT_MS) })
    return socket
  } catch {
    socket.destroy()
    return null
  }
}
