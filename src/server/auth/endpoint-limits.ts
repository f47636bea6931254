import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import { NODE_RATE_LIMIT, type RateLimit, type RateLimits } from '../limits.ts'
import type { Caller } from './request-rule.ts'
import { addressOf, clientOf } from './client-address.ts'
import { type BucketRule, secondsUntil, type Taken, TokenBuckets } from '../../engine/cluster/cache/token-bucket.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'

type Charging = void | Promise<void>

/** Each method throws or rejects with TOO_MANY_REQUESTS, and sets headers with the remaining allowance. */
export class EndpointLimits {
  readonly #api: RequestLimiter | null
  readonly #endpoints: RequestLimiter | null
  readonly #open: RequestLimiter | null
  readonly #nodes: RequestLimiter | null

  constructor({ limits, clock, cache }: { limits: RateLimits; clock: Clock; cache: SharedCache | null }) {
    const limiterOf = (name: string, limit: RateLimit | null, advice = '') =>
      limit === null ? null : new RequestLimiter({ name, clock, cache, limit, advice })
    this.#api = limiterOf('api', limits.api, ', and send many jobs in one request (POST /api/v1/jobs/bulk)')
    this.#endpoints = limiterOf('doors', limits.endpoints)
    this.#open = limiterOf('open', limits.open)
    this.#nodes = limiterOf('nodes', NODE_RATE_LIMIT)
  }

  chargeApi(request: FastifyRequest, reply: FastifyReply, cost: number): Charging {
    return charge(this.#api, bucketOf(request.caller, request), { reply, cost })
  }

  chargeEndpoint(request: FastifyRequest, reply: FastifyReply): Charging {
    return charge(this.#endpoints, bucketOf(request.caller, request), { reply, cost: 1 })
  }

  chargeNode(request: FastifyRequest, reply: FastifyReply): Charging {
    return charge(this.#nodes, request.caller.id, { reply, cost: 1 })
  }

  /** Charges a new session to the limit of all sessions at its address, so that a login does not start a new limit. */
  async chargeLogin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const bucket = bucketOf(A_BROWSER, request)
    await charge(this.#open, bucket, { reply, cost: 1 })
    await charge(this.#endpoints, bucket, { reply, cost: 1 })
  }

  chargeOpen(request: FastifyRequest, reply: FastifyReply): Charging {
    return charge(this.#open, clientOf(addressOf(request)), { reply, cost: 1 })
  }
}

/**
 * The key of the limit that a request counts toward. All tokens of a user at one address share a limit. Each
 * credential of the service itself has its own limit, so that one program cannot stop others. All sessions at one
 * address share a limit, because a client can open many.
 */
const bucketOf = (caller: Pick<Caller, 'kind' | 'id' | 'principal'>, request: FastifyRequest): string =>
  `${caller.kind === 'session' ? 'sessions' : (caller.principal?.userId ?? caller.id)} ${clientOf(addressOf(request))}`

const A_BROWSER = { kind: 'session', id: '', principal: null } as const

function charge(
  limiter: RequestLimiter | null,
  bucket: string,
  { reply, cost }: { reply: FastifyReply; cost: number }
): Charging {
  if (limiter === null) return
  const charged = limiter.charge(bucket, cost)
  return charged instanceof Promise ? charged.then((one) => settle(reply, one)) : settle(reply, charged)
}

function settle(reply: FastifyReply, { allowance, refused }: Charged): void {
  const { limit, remaining, resetSeconds } = allowance
  reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds })
  if (refused !== null) throw refused
}

interface Allowance {
  limit: number
  remaining: number
  /** Seconds until the whole limit is available again. */
  resetSeconds: number
}

/** If `refused` is true, the request exceeded the limit and was not charged. */
interface Charged {
  allowance: Allowance
  refused: ScrapdeckError | null
}

/** Limits each client's requests with a token bucket, either of this engine or of all engines on a shared cache. */
class RequestLimiter {
  readonly #name: string
  readonly #rule: BucketRule
  readonly #own: TokenBuckets
  readonly #cache: SharedCache | null
  readonly #advice: string
  readonly #text: string

  /** `advice` is a clause that follows "Retry in 2 s" in the error for a client over the limit. */
  constructor(options: { name: string; clock: Clock; limit: RateLimit; cache: SharedCache | null; advice?: string }) {
    const { requests, windowSeconds, burst } = options.limit
    this.#name = options.name
    this.#rule = { burst, perSecond: requests / windowSeconds }
    this.#own = new TokenBuckets(options.clock)
    this.#cache = options.cache
    this.#advice = options.advice ?? ''
    this.#text = `${requests} requests per ${windowSeconds === 1 ? 'second' : `${windowSeconds} s`}`
  }

  /** An ordinary request costs 1. While the shared cache does not respond, this engine counts alone. */
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
      sentence('server.rate_limit_exceeded', { text: this.#text, retryAfterSeconds, advice: this.#advice }),
      { data: { retryAfterSeconds } }
    )
  }
}
