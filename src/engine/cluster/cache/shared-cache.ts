import type { BucketRule, Taken } from './token-bucket.ts'

export interface Failures {
  count: number
  /** Time until the failures are forgotten. */
  leftMs: number
}

export interface CachedAnswer {
  /** A position of the change log: the answer includes all changes up to it. */
  position: number
  body: Buffer
}

/**
 * The cache that several engines share. No engine depends on it: each method resolves to null when the cache does not
 * answer in time, and the engine then works alone. It stores only hashes of the tokens of sessions and links.
 */
export interface SharedCache {
  /** Whether it is bypassed at present. Callers can check this to save a turn of the event loop. */
  readonly isAway: boolean
  /** Charges a client's bucket of one limit, for all engines at once. */
  take(bucket: { limit: string; client: string }, rule: BucketRule, cost: number): Promise<Taken | null>
  /** Counts a failed login, and returns how many there were in this window. */
  countFailure(of: { limit: string; client: string }, windowMs: number): Promise<Failures | null>

  addLink(hash: string, validMs: number): Promise<true | null>
  hasLink(hash: string): Promise<boolean | null>
  /** Resolves to true only once, for the first engine that asks. */
  takeLink(hash: string): Promise<boolean | null>
  dropLinks(): Promise<true | null>

  addSession(hash: string, validMs: number): Promise<true | null>
  /** Whether each of these is valid. */
  haveSessions(hashes: readonly string[]): Promise<boolean[] | null>
  endSession(hash: string): Promise<true | null>
  /** Returns how many there were. */
  endSessions(): Promise<number | null>

  /** `undefined`: there is none. */
  readAnswer(key: string): Promise<CachedAnswer | undefined | null>
  /** Returns false if the answer is too large to be kept. Requests do not wait for it. */
  writeAnswer(key: string, answer: CachedAnswer): Promise<boolean | null>
}

export const LINKS_MAX = 100
export const SESSIONS_MAX = 1_000

/** Whether the shared cache is in use, for operators. */
export interface CacheState {
  /** Its address, without credentials. */
  name: string
  isUp: boolean
  /** Why it is not in use. null: it has not been tried yet. */
  reason: string | null
  sinceMs: number
}

/** Calls since the engine started, for metrics. `skipped`: not sent, because the cache was bypassed. */
export interface CacheCalls {
  ok: number
  failed: number
  timeout: number
  skipped: number
  /** Total time of the answered calls. */
  seconds: number
}
