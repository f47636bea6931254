import type { Attempt, AttemptNumber, JobId, NodeId } from '../../../shared/contract/index.ts'
import { type AfterChange, afterChange, type JobFacts, mayRevive } from '../../job-rules/after-change.ts'
import type { AttemptChange } from '../../job-rules/attempt-change.ts'
import { overlapEnded } from '../../job-rules/timeline.ts'
import type { ArchivedLog, RunOnNode } from '../records.ts'
import type { ChainEnds } from './chain-ends.ts'
import { createAttemptUpdates } from './attempt-updates.ts'
import type { CountedRow } from './counters.ts'
import { COUNTED, type Holds } from './holds.ts'
import { type KeptLogs, toLog } from './kept-logs.ts'
import type { JobWriting } from './job-writing.ts'
import type { LogSums } from './log-sums.ts'
import type { Outbox } from './outbox.ts'
import { type AttemptRow, toAttempt } from './rows.ts'

const JOB_BEFORE = `${COUNTED}, state, outcome, not_before_ms AS notBeforeMs, reason, node_id AS nodeId,
      started_at_ms AS startedAtMs, ended_at_ms AS endedAtMs, killing_line AS killingLine, pages, items, errors,
      may_have_run_twice AS mayHaveRunTwice, attempt_count AS attemptCount, cancel_asked_at_ms AS cancelAskedAtMs,
      overlap_key AS overlapKey`

export const ATTEMPTS_SQL = {
  live: "SELECT * FROM attempts WHERE state <> 'ended' ORDER BY job_id",
  ofJob: 'SELECT * FROM attempts WHERE job_id = ? ORDER BY number',
  one: 'SELECT * FROM attempts WHERE job_id = ? AND number = ?',
  ofJobs: 'SELECT * FROM attempts WHERE job_id IN (SELECT value FROM json_each(?))',
  jobOf: `SELECT ${JOB_BEFORE} FROM jobs WHERE id = ?`,
  jobsOf: `SELECT ${JOB_BEFORE} FROM jobs WHERE id IN (SELECT value FROM json_each(?))`,
  // CROSS JOIN: the few runs first, and not all attempts on the node (https://sqlite.org/optoverview.html).
  onNode: `SELECT attempts.* FROM json_each(:runs) AS run CROSS JOIN attempts ON node_id = :nodeId
    AND project = run.value ->> 'project' AND jobid = run.value ->> 'jobid' ORDER BY run.key`,
  // An attempt that was found again has several ends: the last one counts.
  endedBefore: `SELECT EXISTS (
    SELECT 1 FROM json_each(:runs) AS run CROSS JOIN attempts AS ended ON ended.node_id = :nodeId
      AND ended.project = run.value ->> 'project' AND ended.jobid = run.value ->> 'jobid'
    WHERE ended.result IN ('succeeded', 'failed')
      AND (SELECT max(sequence) FROM transitions
        WHERE job_id = ended.job_id AND attempt_number = ended.number AND kind = 'ended')
        < (SELECT min(sequence) FROM transitions WHERE job_id = :jobId AND attempt_number = :number))`
}

interface Dependencies extends JobWriting {
  holds: Holds
  chainEnds: ChainEnds
  outbox: Outbox
  keptLogs: Pick<KeptLogs, 'forget'>
  logSums: LogSums
}

interface JobBefore extends JobFacts, Omit<CountedRow, 'hold'> {
  overlapKey: string | null
}
type JobRowBefore = Omit<JobBefore, 'mayHaveRunTwice'> & { mayHaveRunTwice: number }

const toJobBefore = (row: JobRowBefore): JobBefore => ({ ...row, mayHaveRunTwice: row.mayHaveRunTwice === 1 })

const NO_BYTES = new Uint8Array(0)

/** `outcome`: null: it is queued again. */
interface JobThatLeft extends Pick<JobBefore, 'id' | 'project' | 'spider' | 'overlapKey'> {
  outcome: AfterChange<JobBefore>['outcome']
  atMs: number
}

interface ArchivedLogRow {
  packed: Uint8Array | null
  rawBytes: number | null
  storedBytes: number | null
}

const MOVING = ['state', 'outcome', 'hold', 'notBeforeMs', 'reason', 'nodeId', 'startedAtMs'] as const

/** Attempts and the jobs that follow them: loads both, has `afterChange` compute the result, and writes it. */
export function createAttempts({
  database,
  changes,
  timeline,
  counters,
  holds,
  chainEnds,
  outbox,
  keptLogs,
  logSums
}: Dependencies) {
  const live = database.prepare<[], AttemptRow>(ATTEMPTS_SQL.live)
  const ofJob = database.prepare<[string], AttemptRow>(ATTEMPTS_SQL.ofJob)
  const ofJobs = database.prepare<[string], AttemptRow>(ATTEMPTS_SQL.ofJobs)
  const jobsOf = database.prepare<[string], JobRowBefore>(ATTEMPTS_SQL.jobsOf)
  const one = database.prepare<[string, number], AttemptRow>(ATTEMPTS_SQL.one)
  const onNode = database.prepare<{ nodeId: NodeId; runs: string }, AttemptRow>(ATTEMPTS_SQL.onNode)
  const endedBefore = database
    .prepare<{ nodeId: NodeId; runs: string; jobId: JobId; number: AttemptNumber }, number>(ATTEMPTS_SQL.endedBefore)
    .pluck()
  const jobOf = database.prepare<[string], JobRowBefore>(ATTEMPTS_SQL.jobOf)
  const keepLog = database.prepare<[string, number, Uint8Array, number | null, number | null]>(
    `INSERT INTO archived_logs (job_id, attempt_number, packed, raw_bytes, stored_bytes) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (job_id, attempt_number) DO UPDATE
      SET packed = excluded.packed, raw_bytes = excluded.raw_bytes, stored_bytes = excluded.stored_bytes`
  )
  const keptLog = database.prepare<[string, number], ArchivedLogRow>(
    `SELECT packed, raw_bytes AS rawBytes, stored_bytes AS storedBytes FROM attempts LEFT JOIN archived_logs
      ON archived_logs.job_id = attempts.job_id AND attempt_number = number
      WHERE attempts.job_id = ? AND number = ? AND log_archived = 1`
  )
  const keptSize = database.prepare<[string, number], { bytes: number; packedBytes: number }>(
    `SELECT coalesce(stored_bytes, length(packed)) AS bytes, length(packed) AS packedBytes FROM archived_logs
      WHERE job_id = ? AND attempt_number = ?`
  )
  const archive = database.prepare<[string, number]>(
    'UPDATE attempts SET log_archived = 1, log_deleted_at_ms = NULL WHERE job_id = ? AND number = ? AND log_archived = 0'
  )

  /**
   * Live attempts and their jobs, as they are now: of changes that are about to be applied, asked together, since each
   * look is a round trip to a server; and what those that were applied have made of them.
   */
  const known = new Map<JobId, { attempt: Attempt; job: JobBefore }>()
  let asked = new Map<JobId, AttemptNumber>()
  /** Of logs that are about to be marked as archived, by attempt. */
  const askedLogs = new Map<string, ReturnType<typeof askLog>>()
  /** Jobs that have left their run in this write, and have not freed others yet. */
  let left: JobThatLeft[] = []
  const updates = createAttemptUpdates(database)

  function askLog(jobId: JobId, number: AttemptNumber) {
    return { attempt: one.ahead(jobId, number), size: keptSize.ahead(jobId, number) }
  }

  function readAhead(list: AttemptChange[]): void {
    outbox.readAhead()
    for (const { jobId, attemptNumber } of list) if (!asked.has(jobId)) asked.set(jobId, attemptNumber)
  }

  function readAsked(): void {
    if (asked.size === 0) return
    const ids = JSON.stringify([...asked.keys()])
    const [attempts, jobs] = [ofJobs.aheadAll(ids), jobsOf.aheadAll(ids)]
    const live = new Map<JobId, Attempt>()
    for (const row of attempts())
      if (row.state !== 'ended' && asked.get(row.job_id) === row.number) live.set(row.job_id, toAttempt(row))
    for (const row of jobs()) {
      const attempt = live.get(row.id)
      if (attempt !== undefined) known.set(row.id, { attempt, job: toJobBefore(row) })
    }
    asked = new Map()
  }

  /**
   * The attempt and its job as they are now. What is known of a live attempt is that: only its own changes write it and
   * its job, and a write of something else ends with `discard`.
   */
  function read(jobId: JobId, number: AttemptNumber): { before: Attempt; job: JobBefore } | undefined {
    readAsked()
    const ahead = known.get(jobId)
    known.delete(jobId)
    if (ahead?.attempt.number === number) return { before: ahead.attempt, job: ahead.job }
    updates.flush()
    const before = one.get(jobId, number)
    return before === undefined ? undefined : { before: toAttempt(before), job: toJobBefore(jobOf.get(jobId)!) }
  }

  function apply(change: AttemptChange): boolean {
    const { jobId, attemptNumber, kind, entry } = change
    const found = read(jobId, attemptNumber)
    if (found === undefined || !change.from.includes(found.before.state)) return false
    const { before, job } = found
    if (kind === 'found_again') {
      flush()
      const isOverlapLive = job.overlapKey !== null && holds.isOverlapLive(job.overlapKey)
      if (!mayRevive(job, { attemptNumber, isOverlapLive })) return false
    }
    const after = afterChange(job, before, change)
    updates.attempt(after.attempt)
    timeline.add(jobId, attemptNumber, kind, entry)
    const jobAfter = writeJob(jobId, job, after.job)
    if (after.attempt.state !== 'ended') known.set(jobId, { attempt: after.attempt, job: jobAfter })
    if (after.jobEntry !== null) timeline.add(jobId, null, 'ended', after.jobEntry)
    if (after.event !== null && outbox.isWanted(after.event.name)) {
      updates.flush()
      outbox.recordJob(after.event.name, jobId, after.event.atMs)
    }
    if (after.hasLeft) {
      const { project, spider, overlapKey } = job
      left.push({ id: jobId, project, spider, overlapKey, outcome: after.outcome, atMs: entry.atMs })
    }
    changes.job(jobId)
    return true
  }

  /** Writes what changes have made of attempts and jobs so far; before whatever reads them in the same write. */
  function flush(): void {
    updates.flush()
    const jobs = left
    left = []
    if (jobs.length > 0) freeOthers(jobs)
  }

  function freeOthers(jobs: JobThatLeft[]): void {
    for (const { outcome, ...job } of jobs) if (outcome !== null) chainEnds.recordEnd({ ...job, outcome })
    const waitedFor = holds.waitedFor(jobs.filter(({ outcome }) => outcome !== null).map(({ id }) => id))
    for (const { id, outcome, overlapKey, atMs } of jobs) {
      if (outcome === null) {
        if (overlapKey !== null) holds.freeOverlap(overlapKey, overlapEnded(id, atMs))
      } else if (overlapKey !== null || waitedFor.has(id)) holds.releaseAfter([{ id, outcome, overlapKey }], atMs)
    }
  }

  /** Returns it as it is then. */
  function writeJob(id: JobId, before: JobBefore, after: JobBefore): JobBefore {
    if (before === after) return before
    const { killingLine, pages, items, errors } = after
    const findings = [killingLine, pages, items, errors, after.mayHaveRunTwice ? 1 : 0]
    const { state, outcome, hold, notBeforeMs, reason, nodeId, startedAtMs, endedAtMs } = after
    const moving = [state, outcome, hold, notBeforeMs, reason, nodeId, startedAtMs, endedAtMs]
    const hasMoved = MOVING.some((column) => before[column] !== after[column])
    updates.job({ id, moving, findings, hasMoved })
    if (!hasMoved) return after
    const moved = { ...after, status: outcome ?? state, node_id: nodeId }
    counters.moved(before, moved)
    return moved
  }

  return {
    listLive: (): Attempt[] => live.all().map(toAttempt),
    list: (jobId: JobId): Attempt[] => ofJob.all(jobId).map(toAttempt),
    findOnNode: (nodeId: NodeId, runs: RunOnNode[]): Attempt[] =>
      onNode.all({ nodeId, runs: JSON.stringify(runs) }).map(toAttempt),
    hasEndedBefore: (
      nodeId: NodeId,
      runs: RunOnNode[],
      { jobId, number }: Pick<Attempt, 'jobId' | 'number'>
    ): boolean => endedBefore.get({ nodeId, runs: JSON.stringify(runs), jobId, number }) === 1,
    readAhead,
    flush,
    discard(): void {
      known.clear()
      asked.clear()
      askedLogs.clear()
      left = []
      updates.discard()
    },
    applyChanges: (list: AttemptChange[]): boolean[] => list.map(apply),

    readLogAhead(jobId: JobId, attemptNumber: AttemptNumber): void {
      askedLogs.set(`${jobId} ${attemptNumber}`, askLog(jobId, attemptNumber))
    },

    markLogArchived(jobId: JobId, attemptNumber: AttemptNumber, { packed, sizes }: ArchivedLog): void {
      const key = `${jobId} ${attemptNumber}`
      const asked = askedLogs.get(key) ?? askLog(jobId, attemptNumber)
      // Marked again in the same write, it is another log.
      askedLogs.delete(key)
      const attempt = asked.attempt()
      if (attempt === undefined) return
      const before = asked.size()
      if (before !== undefined) logSums.add(attempt.project, -1, { count: 1, ...before })
      const packedBytes = packed?.length ?? 0
      logSums.add(attempt.project, 1, {
        count: 1,
        bytes: packed === null ? (sizes?.storedBytes ?? 0) : packedBytes,
        packedBytes
      })
      const storedBytes = packed === null ? (sizes?.storedBytes ?? null) : null
      // Its blocks describe what was archived before.
      keptLogs.forget(jobId, attemptNumber)
      keepLog.run(jobId, attemptNumber, packed ?? NO_BYTES, sizes?.rawBytes ?? null, storedBytes)
      archive.run(jobId, attemptNumber)
      if (attempt.log_archived === 0) changes.job(jobId)
    },

    findArchivedLog(jobId: JobId, attemptNumber: AttemptNumber): ArchivedLog | null {
      const row = keptLog.get(jobId, attemptNumber)
      if (row === undefined) return null
      return toLog({ ...row, packed: row.packed ?? NO_BYTES })
    }
  }
}
