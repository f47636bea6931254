import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LINKS_MAX, type SharedCache, SESSIONS_MAX } from '../shared-cache.ts'
import { type Bucket, takeFrom } from '../token-bucket.ts'

export interface CacheUnderTest {
  cache: SharedCache
  /** Another engine on the same data. */
  other: SharedCache
  advanceBy(durationMs: number): void
  remove(): Promise<void> | void
}

const RULE = { burst: 4, perSecond: 2 }
const hash = (name: string | number) => String(name).padStart(64, '0')

/** What every shared cache must do. Each test gets an empty cache with two engines. */
export function describeCache(
  name: string,
  open: () => Promise<CacheUnderTest>,
  { stories }: { stories: number }
): void {
  describe(name, () => {
    let it: CacheUnderTest
    beforeEach(async () => {
      it = await open()
    })
    afterEach(() => it.remove())

    test('limits the requests of a client on all engines together', async () => {
      const take = (cache: SharedCache, client = 'a') => cache.take({ limit: 'api', client }, RULE, 1)
      for (const cache of [it.cache, it.other, it.cache, it.other]) expect((await take(cache))?.isTaken).toBe(true)
      expect(await take(it.cache)).toEqual({ isTaken: false, left: 0 })
      expect(await take(it.other, 'b')).toEqual({ isTaken: true, left: 3 })
      expect(await it.other.take({ limit: 'open', client: 'a' }, RULE, 1)).toEqual({ isTaken: true, left: 3 })
      it.advanceBy(500)
      expect(await take(it.other)).toEqual({ isTaken: true, left: 0 })
      expect((await take(it.cache))?.isTaken).toBe(false)
    })

    test('never lets more requests through than the limit, however many engines ask at the same moment', async () => {
      const asked = Array.from({ length: 40 }, (_, at) =>
        (at % 2 === 0 ? it.cache : it.other).take({ limit: 'api', client: 'a' }, RULE, 1)
      )
      expect((await Promise.all(asked)).filter((taken) => taken?.isTaken).length).toBe(4)
    })

    test('follows the rule of token-bucket.ts to the last digit', async () => {
      const rules = fc.record({
        burst: fc.integer({ min: 1, max: 50 }),
        perSecond: fc.double({ min: 0.01, max: 500, noNaN: true })
      })
      const steps = fc.array(
        fc.record({ afterMs: fc.double({ min: 0, max: 20_000, noNaN: true }), cost: fc.integer({ min: 1, max: 200 }) }),
        { minLength: 1, maxLength: 12 }
      )
      let story = 0
      await fc.assert(
        fc.asyncProperty(rules, steps, async (rule, all) => {
          const client = `story ${(story += 1)}`
          let bucket: Bucket | null = null
          let nowMs = 0
          for (const { afterMs, cost } of all) {
            // Rounded like a test's clock, because the cache and the test must compute with the same times.
            const stepMs = Math.round(afterMs)
            it.advanceBy(stepMs)
            nowMs += stepMs
            const expected = takeFrom(bucket, rule, { nowMs, cost })
            bucket = expected.bucket
            const taken = await it.cache.take({ limit: 'api', client }, rule, cost)
            expect(taken?.isTaken).toBe(expected.taken.isTaken)
            expect(taken?.left).toBeCloseTo(expected.taken.left, 6)
          }
        }),
        { numRuns: stories }
      )
    })

    test('counts failed logins for each limit and client, and forgets them after the window', async () => {
      const count = async (cache: SharedCache, client = 'a', limit = 'form') =>
        (await cache.countFailure({ limit, client }, 60_000))?.count
      expect(await count(it.cache)).toBe(1)
      expect(await count(it.other)).toBe(2)
      expect(await count(it.cache, 'b')).toBe(1)
      expect(await count(it.cache, 'a', 'basic')).toBe(1)
      const third = await it.cache.countFailure({ limit: 'form', client: 'a' }, 60_000)
      expect(third!.count).toBe(3)
      expect(third!.leftMs).toBeGreaterThan(0)
      expect(third!.leftMs).toBeLessThanOrEqual(60_000)
    })

    test('a link works once, on the first engine that uses it, within its time', async () => {
      expect(await it.cache.addLink(hash(1), 1_000)).toBe(true)
      expect(await it.other.hasLink(hash(1))).toBe(true)
      const taken = await Promise.all([it.cache.takeLink(hash(1)), it.other.takeLink(hash(1))])
      expect(taken.filter(Boolean)).toHaveLength(1)
      expect(await it.cache.hasLink(hash(1))).toBe(false)
      await it.cache.addLink(hash(2), 1_000)
      it.advanceBy(1_000)
      expect(await it.other.hasLink(hash(2))).toBe(false)
      expect(await it.other.takeLink(hash(2))).toBe(false)
      await it.cache.addLink(hash(3), 1_000)
      await it.other.dropLinks()
      expect(await it.cache.takeLink(hash(3))).toBe(false)
    })

    test('keeps the newest links', async () => {
      const added: Promise<unknown>[] = []
      for (let at = 0; at <= LINKS_MAX; at += 1) {
        added.push(it.cache.addLink(hash(at), 600_000))
        it.advanceBy(1)
      }
      await Promise.all(added)
      expect([await it.other.hasLink(hash(0)), await it.other.hasLink(hash(1))]).toEqual([false, true])
      expect(await it.other.hasLink(hash(LINKS_MAX))).toBe(true)
    })

    test('a session is valid on all engines until one of them ends it, or it expires', async () => {
      await it.cache.addSession(hash('a'), 10_000)
      await it.other.addSession(hash('b'), 20_000)
      const valid = (cache: SharedCache) => cache.haveSessions(['a', 'b', 'c'].map(hash))
      expect(await valid(it.other)).toEqual([true, true, false])
      it.advanceBy(10_000)
      expect(await valid(it.cache)).toEqual([false, true, false])
      await it.cache.endSession(hash('b'))
      expect(await valid(it.other)).toEqual([false, false, false])
      await it.cache.addSession(hash('c'), 10_000)
      expect(await it.other.endSessions()).toBe(1)
      expect(await valid(it.cache)).toEqual([false, false, false])
      expect(await it.cache.endSessions()).toBe(0)
      expect(await it.cache.haveSessions([])).toEqual([])
    })

    test('keeps the newest sessions', async () => {
      const hashes = Array.from({ length: SESSIONS_MAX + 1 }, (_, at) => hash(at))
      const added: Promise<unknown>[] = []
      for (const one of hashes) {
        added.push(it.cache.addSession(one, 600_000))
        it.advanceBy(1)
      }
      await Promise.all(added)
      const valid = (await it.other.haveSessions(hashes))!
      expect(valid.filter(Boolean)).toHaveLength(SESSIONS_MAX)
      expect(valid[0]).toBe(false)
    })

    test('returns responses as they were written, short and long, and the last one of a key', async () => {
      expect(await it.cache.readAnswer('k')).toBeUndefined()
      const bodies = [Buffer.alloc(0), Buffer.from('{"a": 1}'), Buffer.alloc(200_000, 'scrapy '), noise(50_000)]
      for (const [position, body] of bodies.entries()) {
        expect(await it.cache.writeAnswer('k', { position, body })).toBe(true)
        expect(await it.other.readAnswer('k')).toEqual({ position, body })
      }
      expect(await it.other.readAnswer('other')).toBeUndefined()
    })

    test('refuses responses above its limit, and stores those of exactly that size', async () => {
      expect(await it.cache.writeAnswer('k', { position: 1, body: noise(1_000_001) })).toBe(false)
      expect(await it.other.readAnswer('k')).toBeUndefined()
      const largest = noise(1_000_000)
      expect(await it.cache.writeAnswer('k', { position: 2, body: largest })).toBe(true)
      expect((await it.other.readAnswer('k'))?.body.equals(largest)).toBe(true)
    })
  })
}

export function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = 12_345
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes
}
