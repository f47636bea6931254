import type { LiveJobs } from './live-jobs.ts'
import { dueAt, type DecidedFirings, type ScheduleState } from './schedule-state.ts'

/** How early firings are prepared. A thousand firings due in one second then only need to be written. */
export const PREFETCH_MS = 250
/** A prepared firing counts as on time. If it is claimed later than this, it is judged again. */
const TAKEN_LATE_MAX_MS = 1_000

type Live = Pick<LiveJobs, 'hasAny'>

/**
 * Prepares the next firing of a schedule. Anything that depends on earlier runs, on counts or on several times is
 * decided at the due time. Changing the schedule replaces its state, including the prepared firing.
 */
export async function prefetch(
  { state, dueMs }: { state: ScheduleState; dueMs: number },
  live: Live,
  make: () => Promise<DecidedFirings | null>
): Promise<void> {
  if (state.prefetched?.dueMs === dueMs) return
  state.prefetched = { dueMs, decided: null }
  if (dueAt(state) !== dueMs || !isPlain(state, dueMs, live)) return
  // An error occurs again at the due time and is reported then.
  const decided = await make().catch(() => null)
  if (decided === null || decided.firings.some((firing) => firing.state !== 'fired')) return
  // The jobs count as queued at their due time, not when they were prepared.
  for (const { jobs } of decided.firings) for (const job of jobs) job.entry.atMs = dueMs
  state.prefetched = { dueMs, decided }
}

/** Returns the prepared firing if it would still be decided in the same way. A prepared firing can be claimed once. */
export function claimPrefetched(state: ScheduleState, live: Live, nowMs: number): DecidedFirings | null {
  const { prefetched } = state
  state.prefetched = null
  if (prefetched === null || prefetched.decided === null || prefetched.dueMs !== dueAt(state)) return null
  const isInTime = nowMs >= prefetched.dueMs && nowMs - prefetched.dueMs < TAKEN_LATE_MAX_MS
  return isInTime && isPlain(state, nowMs, live) ? prefetched.decided : null
}

function isPlain({ stored, next, following, offsetMs }: ScheduleState, atMs: number, live: Live): boolean {
  const { overlap, maxRuns } = stored.settings
  if (stored.paused || next === null || next.isLeftOut || maxRuns !== null) return false
  if (following !== null && following.nominalMs + offsetMs <= atMs) return false
  return overlap === 'allow' || !live.hasAny(stored.id)
}
