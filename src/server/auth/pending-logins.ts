import type { Clock } from '../../engine/runtime/clock.ts'
import { createToken, hashToken } from './secrets.ts'
import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import { BoundedMap } from '../../engine/runtime/bounded.ts'

const VALID_MS = 10 * 60_000
const MAX_OPEN_LINKS = 100

/** Login links, each valid once and for ten minutes. With a shared cache, every engine accepts them. */
export class OneTimeLinks {
  readonly #clock: Clock
  readonly #cache: SharedCache | null
  /** Links known only to this engine. Keyed by hash, so that lookup timing reveals nothing about other tokens. */
  readonly #expiryByHash = new BoundedMap<string, number>(MAX_OPEN_LINKS)

  constructor(options: { clock: Clock; cache: SharedCache | null }) {
    this.#clock = options.clock
    this.#cache = options.cache
  }

  createHere(): string {
    const token = createToken()
    this.#expiryByHash.set(hashToken(token), this.#clock.monotonicMs() + VALID_MS)
    return token
  }

  /** Creates a link that all engines accept. If the cache does not respond, only this engine accepts the link. */
  async create(): Promise<string> {
    const token = createToken()
    const isShared = (await this.#cache?.addLink(hashToken(token), VALID_MS)) === true
    // If the cache reported an error, create another token. The first token may be in the cache and would then work
    // twice.
    return isShared ? token : this.createHere()
  }

  async isOpen(token: string): Promise<boolean> {
    const hash = hashToken(token)
    return this.#isOpenHere(hash) || (await this.#cache?.hasLink(hash)) === true
  }

  /** Returns true once per token, within ten minutes of its creation. */
  async redeem(token: string): Promise<boolean> {
    const hash = hashToken(token)
    if (this.#isOpenHere(hash)) return this.#expiryByHash.delete(hash)
    return (await this.#cache?.takeLink(hash)) === true
  }

  async revokeAll(): Promise<void> {
    this.#expiryByHash.clear()
    await this.#cache?.dropLinks()
  }

  #isOpenHere(hash: string): boolean {
    return this.#clock.monotonicMs() < (this.#expiryByHash.get(hash) ?? 0)
  }
}

/**
 * The maximum numbers of pending logins per client and in total, so that strangers cannot displace the logins of other
 * users.
 */
const OF_CLIENT_MAX = 20
const ALL_MAX = 5_000

interface Kept<T> {
  value: T
  client: string
  untilMs: number
}

/** Logins that a later request from the same browser completes. A random cookie identifies the browser. */
export class PendingLogins<T> {
  readonly #clock: Clock
  readonly #validMs: number
  /** Keyed by the hash of the browser's cookie, oldest first. */
  readonly #byHash = new BoundedMap<string, Kept<T>>(ALL_MAX)

  constructor(clock: Clock, validMs: number) {
    this.#clock = clock
    this.#validMs = validMs
  }

  /** Returns the cookie's value. The login counts toward the limit of `client`. */
  add(value: T, client: string): string {
    const nowMs = this.#clock.monotonicMs()
    for (const [hash, { untilMs }] of this.#byHash) if (untilMs <= nowMs) this.#byHash.delete(hash)
    const own = [...this.#byHash].filter(([, kept]) => kept.client === client)
    if (own.length >= OF_CLIENT_MAX) this.#byHash.delete(own[0]![0])
    const cookie = createToken()
    this.#byHash.set(hashToken(cookie), { value, client, untilMs: nowMs + this.#validMs })
    return cookie
  }

  /** Finds the login without removing it. Returns null if no cookie matches a login or the login has expired. */
  find(cookies: readonly string[]): { cookie: string; value: T } | null {
    for (const cookie of cookies) {
      const kept = this.#byHash.get(hashToken(cookie))
      if (kept !== undefined && this.#clock.monotonicMs() < kept.untilMs) return { cookie, value: kept.value }
    }
    return null
  }

  take(cookies: readonly string[]): T | null {
    const found = this.find(cookies)
    if (found === null) return null
    this.#byHash.delete(hashToken(found.cookie))
    return found.value
  }
}
