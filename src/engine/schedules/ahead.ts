import type { LiveJobs } from './live-jobs.ts'
import type { NewFiring } from '../store/records.ts'
import { dueAt, type DecidedFirings, type ScheduleState } from './schedule-state.ts'

/** So long before their time firings are made, so that a thousand of one second only have to be written then. */
export const AHEAD_MS = 250
/** A firing that was made ahead is on time, and says so; what is noticed later than this is gone over again. */
const TAKEN_LATE_MAX_MS = 1_000

type Live = Pick<LiveJobs, 'hasAny'>

/**
 * Makes the next firing of a schedule before its time; `make` decides as of that time. Only the plain case: whatever
 * depends on earlier runs, counts or several moments waits for the time itself. What is read of projects may be older
 * than the firing by AHEAD_MS; a schedule that is changed meanwhile has a new state, without it. Returns what it made.
 */
export async function makeAhead(
  { state, dueMs }: { state: ScheduleState; dueMs: number },
  live: Live,
  make: () => Promise<DecidedFirings>
): Promise<NewFiring[]> {
  if (state.ahead?.dueMs === dueMs) return []
  state.ahead = { dueMs, gone: null }
  if (dueAt(state) !== dueMs || !isPlain(state, dueMs, live)) return []
  // Whatever keeps it from being made now is found again at its time, and told then.
  const gone = await make().catch(() => null)
  if (gone === null || gone.firings.some((firing) => firing.state !== 'fired')) return []
  // They are asked at their time, not when they were made.
  for (const { jobs } of gone.firings) for (const job of jobs) job.entry.atMs = dueMs
  state.ahead = { dueMs, gone }
  return gone.firings
}

/** What was made ahead of this moment, if it still is what would be made now; it is given once. */
export function claimAhead(state: ScheduleState, live: Live, nowMs: number): DecidedFirings | null {
  const { ahead } = state
  state.ahead = null
  if (ahead === null || ahead.gone === null || ahead.dueMs !== dueAt(state)) return null
  const isInTime = nowMs >= ahead.dueMs && nowMs - ahead.dueMs < TAKEN_LATE_MAX_MS
  return isInTime && isPlain(state, nowMs, live) ? ahead.gone : null
}

function isPlain({ stored, next, following, offsetMs }: ScheduleState, atMs: number, live: Live): boolean {
  const { overlap, maxRuns } = stored.settings
  if (stored.paused || next === null || next.isLeftOut || maxRuns !== null) return false
  if (following !== null && following.nominalMs + offsetMs <= atMs) return false
  return overlap === 'allow' || !live.hasAny(stored.id)
}
