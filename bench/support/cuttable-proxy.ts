import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'

export interface CuttableProxy {
  port: number
  /** Stops all bytes in both directions until `heal`, on new connections too. Neither side notices. */
  cut(): void
  heal(): void
  stop(): void
}

export async function startCuttableProxy(targetPort: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = net.createServer((inside) => {
    const outside = net.connect(targetPort, '127.0.0.1')
    for (const [from, to] of [
      [inside, outside],
      [outside, inside]
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('data', (bytes) => void to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        if (!isCut) to.destroy()
      })
      if (isCut) from.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    heal() {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }
}
