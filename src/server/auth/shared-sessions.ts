import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import { type Clock, Timers } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { SessionToken } from './session-token.ts'
import { type Browser, IDLE_MS, type Sessions } from './sessions.ts'
import { BoundedSet } from '../../engine/runtime/bounded.ts'
import { KeyedSingleFlight } from '../../engine/runtime/single-flight.ts'

/** How old the cache's word on a session may be. An end on another engine is known here after that, and one call. */
const TRUSTED_MS = 1_000
const REMEMBERED_MAX = 2_000
/** How often the cache hears that a session is used: it forgets those that are not. */
const EXTENDED_EVERY_MS = 3_600_000

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
 * Sessions of all engines in a cache, which is authoritative while it responds. While it does not, this engine uses its
 * own record: sessions that were created or used here. The cache receives what ended or began meanwhile when it is
 * back.
 */
export class SharedSessions {
  readonly #options: SharedSessionsOptions
  readonly #timers: Timers
  readonly #words = new Map<string, { isValid: boolean; untilMs: number }>()
  /** When the cache last received an extension, in wall time. */
  readonly #extendedAtMs = new Map<string, number>()
  readonly #asking = new KeyedSingleFlight<string, boolean | null>()
  /** Created while the cache was away. */
  readonly #toAdd = new BoundedSet<string>(REMEMBERED_MAX)
  /** Ended while it was away. */
  readonly #toEnd = new BoundedSet<string>(REMEMBERED_MAX)
  #allToEnd = false
  /** The last ones that ended here: an answer that was under way meanwhile must not bring them back. */
  readonly #ended = new BoundedSet<string>(REMEMBERED_MAX)
  #endedAllCount = 0

  constructor(options: SharedSessionsOptions) {
    this.#options = options
    this.#timers = new Timers(options.clock)
    this.#timers.set(TRUSTED_MS, () => void this.#sweep())
  }

  async add(token: SessionToken, browser: Browser): Promise<void> {
    const { own, cache } = this.#options
    own.add(token, browser)
    const { id } = token
    if ((await cache.addSession(id, this.#keptForMs(token))) === null) this.#toAdd.add(id)
    else this.#hear(id, true)
  }

  /** See Sessions.find. At once if the cache said so lately, or is away. */
  find(token: SessionToken, browser: Browser): string | null | Promise<string | null> {
    const { own, cache, clock } = this.#options
    const word = this.#words.get(token.id)
    if (word !== undefined && clock.monotonicMs() < word.untilMs) return word.isValid ? own.find(token) : null
    if (cache.isAway) return own.find(token)
    return this.#ask(token, browser)
  }

  async end(id: string): Promise<void> {
    this.#options.own.end(id)
    this.#toAdd.delete(id)
    this.#ended.add(id)
    this.#hear(id, false)
    if ((await this.#options.cache.endSession(id)) === null) this.#toEnd.add(id)
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

  async #ask(token: SessionToken, browser: Browser): Promise<string | null> {
    const { own } = this.#options
    const { id } = token
    const endedBefore = this.#endedAllCount
    const isValid = await this.#asking.run(id, () => this.#askCache(id))
    if (isValid === false) return null
    // It ended meanwhile: nothing here may bring it back.
    if (endedBefore !== this.#endedAllCount || this.#ended.has(id)) return own.find(token)
    // It began on another engine: only the cache knew it.
    if (isValid && own.get(id) === null && this.#options.clock.nowMs() < token.endsAtMs) this.#adopt(token, browser)
    const found = own.find(token)
    if (isValid && found !== null) this.#extend(token)
    return found
  }

  #adopt(token: SessionToken, browser: Browser): void {
    try {
      this.#options.own.add(token, browser)
    } catch (error) {
      // A full disk: the cache has said what counts, and the record is only for when it is away.
      this.#options.logger.warn({ err: error }, 'The sessions file cannot be written')
    }
  }

  /** null: only this engine's own record is left to go by. */
  async #askCache(id: string): Promise<boolean | null> {
    const endedBefore = this.#endedAllCount
    const word = (await this.#options.cache.haveSessions([id]))?.[0]
    return word === undefined || endedBefore !== this.#endedAllCount ? null : this.#learn(id, word)
  }

  /** What the cache says of a session, corrected by changes that it has not received yet. */
  async #learn(id: string, word: boolean): Promise<boolean> {
    const { own, cache } = this.#options
    const isEnded = this.#ended.has(id) || this.#allToEnd
    const kept = own.get(id)
    const isNew = this.#toAdd.has(id) && kept !== null
    const isValid = isNew || (word && !isEnded)
    if (isNew && !word) {
      const endedBefore = this.#endedAllCount
      const isAdded = (await cache.addSession(id, this.#keptForMs(kept))) !== null
      // It ended meanwhile.
      if (endedBefore !== this.#endedAllCount || this.#ended.has(id)) {
        if ((await cache.endSession(id)) === null) this.#toEnd.add(id)
        return false
      }
      if (isAdded) this.#toAdd.delete(id)
    }
    this.#hear(id, isValid)
    try {
      if (!isValid) own.end(id)
    } catch (error) {
      // A full disk: the cache has said what counts, and the record is only for when it is away.
      this.#options.logger.warn({ err: error }, 'The sessions file cannot be written')
    }
    return isValid
  }

  /** Not awaited: the next request tries again an hour later, of the seven days that there are. */
  #extend({ id, endsAtMs }: SessionToken): void {
    const nowMs = this.#options.clock.nowMs()
    if (nowMs - (this.#extendedAtMs.get(id) ?? 0) < EXTENDED_EVERY_MS || this.#ended.has(id)) return
    if (this.#extendedAtMs.size >= REMEMBERED_MAX) this.#extendedAtMs.clear()
    this.#extendedAtMs.set(id, nowMs)
    void this.#options.cache.addSession(id, this.#keptForMs({ endsAtMs }))
  }

  #keptForMs({ endsAtMs }: Pick<SessionToken, 'endsAtMs'>): number {
    return Math.max(1, Math.min(IDLE_MS, endsAtMs - this.#options.clock.nowMs()))
  }

  #hear(id: string, isValid: boolean): void {
    if (this.#words.size >= REMEMBERED_MAX) this.#words.clear()
    this.#words.set(id, { isValid, untilMs: this.#options.clock.monotonicMs() + TRUSTED_MS })
  }

  async #sweep(): Promise<void> {
    const { cache, receiving } = this.#options
    if (!cache.isAway) {
      await this.#tellEnds()
      const ids = receiving()
      const endedBefore = this.#endedAllCount
      const asked = ids.length === 0 ? null : await cache.haveSessions(ids)
      const words = endedBefore === this.#endedAllCount ? asked : null
      for (const [at, word] of (words ?? []).entries()) await this.#learn(ids[at]!, word)
    }
    this.#timers.set(TRUSTED_MS, () => void this.#sweep())
  }

  async #tellEnds(): Promise<void> {
    const { cache } = this.#options
    if (this.#allToEnd && (await cache.endSessions()) !== null) this.#allToEnd = false
    for (const id of [...this.#toEnd]) if ((await cache.endSession(id)) !== null) this.#toEnd.delete(id)
  }
}
