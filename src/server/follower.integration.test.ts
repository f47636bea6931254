import { createServer, request } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { silentLogger } from '../engine/runtime/logger.ts'
import { PEER_HEADER } from './auth/peer-requests.ts'
import { createFollower } from './follower.ts'

test('a request that another engine forwards to one that leads no more is answered with NO_LEADER', async () => {
  const server = createServer((asked, answer) => follower.answer(asked, answer)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const membership = {
    ...{ secret: 'of-the-engines', name: 'south', isConnected: () => true, isLeading: () => false },
    leaderAddress: () => `http://127.0.0.1:${port}`,
    change: async () => {}
  }
  const rules = { bindAddress: '127.0.0.1', port: () => port, allowedHosts: [], trustedProxies: [] }
  const follower = createFollower({ ...rules, membership, logger: silentLogger })
  const statusOf = async (headers: Record<string, string>) => {
    const asked = request({ port, host: '127.0.0.1', path: '/daemonstatus.json', headers }).end()
    const [response] = await once(asked, 'response')
    response.resume()
    return response.statusCode as number
  }
  try {
    const host = 'north.example:6800'
    expect(await statusOf({ host, [PEER_HEADER]: 'of-the-engines 10.0.0.1' })).toBe(503)
    // Whoever does not know the secret is a client like all others.
    expect(await statusOf({ host, [PEER_HEADER]: 'guessed 10.0.0.1' })).toBe(403)
    // This one's own request comes back to it, as nobody leads.
    expect(await statusOf({})).toBe(503)
  } finally {
    await follower.stop()
    server.close()
  }
})
