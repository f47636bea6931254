import type { Hold, JobId, Outcome } from '../../../shared/contract/index.ts'
import { encode, encodeText } from '../../../shared/texts/message.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import { type DependencyOutcome, type DependencyVerdict, judgeDependencies } from '../../model/dependencies.ts'
import { type Holdable, holdOf, nextOfEachLane } from '../../model/holds.ts'
import type { Restorable } from '../../model/restore.ts'
import {
  dependenciesMet,
  type EndInQueue,
  expired as expiredInQueue,
  overlapEnded,
  skipped,
  timeReached
} from '../../model/timeline.ts'
import type { ChainEnds } from './chain-ends.ts'
import type { CountedRow, JobWriting } from './counters.ts'
import type { Fragments } from './fragments.ts'
import type { Outbox } from './outbox.ts'

export const COUNTED = 'id, project, spider, status, node_id, hold, lane'
export const HOLDABLE = 'not_before_ms AS "notBeforeMs", overlap_key AS "overlapKey", attempt_count AS "attemptCount"'

/** The number of jobs to examine per overlap key. A later end releases lanes whose first job is further back. */
const OVERLAPPING_LOOKED_AT_MAX = 100

/**
 * Whether a job waits for a dependency. No index contains this form of the state, so that the planner finds the jobs
 * through their dependencies instead of reading all held jobs.
 */
const IS_DEPENDENT = "jobs.state || '' = 'queued' AND jobs.hold = 'dependency'"

export const holdsSql = (sql: Fragments) => ({
  due: `SELECT ${HOLDABLE}, ${COUNTED} FROM jobs
    WHERE state = 'queued' AND hold IN ('not_before', 'retry') AND not_before_ms <= ? ORDER BY not_before_ms LIMIT ?`,
  expired: `SELECT id, expires_at_ms FROM jobs
    WHERE state = 'queued' AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?`,
  nextDue: `SELECT min(not_before_ms) FROM jobs WHERE state = 'queued' AND hold IN ('not_before', 'retry')`,
  nextExpiry: `SELECT min(expires_at_ms) FROM jobs WHERE state = 'queued' AND expires_at_ms IS NOT NULL`,
  dependents: `SELECT jobs.id FROM job_dependencies JOIN jobs ON jobs.id = job_dependencies.job_id
    WHERE on_job_id = ? AND ${IS_DEPENDENT}`,
  // With EXISTS instead of count, PostgreSQL can start the join with all jobs.
  waitedFor: `SELECT value FROM ${sql.texts('?', 'ended')} WHERE (SELECT count(*) FROM job_dependencies
      JOIN jobs ON jobs.id = job_dependencies.job_id WHERE on_job_id = ended.value AND ${IS_DEPENDENT}) > 0`,
  dependencies: `SELECT on_job_id AS "jobId", condition AS "on", jobs.outcome
    FROM job_dependencies JOIN jobs ON jobs.id = on_job_id WHERE job_id = ? ORDER BY on_job_id, condition`,
  overlapLive: `SELECT 1 FROM jobs WHERE overlap_key = ? AND state IN ('starting', 'running')`,
  overlapNext: `SELECT ${COUNTED} FROM jobs WHERE state = 'queued' AND hold = 'overlap' AND overlap_key = ?
    ORDER BY priority DESC, rank LIMIT ${OVERLAPPING_LOOKED_AT_MAX}`
})

export interface JobThatEnded {
  id: JobId
  outcome: Outcome
  overlapKey: string | null
}

export type Holds = ReturnType<typeof createHolds>

interface Dependencies extends JobWriting {
  chainEnds: ChainEnds
  outbox: Outbox
}

/**
 * Finds the queued jobs whose hold changes; model/holds.ts decides which hold a job has. `dependency` ends when the
 * dependency does, which can also end the job. `releaseDue` ends `not_before` and `retry`. `overlap` ends when the live
 * job with the same key ends or is requeued; a job returns to `overlap` if another job is claimed first.
 */
export function createHolds({ database, changes, timeline, counters, chainEnds, outbox }: Dependencies) {
  const statements = holdsSql(database.fragments)
  const due = database.prepare<[number, number], CountedRow & Holdable>(statements.due)
  const expired = database.prepare<[number, number], { id: JobId; expires_at_ms: number }>(statements.expired)
  const nextDue = database.prepare<[], number | null>(statements.nextDue).pluck()
  const nextExpiry = database.prepare<[], number | null>(statements.nextExpiry).pluck()
  const dependents = database.prepare<[string], JobId>(statements.dependents).pluck()
  const waitedFor = database.prepare<[string], JobId>(statements.waitedFor).pluck()
  const dependencies = database.prepare<[string], DependencyOutcome>(statements.dependencies)
  const overlapLive = database.prepare<[string]>(statements.overlapLive)
  const overlapNext = database.prepare<[string], CountedRow>(statements.overlapNext)
  const one = database.prepare<[string], CountedRow & Holdable>(`SELECT ${HOLDABLE}, ${COUNTED} FROM jobs WHERE id = ?`)
  const queued = database.prepare<[string], CountedRow & { overlap_key: string | null }>(
    `SELECT overlap_key, ${COUNTED} FROM jobs WHERE id = ? AND state = 'queued'`
  )
  const setHold = database.prepare<[Hold | null, string]>('UPDATE jobs SET hold = ? WHERE id = ?')
  const end = database.prepare<{
    id: JobId
    outcome: Outcome
    reason: string
    killingLine: string | null
    atMs: number
    asked: number | null
    restorable: number
  }>(
    `UPDATE jobs SET state = 'ended', outcome = :outcome, hold = NULL, reason = :reason, killing_line = :killingLine,
       cancelled_while_queued = :restorable, cancel_asked_at_ms = :asked, ended_at_ms = :atMs
     WHERE id = :id`
  )

  const isOverlapLive = (key: string): boolean => overlapLive.get(key) !== undefined
  const judge = (jobId: JobId): DependencyVerdict => judgeDependencies(dependencies.all(jobId))

  function changeHold(job: CountedRow, next: Hold | null): void {
    setHold.run(next, job.id)
    counters.moved(job, { ...job, hold: next })
  }

  function release(job: CountedRow, next: Hold | null, entry: TimelineEntry): void {
    changeHold(job, next)
    timeline.add(job.id, null, 'released', entry)
    changes.job(job.id)
  }

  /** Ends a queued job; undefined if it is not queued. The caller must call `releaseAfter` for its dependents. */
  function endQueued(
    id: JobId,
    { outcome = 'cancelled', reason, killingLine = null, entry }: EndInQueue,
    { isAsked = false, restorable }: { isAsked?: boolean; restorable: Restorable }
  ): JobThatEnded | undefined {
    const row = queued.get(id)
    if (row === undefined) return undefined
    const { atMs } = entry
    const asked = isAsked ? atMs : null
    end.run({
      id,
      outcome,
      reason: encode(reason),
      killingLine: killingLine && encodeText(killingLine),
      atMs,
      asked,
      restorable: RESTORABLE.indexOf(restorable)
    })
    counters.moved(row, { ...row, status: outcome, hold: null })
    timeline.add(id, null, 'ended', entry)
    chainEnds.recordEnd({ id, project: row.project, spider: row.spider, outcome, atMs })
    changes.job(id)
    outbox.recordJob('job.ended', id, atMs)
    return { id, outcome, overlapKey: row.overlap_key }
  }

  function skip(id: JobId, because: { jobId: JobId; outcome: Outcome }, atMs: number): JobThatEnded | undefined {
    return endQueued(id, skipped(because, atMs), { restorable: 'with_what_it_waited_for' })
  }

  function freeOverlap(key: string, entry: TimelineEntry): void {
    if (isOverlapLive(key)) return
    for (const next of nextOfEachLane(overlapNext.all(key))) release(next, null, entry)
  }

  /** Releases or skips the jobs that waited for ended ones. Skipping a job can affect others. */
  function releaseAfter(ended: JobThatEnded[], atMs: number): void {
    const keys = new Map<string, JobId>()
    // The array grows during the loop, so that chains of any length need no recursion.
    for (const job of ended) {
      if (job.overlapKey !== null) keys.set(job.overlapKey, job.id)
      // Two conditions on one job are two rows but the same dependent.
      for (const id of new Set(dependents.all(job.id))) {
        const verdict = judge(id)
        if (verdict.kind === 'open') continue
        if (verdict.kind === 'met') {
          const waiting = one.get(id)!
          release(waiting, holdOf(waiting, 'met', atMs, isOverlapLive), dependenciesMet(job, atMs))
          continue
        }
        const skippedJob = skip(id, verdict.by, atMs)
        if (skippedJob !== undefined) ended.push(skippedJob)
      }
    }
    for (const [key, jobId] of keys) freeOverlap(key, overlapEnded(jobId, atMs))
  }

  return {
    isOverlapLive,

    askWaitedFor(ids: JobId[]): () => Set<JobId> {
      const asked = waitedFor.aheadAll(JSON.stringify(ids))
      return () => new Set(asked())
    },

    /** For a job whose dependencies were already met when it was queued. Adds no timeline entry. */
    holdFurther(jobId: JobId, nowMs: number): void {
      const job = one.get(jobId)!
      changeHold(job, holdOf(job, 'met', nowMs, isOverlapLive))
    },

    judge,
    skip,
    endQueued,
    freeOverlap,
    releaseAfter,

    releaseDue(nowMs: number, limit: number): { released: number; expired: number; nextDueMs: number | null } {
      const ended: JobThatEnded[] = []
      for (const { id, expires_at_ms } of expired.all(nowMs, limit)) {
        const job = endQueued(id, expiredInQueue(expires_at_ms, nowMs), { restorable: 'never' })
        if (job !== undefined) ended.push(job)
      }
      const expiredCount = ended.length
      releaseAfter(ended, nowMs)
      const jobs = due.all(nowMs, limit)
      for (const job of jobs) {
        const next = holdOf(job, 'met', nowMs, isOverlapLive)
        release(job, next, timeReached(job.hold as Hold, job.notBeforeMs, nowMs))
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

export const RESTORABLE: readonly Restorable[] = ['never', 'by_itself', 'with_what_it_waited_for']
