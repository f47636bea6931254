import type { Database } from 'better-sqlite3'
import type { Dependency, Hold, Outcome } from '../../../shared/contract/index.ts'
import type { TimelineEntry } from '../records.ts'
import type { ChainEnds } from './chain-ends.ts'
import type { ChangeLog } from './change-log.ts'
import type { CountedRow, Counters } from './counters.ts'
import type { Outbox } from './outbox.ts'
import type { Timeline } from './timeline.ts'

/** The columns that a job is counted by. */
export const COUNTED = 'project, spider, status, node_id, hold, lane'

/** Of the jobs held for one overlap key: those of other lanes behind so many wait for a later end. */
const OVERLAPPING_LOOKED_AT_MAX = 100

export const HOLDS_SQL = {
  due: `SELECT id, not_before_ms, overlap_key, ${COUNTED} FROM jobs
    WHERE state = 'queued' AND hold IN ('not_before', 'retry') AND not_before_ms <= ? ORDER BY not_before_ms LIMIT ?`,
  expired: `SELECT id, expires_at_ms FROM jobs
    WHERE state = 'queued' AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?`,
  nextDue: `SELECT min(not_before_ms) FROM jobs WHERE state = 'queued' AND hold IN ('not_before', 'retry')`,
  nextExpiry: `SELECT min(expires_at_ms) FROM jobs WHERE state = 'queued' AND expires_at_ms IS NOT NULL`,
  dependents: `SELECT jobs.id FROM job_dependencies JOIN jobs ON jobs.id = job_dependencies.job_id
    WHERE on_job_id = ? AND jobs.state = 'queued' AND jobs.hold = 'dependency'`,
  dependencies: `SELECT on_job_id AS jobId, condition AS "on", jobs.outcome
    FROM job_dependencies JOIN jobs ON jobs.id = on_job_id WHERE job_id = ? ORDER BY on_job_id, condition`,
  overlapLive: `SELECT 1 FROM jobs WHERE overlap_key = ? AND state IN ('starting', 'running')`,
  overlapNext: `SELECT id, ${COUNTED} FROM jobs WHERE state = 'queued' AND hold = 'overlap' AND overlap_key = ?
    ORDER BY priority DESC, rank LIMIT ${OVERLAPPING_LOOKED_AT_MAX}`
}

/** Of a job that ended, or left the live ones: what others may wait for. */
export interface JobThatEnded {
  id: string
  outcome: Outcome
  overlapKey: string | null
}

/** What tells whether, and by what, a queued job is held. */
interface HeldBy {
  not_before_ms: number | null
  overlap_key: string | null
  attempt_count: number
}

interface HeldRow extends CountedRow {
  id: string
}

export type Holds = ReturnType<typeof createHolds>

interface Dependencies {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
  chainEnds: ChainEnds
  outbox: Outbox
}

/**
 * What keeps queued jobs out of their lanes, and what lets them in. Of the reasons that apply the first in this order is the hold,
 * and where one is lifted the next is looked at:
 *
 *   dependency -> not_before (after a run: retry) -> overlap -> none: the job stands in its lane
 *
 * `dependency` is lifted, or ends the job, when what it waits for ends; the times by `releaseDue`; `overlap` when the live job of
 * the same key ends or goes back to the queue. A job may come back to `overlap` from its lane, where another was claimed first.
 */
export function createHolds({ database, changes, timeline, counters, chainEnds, outbox }: Dependencies) {
  const due = database.prepare<[number, number], HeldRow & { not_before_ms: number; overlap_key: string | null }>(
    HOLDS_SQL.due
  )
  const expired = database.prepare<[number, number], { id: string; expires_at_ms: number }>(HOLDS_SQL.expired)
  const nextDue = database.prepare<[], number | null>(HOLDS_SQL.nextDue).pluck()
  const nextExpiry = database.prepare<[], number | null>(HOLDS_SQL.nextExpiry).pluck()
  const dependents = database.prepare<[string], string>(HOLDS_SQL.dependents).pluck()
  const dependencies = database.prepare<[string], Dependency & { outcome: Outcome | null }>(HOLDS_SQL.dependencies)
  const overlapLive = database.prepare<[string]>(HOLDS_SQL.overlapLive)
  const overlapNext = database.prepare<[string], HeldRow>(HOLDS_SQL.overlapNext)
  const one = database.prepare<[string], HeldRow & HeldBy>(
    `SELECT id, not_before_ms, overlap_key, attempt_count, ${COUNTED} FROM jobs WHERE id = ?`
  )
  const queued = database.prepare<[string], CountedRow & { overlap_key: string | null }>(
    `SELECT overlap_key, ${COUNTED} FROM jobs WHERE id = ? AND state = 'queued'`
  )
  const setHold = database.prepare<[Hold | null, string]>('UPDATE jobs SET hold = ? WHERE id = ?')
  const end = database.prepare<{ id: string; reason: string; atMs: number; asked: number | null; restorable: number }>(
    `UPDATE jobs SET state = 'ended', outcome = 'cancelled', hold = NULL, reason = :reason,
       cancelled_while_queued = :restorable, cancel_asked_at_ms = :asked, ended_at_ms = :atMs
     WHERE id = :id`
  )

  function isOverlapLive(key: string | null): boolean {
    return key !== null && overlapLive.get(key) !== undefined
  }

  /** What holds a job whose dependencies are met. */
  function laterHold(job: HeldBy, nowMs: number): Hold | null {
    if (job.not_before_ms !== null && job.not_before_ms > nowMs) return job.attempt_count > 0 ? 'retry' : 'not_before'
    return isOverlapLive(job.overlap_key) ? 'overlap' : null
  }

  /** `broken`: the one that cannot come true any more; `isMet`: all have. */
  function judge(jobId: string) {
    const all = dependencies.all(jobId)
    return {
      broken: all.find(({ on, outcome }) => outcome !== null && !isMet(on, outcome)),
      isMet: all.every(({ on, outcome }) => outcome !== null && isMet(on, outcome))
    }
  }

  function changeHold(job: HeldRow, next: Hold | null): void {
    setHold.run(next, job.id)
    counters.moved(job, { ...job, hold: next })
  }

  function release(job: HeldRow, next: Hold | null, entry: TimelineEntry): void {
    changeHold(job, next)
    timeline.add(job.id, null, 'released', entry)
    changes.job(job.id)
  }

  /** Ends a job that is queued; undefined where it is not. Others that wait for it are the caller's affair: `settle`. */
  function endQueued(
    id: string,
    how: { reason: string; entry: TimelineEntry; isAsked: boolean; restorable: Restorable }
  ): JobThatEnded | undefined {
    const { reason, entry } = how
    const asked = how.isAsked ? entry.atMs : null
    const row = queued.get(id)
    if (row === undefined) return undefined
    end.run({ id, reason, atMs: entry.atMs, asked, restorable: RESTORABLE[how.restorable] })
    counters.moved(row, { ...row, status: 'cancelled', hold: null })
    timeline.add(id, null, 'ended', entry)
    chainEnds.note({ id, project: row.project, spider: row.spider, outcome: 'cancelled', atMs: entry.atMs })
    changes.job(id)
    outbox.job('job.ended', id, entry.atMs)
    return { id, outcome: 'cancelled', overlapKey: row.overlap_key }
  }

  function skip(id: string, because: { jobId: string; outcome: Outcome | null }, atMs: number) {
    const { jobId, outcome } = because
    return endQueued(id, {
      reason: `skipped: ${jobId} ended as ${outcome}`,
      entry: { atMs, text: `Skipped: ${jobId} ended as ${outcome}`, evidence: { jobId, outcome } },
      isAsked: false,
      restorable: 'with_what_it_waited_for'
    })
  }

  /** Lets the next job of each lane in that is held for this key, unless one is live: in one lane there may be no node for it. */
  function freeOverlap(key: string, entry: TimelineEntry): void {
    if (isOverlapLive(key)) return
    const lanes = new Set<string>()
    for (const next of overlapNext.all(key)) {
      if (lanes.has(next.lane)) continue
      lanes.add(next.lane)
      release(next, null, entry)
    }
  }

  /** Jobs have ended: what waits for them goes on, or ends as skipped, which may be what others wait for, and so on. */
  function settle(ended: JobThatEnded[], atMs: number): void {
    const keys = new Map<string, string>()
    // It grows while it is walked: chains of any length need no recursion.
    for (const job of ended) {
      if (job.overlapKey !== null) keys.set(job.overlapKey, job.id)
      // Two conditions on one job are two rows, but one job that waits.
      for (const id of new Set(dependents.all(job.id))) {
        const { broken, isMet } = judge(id)
        if (broken !== undefined) {
          const skipped = skip(id, broken, atMs)
          if (skipped !== undefined) ended.push(skipped)
        } else if (isMet) {
          const waiting = one.get(id) as HeldRow & HeldBy
          const evidence = { jobId: job.id, outcome: job.outcome }
          release(waiting, laterHold(waiting, atMs), { atMs, text: 'What it waited for has ended', evidence })
        }
      }
    }
    for (const [key, jobId] of keys) freeOverlap(key, overlapOver(atMs, jobId))
  }

  return {
    laterHold,
    isOverlapLive,

    /** Its dependencies were met before it came: without a word in the timeline. */
    holdLater(jobId: string, nowMs: number): void {
      const job = one.get(jobId) as HeldRow & HeldBy
      changeHold(job, laterHold(job, nowMs))
    },

    judge,
    skip,
    endQueued,
    freeOverlap,
    settle,

    releaseDue(nowMs: number, limit: number): { released: number; expired: number; nextDueMs: number | null } {
      const ended: JobThatEnded[] = []
      for (const { id, expires_at_ms } of expired.all(nowMs, limit)) {
        const entry = { atMs: nowMs, text: 'Not sent by its time: dropped', evidence: { expiresAtMs: expires_at_ms } }
        const job = endQueued(id, { reason: 'expired', entry, isAsked: false, restorable: 'never' })
        if (job !== undefined) ended.push(job)
      }
      const expiredCount = ended.length
      settle(ended, nowMs)
      const jobs = due.all(nowMs, limit)
      for (const job of jobs) {
        release(job, isOverlapLive(job.overlap_key) ? 'overlap' : null, {
          atMs: nowMs,
          text: job.hold === 'retry' ? 'The wait before the next try is over' : 'Its time has come',
          evidence: { notBeforeMs: job.not_before_ms }
        })
      }
      const times = [nextDue.get() ?? null, nextExpiry.get() ?? null].filter((time) => time !== null)
      return {
        released: jobs.length,
        expired: expiredCount,
        nextDueMs: times.length === 0 ? null : Math.min(...times)
      }
    }
  }
}

/** What the next of its key is let in with. */
export function overlapOver(atMs: number, jobId: string): TimelineEntry {
  return { atMs, text: 'The run before it of this spider is over', evidence: { jobId } }
}

/** Whether a job that was cancelled while queued may go back: by itself, or together with the one it was skipped for. */
export const RESTORABLE = { never: 0, by_itself: 1, with_what_it_waited_for: 2 } as const
type Restorable = keyof typeof RESTORABLE

function isMet(on: Dependency['on'], outcome: Outcome): boolean {
  return on === 'ended' || on === outcome
}
