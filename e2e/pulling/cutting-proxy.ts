import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'

/**
 * An HTTP proxy (`GET http://…`, as HTTP_PROXY requires) that loses requests or, after the request was executed,
 * responses.
 */
export interface CuttingProxy {
  url: string
  counts: Map<string, number>
  /** Loses the next `count` requests whose paths end with `path`, or the responses to them. */
  lose(what: 'request' | 'answer', path: string, count: number): void
  /** Cuts every nth connection, alternately before the request and before the response. 0 cuts none. */
  cutEvery: number
  /** Whether the proxy never responds, like a firewall that drops packets. */
  isBlackHole: boolean
  lost: number
  close(): Promise<void>
}

export async function startCuttingProxy(): Promise<CuttingProxy> {
  const losses: { what: 'request' | 'answer'; path: string; left: number }[] = []
  const sockets = new Set<net.Socket>()
  let requests = 0
  const takeLoss = (path: string): 'request' | 'answer' | null => {
    const loss = losses.find((one) => one.left > 0 && path.endsWith(one.path))
    if (loss !== undefined) {
      loss.left -= 1
      return loss.what
    }
    requests += 1
    if (proxy.cutEvery === 0 || requests % proxy.cutEvery !== 0) return null
    return requests % (2 * proxy.cutEvery) === 0 ? 'request' : 'answer'
  }
  const server = http.createServer((request, response) => {
    const target = new URL(request.url!)
    const loss = takeLoss(target.pathname)
    if (loss !== null) proxy.lost += 1
    if (proxy.isBlackHole) return
    if (loss === 'request') return request.socket.destroy()
    proxy.counts.set(target.pathname, (proxy.counts.get(target.pathname) ?? 0) + 1)
    const onward = http.request(
      target,
      { method: request.method, headers: { ...request.headers, connection: 'close' }, agent: false },
      (answer) => {
        if (loss === 'answer') {
          answer.resume().once('end', () => request.socket.destroy())
          return
        }
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
        answer.once('aborted', () => request.socket.destroy())
      }
    )
    onward.once('error', () => request.socket.destroy())
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    counts: new Map(),
    lose: (what, path, count) => void losses.push({ what, path, left: count }),
    cutEvery: 0,
    isBlackHole: false,
    lost: 0,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
  return proxy
}
