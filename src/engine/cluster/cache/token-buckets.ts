import type { Clock } from '../../runtime/clock.ts'
import { type Bucket, type BucketRule, takeFrom, type Taken } from './token-bucket.ts'

/** Bounds memory use: with more clients, the longest idle ones are forgotten. */
const MAX_BUCKETS = 10_000

/** The buckets of one rule, in this engine's memory. */
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

  /** Forgets half of the clients at once, so that a flood of new ones does not sort the map each time. */
  #forgetQuietest(): void {
    const byLastRequest = [...this.#buckets].sort(([, one], [, other]) => one.atMs - other.atMs)
    for (const [client] of byLastRequest.slice(0, MAX_BUCKETS / 2)) this.#buckets.delete(client)
  }
}
