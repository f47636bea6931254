import type { Database } from 'better-sqlite3'
import type { Attempt, Outcome } from '../../../shared/contract/index.ts'
import type { AttemptChange } from '../store.ts'
import type { ChangeLog } from './change-log.ts'
import { HOLDS_SQL, type Holds } from './holds.ts'
import { type AttemptRow, toAttempt } from './rows.ts'
import type { Timeline } from './timeline.ts'

export const ATTEMPTS_SQL = {
  live: "SELECT * FROM attempts WHERE state <> 'ended' ORDER BY job_id",
  ofJob: 'SELECT * FROM attempts WHERE job_id = ? ORDER BY number',
  one: 'SELECT * FROM attempts WHERE job_id = ? AND number = ?',
  onNode: `SELECT attempts.* FROM json_each(:runs) AS run JOIN attempts ON node_id = :nodeId
    AND project = run.value ->> 'project' AND jobid = run.value ->> 'jobid' ORDER BY run.key`
}

interface Dependencies {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  holds: Holds
}

interface JobBefore {
  state: string
  attempt_count: number
  cancel_asked_at_ms: number | null
  overlap_key: string | null
  lane: string
}

/**
 * Attempts and how their jobs follow them. A job follows its newest attempt only:
 *
 *   attempt  sending, uncertain, accepted   running, finishing    ended
 *   job      starting (running stays so)    running               ended, or queued again
 *
 * Ended attempts stay ended: what comes to be known later (stats, a killing line) is added without a change of state. But for one
 * that is found again on its node: it goes on as long as its job has not begun anew, and takes the job out of the queue with it.
 */
export function createAttempts({ database, changes, timeline, holds }: Dependencies) {
  const live = database.prepare<[], AttemptRow>(ATTEMPTS_SQL.live)
  const ofJob = database.prepare<[string], AttemptRow>(ATTEMPTS_SQL.ofJob)
  const one = database.prepare<[string, number], AttemptRow>(ATTEMPTS_SQL.one)
  const onNode = database.prepare<{ nodeId: string; runs: string }, AttemptRow>(ATTEMPTS_SQL.onNode)
  const jobOf = database.prepare<[string], JobBefore>(
    'SELECT state, attempt_count, cancel_asked_at_ms, overlap_key, lane FROM jobs WHERE id = ?'
  )
  const update = database.prepare<AttemptRow>(
    `UPDATE attempts SET state = :state, result = :result, reason = :reason, accepted_at_ms = :accepted_at_ms,
       started_at_ms = :started_at_ms, ended_at_ms = :ended_at_ms, pid = :pid, exit_code = :exit_code,
       signal = :signal, limit_hit = :limit_hit,
       peak_memory_bytes = :peak_memory_bytes, cpu_seconds = :cpu_seconds, stats = :stats
     WHERE job_id = :job_id AND number = :number`
  )
  const jobRuns = database.prepare<[number | null, string]>(
    "UPDATE jobs SET state = 'running', started_at_ms = ? WHERE id = ?"
  )
  const jobEnds = database.prepare<[Outcome, string | null, number | null, number, string], unknown>(
    "UPDATE jobs SET state = 'ended', outcome = ?, reason = ?, started_at_ms = ?, ended_at_ms = ? WHERE id = ?"
  )
  const jobWaitsAgain = database.prepare<{ id: string; hold: 'retry' | null; retryAtMs: number | null }>(
    `UPDATE jobs SET state = 'queued', hold = :hold, not_before_ms = coalesce(:retryAtMs, not_before_ms),
       started_at_ms = NULL, reason = NULL, killing_line = NULL, pages = NULL, items = NULL, errors = NULL WHERE id = :id`
  )
  const jobGoesOn = database.prepare<[string, string]>(
    "UPDATE jobs SET state = 'starting', hold = NULL, node_id = ? WHERE id = ?"
  )
  const overlapLive = database.prepare<[string]>(HOLDS_SQL.overlapLive)
  const jobMayHaveRunTwice = database.prepare<[string]>('UPDATE jobs SET may_have_run_twice = 1 WHERE id = ?')
  const jobCounts = database.prepare<[number | null, number | null, number | null, string]>(
    'UPDATE jobs SET pages = ?, items = ?, errors = ? WHERE id = ?'
  )
  const jobKillingLine = database.prepare<[string | null, string]>('UPDATE jobs SET killing_line = ? WHERE id = ?')
  const archive = database.prepare<[string, number]>(
    'UPDATE attempts SET log_archived = 1 WHERE job_id = ? AND number = ? AND log_archived = 0'
  )

  function apply(change: AttemptChange): boolean {
    const before = one.get(change.jobId, change.attemptNumber)
    if (before === undefined || !change.from.includes(before.state as Attempt['state'])) return false
    const job = jobOf.get(change.jobId) as JobBefore
    const isGoingOn = before.state === 'ended' && change.to !== undefined
    if (isGoingOn && !mayGoOn(job, change)) return false
    const after = changedRow(before, change)
    update.run(after)
    timeline.add(change.jobId, change.attemptNumber, change.kind, change.entry)
    if (isGoingOn) goOn(job, after)
    if (change.mayHaveRunTwice === true) jobMayHaveRunTwice.run(change.jobId)
    if (job.attempt_count === change.attemptNumber) moveJob(job, after, change)
    changes.job(change.jobId)
    return true
  }

  function mayGoOn(job: JobBefore, { kind, to, attemptNumber }: AttemptChange): boolean {
    const isAlive = to === 'accepted' || to === 'running' || to === 'finishing'
    const isWaiting = job.state === 'queued' && job.attempt_count === attemptNumber && job.cancel_asked_at_ms === null
    const isFree = job.overlap_key === null || overlapLive.get(job.overlap_key) === undefined
    return kind === 'found_again' && isAlive && isWaiting && isFree
  }

  function goOn(job: JobBefore, attempt: AttemptRow): void {
    jobGoesOn.run(attempt.node_id, attempt.job_id)
    changes.lane(job.lane)
  }

  function moveJob(job: JobBefore, attempt: AttemptRow, change: AttemptChange): void {
    const { jobId } = change
    if (change.counts) jobCounts.run(change.counts.pages, change.counts.items, change.counts.errors, jobId)
    if (change.killingLine !== undefined) jobKillingLine.run(change.killingLine, jobId)
    if (change.to === 'running' || change.to === 'finishing') jobRuns.run(attempt.started_at_ms, jobId)
    if (change.to === 'ended') endOrQueueAgain(job, attempt, change)
  }

  function endOrQueueAgain(job: JobBefore, attempt: AttemptRow, change: AttemptChange): void {
    const { jobId, retryAtMs = null } = change
    const { atMs } = change.entry
    const overlapKey = job.overlap_key
    const outcome = outcomeOf(change)
    if (outcome !== null) {
      jobEnds.run(outcome, attempt.reason, attempt.started_at_ms, atMs, jobId)
      holds.settle([{ id: jobId, outcome, overlapKey }], atMs)
    } else if (job.cancel_asked_at_ms !== null) {
      // Back to the queue is where a cancelled job must not go. Its end is a transition of its own.
      jobEnds.run('cancelled', 'cancelled', attempt.started_at_ms, atMs, jobId)
      timeline.add(jobId, null, 'ended', {
        atMs,
        text: 'Cancelled: the cancel was asked before, so it is not tried again',
        evidence: { cancelAskedAtMs: job.cancel_asked_at_ms }
      })
      holds.settle([{ id: jobId, outcome: 'cancelled', overlapKey }], atMs)
    } else {
      const hold = retryAtMs !== null && retryAtMs > atMs ? 'retry' : null
      jobWaitsAgain.run({ id: jobId, hold, retryAtMs })
      if (hold === null) changes.lane(job.lane)
      if (overlapKey !== null) holds.freeOverlap(overlapKey, atMs, jobId)
    }
  }

  return {
    listLive: (): Attempt[] => live.all().map(toAttempt),
    list: (jobId: string): Attempt[] => ofJob.all(jobId).map(toAttempt),
    findOnNode: (nodeId: string, runs: { project: string; jobid: string }[]): Attempt[] =>
      onNode.all({ nodeId, runs: JSON.stringify(runs) }).map(toAttempt),
    applyChanges: (list: AttemptChange[]): boolean[] => list.map(apply),

    markLogArchived(jobId: string, attemptNumber: number): void {
      if (archive.run(jobId, attemptNumber).changes > 0) changes.job(jobId)
    }
  }
}

function changedRow(before: AttemptRow, change: AttemptChange): AttemptRow {
  const { to, entry, details = {} } = change
  const after: AttemptRow = {
    ...before,
    state: to ?? before.state,
    ...(to === undefined || to === 'ended' ? {} : { result: null, ended_at_ms: null }),
    reason: change.reason ?? (to === undefined || to === 'ended' ? before.reason : null),
    accepted_at_ms: details.acceptedAtMs ?? before.accepted_at_ms ?? (to === 'accepted' ? entry.atMs : null),
    started_at_ms: details.startedAtMs ?? before.started_at_ms ?? (to === 'running' ? entry.atMs : null),
    pid: details.pid ?? before.pid,
    exit_code: details.exitCode ?? before.exit_code,
    signal: details.signal ?? before.signal,
    limit_hit: details.limitHit ?? before.limit_hit,
    peak_memory_bytes: details.peakMemoryBytes ?? before.peak_memory_bytes,
    cpu_seconds: details.cpuSeconds ?? before.cpu_seconds,
    stats: details.stats ? JSON.stringify(details.stats) : before.stats
  }
  if (to !== 'ended') return after
  if (change.result === undefined)
    throw new Error(`The end of attempt ${change.attemptNumber} of ${change.jobId} has no result`)
  return { ...after, result: change.result, ended_at_ms: entry.atMs }
}

/** The outcome of a job whose newest attempt ended; null: back to the queue. */
function outcomeOf({ result, jobOutcome }: AttemptChange): Outcome | null {
  if (jobOutcome !== undefined) return jobOutcome
  return result === undefined || result === 'refused' || result === 'absent' ? null : result
}
