import type { Clock } from '../../engine/runtime/clock.ts'
import { createToken, hashToken } from './secrets.ts'
import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import { BoundedMap } from '../../engine/runtime/bounded.ts'

const VALID_MS = 10 * 60_000
const MAX_OPEN_LINKS = 100

/** Login links, each for one use within ten minutes. With a shared cache, any engine accepts them. */
export class OneTimeLinks {
  readonly #clock: Clock
  readonly #cache: SharedCache | null
  /** Links that only this engine knows. Keyed by hash, so that lookup timing reveals nothing about other tokens. */
  readonly #expiryByHash = new BoundedMap<string, number>(MAX_OPEN_LINKS)

  constructor(options: { clock: Clock; cache: SharedCache | null }) {
    this.#clock = options.clock
    this.#cache = options.cache
  }

  /** Creates a link for this engine alone, and returns its token. */
  createHere(): string {
    const token = createToken()
    this.#expiryByHash.set(hashToken(token), this.#clock.monotonicMs() + VALID_MS)
    return token
  }

  /** Creates a link for all engines, or for this one if the cache does not respond. */
  async create(): Promise<string> {
    const token = createToken()
    const isShared = (await this.#cache?.addLink(hashToken(token), VALID_MS)) === true
    // A new token, because the first may still have reached the cache, and a link in both places would work twice.
    return isShared ? token : this.createHere()
  }

  async isOpen(token: string): Promise<boolean> {
    const hash = hashToken(token)
    return this.#isOpenHere(hash) || (await this.#cache?.hasLink(hash)) === true
  }

  /** True once per token, within ten minutes of its creation. */
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

/** Limits per client and in total: strangers must not displace the logins of others. */
const OF_CLIENT_MAX = 20
const ALL_MAX = 5_000

interface Kept<T> {
  value: T
  client: string
  untilMs: number
}

/**
 * Logins that another request of the same browser completes. A cookie with a random token identifies the browser; only
 * its hash is kept here. A restart loses them, and users start again.
 */
export class PendingLogins<T> {
  readonly #clock: Clock
  readonly #validMs: number
  /** By the hash of the browser's cookie, in the order in which they began. */
  readonly #byHash = new BoundedMap<string, Kept<T>>(ALL_MAX)

  constructor(clock: Clock, validMs: number) {
    this.#clock = clock
    this.#validMs = validMs
  }

  /** Returns the value of the cookie. `client`: counts towards the limit per client. */
  add(value: T, client: string): string {
    const nowMs = this.#clock.monotonicMs()
    for (const [hash, { untilMs }] of this.#byHash) if (untilMs <= nowMs) this.#byHash.delete(hash)
    const own = [...this.#byHash].filter(([, kept]) => kept.client === client)
    if (own.length >= OF_CLIENT_MAX) this.#byHash.delete(own[0]![0])
    const cookie = createToken()
    this.#byHash.set(hashToken(cookie), { value, client, untilMs: nowMs + this.#validMs })
    return cookie
  }

  /** Does not remove the login. null: none of these cookies belongs to one, or it has expired. */
  find(cookies: readonly string[]): { cookie: string; value: T } | null {
    for (const cookie of cookies) {
      const kept = this.#byHash.get(hashToken(cookie))
      if (kept !== undefined && this.#clock.monotonicMs() < kept.untilMs) return { cookie, value: kept.value }
    }
    return null
  }

  /** Removes the login. */
  take(cookies: readonly string[]): T | null {
    const found = this.find(cookies)
    if (found === null) return null
    this.#byHash.delete(hashToken(found.cookie))
    return found.value
  }
}
