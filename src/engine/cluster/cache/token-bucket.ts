import type { Clock } from '../../runtime/clock.ts'

/** `burst` requests at once; after that, `perSecond`. */
export interface BucketRule {
  burst: number
  perSecond: number
}

export interface Bucket {
  /** Negative: a debt for a request that cost more than the burst. */
  left: number
  atMs: number
}

/** The result of a request, and what is left in the bucket. */
export interface Taken {
  isTaken: boolean
  left: number
}

/** A client that sent one large request pays for it at most this long. */
export const MAX_DEBT_SECONDS = 60

/**
 * Charges a request that costs as much as `cost` ordinary ones. null: a new client, or one with a full bucket. A
 * request that costs more than the burst is accepted when the bucket is full, and leaves a debt. A refused request
 * costs nothing. The cache has the same rule in TAKE (redis/scripts.ts); a test compares them.
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

/** Time never goes back: the clock of another engine, or of a cache after a failover, may be behind. */
function fill(bucket: Bucket | null, { burst, perSecond }: BucketRule, nowMs: number): Bucket {
  if (bucket === null) return { left: burst, atMs: nowMs }
  const atMs = Math.max(nowMs, bucket.atMs)
  return { left: Math.min(burst, bucket.left + ((atMs - bucket.atMs) / 1000) * perSecond), atMs }
}

export function secondsUntil(cost: number, { burst, perSecond }: BucketRule, left: number): number {
  return Math.ceil((Math.min(cost, burst) - left) / perSecond)
}

/** With more clients, the longest idle ones are forgotten. */
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

  /** Forgets half of the clients at once, so that a flood of new ones does not cause a sort for each of them. */
  #forgetQuietest(): void {
    const byLastRequest = [...this.#buckets].sort(([, one], [, other]) => one.atMs - other.atMs)
    for (const [client] of byLastRequest.slice(0, MAX_BUCKETS / 2)) this.#buckets.delete(client)
  }
}
