import type { RunLimits } from '../../../shared/contract/index.ts'

/** How often logs of running jobs are read; all of it is pure. */

export interface ReadFacts {
  /** On this machine: reading is a few system calls. */
  isLocal: boolean
  /** Its node may delete the log soon: other runs of its spider start there, and Scrapyd keeps only so many logs. */
  isThreatened: boolean
  /** Before this read. */
  intervalMs: number
  newBytes: number
  /** The log is longer than the last read. */
  hasMore: boolean
  /** Its limits need it at least this often; null: they do not. */
  mostMs: number | null
}

const LOCAL_MS = 2_000
/** Including the wait for a turn, figures are at most ten seconds old. */
const REMOTE_MS = 9_500
const QUIET_MS = 30_000
const THREATENED_MS = 1_000
const MORE_MS = 250

export const firstReadMs = ({ isLocal }: Pick<ReadFacts, 'isLocal'>): number => (isLocal ? 1_000 : 3_000)

/** When to read it again: less often without new bytes, at once while there is more. */
export function nextReadMs({ isLocal, isThreatened, intervalMs, newBytes, hasMore, mostMs }: ReadFacts): number {
  if (hasMore) return MORE_MS
  if (isThreatened) return THREATENED_MS
  const busyMs = isLocal ? LOCAL_MS : REMOTE_MS
  const usualMs = newBytes > 0 ? busyMs : Math.min(QUIET_MS, Math.max(busyMs, intervalMs * 1.5))
  return Math.min(usualMs, mostMs ?? Number.POSITIVE_INFINITY)
}

const READS_PER_SECOND = 200
const READS_PER_SECOND_WHEN_BUSY = 50
const BUSY_FROM = 0.7
const BUSIEST = 0.95

/**
 * For all logs together: a tenth of a core or two, and less while the event loop is busy, because dispatching jobs and
 * polling nodes come first. With more to read, each log is read less often. `loopShare`: how much of the time
 * it is busy, 0 to 1.
 */
export function readsPerSecond(loopShare: number): number {
  const spare = Math.min(1, Math.max(0, (BUSIEST - loopShare) / (BUSIEST - BUSY_FROM)))
  return READS_PER_SECOND_WHEN_BUSY + spare * (READS_PER_SECOND - READS_PER_SECOND_WHEN_BUSY)
}

/** A quarter of the time that a run may stand still, which bounds how late a hit is noticed. */
export function mostMsFor(limits: RunLimits | null): number | null {
  const seconds = limits?.noProgressSeconds
  return seconds == null ? null : Math.max(THREATENED_MS, seconds * 250)
}

/**
 * Scrapyd deletes all but `jobs_to_keep` logs of a spider (5 by default) whenever it starts a run of it, those of
 * running jobs included. With this many live runs on one node, the next start may delete one.
 */
export const THREATENED_FROM_RUNS = 3
