import type { Firing, JobId, OverlapPolicy, ScheduleSettings } from '../../shared/contract/index.ts'
import { formatDuration } from '../../shared/time.ts'
import type { Moment } from './moments.ts'

/**
 * The fate of a moment:
 *
 *   its time comes ──▶ schedule paused? ──yes──▶ skipped (paused)
 *                            │ no
 *                      left out by a clock change? ──yes──▶ skipped (gap)
 *                            │ no
 *                      later than LATE_AFTER_MS? ──no──────────────────────────┐
 *                            │ yes                                             │
 *                      later than the window? ──yes──▶ missed (out_of_window)  │
 *                            │ no                                              │
 *                      catch-up none ──▶ missed (catch_up_none)                │
 *                      last, but a newer one is due ──▶ missed (superseded)    │
 *                      last and newest, or all ── caught_up ──────────────┐ on_time
 *                                                                         ▼    ▼
 *                        max runs reached? ──yes──▶ skipped (max_runs)   overlap policy (decideOverlap)
 *                        template resolves? ──no──▶ failed (refused)          skip ──▶ skipped (overlap)
 *                                                                             fire ──▶ fired
 */

/** A moment this late is still on time (busy event loop, service restart). Above the scheduler's longest sleep. */
export const LATE_AFTER_MS = 60_000

/** Why moments were judged late; selects the text for users. */
export type Cause = 'stopped' | 'clock' | 'busy'
const CAUSE_WORDS: Record<Cause, string> = {
  stopped: 'Scrapdeck was not running',
  clock: 'the machine slept or its clock was set ahead',
  busy: 'the engine was busy'
}

export type Fate = Pick<Firing, 'reason' | 'text'> & {
  state: 'fired' | 'skipped' | 'missed'
  /** Ascending. More than one only if none of them fires; they then share one row. */
  nominalMs: number[]
}

type LateSettings = Pick<ScheduleSettings, 'catchUp' | 'catchUpWindowSeconds'>

/**
 * Judges due moments (ascending), before the overlap policy and the template are applied. `hasMore`: newer ones follow
 * in the next call. Consecutive fates that are alike and create no jobs are merged.
 */
export function judgeMoments(
  moments: readonly Moment[],
  settings: LateSettings,
  { nowMs, offsetMs, hasMore, cause }: { nowMs: number; offsetMs: number; hasMore: boolean; cause: Cause }
): Fate[] {
  const newest = moments.findLast(({ isLeftOut }) => !isLeftOut)
  return joinAlike(moments.map(judge))

  function judge(moment: Moment): Fate {
    const { nominalMs, isLeftOut } = moment
    const lateMs = nowMs - nominalMs - offsetMs
    const of = { nominalMs: [nominalMs] }
    if (isLeftOut) return leftOut(nominalMs)
    const late = `${formatDuration(Math.round(lateMs / 1_000))} late: ${CAUSE_WORDS[cause]}`
    if (lateMs <= LATE_AFTER_MS) {
      return { ...of, state: 'fired', reason: 'on_time', text: lateMs < 1_000 ? 'On time' : late }
    }
    const missed = missedWhy(lateMs, moment === newest && !hasMore)
    if (missed !== null) return { ...of, state: 'missed', ...missed }
    return { ...of, state: 'fired', reason: 'caught_up', text: `Caught up, ${late}` }
  }

  function missedWhy(lateMs: number, isNewest: boolean): Pick<Fate, 'reason' | 'text'> | null {
    const why = `Missed while ${CAUSE_WORDS[cause]}`
    if (lateMs > settings.catchUpWindowSeconds * 1_000) {
      const text = `${why}; outside the catch-up window of ${formatDuration(settings.catchUpWindowSeconds)}`
      return { reason: 'out_of_window', text }
    }
    if (settings.catchUp === 'none') return { reason: 'catch_up_none', text: `${why}; catch-up is off` }
    if (settings.catchUp === 'last' && !isNewest) {
      return { reason: 'superseded', text: `${why}; only the last missed run is caught up` }
    }
    return null
  }
}

/** The fates of moments of a paused schedule; they are never caught up. */
export function pausedFates(moments: readonly Moment[]): Fate[] {
  return joinAlike(
    moments.map(({ nominalMs, isLeftOut }): Fate => {
      if (isLeftOut) return leftOut(nominalMs)
      return { nominalMs: [nominalMs], state: 'skipped', reason: 'paused', text: 'The schedule was paused' }
    })
  )
}

function leftOut(nominalMs: number): Fate {
  const text = 'This local time does not exist on that day (clock change), so the run is skipped'
  return { nominalMs: [nominalMs], state: 'skipped', reason: 'gap', text }
}

function joinAlike(fates: Fate[]): Fate[] {
  const joined: Fate[] = []
  for (const fate of fates) {
    const before = joined.at(-1)
    if (before !== undefined && fate.state !== 'fired' && fate.reason === before.reason) {
      before.nominalMs.push(...fate.nominalMs)
    } else joined.push(fate)
  }
  return joined
}

/** The jobs of one moment that have not ended. */
export interface LiveFiring {
  nominalMs: number
  jobIds: JobId[]
}

export type OverlapDecision =
  | { kind: 'skip'; text: string }
  /** The new jobs wait until the jobs in `after` have ended; those in `cancel` are cancelled after the write. */
  | { kind: 'fire'; after: JobId[]; cancel: JobId[] }

/**
 * Decides whether a moment fires although runs of earlier ones are live (oldest first). Jobs that must wait are created
 * at once, held by the jobs they wait for: the store lifts the hold in the transaction that ends those, so no crash can
 * lose it. So a schedule has a waiting moment exactly if two of its moments are live.
 */
export function decideOverlap(policy: OverlapPolicy, live: readonly LiveFiring[]): OverlapDecision {
  const all = live.flatMap(({ jobIds }) => jobIds)
  if (all.length === 0 || policy === 'allow') return { kind: 'fire', after: [], cancel: [] }
  const running = `The run of ${isoWords(live[0]!.nominalMs)} had not ended`
  switch (policy) {
    case 'skip':
      return { kind: 'skip', text: running }
    case 'queue_one':
      if (live.length > 1) return { kind: 'skip', text: `${running}, and another run was already waiting` }
      return { kind: 'fire', after: all, cancel: [] }
    case 'queue_all':
      return { kind: 'fire', after: live.at(-1)!.jobIds, cancel: [] }
    case 'cancel_running':
      return { kind: 'fire', after: all, cancel: all }
  }
}

/** A time as text, independent of locale and zone: `2026-11-21 11:00 UTC`. */
export function isoWords(atMs: number): string {
  const iso = new Date(atMs).toISOString()
  const seconds = atMs % 60_000 === 0 ? '' : iso.slice(16, 19)
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}${seconds} UTC`
}
