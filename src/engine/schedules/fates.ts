import type { JobId, OverlapPolicy, ScheduleSettings } from '../../shared/contract/index.ts'
import type { LateCause } from '../../shared/texts/en-schedules.ts'
import { type Message, say } from '../../shared/texts/message.ts'
import type { NewFiring } from '../model/records.ts'
import type { Moment } from './moments.ts'

/**
 * What happens to a due time:
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

/** The maximum delay of a firing that counts as on time (busy event loop, restart). Exceeds SLEEP_MAX_MS. */
export const LATE_AFTER_MS = 60_000

export interface Fate extends Pick<NewFiring, 'reason' | 'message'> {
  state: 'fired' | 'skipped' | 'missed'
  /** Ascending. Several only if none of them fires. They then share one row. */
  nominalMs: number[]
}

type LateSettings = Pick<ScheduleSettings, 'catchUp' | 'catchUpWindowSeconds'>

/**
 * Judges due times (ascending), before the overlap policy and the template are applied. `hasMore`: newer times follow.
 */
export function judgeMoments(
  moments: readonly Moment[],
  settings: LateSettings,
  { nowMs, offsetMs, hasMore, cause }: { nowMs: number; offsetMs: number; hasMore: boolean; cause: LateCause }
): Fate[] {
  const newest = moments.findLast(({ isLeftOut }) => !isLeftOut)
  return joinAlike(moments.map(judge))

  function judge(moment: Moment): Fate {
    const { nominalMs, isLeftOut } = moment
    const lateMs = nowMs - nominalMs - offsetMs
    const of = { nominalMs: [nominalMs] }
    if (isLeftOut) return leftOut(nominalMs)
    const late = { seconds: Math.round(lateMs / 1_000), cause }
    if (lateMs <= LATE_AFTER_MS) {
      const message = lateMs < 1_000 ? say('firing.on_time') : say('firing.late', late)
      return { ...of, state: 'fired', reason: 'on_time', message }
    }
    const missed = missedWhy(lateMs, moment === newest && !hasMore)
    if (missed !== null) return { ...of, state: 'missed', ...missed }
    return { ...of, state: 'fired', reason: 'caught_up', message: say('firing.caught_up', late) }
  }

  function missedWhy(lateMs: number, isNewest: boolean): Pick<Fate, 'reason' | 'message'> | null {
    const windowSeconds = settings.catchUpWindowSeconds
    if (lateMs > windowSeconds * 1_000) {
      return {
        reason: 'out_of_window',
        message: say('firing.out_of_window', { cause, windowSeconds, countedUntilMs: null })
      }
    }
    if (settings.catchUp === 'none') {
      return { reason: 'catch_up_none', message: say('firing.catch_up_none', { cause }) }
    }
    if (settings.catchUp === 'last' && !isNewest) {
      return { reason: 'superseded', message: say('firing.superseded', { cause }) }
    }
    return null
  }
}

/** A paused schedule never catches up on missed times. */
export function pausedFates(moments: readonly Moment[]): Fate[] {
  return joinAlike(
    moments.map(({ nominalMs, isLeftOut }): Fate => {
      if (isLeftOut) return leftOut(nominalMs)
      return { nominalMs: [nominalMs], state: 'skipped', reason: 'paused', message: say('firing.paused') }
    })
  )
}

function leftOut(nominalMs: number): Fate {
  return { nominalMs: [nominalMs], state: 'skipped', reason: 'gap', message: say('firing.gap') }
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

export interface LiveFiring {
  nominalMs: number
  jobIds: JobId[]
}

export type OverlapDecision =
  | { kind: 'skip'; message: Message }
  /** The new jobs wait until the jobs in `after` have ended. Those in `cancel` are cancelled after the write. */
  | { kind: 'fire'; after: JobId[]; cancel: JobId[] }

/**
 * Decides whether a time fires although runs of earlier times are live (oldest first). Jobs that must wait are
 * created immediately. The store releases them in the transaction that ends the jobs they wait for, so a crash
 * cannot prevent the release.
 */
export function decideOverlap(policy: OverlapPolicy, live: readonly LiveFiring[]): OverlapDecision {
  const all = live.flatMap(({ jobIds }) => jobIds)
  if (all.length === 0 || policy === 'allow') return { kind: 'fire', after: [], cancel: [] }
  const overlapped = { runOfMs: live[0]!.nominalMs, isAnotherWaiting: policy === 'queue_one' }
  switch (policy) {
    case 'skip':
      return { kind: 'skip', message: say('firing.overlap', overlapped) }
    case 'queue_one':
      if (live.length > 1) return { kind: 'skip', message: say('firing.overlap', overlapped) }
      return { kind: 'fire', after: all, cancel: [] }
    case 'queue_all':
      return { kind: 'fire', after: live.at(-1)!.jobIds, cancel: [] }
    case 'cancel_running':
      return { kind: 'fire', after: all, cancel: all }
  }
}
