import type { SharedCache } from '../../engine/cache/shared-cache.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import { AttemptLimiter } from './attempt-limiter.ts'
import { type BasicCredentials, createCredentialsCheck } from './basic.ts'
import { clientOf } from './client-address.ts'
import type { FailureLog } from './failure-log.ts'

const KNOWN_FOR_MS = 24 * 3_600_000
/** Of a client that sends the password with every request, only one in a minute is recorded. */
const RECORD_EVERY_MS = 60_000
const MAX_KNOWN = 10_000

/** Clients that sent the right password in the last 24 hours. */
export class KnownClients {
  readonly #clock: Clock
  readonly #lastByClient = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(client: string): boolean {
    const lastMs = this.#lastByClient.get(client)
    return lastMs !== undefined && this.#clock.monotonicMs() - lastMs < KNOWN_FOR_MS
  }

  add(client: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - (this.#lastByClient.get(client) ?? Number.NEGATIVE_INFINITY) < RECORD_EVERY_MS) return
    this.#lastByClient.delete(client)
    const oldest = this.#lastByClient.keys().next().value
    if (this.#lastByClient.size >= MAX_KNOWN && oldest !== undefined) this.#lastByClient.delete(oldest)
    this.#lastByClient.set(client, nowMs)
  }
}

export type Verdict = { is: 'right' } | { is: 'wrong' } | { is: 'blocked'; retryAfterSeconds: number }

/**
 * Checks passwords, within a number of wrong ones per minute and client. A client that is known is checked even then:
 * otherwise anybody behind the same address could lock it out.
 */
export class PasswordCheck {
  readonly #isRight: (given: BasicCredentials) => boolean
  readonly #limiter: AttemptLimiter
  readonly #known: KnownClients
  readonly #failures: FailureLog

  constructor(options: {
    /** Of the limit, in the shared cache. */
    name: string
    cache: SharedCache | null
    credentials: BasicCredentials
    clock: Clock
    maxFailuresPerMinute: number
    known: KnownClients
    failures: FailureLog
  }) {
    this.#isRight = createCredentialsCheck(options.credentials)
    this.#limiter = new AttemptLimiter(options)
    this.#known = options.known
    this.#failures = options.failures
  }

  check(address: string, given: BasicCredentials): Verdict {
    const client = clientOf(address)
    const blockedForMs = this.#limiter.blockedForMs(client)
    const isBlocked = blockedForMs > 0
    if ((!isBlocked || this.#known.has(client)) && this.#isRight(given)) {
      this.#known.add(client)
      return { is: 'right' }
    }
    // What was not checked is neither counted nor logged; it would be the same for a known client's wrong password.
    if (isBlocked) return { is: 'blocked', retryAfterSeconds: Math.ceil(blockedForMs / 1_000) }
    this.#failures.add(address, given.username)
    if (this.#limiter.addFailure(client)) this.#failures.addBlock(address)
    return { is: 'wrong' }
  }
}
