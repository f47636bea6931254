import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pickLength } from '../../../../../scripts/test-length.mjs'
import { DEFAULT_ANSWER_LIMITS, parseCacheAddress } from '../../../runtime/cache-address.ts'
import { systemClock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { freePort } from '../../../testing/server-process.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { until } from '../../../testing/until.ts'
import { describeCache, noise } from '../testing/conformance.ts'
import { type RedisServer, startRedis, startSlowProxy, whyNoRedis } from '../testing/start-redis.ts'
import { openRedisCache, type RedisCache, type RedisCacheOptions } from './redis-cache.ts'

const CREDENTIALS = { username: 'scrapdeck', password: 'correct horse' }
const HASH = 'a'.repeat(64)
const RULE = { burst: 4, perSecond: 2 }
const take = (cache: RedisCache) => cache.take({ limit: 'api', client: 'a' }, RULE, 1)

function createOrigin(position = 10) {
  const origin = {
    at: position,
    identity: 'one',
    position: async () => origin.at,
    readIdentity: async () => origin.identity,
    renewIdentity: async () => (origin.identity = 'renewed')
  }
  return origin
}

function keepLog() {
  const lines: string[] = []
  const keep = (facts: object, text: string) => lines.push(`${text} ${JSON.stringify(facts)}`)
  const logger: Logger = { debug() {}, info: keep, warn: keep, error: keep }
  return { lines, logger }
}

describe.skipIf(whyNoRedis() !== null)('a cache on a real Redis', () => {
  let server: RedisServer
  let namespaces = 0
  const opened: RedisCache[] = []
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(async () => {
    for (const cache of opened) cache.stop()
    await server.stop()
  })

  async function open(changes: Partial<RedisCacheOptions> & { url?: string } = {}): Promise<RedisCache> {
    const { url = `${server.url}?namespace=test_${namespaces}`, ...others } = changes
    const cache = await openRedisCache({
      address: parseCacheAddress(url),
      answers: { ...DEFAULT_ANSWER_LIMITS, maxBytes: 1_000_000 },
      origin: createOrigin(),
      credentials: CREDENTIALS,
      clock: systemClock,
      logger: keepLog().logger,
      limits: { timeoutMs: 2_000, slowMs: 2_000 },
      ...others
    })
    opened.push(cache)
    return cache
  }
  const openUp = async (changes?: Parameters<typeof open>[0]) => {
    const cache = await open(changes)
    await until('the cache', () => !cache.isAway, Boolean)
    return cache
  }
  const freshNamespace = () => void (namespaces += 1)

  describeCache(
    'RedisCache',
    async () => {
      freshNamespace()
      let nowMs = 1_800_000_000_000
      const timeThere = () => nowMs
      const [cache, other] = [await openUp({ timeThere }), await openUp({ timeThere })]
      return {
        cache,
        other,
        advanceBy: (durationMs: number) => void (nowMs += durationMs),
        remove: () => [cache, other].forEach((one) => one.stop())
      }
    },
    { stories: pickLength(30, 500) }
  )

  test('fills buckets by the clock of the server', async () => {
    freshNamespace()
    const cache = await openUp()
    for (let at = 0; at < 4; at += 1) await take(cache)
    expect((await take(cache))?.isTaken).toBe(false)
    await until('a token', async () => (await take(cache))?.isTaken, Boolean)
  })

  test('separates namespaces and engines on other databases', async () => {
    freshNamespace()
    const here = await openUp()
    await here.addSession(HASH, 10_000)
    await here.writeAnswer('k', { position: 1, body: Buffer.from('x') })
    const elsewhere = await openUp({ url: `${server.url}?namespace=elsewhere` })
    expect(await elsewhere.haveSessions([HASH])).toEqual([false])
    const origin = { ...createOrigin(), readIdentity: async () => 'another database' }
    expect(await (await openUp({ origin })).readAnswer('k')).toBeUndefined()
    expect((await (await openUp()).readAnswer('k'))?.position).toBe(1)
  })

  test('returns no cached response that is newer than a restored database', async () => {
    freshNamespace()
    const before = await openUp()
    await before.writeAnswer('k', { position: 10, body: Buffer.from('of the lost future') })
    before.stop()
    const origin = createOrigin(5)
    const restored = await openUp({ origin })
    expect(origin.identity).toBe('renewed')
    origin.at = 10
    expect(await restored.readAnswer('k')).toBeUndefined()
  })

  test('stores only hashes, and no credentials', async () => {
    freshNamespace()
    const cache = await openUp()
    await cache.addSession(HASH, 10_000)
    const keys = await redisCli(server.port, ['KEYS', `*test_${namespaces}*`])
    const values = await redisCli(server.port, ['GET', `{test_${namespaces}}:credentials`])
    expect(keys).toContain('sessions')
    expect(values).toMatch(/[0-9a-f]{64}/)
    expect(keys + values).not.toMatch(/scrapdeck|horse/)
  })

  test('does not let a writer without the password create a session or a login link', async () => {
    freshNamespace()
    const cache = await openUp()
    const [own, forged] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string]
    await cache.addSession(own, 60_000)
    await cache.addLink(own, 60_000)
    const inCache = (await redisCli(server.port, ['KEYS', `{test_${namespaces}}:*`])).split(/\s+/)
    const sets = inCache.filter((key) => /:(?:sessions|links:.*)$/.test(key))
    expect(sets).toHaveLength(2)
    for (const key of sets) await redisCli(server.port, ['ZADD', key, '9999999999999', forged])
    expect(await cache.haveSessions([own, forged])).toEqual([true, false])
    expect([await cache.hasLink(own), await cache.hasLink(forged)]).toEqual([true, false])
    expect([await cache.takeLink(forged), await cache.takeLink(own)]).toEqual([false, true])
  })

  test('shows no session to engines with other credentials; an engine that starts with new credentials ends all sessions', async () => {
    freshNamespace()
    const old = await openUp()
    await old.addSession(HASH, 10_000)
    await old.addLink(HASH, 10_000)
    const changed = await openUp({ credentials: { ...CREDENTIALS, password: 'new' } })
    expect(await changed.haveSessions([HASH])).toEqual([false])
    expect(await changed.hasLink(HASH)).toBe(false)
    expect(await old.haveSessions([HASH])).toBeNull()
    expect(await old.addSession(HASH, 10_000)).toBeNull()
    const back = await openUp()
    expect(await back.haveSessions([HASH])).toEqual([false])
  })

  test.each([
    ['too long', Buffer.alloc(1_200_000, 1)],
    ['not ours', Buffer.from('hello')],
    ['damaged', Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1, 2, 3])]
  ])('ignores an entry that is %s', async (_what, bytes) => {
    freshNamespace()
    const cache = await openUp()
    await redisCli(server.port, ['SET', `{test_${namespaces}}:answer:one:k`, bytes])
    expect(await cache.readAnswer('k')).toBeUndefined()
  })

  test('reports a wrong password, or a port where nothing listens, once, and the engine continues', async () => {
    const locked = await startRedis(['--requirepass', 'secret'])
    try {
      const { lines, logger } = keepLog()
      const wrong = await open({ url: locked.url.replace('//', '//:wrong@'), logger })
      await until('a reason', () => wrong.state().reason, Boolean)
      expect(wrong.state()).toMatchObject({ isUp: false, reason: 'it rejects the user name or password' })
      expect(await take(wrong)).toBeNull()
      const right = await openUp({ url: locked.url.replace('//', '//:secret@') })
      expect((await take(right))?.isTaken).toBe(true)
      await new Promise((resolve) => setTimeout(resolve, 1_200))
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toMatch(/wrong@|secret/)
      const nobody = await open({ url: 'redis://127.0.0.1:1' })
      await until('a reason', () => nobody.state().reason, Boolean)
      expect(nobody.state().reason).toBe('nothing listens at its address')
    } finally {
      await locked.stop()
    }
  })

  test('uses a server over TLS if its certificate is trusted, and reports it otherwise', async () => {
    await using directory = await makeTemporaryDirectory()
    const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(directory.path, name)) as [
      string,
      string
    ]
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const request = ['req', '-x509', ...curve, '-keyout', key, '-out', certificate, ...subject]
    execFileSync('openssl', request, { stdio: 'ignore' })
    const port = await freePort()
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate]
    const own = await startRedis(['--tls-port', String(port), ...files, '--tls-auth-clients', 'no'])
    const url = `rediss://localhost:${port}`
    const trusted = getCACertificates()
    try {
      const stranger = await open({ url })
      await until('a reason', () => stranger.state().reason, Boolean)
      expect(stranger.state()).toMatchObject({
        isUp: false,
        reason: expect.stringMatching(/^its TLS certificate is not trusted .*NODE_EXTRA_CA_CERTS/)
      })
      setDefaultCACertificates([...trusted, readFileSync(certificate, 'utf8')])
      expect((await take(await openUp({ url })))?.isTaken).toBe(true)
    } finally {
      setDefaultCACertificates(trusted)
      await own.stop()
    }
  })

  test('uses a server again that was killed and comes back, and its lost sessions are invalid', async () => {
    const own = await startRedis()
    try {
      const { lines, logger } = keepLog()
      const cache = await openUp({ url: own.url, logger })
      await cache.addSession(HASH, 10_000)
      await own.kill()
      await until('the loss', () => cache.isAway, Boolean)
      expect(await cache.haveSessions([HASH])).toBeNull()
      await own.start()
      await until('the return', () => !cache.isAway, Boolean)
      expect(await cache.haveSessions([HASH])).toEqual([false])
      const told = lines.filter((line) => line.includes('shared cache is'))
      expect(told.slice(-3).map((line) => (line.includes('is unavailable') ? 'unavailable' : 'in use'))).toEqual([
        'in use',
        'unavailable',
        'in use'
      ])
    } finally {
      await own.stop()
    }
  })

  test('delays only a few callers by the time limit if the server hangs, and none afterwards', async () => {
    const own = await startRedis()
    try {
      const cache = await openUp({ url: own.url, limits: { timeoutMs: 500, slowMs: 500, heartbeatMs: 60_000 } })
      own.pause()
      const beganAt = performance.now()
      for (let at = 0; at < 200; at += 1) expect(await take(cache)).toBeNull()
      expect(performance.now() - beganAt).toBeLessThan(10_000)
      expect(cache.calls()).toMatchObject({ timeout: 5, skipped: 195 })
      own.resume()
      await until('the return', () => !cache.isAway, Boolean)
      expect(await take(cache)).not.toBeNull()
    } finally {
      await own.stop()
    }
  })

  test('does not use a slow server until it is fast again', async () => {
    const proxy = await startSlowProxy(server.port)
    try {
      const url = `redis://127.0.0.1:${proxy.port}?namespace=slow`
      const cache = await openUp({ url, limits: { timeoutMs: 1_000, slowMs: 200 } })
      proxy.delayMs = 400
      for (let at = 0; at < 5; at += 1) await take(cache)
      expect(cache.isAway).toBe(true)
      expect(cache.state().reason).toMatch(/answers slowly|did not answer/)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      expect(cache.isAway).toBe(true)
      proxy.delayMs = 0
      await until('the return', () => !cache.isAway, Boolean)
    } finally {
      await proxy.stop()
    }
  })

  test('reports a wrong memory policy, and works without the entries that a full server refuses', async () => {
    const full = await startRedis(['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction'])
    try {
      const { lines, logger } = keepLog()
      const cache = await openUp({ url: full.url, logger })
      expect(lines.join()).toContain('noeviction')
      const body = noise(900_000)
      const fill = async () => {
        for (let at = 0; at < 8; at += 1) await cache.writeAnswer(`k${at}`, { position: 1, body })
        return cache.state().reason ?? ''
      }
      await until('the reason', fill, (reason) => reason.includes('memory is full'))
      expect(cache.calls().failed).toBeGreaterThan(0)
    } finally {
      await full.stop()
    }
  })
})

/** Sends one command over a separate connection, without the client under test. */
async function redisCli(port: number, words: (string | Buffer)[]): Promise<string> {
  const { connect } = await import('node:net')
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`*${words.length}\r\n`)
    for (const word of words.map((one) => Buffer.from(one))) {
      socket.write(`$${word.length}\r\n`)
      socket.write(word)
      socket.write('\r\n')
    }
    socket.once('data', (bytes) => {
      socket.destroy()
      resolve(String(bytes))
    })
    socket.once('error', reject)
  })
}
