import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import { type Fault, FaultProxy } from './fault-proxy.ts'

const ANSWER = 'an answer of some length, so that half of it is not all of it'
const cleanUps: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function aNodeBehindAProxy() {
  const asked: string[] = []
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end(ANSWER))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUps.push(() => void server.close().closeAllConnections())
  const passed: string[] = []
  const proxy = new FaultProxy({
    targetPort: (server.address() as net.AddressInfo).port,
    random: createSeededRandom(1),
    onRequest: (line) => passed.push(line)
  })
  await proxy.start()
  cleanUps.push(() => proxy.stop())
  const ask = async (path = 'one', options: RequestInit = {}) => {
    const response = await fetch(`${proxy.url}${path}`, { headers: { connection: 'close' }, ...options })
    return response.text()
  }
  return { proxy, asked, passed, ask }
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    return `no failure: ${String(await promise)}`
  } catch (error) {
    const { code, name } = ((error as Error).cause ?? error) as { code?: unknown; name: string }
    return typeof code === 'string' ? code : name
  }
}

describe('a proxy in front of a node', () => {
  it('passes everything through when no fault is active, and reports the requests', async () => {
    const { ask, passed, proxy } = await aNodeBehindAProxy()
    expect(await ask('daemonstatus.json')).toBe(ANSWER)
    expect(await ask('schedule.json', { method: 'POST', body: 'x'.repeat(500_000) })).toBe(ANSWER)
    expect(passed).toEqual(['GET /daemonstatus.json', 'POST /schedule.json'])
    expect(proxy.hits).toBe(0)
  })

  it.each<Fault>([
    { kind: 'latency', direction: 'up', delayMs: 20, jitterMs: 5 },
    { kind: 'slicer', direction: 'down', sliceBytes: 10, delayMs: 1 }
  ])('only slows down: %j', async (fault) => {
    const { ask, proxy } = await aNodeBehindAProxy()
    await proxy.apply(fault)
    expect(await ask()).toBe(ANSWER)
    expect(proxy.hits).toBe(1)
  })

  it.each<[Fault, string, number]>([
    [{ kind: 'reset', direction: 'up', afterBytes: 10 }, 'ECONNRESET', 0],
    [{ kind: 'reset', direction: 'down', afterBytes: 10 }, 'ECONNRESET', 1],
    [{ kind: 'half_reply' }, 'UND_ERR_SOCKET', 1],
    [{ kind: 'down' }, 'ECONNREFUSED', 0]
  ])('breaks the connection: %j', async (fault, failure, arrived) => {
    const { ask, asked, proxy } = await aNodeBehindAProxy()
    await proxy.apply(fault)
    expect(await failureOf(ask())).toBe(failure)
    expect(asked).toHaveLength(arrived)
    expect(proxy.hits).toBeGreaterThan(0)
    await proxy.clear()
    expect(await ask()).toBe(ANSWER)
  })

  it.each([
    ['up', 0],
    ['down', 1]
  ] as const)(
    'swallows what goes %s, and breaks such a connection when the fault is cleared',
    async (direction, arrived) => {
      const { ask, asked, proxy } = await aNodeBehindAProxy()
      await proxy.apply({ kind: 'black_hole', direction })
      const answer = failureOf(ask())
      await expect.poll(() => proxy.hits).toBe(1)
      await expect.poll(() => asked.length).toBe(arrived)
      await proxy.clear()
      expect(await answer).toBe('ECONNRESET')
      expect(asked).toHaveLength(arrived)
    }
  )

  it('delivers a POST late, after its sender has gone, and lets other requests pass', async () => {
    const { ask, asked, proxy } = await aNodeBehindAProxy()
    await proxy.apply({ kind: 'late' })
    const sender = new AbortController()
    const post = failureOf(ask('schedule.json', { method: 'POST', body: 'a=1', signal: sender.signal }))
    await expect.poll(() => proxy.isHolding).toBe(true)
    expect(await ask('listjobs.json')).toBe(ANSWER)
    sender.abort()
    expect(await post).toBe('AbortError')
    expect(asked).toEqual(['GET /listjobs.json'])
    await proxy.clear()
    await expect.poll(() => asked).toEqual(['GET /listjobs.json', 'POST /schedule.json'])
  })

  it('refuses connections while its machine is away, whatever the fault', async () => {
    const { ask, proxy } = await aNodeBehindAProxy()
    await proxy.setNodeAway(true)
    expect(await failureOf(ask())).toBe('ECONNREFUSED')
    await proxy.apply({ kind: 'half_reply' })
    await proxy.clear()
    expect(await failureOf(ask())).toBe('ECONNREFUSED')
    await proxy.setNodeAway(false)
    expect(await ask()).toBe(ANSWER)
  })
})
