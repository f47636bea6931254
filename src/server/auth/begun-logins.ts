import type { Clock } from '../../engine/runtime/clock.ts'
import { createToken, hashToken } from './secrets.ts'

/** Limits per client and in total: strangers must not displace the logins of others. */
const OF_CLIENT_MAX = 20
const ALL_MAX = 5_000

interface Kept<T> {
  value: T
  client: string
  untilMs: number
}

/**
 * Logins that another request of the same browser finishes. A cookie with a random token identifies the browser; only
 * its hash is kept here. Logins are lost with the process and then start again.
 */
export class BegunLogins<T> {
  readonly #clock: Clock
  readonly #validMs: number
  /** By the hash of the browser's cookie, in the order in which they began. */
  readonly #byHash = new Map<string, Kept<T>>()

  constructor(clock: Clock, validMs: number) {
    this.#clock = clock
    this.#validMs = validMs
  }

  /** Returns the value of the cookie. `client`: whose it is, for the limit. */
  add(value: T, client: string): string {
    const nowMs = this.#clock.monotonicMs()
    for (const [hash, { untilMs }] of this.#byHash) if (untilMs <= nowMs) this.#byHash.delete(hash)
    const own = [...this.#byHash].filter(([, kept]) => kept.client === client)
    if (own.length >= OF_CLIENT_MAX) this.#byHash.delete(own[0]![0])
    const oldest = this.#byHash.keys().next().value
    if (this.#byHash.size >= ALL_MAX && oldest !== undefined) this.#byHash.delete(oldest)
    const cookie = createToken()
    this.#byHash.set(hashToken(cookie), { value, client, untilMs: nowMs + this.#validMs })
    return cookie
  }

  /** It can be used again. null: none of these cookies is of one, or its time is over. */
  find(cookies: readonly string[]): { cookie: string; value: T } | null {
    for (const cookie of cookies) {
      const kept = this.#byHash.get(hashToken(cookie))
      if (kept !== undefined && this.#clock.monotonicMs() < kept.untilMs) return { cookie, value: kept.value }
    }
    return null
  }

  /** It can be used once. */
  take(cookies: readonly string[]): T | null {
    const found = this.find(cookies)
    if (found === null) return null
    this.#byHash.delete(hashToken(found.cookie))
    return found.value
  }
}
