import type { UserId } from '../../shared/contract/index.ts'
import type { SharedCache } from '../../engine/cache/shared-cache.ts'
import { type Clock, Timers } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { readSessionToken } from './session-token.ts'
import { hashToken } from './secrets.ts'
import { SESSION_MS, type Sessions } from './sessions.ts'

/** How old the cache's word on a session may be. An end on another engine is known here after that, and one call. */
const TRUSTED_MS = 1_000
const REMEMBERED_MAX = 2_000

export interface SharedSessionsOptions {
  /** What this engine knows by itself; used while the cache is away. */
  own: Sessions
  cache: SharedCache
  clock: Clock
  logger: Logger
  /** Sessions that are receiving something: their end must be noticed, though they ask for nothing. */
  receiving: () => readonly string[]
}

/**
 * Sessions of all engines on a cache, which has the last word while it answers. While it does not, this engine goes by
 * its own record: sessions that were created or used here. What ends or begins meanwhile is told to the cache when it
 * is back.
 */
export class SharedSessions {
  readonly #options: SharedSessionsOptions
  readonly #timers: Timers
  readonly #words = new Map<string, { isValid: boolean; untilMs: number }>()
  readonly #asking = new Map<string, Promise<string | null>>()
  /** Created while the cache was away. */
  readonly #toAdd = new Set<string>()
  /** Ended while it was away. */
  readonly #toEnd = new Set<string>()
  #allToEnd = false
  /** The last ones that ended here: an answer that was under way meanwhile must not bring them back. */
  readonly #ended = new Set<string>()
  #endedAllCount = 0

  constructor(options: SharedSessionsOptions) {
    this.#options = options
    this.#timers = new Timers(options.clock)
    this.#timers.set(TRUSTED_MS, () => void this.#sweep())
  }

  async create(userId: UserId | null, beginsAtMs: number): Promise<string> {
    const { own, cache } = this.#options
    const token = own.create(userId, beginsAtMs)
    const hash = hashToken(token)
    if ((await cache.addSession(hash, SESSION_MS)) === null) addBounded(this.#toAdd, hash)
    else this.#hear(hash, true)
    return token
  }

  /** See Sessions.find. At once if the cache said so lately, or is away. */
  find(token: string): string | null | Promise<string | null> {
    const { own, cache, clock } = this.#options
    // Nothing that anybody sends as a cookie is worth a question.
    if (readSessionToken(token) === null) return null
    const hash = hashToken(token)
    const word = this.#words.get(hash)
    if (word !== undefined && clock.monotonicMs() < word.untilMs) return word.isValid ? hash : null
    if (cache.isAway) return own.find(token)
    return this.#ask(hash)
  }

  async end(token: string): Promise<void> {
    const hash = hashToken(token)
    this.#options.own.end(token)
    this.#toAdd.delete(hash)
    addBounded(this.#ended, hash)
    this.#hear(hash, false)
    if ((await this.#options.cache.endSession(hash)) === null) addBounded(this.#toEnd, hash)
  }

  /** Returns how many valid sessions ended, as far as is known. */
  async endAll(): Promise<number> {
    const { own, cache } = this.#options
    const endedHere = own.endAll()
    this.#endedAllCount += 1
    this.#toAdd.clear()
    this.#words.clear()
    const ended = await cache.endSessions()
    if (ended === null) this.#allToEnd = true
    return ended ?? endedHere
  }

  stop(): void {
    this.#timers.stop()
  }

  #ask(hash: string): Promise<string | null> {
    const asking = this.#asking.get(hash)
    if (asking !== undefined) return asking
    const { own, cache } = this.#options
    const endedBefore = this.#endedAllCount
    const asked = (async () => {
      const word = (await cache.haveSessions([hash]))?.[0]
      if (word === undefined || endedBefore !== this.#endedAllCount) return own.findByHash(hash)
      return (await this.#learn(hash, word)) ? hash : null
    })().finally(() => this.#asking.delete(hash))
    this.#asking.set(hash, asked)
    return asked
  }

  /** What the cache says of a session, corrected by what it has not been told yet. */
  async #learn(hash: string, word: boolean): Promise<boolean> {
    const { own, cache } = this.#options
    const isEnded = this.#ended.has(hash) || this.#allToEnd
    const isNew = this.#toAdd.has(hash) && own.findByHash(hash) !== null
    const isValid = isNew || (word && !isEnded)
    if (isNew && !word) {
      const endedBefore = this.#endedAllCount
      const isAdded = (await cache.addSession(hash, SESSION_MS)) !== null
      // It ended meanwhile.
      if (endedBefore !== this.#endedAllCount || this.#ended.has(hash)) {
        if ((await cache.endSession(hash)) === null) addBounded(this.#toEnd, hash)
        return false
      }
      if (isAdded) this.#toAdd.delete(hash)
    }
    this.#hear(hash, isValid)
    try {
      if (isValid) own.adopt(hash)
      else own.endByHash(hash)
    } catch (error) {
      // A full disk: the cache has said what counts, and the record is only for when it is away.
      this.#options.logger.warn({ err: error }, 'The sessions file cannot be written')
    }
    return isValid
  }

  #hear(hash: string, isValid: boolean): void {
    if (this.#words.size >= REMEMBERED_MAX) this.#words.clear()
    this.#words.set(hash, { isValid, untilMs: this.#options.clock.monotonicMs() + TRUSTED_MS })
  }

  async #sweep(): Promise<void> {
    const { cache, receiving } = this.#options
    if (!cache.isAway) {
      await this.#tellEnds()
      const hashes = receiving()
      const endedBefore = this.#endedAllCount
      const asked = hashes.length === 0 ? null : await cache.haveSessions(hashes)
      const words = endedBefore === this.#endedAllCount ? asked : null
      for (const [at, word] of (words ?? []).entries()) await this.#learn(hashes[at]!, word)
    }
    this.#timers.set(TRUSTED_MS, () => void this.#sweep())
  }

  async #tellEnds(): Promise<void> {
    const { cache } = this.#options
    if (this.#allToEnd && (await cache.endSessions()) !== null) this.#allToEnd = false
    for (const hash of [...this.#toEnd]) if ((await cache.endSession(hash)) !== null) this.#toEnd.delete(hash)
  }
}

/** Forgets the oldest. */
function addBounded(set: Set<string>, hash: string): void {
  const oldest = set.values().next().value
  if (set.size >= REMEMBERED_MAX && oldest !== undefined) set.delete(oldest)
  set.add(hash)
}
