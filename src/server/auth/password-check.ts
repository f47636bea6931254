import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { AccountBackoff } from './account-backoff.ts'
import { AttemptLimiter } from './attempt-limiter.ts'
import { type BasicCredentials, createCredentialsCheck } from './secrets.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { addressOf, clientOf } from './client-address.ts'
import type { FailureLog } from './failure-log.ts'
import { isLoopback } from './host-rule.ts'
import type { PluginUsers } from './vouched-users.ts'
import { BoundedMap } from '../../engine/runtime/bounded.ts'

const KNOWN_FOR_MS = 24 * 3_600_000
const RECORD_EVERY_MS = 60_000
const MAX_KNOWN = 10_000

/** Clients that sent a user's own password (not a token) correctly in the last 24 hours. */
export class KnownClients {
  readonly #clock: Clock
  readonly #lastMs = new BoundedMap<string, number>(MAX_KNOWN)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(client: string, name?: string): boolean {
    const lastMs = this.#lastMs.get(keyOf(client, name))
    return lastMs !== undefined && this.#clock.monotonicMs() - lastMs < KNOWN_FOR_MS
  }

  add(client: string, name: string): void {
    this.#add(keyOf(client))
    this.#add(keyOf(client, name))
  }

  #add(key: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - (this.#lastMs.get(key) ?? Number.NEGATIVE_INFINITY) < RECORD_EVERY_MS) return
    this.#lastMs.set(key, nowMs)
  }
}

const keyOf = (client: string, name?: string): string =>
  name === undefined ? client : `${client} ${name.slice(0, 64).toLowerCase()}`

/** What follows the password: a code from the authenticator app, or setting up the app. */
export type NextStep = 'code' | 'setUp'

export type Verdict =
  | { is: 'right'; principal: Principal }
  /** The password is correct, but a second step is needed. */
  | { is: 'half'; principal: Principal; next: NextStep }
  | { is: 'wrong' }
  | { is: 'blocked'; retryAfterSeconds: number }

/** How long a verified password is accepted on new connections without being hashed again. */
const VERIFIED_FOR_MS = 60_000
const VERIFIED_MAX = 1_000
/** The maximum number of concurrent checks for a client that has not sent this user's correct password before. */
const CHECKED_AT_ONCE_MAX = 4
const BUSY_MS = 1_000

/**
 * Limits wrong passwords per minute and client. A client known for a user can log in as this user even over the limit.
 * Otherwise, anyone at the same address could lock the user out.
 */
export class PasswordCheck {
  readonly #isOwner: (given: BasicCredentials) => boolean
  readonly #access: Engine['access']
  readonly #pluginUsers: PluginUsers | null
  readonly #takesTokens: boolean
  readonly #clock: Clock
  /** Keyed by an HMAC of name and password. */
  readonly #verified = new Map<string, { principal: Principal; untilMs: number }>()
  readonly #running = new Map<string, Promise<Principal | null>>()
  readonly #checking = new Map<string, number>()
  readonly #key = randomBytes(32)
  readonly #limiter: AttemptLimiter
  readonly #nextStepOf: (principal: Principal) => NextStep | null
  readonly #known: KnownClients
  readonly #backoff: AccountBackoff
  readonly #failures: FailureLog

  constructor(options: {
    name: string
    cache: SharedCache | null
    credentials: BasicCredentials
    access: Engine['access']
    /** null if no plugin checks passwords. */
    pluginUsers: PluginUsers | null
    clock: Clock
    maxFailuresPerMinute: number
    /**
     * Whether to accept a token instead of a password. Never true for logins that start a session, because the session
     * would then have all rights of the user.
     */
    takesTokens: boolean
    nextStepOf: (principal: Principal) => NextStep | null
    known: KnownClients
    backoff: AccountBackoff
    failures: FailureLog
  }) {
    this.#isOwner = createCredentialsCheck(options.credentials)
    this.#access = options.access
    this.#pluginUsers = options.pluginUsers
    this.#takesTokens = options.takesTokens
    this.#clock = options.clock
    this.#limiter = new AttemptLimiter(options)
    this.#nextStepOf = options.nextStepOf
    this.#known = options.known
    this.#backoff = options.backoff
    this.#failures = options.failures
  }

  /**
   * Returns a promise only if the user's password needs the slow check. Rejects like PluginUsers, or with
   * TOO_MANY_REQUESTS.
   */
  check(request: FastifyRequest, given: BasicCredentials): Verdict | Promise<Verdict> {
    const client = clientOf(addressOf(request))
    const isKnown = this.#known.has(client, given.username)
    const blockedForMs = this.#limiter.blockedForMs(client)
    if (blockedForMs > 0 && !isKnown) return blocked(blockedForMs)
    // Guesses from elsewhere must not slow down this machine or clients from which this user logged in before.
    const waitMs = isKnown || isHere(client) || this.#isToken(given) ? 0 : this.#backoff.waitMs(given.username)
    if (waitMs > 0) return blocked(waitMs)
    if (this.#isOwner(given)) {
      return this.#right(this.#access.findBySession(null, this.#access.sessionStart(null))!, client, given)
    }
    const byToken = this.#isToken(given) ? this.#access.findByToken(given.password) : null
    if (byToken !== null) return { is: 'right', principal: byToken }
    if ((this.#access.isEmpty && this.#pluginUsers === null) || this.#access.looksLikeToken(given.password)) {
      // A wrong password from a known client over the limit is neither counted nor logged, like passwords that are not
      // checked.
      if (blockedForMs > 0) return blocked(blockedForMs)
      return this.#wrong(request, given, this.#limiter.addFailure(client))
    }
    const key = createHmac('sha256', this.#key)
      .update(JSON.stringify([given.username, given.password]))
      .digest('hex')
    const before = this.#verified.get(key)
    if (
      before !== undefined &&
      this.#clock.monotonicMs() < before.untilMs &&
      this.#access.isCurrent(before.principal)
    ) {
      return this.#right(before.principal, client, given)
    }
    if (!isKnown && (this.#checking.get(client) ?? 0) >= CHECKED_AT_ONCE_MAX) return blocked(BUSY_MS)
    return this.#checkUser(key, { request, client, given, blockedForMs })
  }

  /**
   * Counts each attempt before checking it, and uncounts it on success. Otherwise, parallel attempts could exceed the
   * limit.
   */
  async #checkUser(key: string, { request, client, given, blockedForMs }: Tried): Promise<Verdict> {
    const blocks = blockedForMs === 0 && this.#limiter.begin(client)
    this.#checking.set(client, (this.#checking.get(client) ?? 0) + 1)
    try {
      const principal = await this.#find(key, given, request)
      if (principal === null) {
        if (blockedForMs > 0) return blocked(blockedForMs)
        this.#limiter.confirm(client)
        return this.#wrong(request, given, blocks)
      }
      if (blockedForMs === 0) this.#limiter.takeBack(client)
      return this.#right(principal, client, given)
    } catch (error) {
      // No response from the plugin counts as a failure. Otherwise, an outage would allow unlimited attempts.
      const isCounted = error instanceof ScrapdeckError && error.code === 'SIGN_IN_UNAVAILABLE'
      if (blockedForMs === 0 && !isCounted) this.#limiter.takeBack(client)
      throw error
    } finally {
      const left = this.#checking.get(client)! - 1
      if (left === 0) this.#checking.delete(client)
      else this.#checking.set(client, left)
    }
  }

  #find(key: string, given: BasicCredentials, request: FastifyRequest): Promise<Principal | null> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const found = this.#access
      .findByPassword(given.username, given.password)
      .then((principal) => principal ?? this.#pluginUsers?.find(request, given, key) ?? null)
      .then((principal) => {
        if (principal !== null) this.#keep(key, principal)
        return principal
      })
      .finally(() => this.#running.delete(key))
    this.#running.set(key, found)
    return found
  }

  #isToken({ password }: BasicCredentials): boolean {
    return this.#takesTokens && this.#access.looksLikeToken(password)
  }

  #right(principal: Principal, client: string, { username }: BasicCredentials): Verdict {
    // A client becomes known only after all steps. A stolen password alone must not be enough.
    const next = this.#nextStepOf(principal)
    if (next !== null) return { is: 'half', principal, next }
    this.#known.add(client, username)
    return { is: 'right', principal }
  }

  #wrong(request: FastifyRequest, given: BasicCredentials, blocks: boolean): Verdict {
    const { username, password } = given
    const address = addressOf(request)
    this.#failures.add(address, username)
    const client = clientOf(address)
    if (!isHere(client) && !this.#isToken(given)) this.#backoff.addFailure(username, { client, password })
    if (blocks) this.#failures.addBlock(address)
    return { is: 'wrong' }
  }

  #keep(key: string, principal: Principal): void {
    if (this.#verified.size >= VERIFIED_MAX) this.#verified.clear()
    this.#verified.set(key, { principal, untilMs: this.#clock.monotonicMs() + VERIFIED_FOR_MS })
  }
}

interface Tried {
  request: FastifyRequest
  client: string
  given: BasicCredentials
  blockedForMs: number
}

const isHere = (address: string): boolean => address === 'socket' || isLoopback(address) || address === LOOPBACK_NETWORK
/** What clientOf returns for `::1`. */
const LOOPBACK_NETWORK = '0:0:0:0::/64'

const blocked = (forMs: number): Verdict => ({ is: 'blocked', retryAfterSeconds: Math.ceil(forMs / 1_000) })
