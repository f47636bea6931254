/**
 * Decides which ended jobs and logs retention deletes. The store only walks its jobs in the order in which they ended
 * and calls `judgeRetention` for each. A verdict depends only on jobs that ended later, so passes can stop anywhere and
 * repeat.
 */

/** null: no bound. A job is deleted if it exceeds any of the bounds. */
export interface KeepBounds {
  endedSinceMs: number | null
  newestPerSpider: number | null
}

export interface ProjectBounds {
  jobs: KeepBounds & { newestPerProject: number | null }
  logs: KeepBounds & { bytesPerProject: number | null }
}

/** Why a job over a bound is kept. The first three reasons protect its log too. */
export type Protection = 'kept' | 'newest' | 'may_have_run_twice' | 'schedule' | 'dependency' | 'dedupe' | 'chain'

/** The minimum age of deleted data. Users need the failures of the last day, and lost runs can reappear. */
export const NEVER_BEFORE_MS = 86_400_000

export interface Standing {
  endedAtMs: number
  /** 1: no job of the spider ended later. */
  rankOfSpider: number
  rankOfProject: number
  hasLog: boolean
  /** Bytes of this log and of the logs in its project that are as new or newer. */
  logBytesSince: number
}

export type Verdict = 'stays' | 'goes' | Protection

/** Calls `protection` only for jobs over a bound. */
export function judgeRetention(
  { jobs, logs }: ProjectBounds,
  nowMs: number,
  standing: Standing,
  protection: (overTerm: { job: boolean; log: boolean }) => { job: Protection | null; log: Protection | null }
): { job: Verdict; log: Verdict } {
  const { endedAtMs, rankOfSpider, rankOfProject, hasLog, logBytesSince } = standing
  if (endedAtMs >= nowMs - NEVER_BEFORE_MS) return { job: 'stays', log: 'stays' }
  const isBefore = (sinceMs: number | null) => sinceMs !== null && endedAtMs < sinceMs
  const isOver = (bound: number | null, value: number) => bound !== null && value > bound
  const overTerm = { job: isBefore(jobs.endedSinceMs), log: isBefore(logs.endedSinceMs) }
  const logIsDue =
    hasLog &&
    (overTerm.log || isOver(logs.newestPerSpider, rankOfSpider) || isOver(logs.bytesPerProject, logBytesSince))
  const jobIsDue =
    (overTerm.job || isOver(jobs.newestPerSpider, rankOfSpider) || isOver(jobs.newestPerProject, rankOfProject)) &&
    // A job is never deleted before its log.
    (!hasLog || logIsDue)
  if (!logIsDue && !jobIsDue) return { job: 'stays', log: 'stays' }
  const by = protection(overTerm)
  const log = logIsDue ? (by.log ?? 'goes') : 'stays'
  if (!jobIsDue) return { job: 'stays', log }
  return { job: by.job ?? (log === 'goes' || !hasLog ? 'goes' : log), log }
}

export interface Shields {
  isKept: boolean
  /** Whether no job of the spider with this outcome ended later. */
  isNewest: boolean
  mayHaveRunTwice: boolean
  isOfSchedule: boolean
  isAwaited: boolean
  hasDedupeKey: boolean
  isDueToChain: boolean
}

export function protectionOf(
  shields: Shields,
  overTerm: { job: boolean; log: boolean }
): { job: Protection | null; log: Protection | null } {
  const flagged = (isOverTerm: boolean) => shields.mayHaveRunTwice && !isOverTerm && 'may_have_run_twice'
  const always = (shields.isKept && 'kept') || (shields.isNewest && 'newest')
  const job =
    always ||
    flagged(overTerm.job) ||
    (shields.isOfSchedule && 'schedule') ||
    (shields.isAwaited && 'dependency') ||
    (shields.hasDedupeKey && 'dedupe') ||
    (shields.isDueToChain && 'chain') ||
    null
  return { job, log: always || flagged(overTerm.log) || null }
}

/** A pass stops at jobs that ended after this time, because no bound reaches them. */
export function horizonOf(all: readonly ProjectBounds[], nowMs: number): number {
  const recentMs = nowMs - NEVER_BEFORE_MS
  const hasAmounts = ({ jobs, logs }: ProjectBounds) =>
    [jobs.newestPerSpider, jobs.newestPerProject, logs.newestPerSpider, logs.bytesPerProject].some(
      (bound) => bound !== null
    )
  if (all.some(hasAmounts)) return recentMs
  const terms = all.flatMap(({ jobs, logs }) => [jobs.endedSinceMs, logs.endedSinceMs]).filter((ms) => ms !== null)
  return Math.min(recentMs, Math.max(Number.NEGATIVE_INFINITY, ...terms))
}
