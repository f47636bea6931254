import type { Clock } from '../../runtime/clock.ts'

/** Allows `burst` requests together, then `perSecond`. */
export interface BucketRule {
  burst: number
  perSecond: number
}

export interface Bucket {
  left: number
  atMs: number
}

export interface Taken {
  isTaken: boolean
  left: number
}

/** The maximum time for which one large request can delay a client's other requests. */
export const MAX_DEBT_SECONDS = 60

/**
 * Charges a request that costs as much as `cost` ordinary ones. A null bucket is full. A request that costs more
 * than the burst is accepted when the bucket is full, and leaves a debt. A refused request costs nothing. The cache
 * has the same rule in TAKE (redis/scripts.ts); a test compares them.
 */
export function takeFrom(
  bucket: Bucket | null,
  rule: BucketRule,
  { nowMs, cost }: { nowMs: number; cost: number }
): { bucket: Bucket; taken: Taken } {
  const filled = fill(bucket, rule, nowMs)
  const isTaken = filled.left >= Math.min(cost, rule.burst)
  const left = isTaken ? Math.max(filled.left - cost, -MAX_DEBT_SECONDS * rule.perSecond) : filled.left
  return { bucket: { left, atMs: filled.atMs }, taken: { isTaken, left } }
}

/** A bucket's time never goes back, even if a clock (another engine's, or a cache's after a failover) is behind. */
function fill(bucket: Bucket | null, { burst, perSecond }: BucketRule, nowMs: number): Bucket {
  if (bucket === null) return { left: burst, atMs: nowMs }
  const atMs = Math.max(nowMs, bucket.atMs)
  return { left: Math.min(burst, bucket.left + ((atMs - bucket.atMs) / 1000) * perSecond), atMs }
}

export function secondsUntil(cost: number, { burst, perSecond }: BucketRule, left: number): number {
  return Math.ceil((Math.min(cost, burst) - left) / perSecond)
}

const MAX_BUCKETS = 10_000

export class TokenBuckets {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  take(client: string, rule: BucketRule, cost: number): Taken {
    const before = this.#buckets.get(client) ?? null
    const { bucket, taken } = takeFrom(before, rule, { nowMs: this.#clock.monotonicMs(), cost })
    if (before === null && this.#buckets.size >= MAX_BUCKETS) this.#forgetQuietest()
    this.#buckets.set(client, bucket)
    return taken
  }

  /** Forgets half of the clients at once, so that a flood of new clients does not cause a sort for each. */
  #forgetQuietest(): void {
    const byLastRequest = [...this.#buckets].sort(([, one], [, other]) => one.atMs - other.atMs)
    for (const [client] of byLastRequest.slice(0, MAX_BUCKETS / 2)) this.#buckets.delete(client)
  }
}
