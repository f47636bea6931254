import type { SharedCache } from '../../engine/cache/shared-cache.ts'
import { type BucketRule, secondsUntil, type Taken } from '../../engine/cache/token-bucket.ts'
import { TokenBuckets } from '../../engine/cache/token-buckets.ts'
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

/** What a request was charged; `refused`: it was over the limit, and was charged nothing. */
export interface Charged {
  allowance: Allowance
  refused: ScrapdeckError | null
}

/** Limits the requests of each client with a token bucket: of this engine, or of all engines on a shared cache. */
export class RequestLimiter {
  readonly #name: string
  readonly #rule: BucketRule
  readonly #own: TokenBuckets
  readonly #cache: SharedCache | null
  readonly #advice: string
  readonly #text: string

  /** `advice`: what a client over the limit can do about it, as a clause after "Retry in 2 s". */
  constructor(options: { name: string; clock: Clock; limit: RateLimit; cache: SharedCache | null; advice?: string }) {
    const { requests, windowSeconds, burst } = options.limit
    this.#name = options.name
    this.#rule = { burst, perSecond: requests / windowSeconds }
    this.#own = new TokenBuckets(options.clock)
    this.#cache = options.cache
    this.#advice = options.advice ?? ''
    this.#text = `${requests} requests per ${windowSeconds === 1 ? 'second' : `${windowSeconds} s`}`
  }

  /**
   * Charges a request that costs as much as `cost` ordinary ones. At once without a shared cache, or while it is away:
   * this engine then counts alone.
   */
  charge(client: string, cost = 1): Charged | Promise<Charged> {
    if (this.#cache === null || this.#cache.isAway) return this.#judge(this.#takeHere(client, cost), cost)
    return this.#cache
      .take({ limit: this.#name, client }, this.#rule, cost)
      .then((taken) => this.#judge(taken ?? this.#takeHere(client, cost), cost))
  }

  #takeHere(client: string, cost: number): Taken {
    return this.#own.take(client, this.#rule, cost)
  }

  #judge({ isTaken, left }: Taken, cost: number): Charged {
    const { burst, perSecond } = this.#rule
    const allowance = {
      limit: burst,
      remaining: Math.max(0, Math.floor(left)),
      resetSeconds: Math.ceil((burst - left) / perSecond)
    }
    return { allowance, refused: isTaken ? null : this.#refuse(secondsUntil(cost, this.#rule, left)) }
  }

  #refuse(retryAfterSeconds: number): ScrapdeckError {
    return new ScrapdeckError(
      'TOO_MANY_REQUESTS',
      `Rate limit of ${this.#text} exceeded. Retry in ${retryAfterSeconds} s${this.#advice}.`,
      { data: { retryAfterSeconds } }
    )
  }
}
