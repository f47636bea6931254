import { MemoryCache } from './memory-cache.ts'
import { describeCache } from './conformance.ts'

describeCache(
  'the cache in memory, which tests use',
  async () => {
    let nowMs = 0
    const cache = new MemoryCache({ monotonicMs: () => nowMs }, { maxBytes: 1_000_000, ttlMs: 60_000 })
    const advanceBy = (durationMs: number) => void (nowMs += durationMs)
    return { cache, other: cache, advanceBy, remove() {} }
  },
  { stories: 100 }
)
