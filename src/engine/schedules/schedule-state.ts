import { TimingTooCostly } from '../../shared/calendar/index.ts'
import type { JobId } from '../../shared/contract/index.ts'
import type { LateCause } from '../../shared/texts/en-schedules.ts'
import { say } from '../../shared/texts/message.ts'
import type { NewFiring, StoredSchedule } from '../model/records.ts'
import { CLOCK_SET_BACK_MAX_MS } from './clock-watch.ts'
import { type Fate, judgeMoments, pausedFates } from './fates.ts'
import { jitterOf, FireTimes, type Moment } from './moments.ts'

export interface ScheduleState {
  stored: StoredSchedule
  moments: FireTimes
  offsetMs: number
  /** Every nominal time up to this one has its row. */
  doneUntilMs: number
  /** The next two times after `doneUntilMs`, so that firing one needs no calendar search. */
  next: Moment | null
  following: Moment | null
  nextRunMs: number | null
  /** Why the next time cannot be found. The schedule must then be paused. */
  problem: string | null
  /** The number of the schedule's current entry in `DuePlaces`. Entries with other numbers are stale. */
  place: number
  prefetched: Prefetched | null
}

export interface DecidedFirings {
  state: ScheduleState
  firings: NewFiring[]
  cancels: { index: number; jobIds: JobId[] }[]
  doneUntilMs: number
  weight: number
}

/** A firing that was prepared ahead. `decided` null: it could not be prepared, so it is decided when it is due. */
export interface Prefetched {
  dueMs: number
  decided: DecidedFirings | null
}

const PAUSED_ROWS_EVERY_MS = 3_600_000
const MOMENTS_AT_ONCE = 500

export function createState(stored: StoredSchedule, nowMs: number): ScheduleState {
  const state: ScheduleState = {
    stored,
    moments: new FireTimes(stored.settings),
    offsetMs: jitterOf(stored.id, stored.settings.jitterSeconds),
    doneUntilMs: stored.doneUntilMs,
    next: null,
    following: null,
    nextRunMs: null,
    problem: null,
    place: 0,
    prefetched: null
  }
  healAfterClock(state, nowMs)
  findNext(state)
  return state
}

/** Resets a schedule that would not fire because the clock was once far ahead. Returns whether it was reset. */
export function healAfterClock(state: ScheduleState, nowMs: number): boolean {
  if (state.doneUntilMs <= nowMs + CLOCK_SET_BACK_MAX_MS) return false
  state.doneUntilMs = nowMs - state.offsetMs
  return true
}

/** Whether the schedule never fires again unless it is changed. */
export function isOver({ stored }: ScheduleState): boolean {
  return stored.paused && stored.pausedBy !== 'operator' && stored.pausedBy !== 'failures'
}

export function findNext(state: ScheduleState): void {
  const { moments, doneUntilMs, following } = state
  const isKnown = following !== null && state.next !== null && state.next.nominalMs === doneUntilMs
  state.next = state.following = state.nextRunMs = null
  try {
    const next = isKnown ? following : moments.next(doneUntilMs)
    state.nextRunMs = next?.isLeftOut === true ? moments.nextRun(doneUntilMs) : (next?.nominalMs ?? null)
    state.next = next
  } catch (error) {
    state.problem = problemIn(error)
    return
  }
  try {
    if (state.next !== null) state.following = moments.next(state.next.nominalMs)
  } catch (error) {
    // The next time can still fire. The problem is reported when the time after it must be found.
    problemIn(error)
  }
}

function problemIn(error: unknown): string {
  if (error instanceof TimingTooCostly) return error.message
  throw error
}

export function dueAt(state: ScheduleState): number | null {
  if (state.next === null || isOver(state)) return null
  return state.next.nominalMs + state.offsetMs + (state.stored.paused ? PAUSED_ROWS_EVERY_MS : 0)
}

/** Returns only `next` if the times take too long to find. findNext then reports why. */
function dueMoments({ moments, doneUntilMs }: ScheduleState, next: Moment, untilMs: number): Moment[] {
  try {
    return moments.between(doneUntilMs, untilMs, MOMENTS_AT_ONCE)
  } catch (error) {
    if (error instanceof TimingTooCostly) return [next]
    throw error
  }
}

/** The fates of due times up to the returned `doneUntilMs`, a limited number per call. */
export function judgeDue(
  state: ScheduleState,
  { nowMs, cause }: { nowMs: number; cause: LateCause }
): { fates: Fate[]; doneUntilMs: number } {
  const { stored, offsetMs, doneUntilMs, next, following } = state
  const untilMs = nowMs - offsetMs
  if (next === null || next.nominalMs > untilMs) return { fates: [], doneUntilMs }
  const isOne = following === null || following.nominalMs > untilMs
  const due = isOne ? [next] : dueMoments(state, next, untilMs)
  const newestMs = due.at(-1)?.nominalMs ?? doneUntilMs
  if (stored.paused) return { fates: pausedFates(due), doneUntilMs: newestMs }
  const hasMore = due.length === MOMENTS_AT_ONCE || (!isOne && due.length === 1)
  const fates = judgeMoments(due, stored.settings, { nowMs, offsetMs, hasMore, cause })
  const windowStartMs = untilMs - stored.settings.catchUpWindowSeconds * 1_000 - 1
  const last = fates.at(-1)
  if (!hasMore || last?.reason !== 'out_of_window' || windowStartMs <= newestMs) return { fates, doneUntilMs: newestMs }
  // Counting years of missed seconds one by one would be useless.
  const windowSeconds = stored.settings.catchUpWindowSeconds
  const message = say('firing.out_of_window', { cause, windowSeconds, countedUntilMs: newestMs })
  return { fates: [...fates.slice(0, -1), { ...last, message }], doneUntilMs: windowStartMs }
}
