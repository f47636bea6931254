import { aScheduleId } from '../../src/shared/testing/ids.ts'
import { jitterOf } from '../../src/engine/schedules/moments.ts'
import { type Meant, meantBy } from './calendar.ts'
import type { JobOutcome } from './jobs.ts'
import { CANCEL_TAKES_MS, isFailing, lifeOf, type Plan, type PlannedSchedule } from './plan.ts'
import { isPausedAt, type Journal, wallAt } from './journal.ts'

/** The expected outcome of one nominal time, and the wall time at which the engine should record it. */
export interface Expected {
  nominalMs: number
  state: string
  reason: string
  atMs: number
  /** `atMs` in monotonic time. */
  seenMs: number
  jobs: ExpectedJob[]
}

export interface Expectation {
  moments: Expected[]
  endOf(job: ExpectedJob): { atMs: number; outcome: JobOutcome }
  problems: string[]
}

export interface ExpectedJob {
  index: number
  firedAtMs: number
  nominalMs: number
  after: ExpectedJob[]
  cancelledAtMs: number | null
}

/** The time after which the engine scans a schedule again if its rows could not be written. */
const AGAIN_AFTER_MS = 1_000
const ON_TIME_MS = 60_000
/** The longest time until an engine notices that the clock was set ahead. */
const NOTICE_MAX_MS = 30_000
/** How far to calculate beyond the story's end, because clocks that are set ahead reach later nominal times. */
const LOOKED_AHEAD_MS = 3 * 86_400_000

/**
 * Calculates the expected outcome of every nominal time, according to the documented policies and the events around
 * the engine. Shares no code with the ticker except its jitter offset, which is arbitrary.
 */
export function expect(schedule: PlannedSchedule, plan: Plan, journal: Journal): Expectation {
  const offsetMs = jitterOf(aScheduleId(schedule.id), schedule.jitterSeconds)
  const problems = new Set<string>()
  const groups = groupBySight(
    meantBy(schedule.timing, plan.beginsAtMs, plan.beginsAtMs + plan.durationMs + LOOKED_AHEAD_MS)
  )
  const expected: Expected[] = []
  const fired: { nominalMs: number; jobs: ExpectedJob[] }[] = []
  let firstLive = 0
  let runCount = 0
  let cancelledUntilMs = 0
  for (const { seenMs, meant } of groups) {
    cancelAtStarts(seenMs)
    if (schedule.maxRuns !== null && runCount >= schedule.maxRuns) break
    checkNotice(seenMs, meant[0]!.nominalMs + offsetMs)
    const newest = meant.findLast(({ isLeftOut }) => !isLeftOut)
    for (const one of meant) {
      const [state, reason, jobs = []] = judge(one, seenMs, one === newest)
      expected.push({
        nominalMs: one.nominalMs,
        state,
        reason,
        atMs: Math.floor(wallAt(journal, seenMs)),
        seenMs,
        jobs
      })
    }
  }
  cancelAtStarts(plan.durationMs)
  const ends = new Map<ExpectedJob, number>()
  return {
    moments: expected,
    problems: [...problems],
    endOf: (job) => ({ atMs: endOf(job, ends), outcome: outcomeOf(job) })
  }

  function groupBySight(meant: Meant[]): { seenMs: number; meant: Meant[] }[] {
    const groups: { seenMs: number; meant: Meant[] }[] = []
    for (const one of meant) {
      const seenMs = foundAt(one.nominalMs)
      if (seenMs === null) break
      const last = groups.at(-1)
      if (last?.seenMs === seenMs) last.meant.push(one)
      else groups.push({ seenMs, meant: [one] })
    }
    return groups
  }

  /**
   * Checks that an engine soon notices a nominal time that became due because the clock was set ahead. Ignores paused
   * schedules.
   */
  function checkNotice(seenMs: number, dueMs: number): void {
    if (isPausedAt(journal, schedule.id, seenMs)) return
    for (const [jumpMs, noticedMs] of journal.notices) {
      const couldBeSeenMs = Math.max(jumpMs, dueMs - (wallAt(journal, jumpMs) - jumpMs))
      if (noticedMs === seenMs && noticedMs - couldBeSeenMs > NOTICE_MAX_MS) {
        problems.add(`what was due when the clock was set at ${jumpMs} was noticed only at ${noticedMs}`)
      }
    }
  }

  /**
   * Returns when a nominal time is evaluated. A nominal time during a pause recurs if the clock is set back before it
   * is recorded.
   */
  function foundAt(nominalMs: number): number | null {
    for (let afterMs = 0; ; ) {
      const seenMs = seenAt(nominalMs + offsetMs, afterMs)
      if (seenMs === null || !isPausedAt(journal, schedule.id, seenMs)) return seenMs
      const rows = journal.pausedRows.get(schedule.id) ?? []
      const row = rows.find((one) => one.atMs >= seenMs && one.nominalMs >= nominalMs)
      const again = journal.walls.find(
        (wall) =>
          wall.fromMs > seenMs &&
          wall.fromMs < (row?.atMs ?? Number.POSITIVE_INFINITY) &&
          wall.fromMs + wall.offsetMs < nominalMs + offsetMs
      )
      if (again === undefined) return seenMs
      afterMs = again.fromMs
    }
  }

  /** Returns when a living engine first sees, after `afterMs`, that the wall clock has reached `dueMs`. */
  function seenAt(dueMs: number, afterMs: number): number | null {
    for (const { fromMs: begunMs, untilMs, landed } of journal.lives) {
      if (untilMs < afterMs) continue
      const fromMs = Math.max(begunMs, afterMs)
      const seenMs = seenIn(dueMs, fromMs, untilMs)
      const isLost = seenMs === untilMs && landed !== null && !landed.has(schedule.id)
      if (seenMs === null || isLost) continue
      return journal.refused.has(`${schedule.id} ${seenMs}`) ? seenAt(dueMs, seenMs + AGAIN_AFTER_MS) : seenMs
    }
    return null
  }

  function seenIn(dueMs: number, fromMs: number, untilMs: number): number | null {
    if (wallAt(journal, fromMs) >= dueMs) return fromMs
    const inside = journal.walls.filter((wall) => wall.fromMs > fromMs && wall.fromMs <= untilMs)
    let beganMs = fromMs
    for (const wall of [...inside, { fromMs: untilMs, offsetMs: null }]) {
      const reachedMs = dueMs - (wallAt(journal, beganMs) - beganMs)
      if (reachedMs < wall.fromMs || (wall.offsetMs === null && reachedMs === untilMs)) return reachedMs
      if (wall.offsetMs === null) return null
      const noticedMs = journal.notices.get(wall.fromMs) ?? wall.fromMs
      if (noticedMs + wall.offsetMs >= dueMs) return noticedMs <= untilMs ? noticedMs : null
      beganMs = wall.fromMs
    }
    return null
  }

  function judge(
    { nominalMs, isLeftOut }: Meant,
    seenMs: number,
    isNewest: boolean
  ): [state: string, reason: string, jobs?: ExpectedJob[]] {
    if (isLeftOut) return ['skipped', 'gap']
    if (isPausedAt(journal, schedule.id, seenMs)) return ['skipped', 'paused']
    const lateMs = Math.floor(wallAt(journal, seenMs)) - nominalMs - offsetMs
    const isLate = lateMs > ON_TIME_MS
    if (isLate && lateMs > schedule.catchUpWindowSeconds * 1_000) return ['missed', 'out_of_window']
    if (isLate && schedule.catchUp === 'none') return ['missed', 'catch_up_none']
    if (isLate && schedule.catchUp === 'last' && !isNewest) return ['missed', 'superseded']
    if (schedule.maxRuns !== null && runCount >= schedule.maxRuns) return ['skipped', 'max_runs']
    const live = liveAt(seenMs)
    const { overlap } = schedule
    if (live.length > 0 && (overlap === 'skip' || (overlap === 'queue_one' && live.length > 1)))
      return ['skipped', 'overlap']
    if (schedule.isRefused) return ['failed', 'refused']
    let after: ExpectedJob[] = []
    if (overlap === 'queue_all') after = live.at(-1) ?? []
    else if (overlap === 'queue_one' || overlap === 'cancel_running') after = live.flat()
    if (overlap === 'cancel_running' && (!isDyingAt(seenMs) || journal.lastCancels.has(`${schedule.id} ${seenMs}`))) {
      cancel(after, seenMs)
    }
    const jobs = Array.from({ length: schedule.jobs }, (_, index): ExpectedJob => {
      return { index, firedAtMs: seenMs, nominalMs, after, cancelledAtMs: null }
    })
    fired.push({ nominalMs, jobs })
    runCount += 1
    if (after.length > 0 && overlap !== 'cancel_running') return ['fired', 'buffered', jobs]
    return ['fired', isLate ? 'caught_up' : 'on_time', jobs]
  }

  function isDyingAt(atMs: number): boolean {
    return journal.lives.some(({ untilMs, landed }) => untilMs === atMs && landed !== null)
  }

  function cancel(jobs: ExpectedJob[], atMs: number): void {
    for (const job of jobs) job.cancelledAtMs ??= atMs
  }

  /** Cancels at the start of each engine what the previous engine had no time to cancel. */
  function cancelAtStarts(untilMs: number): void {
    if (schedule.overlap !== 'cancel_running') return
    for (const { fromMs } of journal.lives) {
      if (fromMs <= untilMs && fromMs > cancelledUntilMs) {
        cancelledUntilMs = fromMs
        const live = liveAt(fromMs)
        cancel(live.slice(0, -1).flat(), fromMs)
      }
    }
  }

  /** Returns the jobs that are live at this time, grouped by nominal time, oldest first. */
  function liveAt(atMs: number): ExpectedJob[][] {
    const ends = new Map<ExpectedJob, number>()
    const live: ExpectedJob[][] = []
    let isFirst = true
    for (let index = firstLive; index < fired.length; index += 1) {
      const jobs = fired[index]!.jobs.filter((job) => endOf(job, ends) > atMs)
      if (jobs.length > 0) {
        live.push(jobs)
        isFirst = false
      } else if (isFirst && schedule.overlap !== 'allow') firstLive = index + 1
    }
    return schedule.overlap === 'allow' ? [] : live
  }

  function outcomeOf(job: ExpectedJob): JobOutcome {
    const known = new Map<ExpectedJob, number>()
    if (job.cancelledAtMs !== null && endOf(job, known) < naturalEndOf(job, known)) return 'cancelled'
    return isFailing(schedule, job.nominalMs, job.index) ? 'failed' : 'succeeded'
  }

  function startOf(job: ExpectedJob, known: Map<ExpectedJob, number>): number {
    return job.after.reduce((latestMs, other) => Math.max(latestMs, endOf(other, known)), job.firedAtMs)
  }

  function naturalEndOf(job: ExpectedJob, known: Map<ExpectedJob, number>): number {
    return startOf(job, known) + lifeOf(schedule, job.nominalMs, job.index)
  }

  function endOf(job: ExpectedJob, known: Map<ExpectedJob, number>): number {
    const found = known.get(job)
    if (found !== undefined) return found
    const startMs = startOf(job, known)
    const naturalMs = startMs + lifeOf(schedule, job.nominalMs, job.index)
    const { cancelledAtMs } = job
    let endMs = naturalMs
    if (cancelledAtMs !== null)
      endMs = cancelledAtMs < startMs ? cancelledAtMs : Math.min(naturalMs, cancelledAtMs + CANCEL_TAKES_MS)
    known.set(job, endMs)
    return endMs
  }
}
