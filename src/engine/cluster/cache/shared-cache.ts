import type { BucketRule, Taken } from './token-bucket.ts'

export interface Failures {
  count: number
  leftMs: number
}

export interface CachedAnswer {
  /** The position in the change log. The answer includes all changes up to it. */
  position: number
  body: Buffer
}

/**
 * The cache that several engines share. Each method resolves to null if the cache does not respond in time; the engine
 * then works alone. The cache stores the tokens of sessions and links only as hashes.
 */
export interface SharedCache {
  /** Whether the cache is bypassed now. Checking this first saves a turn of the event loop. */
  readonly isAway: boolean
  /** Charges a client's bucket for one limit, for all engines together. */
  take(bucket: { limit: string; client: string }, rule: BucketRule, cost: number): Promise<Taken | null>
  countFailure(of: { limit: string; client: string }, windowMs: number): Promise<Failures | null>

  addLink(hash: string, validMs: number): Promise<true | null>
  hasLink(hash: string): Promise<boolean | null>
  /** Resolves to true only for the first engine that takes the link. */
  takeLink(hash: string): Promise<boolean | null>
  dropLinks(): Promise<true | null>

  addSession(hash: string, validMs: number): Promise<true | null>
  haveSessions(hashes: readonly string[]): Promise<boolean[] | null>
  endSession(hash: string): Promise<true | null>
  /** Returns how many sessions ended. */
  endSessions(): Promise<number | null>

  /** Resolves to `undefined` if the cache has no answer for the key. */
  readAnswer(key: string): Promise<CachedAnswer | undefined | null>
  /** Returns false if the answer is too large to store. Requests do not wait for this. */
  writeAnswer(key: string, answer: CachedAnswer): Promise<boolean | null>
}

export const LINKS_MAX = 100
export const SESSIONS_MAX = 1_000

export interface CacheState {
  name: string
  isUp: boolean
  /** Why the cache is not in use. Null if it is in use or has not been tried yet. */
  reason: string | null
  sinceMs: number
}

/** Calls since the engine started, for metrics. `skipped` calls were not sent because the cache was bypassed. */
export interface CacheCalls {
  ok: number
  failed: number
  timeout: number
  skipped: number
  /** Total time of the calls that got a response. */
  seconds: number
}
