import type { Database } from 'better-sqlite3'
import type { Attempt, Outcome } from '../../../shared/contract/index.ts'
import type { AttemptChange } from '../records.ts'
import type { ChainEnds } from './chain-ends.ts'
import type { ChangeLog } from './change-log.ts'
import type { CountedRow, Counters } from './counters.ts'
import { COUNTED, HOLDS_SQL, type Holds, overlapOver } from './holds.ts'
import type { Outbox } from './outbox.ts'
import { type AttemptRow, toAttempt } from './rows.ts'
import type { Timeline } from './timeline.ts'

export const ATTEMPTS_SQL = {
  live: "SELECT * FROM attempts WHERE state <> 'ended' ORDER BY job_id",
  ofJob: 'SELECT * FROM attempts WHERE job_id = ? ORDER BY number',
  one: 'SELECT * FROM attempts WHERE job_id = ? AND number = ?',
  jobOf: `SELECT ${COUNTED}, state, outcome, attempt_count, cancel_asked_at_ms, overlap_key, not_before_ms, reason,
      started_at_ms, ended_at_ms, killing_line, pages, items, errors, may_have_run_twice FROM jobs WHERE id = ?`,
  update: `UPDATE attempts SET state = ?, result = ?, reason = ?, accepted_at_ms = ?, started_at_ms = ?, ended_at_ms = ?,
      pid = ?, exit_code = ?, signal = ?, limit_hit = ?, peak_memory_bytes = ?, cpu_seconds = ?, stats = ?
    WHERE job_id = ? AND number = ?`,
  updateJob: `UPDATE jobs SET state = ?, outcome = ?, hold = ?, not_before_ms = ?, reason = ?, node_id = ?, started_at_ms = ?,
      ended_at_ms = ?, killing_line = ?, pages = ?, items = ?, errors = ?, may_have_run_twice = ? WHERE id = ?`,
  updateNotes: `UPDATE jobs SET killing_line = ?, pages = ?, items = ?, errors = ?, may_have_run_twice = ? WHERE id = ?`,
  onNode: `SELECT attempts.* FROM json_each(:runs) AS run JOIN attempts ON node_id = :nodeId
    AND project = run.value ->> 'project' AND jobid = run.value ->> 'jobid' ORDER BY run.key`,
  // One that was found again has more than one end: the last is the true one.
  endedBefore: `SELECT EXISTS (
    SELECT 1 FROM json_each(:runs) AS run JOIN attempts AS ended ON ended.node_id = :nodeId
      AND ended.project = run.value ->> 'project' AND ended.jobid = run.value ->> 'jobid'
    WHERE ended.result IN ('succeeded', 'failed')
      AND (SELECT max(sequence) FROM transitions
        WHERE job_id = ended.job_id AND attempt_number = ended.number AND kind = 'ended')
        < (SELECT min(sequence) FROM transitions WHERE job_id = :jobId AND attempt_number = :number))`
}

interface Dependencies {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
  holds: Holds
  chainEnds: ChainEnds
  outbox: Outbox
}

interface JobBefore extends CountedRow {
  state: string
  outcome: string | null
  attempt_count: number
  cancel_asked_at_ms: number | null
  overlap_key: string | null
  not_before_ms: number | null
  reason: string | null
  started_at_ms: number | null
  ended_at_ms: number | null
  killing_line: string | null
  pages: number | null
  items: number | null
  errors: number | null
  may_have_run_twice: number
}

const MOVING = ['state', 'outcome', 'hold', 'not_before_ms', 'reason', 'node_id', 'started_at_ms'] as const
const NOTES = ['killing_line', 'pages', 'items', 'errors', 'may_have_run_twice'] as const
/** What a job in the queue has of runs before: nothing. */
const NOTHING_RUN = {
  state: 'queued',
  started_at_ms: null,
  reason: null,
  killing_line: null,
  pages: null,
  items: null,
  errors: null
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
export function createAttempts({ database, changes, timeline, counters, holds, chainEnds, outbox }: Dependencies) {
  const live = database.prepare<[], AttemptRow>(ATTEMPTS_SQL.live)
  const ofJob = database.prepare<[string], AttemptRow>(ATTEMPTS_SQL.ofJob)
  const one = database.prepare<[string, number], AttemptRow>(ATTEMPTS_SQL.one)
  const onNode = database.prepare<{ nodeId: string; runs: string }, AttemptRow>(ATTEMPTS_SQL.onNode)
  const endedBefore = database
    .prepare<{ nodeId: string; runs: string; jobId: string; number: number }, number>(ATTEMPTS_SQL.endedBefore)
    .pluck()
  const jobOf = database.prepare<[string], JobBefore>(ATTEMPTS_SQL.jobOf)
  const update = database.prepare(ATTEMPTS_SQL.update)
  const updateJob = database.prepare(ATTEMPTS_SQL.updateJob)
  const updateNotes = database.prepare(ATTEMPTS_SQL.updateNotes)
  const overlapLive = database.prepare<[string]>(HOLDS_SQL.overlapLive)
  const keepLog = database.prepare<[string, number, Uint8Array]>(
    'INSERT INTO archived_logs (job_id, attempt_number, gzip) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
  )
  const keptLog = database
    .prepare<[string, number], Uint8Array>('SELECT gzip FROM archived_logs WHERE job_id = ? AND attempt_number = ?')
    .pluck()
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
    writeAttempt(after)
    timeline.add(change.jobId, change.attemptNumber, change.kind, change.entry)
    moveJob(job, after, change)
    changes.job(change.jobId)
    return true
  }

  function mayGoOn(job: JobBefore, { kind, to, attemptNumber }: AttemptChange): boolean {
    const isAlive = to === 'accepted' || to === 'running' || to === 'finishing'
    const isWaiting = job.state === 'queued' && job.attempt_count === attemptNumber && job.cancel_asked_at_ms === null
    const isFree = job.overlap_key === null || overlapLive.get(job.overlap_key) === undefined
    return kind === 'found_again' && isAlive && isWaiting && isFree
  }

  /** The job as its newest attempt makes it; of an older attempt it only takes that it may have run twice. */
  function moveJob(before: JobBefore, attempt: AttemptRow, change: AttemptChange): void {
    const after: JobBefore = { ...before }
    if (change.mayHaveRunTwice === true) after.may_have_run_twice = 1
    if (before.attempt_count !== change.attemptNumber) return writeJob(change, before, after)
    if (change.counts) Object.assign(after, change.counts)
    if (change.killingLine !== undefined) after.killing_line = change.killingLine
    if (change.to !== undefined && change.to !== 'ended') {
      const isRunning = change.to === 'running' || change.to === 'finishing'
      if (isRunning) Object.assign(after, { state: 'running', started_at_ms: attempt.started_at_ms })
      else if (before.state === 'queued') after.state = 'starting'
      // Found again, and its only run: that it might run twice was a fear that did not come true.
      if (before.state === 'queued' && before.attempt_count === 1) after.may_have_run_twice = 0
      // And no time is set any more for it to be tried again.
      if (before.state === 'queued') after.not_before_ms = null
      Object.assign(after, { hold: null, node_id: attempt.node_id })
    }
    if (change.to !== 'ended') return writeJob(change, before, after)
    endOrQueueAgain(before, after, attempt, change)
  }

  function endOrQueueAgain(before: JobBefore, after: JobBefore, attempt: AttemptRow, change: AttemptChange): void {
    const { jobId, retryAtMs = null } = change
    const { atMs } = change.entry
    const overlapKey = before.overlap_key
    const wanted = outcomeOf(change)
    // Back to the queue is where a cancelled job must not go. Its end is a transition of its own.
    const isStopped = wanted === null && before.cancel_asked_at_ms !== null
    const outcome = isStopped ? 'cancelled' : wanted
    if (outcome === null) {
      Object.assign(after, NOTHING_RUN, { hold: retryAtMs !== null && retryAtMs > atMs ? 'retry' : null })
      if (retryAtMs !== null) after.not_before_ms = retryAtMs
      writeJob(change, before, after)
      if (overlapKey !== null) holds.freeOverlap(overlapKey, overlapOver(atMs, jobId))
      return
    }
    const reason = isStopped ? 'cancelled' : attempt.reason
    Object.assign(after, { state: 'ended', outcome, reason, started_at_ms: attempt.started_at_ms, ended_at_ms: atMs })
    writeJob(change, before, after)
    if (isStopped) {
      timeline.add(jobId, null, 'ended', {
        atMs,
        text: 'Cancelled: the cancel was asked before, so it is not tried again',
        evidence: { cancelAskedAtMs: before.cancel_asked_at_ms }
      })
    }
    const { project, spider } = before
    chainEnds.note({ id: jobId, project, spider, outcome, atMs })
    holds.settle([{ id: jobId, outcome, overlapKey }], atMs)
  }

  /** One statement for a job that moves; none that touches an index where only its notes changed. */
  function writeJob(change: AttemptChange, before: JobBefore, after: JobBefore): void {
    const { jobId: id } = change
    const { killing_line, pages, items, errors, may_have_run_twice } = after
    const hasMoved = MOVING.some((column) => before[column] !== after[column])
    if (hasMoved) {
      const { state, outcome, hold, not_before_ms, reason, node_id, started_at_ms, ended_at_ms } = after
      const moved = [state, outcome, hold, not_before_ms, reason, node_id, started_at_ms, ended_at_ms]
      updateJob.run(...moved, killing_line, pages, items, errors, may_have_run_twice, id)
      counters.moved(before, { ...after, status: outcome ?? state })
      if (state === before.state) return
      if (state === 'running') outbox.job('job.started', id, started_at_ms ?? change.entry.atMs)
      if (state === 'ended') outbox.job('job.ended', id, ended_at_ms ?? change.entry.atMs)
    } else if (NOTES.some((column) => before[column] !== after[column])) {
      updateNotes.run(killing_line, pages, items, errors, may_have_run_twice, id)
    }
  }

  function writeAttempt(row: AttemptRow): void {
    const { state, result, reason, accepted_at_ms, started_at_ms, ended_at_ms, pid, exit_code, signal } = row
    const { limit_hit, peak_memory_bytes, cpu_seconds, stats, job_id, number } = row
    const times = [accepted_at_ms, started_at_ms, ended_at_ms]
    const ended = [pid, exit_code, signal, limit_hit, peak_memory_bytes, cpu_seconds, stats]
    update.run(state, result, reason, ...times, ...ended, job_id, number)
  }

  return {
    listLive: (): Attempt[] => live.all().map(toAttempt),
    list: (jobId: string): Attempt[] => ofJob.all(jobId).map(toAttempt),
    findOnNode: (nodeId: string, runs: { project: string; jobid: string }[]): Attempt[] =>
      onNode.all({ nodeId, runs: JSON.stringify(runs) }).map(toAttempt),
    hasEndedBefore: (
      nodeId: string,
      runs: { project: string; jobid: string }[],
      { jobId, number }: { jobId: string; number: number }
    ): boolean => endedBefore.get({ nodeId, runs: JSON.stringify(runs), jobId, number }) === 1,
    applyChanges: (list: AttemptChange[]): boolean[] => list.map(apply),

    markLogArchived(jobId: string, attemptNumber: number, gzip: Uint8Array | null): void {
      if (archive.run(jobId, attemptNumber).changes === 0) return
      if (gzip !== null) keepLog.run(jobId, attemptNumber, gzip)
      changes.job(jobId)
    },

    readArchivedLog: (jobId: string, attemptNumber: number): Uint8Array | null =>
      keptLog.get(jobId, attemptNumber) ?? null
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
