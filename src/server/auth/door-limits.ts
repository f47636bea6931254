import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../engine/runtime/clock.ts'
import { NODE_RATE_LIMIT, type RateLimit, type RateLimits } from '../limits.ts'
import type { Caller } from './authenticator.ts'
import { addressOf, clientOf } from './client-address.ts'
import { RequestLimiter } from './request-limiter.ts'

/** Applies the rate limits of all doors. Each throws TOO_MANY_REQUESTS; headers tell the client what is left. */
export class DoorLimits {
  readonly #api: RequestLimiter | null
  readonly #doors: RequestLimiter | null
  readonly #open: RequestLimiter | null
  readonly #nodes: RequestLimiter | null

  constructor({ limits, clock }: { limits: RateLimits; clock: Clock }) {
    const limiterOf = (limit: RateLimit | null, advice?: string) =>
      limit === null ? null : new RequestLimiter({ clock, limit, ...(advice !== undefined && { advice }) })
    this.#api = limiterOf(limits.api, ', and send many jobs in one request (POST /api/v1/jobs/bulk)')
    this.#doors = limiterOf(limits.doors)
    this.#open = limiterOf(limits.open)
    this.#nodes = limiterOf(NODE_RATE_LIMIT)
  }

  chargeApi(request: FastifyRequest, reply: FastifyReply, cost: number): void {
    if (this.#api !== null) charge(this.#api, bucketOf(request.caller, request), { reply, cost })
  }

  chargeDoor(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#doors !== null) charge(this.#doors, bucketOf(request.caller, request), { reply, cost: 1 })
  }

  /** For a node that pulls, wherever it is. */
  chargeNode(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#nodes !== null) charge(this.#nodes, request.caller.id, { reply, cost: 1 })
  }

  /** For a new session, whoever creates it: it does not begin with a new limit. */
  chargeLogin(request: FastifyRequest, reply: FastifyReply): void {
    const bucket = bucketOf(A_BROWSER, request)
    if (this.#open !== null) charge(this.#open, bucket, { reply, cost: 1 })
    if (this.#doors !== null) charge(this.#doors, bucket, { reply, cost: 1 })
  }

  /** For requests of nobody in particular, before anything is done for them. */
  chargeOpen(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#open !== null) charge(this.#open, clientOf(addressOf(request)), { reply, cost: 1 })
  }
}

/**
 * Per credential and address: all programs share one user, and one that runs wild must not stop the others, nor the
 * browsers. All sessions at one address count as one: whoever knows the password could have a new one for each request.
 */
const bucketOf = (caller: Pick<Caller, 'kind' | 'id'>, request: FastifyRequest): string =>
  `${caller.kind === 'session' ? 'sessions' : caller.id} ${clientOf(addressOf(request))}`

const A_BROWSER = { kind: 'session', id: '' } as const

function charge(limiter: RequestLimiter, bucket: string, { reply, cost }: { reply: FastifyReply; cost: number }): void {
  try {
    limiter.charge(bucket, cost)
  } finally {
    const { limit, remaining, resetSeconds } = limiter.allowanceOf(bucket)
    reply.headers({ 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': resetSeconds })
  }
}
