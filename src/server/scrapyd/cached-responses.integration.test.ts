import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pickLength } from '../../../scripts/test-length.mjs'
import { openRedisCache } from '../../engine/cluster/cache/redis/redis-cache.ts'
import { type RedisServer, startRedis, whyNoRedis } from '../../engine/cluster/cache/testing/start-redis.ts'
import { DEFAULT_ANSWER_LIMITS, parseCacheAddress } from '../../engine/runtime/cache-address.ts'
import { systemClock } from '../../engine/runtime/clock.ts'
import { silentLogger } from '../../engine/runtime/logger.ts'
import { until } from '../../engine/testing/until.ts'
import { findWrongAnswer } from './testing/cached-responses.ts'

describe.skipIf(whyNoRedis() !== null)('cached responses on a real Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  test('engines with caches on one store respond like one without a cache', { timeout: 300_000 }, async () => {
    for (let seed = 1; seed <= pickLength(4, 100); seed += 1) {
      const cache = await openRedisCache({
        address: parseCacheAddress(`${server.url}?namespace=doors`),
        answers: { ...DEFAULT_ANSWER_LIMITS, compressFromBytes: 200 },
        origin: {
          position: async () => 0,
          readIdentity: async () => `story ${seed}`,
          renewIdentity: async () => `story ${seed} again`
        },
        credentials: { username: 'u', password: 'p' },
        clock: systemClock,
        logger: silentLogger,
        limits: { timeoutMs: 2_000, slowMs: 2_000 }
      })
      await until('the cache', () => !cache.isAway, Boolean)
      expect(await findWrongAnswer(seed, cache, { steps: 40 })).toBeNull()
      cache.stop()
      expect(cache.calls().ok).toBeGreaterThan(10)
    }
  })
})
