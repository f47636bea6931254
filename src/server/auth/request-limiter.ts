import type { Clock } from '../../engine/runtime/clock.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

export interface RequestLimiter {
  /** Returns how many more requests the credential may make now. Throws TOO_MANY_REQUESTS with `retryAfterSeconds`. */
  charge(credential: string, cost?: number): number
  /** Maximum number of requests at once. */
  readonly burst: number
}

/** Programs send bursts: up to this many seconds' worth is allowed at once. */
const BURST_SECONDS = 4
/** Bounds memory use; there are only as many credentials as users and browsers. */
const MAX_CREDENTIALS = 2_000

/**
 * Limits requests per credential with a token bucket that holds four seconds' worth. It stops runaway programs, not
 * attackers: those have no credential. 0: no limit.
 */
export function createRequestLimiter(options: { clock: Clock; perSecond: number }): RequestLimiter {
  const { clock, perSecond } = options
  const burst = perSecond * BURST_SECONDS
  const buckets = new Map<string, { left: number; atMs: number }>()
  return {
    burst,
    charge(credential, cost = 1) {
      if (perSecond === 0) return Number.POSITIVE_INFINITY
      const nowMs = clock.monotonicMs()
      const bucket = buckets.get(credential) ?? { left: burst, atMs: nowMs }
      bucket.left = Math.min(burst, bucket.left + ((nowMs - bucket.atMs) / 1000) * perSecond)
      bucket.atMs = nowMs
      if (buckets.size >= MAX_CREDENTIALS && !buckets.has(credential)) buckets.clear()
      buckets.set(credential, bucket)
      // A request that costs more than the burst is accepted when the bucket is full, and its tokens are owed.
      if (bucket.left < Math.min(cost, burst)) {
        const retryAfterSeconds = Math.ceil((Math.min(cost, burst) - bucket.left) / perSecond)
        throw new ScrapdeckError(
          'TOO_MANY_REQUESTS',
          `Rate limit of ${perSecond} requests per second exceeded. Retry in ${retryAfterSeconds} s, and send many jobs in one request (POST /api/v1/jobs/bulk)`,
          { data: { retryAfterSeconds } }
        )
      }
      bucket.left -= cost
      return Math.max(0, Math.floor(bucket.left))
    }
  }
}
