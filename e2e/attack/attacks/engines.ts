import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { silentLogger } from '../../../src/engine/runtime/logger.ts'
import { createLeaderProxy } from '../../../src/server/leader-proxy.ts'
import type { Attack } from '../attack.ts'
import { createAttacker } from '../attacker.ts'

const SECRET = 'the-secret-of-these-engines'

async function listen(answer: RequestListener): Promise<AsyncDisposable & { port: number }> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

export const engineAttacks: Attack[] = [
  {
    name: 'request lines that name another host, sent to an engine that follows',
    door: 'http',
    async run({ attacker }) {
      const caught: string[] = []
      await using other = await listen((request, response) => {
        caught.push(`${request.url} reached another host with ${Object.keys(request.headers).join(', ')}`)
        response.end()
      })
      let port = 0
      const proxy = createLeaderProxy({
        membership: {
          secret: SECRET,
          name: 'south',
          isConnected: () => true,
          isLeading: () => false,
          leaderAddress: () => attacker.address,
          leaderCertificate: () => null,
          change: async () => {}
        },
        bindAddress: '127.0.0.1',
        allowedHosts: [],
        certificate: null,
        trustedProxies: [],
        vouchingProxies: [],
        logger: silentLogger,
        port: () => port
      })
      try {
        await using front = await listen(proxy.handle)
        ;({ port } = front)
        const { send } = createAttacker(`http://127.0.0.1:${port}`)
        const host = `127.0.0.1:${other.port}`
        for (const path of [`//${host}/`, `///${host}/`, `/\\${host}/`, `http://${host}/`, `ftp://${host}/`]) {
          const { body } = await send({ path })
          if (body.includes(SECRET)) caught.push(`the answer to ${path} has the secret of the engines`)
        }
        return caught
      } finally {
        await proxy.stop()
      }
    }
  }
]
