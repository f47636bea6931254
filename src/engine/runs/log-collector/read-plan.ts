import type { RunLimits } from '../../../shared/contract/index.ts'

export interface ReadFacts {
  /** Whether the log is on this machine, where reading takes only a few system calls. */
  isLocal: boolean
  /** Whether the node may delete the log soon (see THREATENED_FROM_RUNS). */
  isThreatened: boolean
  intervalMs: number
  newBytes: number
  hasMore: boolean
  /** The longest interval that the run's limits allow. Null: no limit. */
  mostMs: number | null
}

const LOCAL_MS = 2_000
/** The interval for remote logs. Including the wait for a turn, the figures are at most ten seconds old. */
const REMOTE_MS = 9_500
const QUIET_MS = 30_000
const THREATENED_MS = 1_000
const MORE_MS = 250

export const firstReadMs = ({ isLocal }: Pick<ReadFacts, 'isLocal'>): number => (isLocal ? 1_000 : 3_000)

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
 * The number of reads per second for all logs together. They take 10 to 20 % of a core, or less while the event loop
 * is busy, because dispatching and polling have priority. `loopShare`: the busy share of the event loop, 0 to 1.
 */
export function readsPerSecond(loopShare: number): number {
  const spare = Math.min(1, Math.max(0, (BUSIEST - loopShare) / (BUSIEST - BUSY_FROM)))
  return READS_PER_SECOND_WHEN_BUSY + spare * (READS_PER_SECOND - READS_PER_SECOND_WHEN_BUSY)
}

/** A quarter of the time that a run may go without progress, so that we notice in time when it exceeds the limit. */
export function mostMsFor(runLimits: RunLimits | null): number | null {
  const seconds = runLimits?.noProgressSeconds
  return seconds == null ? null : Math.max(THREATENED_MS, seconds * 250)
}

/**
 * Whenever Scrapyd starts a run, it deletes all but `jobs_to_keep` logs of the spider (5 by default), even those of
 * running jobs. If a spider has this many live runs on one node, the next start can delete the log of one of them.
 */
export const THREATENED_FROM_RUNS = 3
