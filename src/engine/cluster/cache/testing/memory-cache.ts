import type { Clock } from '../../../runtime/clock.ts'
import { type CachedAnswer, type Failures, LINKS_MAX, type SharedCache, SESSIONS_MAX } from '../shared-cache.ts'
import { type Bucket, type BucketRule, takeFrom, type Taken } from '../token-bucket.ts'

/** For tests with several engines in one process. It behaves like the real cache. */
export class MemoryCache implements SharedCache {
  isAway = false
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #buckets = new Map<string, Bucket>()
  readonly #failures = new Map<string, { count: number; endMs: number }>()
  readonly #links = new Map<string, number>()
  readonly #sessions = new Map<string, number>()
  readonly #answers = new Map<string, { answer: CachedAnswer; endMs: number }>()
  readonly #limits: { maxBytes: number; ttlMs: number }

  constructor(clock: Pick<Clock, 'monotonicMs'>, limits = { maxBytes: 4_000_000, ttlMs: 60_000 }) {
    this.#clock = clock
    this.#limits = limits
  }

  take({ limit, client }: { limit: string; client: string }, rule: BucketRule, cost: number): Promise<Taken | null> {
    return this.#answer(() => {
      const key = `${limit}\n${client}`
      const before = this.#buckets.get(key) ?? null
      const { bucket, taken } = takeFrom(before, rule, { nowMs: this.#clock.monotonicMs(), cost })
      this.#buckets.set(key, bucket)
      return taken
    })
  }

  countFailure({ limit, client }: { limit: string; client: string }, windowMs: number): Promise<Failures | null> {
    return this.#answer(() => {
      const key = `${limit}\n${client}`
      const nowMs = this.#clock.monotonicMs()
      const before = this.#failures.get(key)
      const of = before !== undefined && before.endMs > nowMs ? before : { count: 0, endMs: nowMs + windowMs }
      of.count += 1
      this.#failures.set(key, of)
      return { count: of.count, leftMs: of.endMs - nowMs }
    })
  }

  addLink(hash: string, validMs: number): Promise<true | null> {
    return this.#answer(() => this.#add(this.#links, hash, validMs, LINKS_MAX))
  }

  hasLink(hash: string): Promise<boolean | null> {
    return this.#answer(() => this.#has(this.#links, hash))
  }

  takeLink(hash: string): Promise<boolean | null> {
    return this.#answer(() => {
      const had = this.#has(this.#links, hash)
      this.#links.delete(hash)
      return had
    })
  }

  dropLinks(): Promise<true | null> {
    return this.#answer(() => {
      this.#links.clear()
      return true as const
    })
  }

  addSession(hash: string, validMs: number): Promise<true | null> {
    return this.#answer(() => this.#add(this.#sessions, hash, validMs, SESSIONS_MAX))
  }

  haveSessions(hashes: readonly string[]): Promise<boolean[] | null> {
    return this.#answer(() => hashes.map((hash) => this.#has(this.#sessions, hash)))
  }

  endSession(hash: string): Promise<true | null> {
    return this.#answer(() => {
      this.#sessions.delete(hash)
      return true as const
    })
  }

  endSessions(): Promise<number | null> {
    return this.#answer(() => {
      const count = [...this.#sessions.keys()].filter((hash) => this.#has(this.#sessions, hash)).length
      this.#sessions.clear()
      return count
    })
  }

  readAnswer(key: string): Promise<CachedAnswer | undefined | null> {
    return this.#answer(() => {
      const kept = this.#answers.get(key)
      return kept !== undefined && kept.endMs > this.#clock.monotonicMs() ? kept.answer : undefined
    })
  }

  writeAnswer(key: string, answer: CachedAnswer): Promise<boolean | null> {
    return this.#answer(() => {
      if (answer.body.length > this.#limits.maxBytes) return false
      this.#answers.set(key, { answer, endMs: this.#clock.monotonicMs() + this.#limits.ttlMs })
      return true
    })
  }

  async #answer<T>(work: () => T): Promise<T | null> {
    return this.isAway ? null : work()
  }

  #has(set: Map<string, number>, hash: string): boolean {
    return (set.get(hash) ?? 0) > this.#clock.monotonicMs()
  }

  #add(set: Map<string, number>, hash: string, validMs: number, most: number): true {
    for (const [one, endMs] of set) if (endMs <= this.#clock.monotonicMs()) set.delete(one)
    const oldest = [...set].sort(([, one], [, other]) => one - other)[0]
    if (set.size >= most && oldest !== undefined) set.delete(oldest[0])
    set.set(hash, this.#clock.monotonicMs() + validMs)
    return true
  }
}
