import type { Clock } from '../../engine/runtime/clock.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { RateLimit } from '../limits.ts'

/** What is left of a limit, as the headers of an answer say it. */
export interface Allowance {
  limit: number
  remaining: number
  /** Seconds until the whole limit is available again. */
  resetSeconds: number
}

/** Bounds memory use: with more clients, those that have been quiet longest are forgotten. */
const MAX_BUCKETS = 10_000
/** A client that sent one large request pays for it at most this long. */
const MAX_DEBT_SECONDS = 60

/** Limits the requests of each client with a token bucket. */
export class RequestLimiter {
  readonly #clock: Clock
  readonly #burst: number
  readonly #perSecond: number
  readonly #advice: string
  readonly #text: string
  readonly #buckets = new Map<string, { left: number; atMs: number }>()

  /** `advice`: what a client over the limit can do about it, as a clause after "Retry in 2 s". */
  constructor(options: { clock: Clock; limit: RateLimit; advice?: string }) {
    const { requests, windowSeconds, burst } = options.limit
    this.#clock = options.clock
    this.#burst = burst
    this.#perSecond = requests / windowSeconds
    this.#advice = options.advice ?? ''
    this.#text = `${requests} requests per ${windowSeconds === 1 ? 'second' : `${windowSeconds} s`}`
  }

  /**
   * Charges a request that costs as much as `cost` ordinary ones. Throws TOO_MANY_REQUESTS with `retryAfterSeconds`,
   * and then charges nothing. A request that costs more than the burst is accepted when the bucket is full; it then
   * owes the rest.
   */
  charge(client: string, cost = 1): void {
    const bucket = this.#fill(client)
    const needed = Math.min(cost, this.#burst)
    if (bucket.left < needed) {
      const retryAfterSeconds = Math.ceil((needed - bucket.left) / this.#perSecond)
      throw new ScrapdeckError(
        'TOO_MANY_REQUESTS',
        `Rate limit of ${this.#text} exceeded. Retry in ${retryAfterSeconds} s${this.#advice}.`,
        { data: { retryAfterSeconds } }
      )
    }
    bucket.left = Math.max(bucket.left - cost, -MAX_DEBT_SECONDS * this.#perSecond)
  }

  /** What the client has left now. */
  allowanceOf(client: string): Allowance {
    const { left } = this.#fill(client)
    return {
      limit: this.#burst,
      remaining: Math.max(0, Math.floor(left)),
      resetSeconds: Math.ceil((this.#burst - left) / this.#perSecond)
    }
  }

  #fill(client: string): { left: number; atMs: number } {
    const nowMs = this.#clock.monotonicMs()
    let bucket = this.#buckets.get(client)
    if (bucket === undefined) {
      bucket = { left: this.#burst, atMs: nowMs }
      if (this.#buckets.size >= MAX_BUCKETS) this.#forgetQuietest()
      this.#buckets.set(client, bucket)
      return bucket
    }
    bucket.left = Math.min(this.#burst, bucket.left + ((nowMs - bucket.atMs) / 1000) * this.#perSecond)
    bucket.atMs = nowMs
    return bucket
  }

  /** Forgets half of the clients at once, so that a flood of new ones does not sort the map each time. */
  #forgetQuietest(): void {
    const byLastRequest = [...this.#buckets].sort(([, one], [, other]) => one.atMs - other.atMs)
    for (const [client] of byLastRequest.slice(0, MAX_BUCKETS / 2)) this.#buckets.delete(client)
  }
}
