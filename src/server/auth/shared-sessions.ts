import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import { type Clock, Timers } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { SessionToken } from './session-token.ts'
import { type Browser, IDLE_MS, type Sessions } from './sessions.ts'
import { BoundedSet } from '../../engine/runtime/bounded.ts'
import { KeyedSingleFlight } from '../../engine/runtime/single-flight.ts'

/**
 * How long to trust a response from the cache. If a session ends on another engine, it stays valid here for at most
 * this long.
 */
const TRUSTED_MS = 1_000
const REMEMBERED_MAX = 2_000
/** How often to extend a session in the cache while it is in use. The cache forgets sessions that are not extended. */
const EXTENDED_EVERY_MS = 3_600_000

export interface SharedSessionsOptions {
  /** This engine's own record, used while the cache does not respond. */
  own: Sessions
  cache: SharedCache
  clock: Clock
  logger: Logger
  /**
   * Returns the sessions with a response in progress. This engine must notice the end of these sessions even if they
   * send no requests.
   */
  receiving: () => readonly string[]
}

/**
 * The sessions of all engines, in a cache that is authoritative while it responds. While it does not respond, this
 * engine uses its own record of sessions created or used here. When the cache responds again, it receives the changes
 * that it missed.
 */
export class SharedSessions {
  readonly #options: SharedSessionsOptions
  readonly #timers: Timers
  readonly #verdicts = new Map<string, { isValid: boolean; untilMs: number }>()
  /** When each session was last extended in the cache, in wall-clock time. */
  readonly #extendedAtMs = new Map<string, number>()
  readonly #asking = new KeyedSingleFlight<string, boolean | null>()
  /** Sessions created while the cache did not respond. */
  readonly #toAdd = new BoundedSet<string>(REMEMBERED_MAX)
  /** Sessions ended while the cache did not respond. */
  readonly #toEnd = new BoundedSet<string>(REMEMBERED_MAX)
  #allToEnd = false
  /** Sessions recently ended here. An older response from the cache must not restore them. */
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
    else this.#remember(id, true)
  }

  /** See Sessions.find. Synchronous if the cache recently confirmed the session or does not respond. */
  find(token: SessionToken, browser: Browser): string | null | Promise<string | null> {
    const { own, cache, clock } = this.#options
    const verdict = this.#verdicts.get(token.id)
    if (verdict !== undefined && clock.monotonicMs() < verdict.untilMs) return verdict.isValid ? own.find(token) : null
    if (cache.isAway) return own.find(token)
    return this.#ask(token, browser)
  }

  async end(id: string): Promise<void> {
    this.#options.own.end(id)
    this.#toAdd.delete(id)
    this.#ended.add(id)
    this.#remember(id, false)
    if ((await this.#options.cache.endSession(id)) === null) this.#toEnd.add(id)
  }

  /** Returns the number of valid sessions that ended and that this engine knows. */
  async endAll(): Promise<number> {
    const { own, cache } = this.#options
    const endedHere = own.endAll()
    this.#endedAllCount += 1
    this.#toAdd.clear()
    this.#verdicts.clear()
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
    // The session ended during the query, so nothing may restore it.
    if (endedBefore !== this.#endedAllCount || this.#ended.has(id)) return own.find(token)
    if (isValid && own.get(id) === null && this.#options.clock.nowMs() < token.endsAtMs) this.#adopt(token, browser)
    const found = own.find(token)
    if (isValid && found !== null) this.#extend(token)
    return found
  }

  #adopt(token: SessionToken, browser: Browser): void {
    try {
      this.#options.own.add(token, browser)
    } catch (error) {
      // This error is tolerable, because the record is only used while the cache does not respond.
      this.#options.logger.warn({ err: error }, 'The sessions file cannot be written')
    }
  }

  async #askCache(id: string): Promise<boolean | null> {
    const endedBefore = this.#endedAllCount
    const verdict = (await this.#options.cache.haveSessions([id]))?.[0]
    return verdict === undefined || endedBefore !== this.#endedAllCount ? null : this.#applyVerdict(id, verdict)
  }

  /** Applies the cache's view of a session, corrected by changes that the cache has not received yet. */
  async #applyVerdict(id: string, verdict: boolean): Promise<boolean> {
    const { own, cache } = this.#options
    const isEnded = this.#ended.has(id) || this.#allToEnd
    const kept = own.get(id)
    const isNew = this.#toAdd.has(id) && kept !== null
    const isValid = isNew || (verdict && !isEnded)
    if (isNew && !verdict) {
      const endedBefore = this.#endedAllCount
      const isAdded = (await cache.addSession(id, this.#keptForMs(kept))) !== null
      if (endedBefore !== this.#endedAllCount || this.#ended.has(id)) {
        if ((await cache.endSession(id)) === null) this.#toEnd.add(id)
        return false
      }
      if (isAdded) this.#toAdd.delete(id)
    }
    this.#remember(id, isValid)
    try {
      if (!isValid) own.end(id)
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'The sessions file cannot be written')
    }
    return isValid
  }

  /**
   * Callers do not wait for this. If it fails, a later request extends the session in time, because the cache keeps
   * sessions for seven days.
   */
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

  #remember(id: string, isValid: boolean): void {
    if (this.#verdicts.size >= REMEMBERED_MAX) this.#verdicts.clear()
    this.#verdicts.set(id, { isValid, untilMs: this.#options.clock.monotonicMs() + TRUSTED_MS })
  }

  async #sweep(): Promise<void> {
    const { cache, receiving } = this.#options
    if (!cache.isAway) {
      await this.#sendPendingEnds()
      const ids = receiving()
      const endedBefore = this.#endedAllCount
      const asked = ids.length === 0 ? null : await cache.haveSessions(ids)
      const verdicts = endedBefore === this.#endedAllCount ? asked : null
      for (const [at, verdict] of (verdicts ?? []).entries()) await this.#applyVerdict(ids[at]!, verdict)
    }
    this.#timers.set(TRUSTED_MS, () => void this.#sweep())
  }

  async #sendPendingEnds(): Promise<void> {
    const { cache } = this.#options
    if (this.#allToEnd && (await cache.endSessions()) !== null) this.#allToEnd = false
    for (const id of [...this.#toEnd]) if ((await cache.endSession(id)) !== null) this.#toEnd.delete(id)
  }
}
