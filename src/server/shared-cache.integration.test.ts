import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openRedisCache, type RedisCache } from '../engine/cluster/cache/redis/redis-cache.ts'
import { type RedisServer, startRedis, whyNoRedis } from '../engine/cluster/cache/testing/start-redis.ts'
import { createEngine } from '../engine/index.ts'
import { DEFAULT_ANSWER_LIMITS, parseCacheAddress } from '../engine/runtime/cache-address.ts'
import { systemClock } from '../engine/runtime/clock.ts'
import { silentLogger } from '../engine/runtime/logger.ts'
import { until } from '../engine/testing/until.ts'
import { perSecond } from './limits.ts'
import { listen } from './listen.ts'
import { createFakeEngine } from './testing/fake-engine.ts'
import { basic, makeTestDirectory, openTestService, RIGHT } from './testing/test-app.ts'

/** Longer time limits, because this machine can be busy with other tests. */
const PATIENT = { timeoutMs: 2_000, slowMs: 2_000 }

describe.skipIf(whyNoRedis() !== null)('two services on a real Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis(['--maxmemory', '50mb', '--maxmemory-policy', 'volatile-ttl'])
  })
  afterAll(() => server.stop())

  async function openOne(rateLimits = {}): Promise<{ address: string; cache: RedisCache }> {
    const engine = createFakeEngine()
    const cache = await openRedisCache({
      address: parseCacheAddress(server.url),
      answers: DEFAULT_ANSWER_LIMITS,
      credentials: engine.credentials,
      origin: { position: async () => 0, readIdentity: async () => 'one', renewIdentity: async () => 'other' },
      clock: systemClock,
      logger: silentLogger,
      limits: PATIENT
    })
    onTestFinished(() => cache.stop())
    await until('the cache', () => !cache.isAway, Boolean)
    const { service } = await openTestService({ rateLimits }, Object.assign(engine, { cache }))
    return { address: service.address, cache }
  }
  const statusOf = async (address: string, headers: Record<string, string>) =>
    (await fetch(`${address}/api/v1/jobs`, { headers })).status

  it('share sessions, login links and rate limits, across the loss and return of the server', async () => {
    const [one, other] = [await openOne({ api: perSecond(50) }), await openOne({ api: perSecond(50) })]
    const link = await (
      await fetch(`${one.address}/ui/link`, { method: 'POST', headers: { authorization: RIGHT } })
    ).text()
    const login = await fetch(`${other.address}${link}`, { redirect: 'manual' })
    const value = login.headers.get('set-cookie')!.split(';', 1)[0]!.split('=')[1]!
    const cookieFor = (address: string) => ({ cookie: `scrapdeck_session_${new URL(address).port}=${value}` })
    const valid = () => Promise.all([one, other].map(({ address }) => statusOf(address, cookieFor(address))))
    expect(await valid()).toEqual([200, 200])
    expect((await fetch(`${one.address}${link}`, { redirect: 'manual' })).status).toBe(403)

    const remaining = async (address: string) =>
      Number(
        (await fetch(`${address}/api/v1/jobs`, { headers: { authorization: RIGHT } })).headers.get(
          'ratelimit-remaining'
        )
      )
    const [first, second] = [await remaining(one.address), await remaining(other.address)]
    expect(second).toBeLessThanOrEqual(first)

    await server.kill()
    await until('the loss', () => one.cache.isAway && other.cache.isAway, Boolean)
    expect(await valid()).toEqual([200, 200])
    await server.start()
    await until('the return', () => !one.cache.isAway && !other.cache.isAway, Boolean)
    // Redis kept its sessions only in memory.
    await until('the loss of the session', valid, (statuses) => statuses.every((status) => status === 401))
  })

  it('end a session that is receiving events from another engine within two seconds', async () => {
    const [one, other] = [await openOne(), await openOne()]
    const post = { method: 'POST', headers: { authorization: RIGHT } }
    const link = await (await fetch(`${one.address}/ui/link`, post)).text()
    const login = await fetch(`${one.address}${link}`, { redirect: 'manual' })
    const value = login.headers.get('set-cookie')!.split(';', 1)[0]!.split('=')[1]!
    const cookie = `scrapdeck_session_${new URL(other.address).port}=${value}`
    const rpc = { 'content-type': 'application/json', cookie }
    const stream = await fetch(`${other.address}/api/rpc/events/subscribe`, {
      method: 'POST',
      headers: rpc,
      body: '{"json":{}}'
    })
    expect(stream.status).toBe(200)
    const ended = (async () => {
      for await (const _bytes of stream.body!);
    })().then(
      () => 'ended',
      () => 'cut off'
    )
    const beganAt = performance.now()
    await fetch(`${one.address}/api/v1/system/logout`, post)
    expect(await ended).toBe('cut off')
    // Two seconds, plus the delay of a busy machine.
    expect(performance.now() - beganAt).toBeLessThan(4_000)
  })

  it('an engine counts its responses from the cache, continues without it, and reports it as a problem', async () => {
    const own = await startRedis()
    const directory = makeTestDirectory()
    const open = () =>
      createEngine({
        dataDirectory: directory,
        host: 'service',
        scrapdeckVersion: 'test',
        localSlots: 0,
        resourcesDirectory: makeTestDirectory(),
        credentials: { username: 'scrapdeck', password: 'p' },
        cache: { address: parseCacheAddress(own.url), answers: DEFAULT_ANSWER_LIMITS }
      })
    const start = async () => {
      const engine = await open()
      const service = await listen({
        engine,
        dataDirectory: directory,
        uiDirectory: makeTestDirectory(),
        docsDirectory: makeTestDirectory(),
        bindAddress: '127.0.0.1',
        port: 0,
        allowedHosts: [],
        logger: silentLogger
      })
      const headers = { authorization: basic('scrapdeck', 'p') }
      const ask = async (path: string) => (await fetch(`${service.address}${path}`, { headers })).text()
      const isUp = async () => /^scrapdeck_shared_cache_up\{.+\} 1$/m.test(await ask('/metrics'))
      return { engine, service, ask, isUp }
    }
    const first = await start()
    try {
      await until('the cache', first.isUp, Boolean)
      const answer = await first.ask('/listjobs.json')
      expect(JSON.parse(answer)).toMatchObject({ status: 'ok', pending: [] })
      await first.ask('/listjobs.json')
      const figure = async (name: string) =>
        Number(new RegExp(`^scrapdeck_${name} (\\d+)$`, 'm').exec(await first.ask('/metrics'))?.[1])
      expect(await figure('cache_misses_total\\{cache="scrapyd_shared"\\}')).toBeGreaterThanOrEqual(1)
      expect(await figure('cache_hits_total\\{cache="scrapyd_shared"\\}')).toBeGreaterThanOrEqual(1)
      await own.kill()
      await until('the loss', first.isUp, (isUp) => !isUp)
      expect(await first.ask('/listjobs.json')).toBe(answer)
      const problems = async () => (await first.ask('/api/v1/system')).includes('The shared cache is unavailable')
      expect(await problems()).toBe(true)
      await own.start()
      await until('the return', first.isUp, Boolean)
      expect(await problems()).toBe(false)
    } finally {
      await first.service.stop()
      await first.engine.stop()
      await own.stop()
    }
  })
})
