import { createHmac, randomBytes } from 'node:crypto'
import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
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

export type Verdict =
  | { is: 'right'; principal: Principal }
  | { is: 'wrong' }
  | { is: 'blocked'; retryAfterSeconds: number }

/** A password that was right is not hashed anew for each connection of the same client. */
const RIGHT_FOR_MS = 60_000
const RIGHT_MAX = 1_000

/**
 * Checks passwords, within a number of wrong ones per minute and client. A client that is known is checked even then:
 * otherwise anybody behind the same address could lock it out.
 */
export class PasswordCheck {
  readonly #isOwner: (given: BasicCredentials) => boolean
  readonly #access: Engine['access']
  readonly #takesTokens: boolean
  readonly #clock: Clock
  readonly #ownerName: string
  /** By a keyed hash of name and password. */
  readonly #right = new Map<string, { principal: Principal; version: number; untilMs: number }>()
  readonly #key = randomBytes(32)
  readonly #limiter: AttemptLimiter
  readonly #known: KnownClients
  readonly #failures: FailureLog

  constructor(options: {
    /** Of the limit, in the shared cache. */
    name: string
    cache: SharedCache | null
    credentials: BasicCredentials
    access: Engine['access']
    clock: Clock
    maxFailuresPerMinute: number
    /** A token in place of the password. Never where a session begins: that would have all rights of its user. */
    takesTokens: boolean
    known: KnownClients
    failures: FailureLog
  }) {
    this.#isOwner = createCredentialsCheck(options.credentials)
    this.#ownerName = options.credentials.username
    this.#access = options.access
    this.#takesTokens = options.takesTokens
    this.#clock = options.clock
    this.#limiter = new AttemptLimiter(options)
    this.#known = options.known
    this.#failures = options.failures
  }

  /** Waits only for the password of a user, which takes long to check. */
  check(address: string, given: BasicCredentials): Verdict | Promise<Verdict> {
    const client = clientOf(address)
    const blockedForMs = this.#limiter.blockedForMs(client)
    if (blockedForMs > 0 && !this.#known.has(client)) return blocked(blockedForMs)
    const found = this.#find(given)
    if (!(found instanceof Promise)) return this.#judge(found, address, given, blockedForMs)
    return found.then((principal) => this.#judge(principal, address, given, blockedForMs))
  }

  #judge(principal: Principal | null, address: string, given: BasicCredentials, blockedForMs: number): Verdict {
    const client = clientOf(address)
    if (principal !== null) {
      this.#known.add(client)
      return { is: 'right', principal }
    }
    // Of a known client, a wrong password is neither counted nor logged while others there are not even checked.
    if (blockedForMs > 0) return blocked(blockedForMs)
    this.#failures.add(address, given.username)
    if (this.#limiter.addFailure(client)) this.#failures.addBlock(address)
    return { is: 'wrong' }
  }

  #find(given: BasicCredentials): Principal | null | Promise<Principal | null> {
    if (this.#isOwner(given)) return this.#access.findBySession(null, 0)
    const byToken = this.#takesTokens ? this.#access.findByToken(given.password) : null
    if (byToken !== null) return byToken
    if (this.#access.isEmpty || given.username === this.#ownerName) return null
    const key = createHmac('sha256', this.#key)
      .update(JSON.stringify([given.username, given.password]))
      .digest('hex')
    const before = this.#right.get(key)
    const { version } = this.#access
    if (before?.version === version && this.#clock.monotonicMs() < before.untilMs) return before.principal
    return this.#access.findByPassword(given.username, given.password).then((principal) => {
      if (principal !== null && version === this.#access.version) this.#keep(key, principal, version)
      return principal
    })
  }

  #keep(key: string, principal: Principal, version: number): void {
    if (this.#right.size >= RIGHT_MAX) this.#right.clear()
    this.#right.set(key, { principal, version, untilMs: this.#clock.monotonicMs() + RIGHT_FOR_MS })
  }
}

const blocked = (forMs: number): Verdict => ({ is: 'blocked', retryAfterSeconds: Math.ceil(forMs / 1_000) })
