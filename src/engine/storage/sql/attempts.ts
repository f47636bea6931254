import type { Attempt, AttemptNumber, JobId, NodeId, ProjectName } from '../../../shared/contract/index.ts'
import { type AfterChange, afterChange, type JobFacts, mayRevive } from '../../model/after-change.ts'
import type { AttemptChange } from '../../model/attempt-change.ts'
import { overlapEnded } from '../../model/timeline.ts'
import type { ArchivedLog, RunOnNode } from '../../model/records.ts'
import type { ChainEnds } from './chain-ends.ts'
import { createAttemptUpdates } from './attempt-updates.ts'
import type { Cell, ManySql } from './database.ts'
import type { CountedRow, JobWriting } from './counters.ts'
import { among, type Fragments } from './fragments.ts'
import { COUNTED, type Holds } from './holds.ts'
import { type KeptLogs, LOG_KEY, toLog, type LogSums } from './kept-logs.ts'
import type { Outbox } from './outbox.ts'
import { attemptKey, type AttemptRow, toAttempt, toStoredAttempt } from './rows.ts'
import { insertMany } from './table.ts'

const JOB_BEFORE = `${COUNTED}, state, outcome, not_before_ms AS "notBeforeMs", reason, node_id AS "nodeId",
      started_at_ms AS "startedAtMs", ended_at_ms AS "endedAtMs", killing_line AS "killingLine", pages, items, errors,
      may_have_run_twice AS "mayHaveRunTwice", attempt_count AS "attemptCount", cancel_asked_at_ms AS "cancelAskedAtMs",
      overlap_key AS "overlapKey"`

export const attemptsSql = (sql: Fragments) => ({
  live: "SELECT * FROM attempts WHERE state <> 'ended' ORDER BY job_id",
  ofJob: 'SELECT * FROM attempts WHERE job_id = ? ORDER BY number',
  one: 'SELECT * FROM attempts WHERE job_id = ? AND number = ?',
  ofJobs: `SELECT * FROM attempts WHERE job_id ${among(sql, '?')}`,
  jobOf: `SELECT ${JOB_BEFORE} FROM jobs WHERE id = ?`,
  jobsOf: `SELECT ${JOB_BEFORE} FROM jobs WHERE id ${among(sql, '?')}`,
  loggedOf: `SELECT attempts.job_id AS "jobId", number, project, log_archived AS "isArchived",
      coalesce(stored_bytes, length(packed)) AS bytes, length(packed) AS "packedBytes"
    FROM attempts LEFT JOIN archived_logs
      ON archived_logs.job_id = attempts.job_id AND archived_logs.attempt_number = attempts.number
    WHERE attempts.job_id ${among(sql, '?')}`,
  // Start with the given runs, which are few, instead of all attempts on the node.
  onNode: `SELECT attempts.* FROM ${sql.objects(':runs', 'run')} ${sql.thenJoin} attempts ON node_id = :nodeId
    AND project = run.value ->> 'project' AND jobid = run.value ->> 'jobid' ORDER BY run.key`,
  // An attempt that was found again has several ends; the last one counts.
  endedBefore: `SELECT EXISTS (
    SELECT 1 FROM ${sql.objects(':runs', 'run')} ${sql.thenJoin} attempts AS ended ON ended.node_id = :nodeId
      AND ended.project = run.value ->> 'project' AND ended.jobid = run.value ->> 'jobid'
    WHERE ended.result IN ('succeeded', 'failed', 'unclear')
      AND (SELECT max(sequence) FROM transitions
        WHERE job_id = ended.job_id AND attempt_number = ended.number AND kind = 'ended')
        < (SELECT min(sequence) FROM transitions WHERE job_id = :jobId AND attempt_number = :number))`
})

export const LOGS_MANY = {
  keep: insertMany(
    'archived_logs',
    { ...LOG_KEY, packed: 'BLOB', raw_bytes: 'INTEGER', stored_bytes: 'INTEGER' },
    `ON CONFLICT (job_id, attempt_number) DO UPDATE
      SET packed = excluded.packed, raw_bytes = excluded.raw_bytes, stored_bytes = excluded.stored_bytes`
  ),
  archive: {
    sql: `UPDATE attempts SET log_archived = 1, log_deleted_at_ms = NULL FROM given
      WHERE attempts.job_id = given.job_id AND number = given.attempt_number AND log_archived = 0`,
    each: `UPDATE attempts SET log_archived = 1, log_deleted_at_ms = NULL
      WHERE job_id = ? AND number = ? AND log_archived = 0`,
    given: LOG_KEY
  }
} satisfies Record<string, ManySql>

interface Dependencies extends JobWriting {
  holds: Holds
  chainEnds: ChainEnds
  outbox: Outbox
  keptLogs: Pick<KeptLogs, 'forgetLogBlocks'>
  logSums: LogSums
}

interface JobBefore extends JobFacts, Omit<CountedRow, 'hold'> {
  overlapKey: string | null
}
type JobRowBefore = Omit<JobBefore, 'mayHaveRunTwice'> & { mayHaveRunTwice: number }

const toJobBefore = (row: JobRowBefore): JobBefore => ({ ...row, mayHaveRunTwice: row.mayHaveRunTwice === 1 })

const NO_BYTES = new Uint8Array(0)

interface JobThatLeft extends Pick<JobBefore, 'id' | 'project' | 'spider' | 'overlapKey'> {
  outcome: AfterChange<JobBefore>['outcome']
  atMs: number
}

/**
 * What a write must read first. The reads are sent together, because each separate read is a round trip to the server.
 */
interface Asked {
  live: { of: Map<JobId, AttemptNumber>; attempts: () => AttemptRow[]; jobs: () => JobRowBefore[] } | null
  waitedFor: { of: Set<JobId>; ids: () => Set<JobId> } | null
  logged: { of: Set<JobId>; rows: () => Map<string, LoggedRow> } | null
}

interface LoggedRow {
  jobId: JobId
  number: AttemptNumber
  project: ProjectName
  isArchived: number
  bytes: number | null
  packedBytes: number | null
}

const NO_JOBS: ReadonlySet<JobId> = new Set()

interface ArchivedLogRow {
  packed: Uint8Array | null
  rawBytes: number | null
  storedBytes: number | null
}

const MOVING = ['state', 'outcome', 'hold', 'notBeforeMs', 'reason', 'nodeId', 'startedAtMs'] as const

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
  const statements = attemptsSql(database.fragments)
  const live = database.prepare<[], AttemptRow>(statements.live)
  const ofJob = database.prepare<[string], AttemptRow>(statements.ofJob)
  const ofJobs = database.prepare<[string], AttemptRow>(statements.ofJobs)
  const jobsOf = database.prepare<[string], JobRowBefore>(statements.jobsOf)
  const one = database.prepare<[string, number], AttemptRow>(statements.one)
  const onNode = database.prepare<{ nodeId: NodeId; runs: string }, AttemptRow>(statements.onNode)
  const endedBefore = database
    .prepare<{ nodeId: NodeId; runs: string; jobId: JobId; number: AttemptNumber }, number>(statements.endedBefore)
    .pluck()
  const jobOf = database.prepare<[string], JobRowBefore>(statements.jobOf)
  const keptLog = database.prepare<[string, number], ArchivedLogRow>(
    `SELECT packed, raw_bytes AS "rawBytes", stored_bytes AS "storedBytes" FROM attempts LEFT JOIN archived_logs
      ON archived_logs.job_id = attempts.job_id AND attempt_number = number
      WHERE attempts.job_id = ? AND number = ? AND log_archived = 1`
  )
  const loggedOf = database.prepare<[string], LoggedRow>(statements.loggedOf)
  const keepLogs = database.prepareMany(LOGS_MANY.keep)
  const archive = database.prepareMany(LOGS_MANY.archive)

  /** Live attempts and their jobs, loaded before changes are applied and updated by each change. */
  const known = new Map<JobId, { attempt: Attempt; job: JobBefore }>()
  let wanted = new Map<JobId, AttemptNumber>()
  let ending = new Set<JobId>()
  let wantedLogs = new Set<JobId>()
  let asked: Asked | null = null
  let left: JobThatLeft[] = []
  /** Logs archived in this write. Only the last log of each attempt counts. */
  const logs = new Map<string, Cell[]>()
  const updates = createAttemptUpdates(database)

  function readAhead(list: AttemptChange[]): void {
    for (const { jobId, attemptNumber, to } of list) {
      if (!wanted.has(jobId)) wanted.set(jobId, attemptNumber)
      if (to === 'ended') ending.add(jobId)
    }
  }

  function ask(): void {
    if (wanted.size > 0) outbox.readAhead()
    const ids = JSON.stringify([...wanted.keys()])
    const ends = [...ending]
    const of = wanted
    asked = {
      live: wanted.size === 0 ? null : { of, attempts: ofJobs.aheadAll(ids), jobs: jobsOf.aheadAll(ids) },
      waitedFor: ends.length === 0 ? null : { of: ending, ids: holds.askWaitedFor(ends) },
      logged: wantedLogs.size === 0 ? null : askLogged(wantedLogs)
    }
    wanted = new Map()
    ending = new Set()
    wantedLogs = new Set()
  }

  function askLogged(of: Set<JobId>): NonNullable<Asked['logged']> {
    const rows = loggedOf.aheadAll(JSON.stringify([...of]))
    let found: Map<string, LoggedRow> | null = null
    return { of, rows: () => (found ??= new Map(rows().map((row) => [attemptKey(row.jobId, row.number), row]))) }
  }

  function readAsked(): void {
    const live = asked?.live ?? null
    if (live === null) return
    asked!.live = null
    const attempts = new Map<JobId, Attempt>()
    for (const row of live.attempts())
      if (row.state !== 'ended' && live.of.get(row.job_id) === row.number)
        attempts.set(row.job_id, toStoredAttempt(row))
    for (const row of live.jobs()) {
      const attempt = attempts.get(row.id)
      if (attempt !== undefined) known.set(row.id, { attempt, job: toJobBefore(row) })
    }
  }

  /**
   * For a live attempt, the known state is exact: only changes to the attempt write to it, and every other write
   * calls `discard`.
   */
  function read(jobId: JobId, number: AttemptNumber): { before: Attempt; job: JobBefore } | undefined {
    readAsked()
    const ahead = known.get(jobId)
    known.delete(jobId)
    if (ahead?.attempt.number === number) return { before: ahead.attempt, job: ahead.job }
    updates.flush()
    const before = one.get(jobId, number)
    return before === undefined ? undefined : { before: toStoredAttempt(before), job: toJobBefore(jobOf.get(jobId)!) }
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

  /** Writes the changes to attempts and jobs so far. Call this before anything reads them in the same write. */
  function flush(): void {
    updates.flush()
    flushLogs()
    const jobs = left
    left = []
    if (jobs.length > 0) freeOthers(jobs)
  }

  function flushLogs(): void {
    const written = [...logs.values()]
    logs.clear()
    keepLogs(written)
    archive(written.map(([jobId, number]) => [jobId!, number!]))
  }

  function freeOthers(jobs: JobThatLeft[]): void {
    for (const { outcome, ...job } of jobs) if (outcome !== null) chainEnds.recordEnd({ ...job, outcome })
    const ended = jobs.filter(({ outcome }) => outcome !== null).map(({ id }) => id)
    const ahead = asked?.waitedFor ?? null
    const isAsked = ahead !== null && ended.every((id) => ahead.of.has(id))
    const waitedFor = ended.length === 0 ? NO_JOBS : (isAsked ? ahead.ids : holds.askWaitedFor(ended))()
    for (const { id, outcome, overlapKey, atMs } of jobs) {
      if (outcome === null) {
        if (overlapKey !== null) holds.freeOverlap(overlapKey, overlapEnded(id, atMs))
      } else if (overlapKey !== null || waitedFor.has(id)) holds.releaseAfter([{ id, outcome, overlapKey }], atMs)
    }
  }

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
    listLiveAttempts: (): Attempt[] => live.all().map(toAttempt),
    listAttempts: (jobId: JobId): Attempt[] => ofJob.all(jobId).map(toAttempt),
    findAttemptsOnNode: (nodeId: NodeId, runs: RunOnNode[]): Attempt[] =>
      onNode.all({ nodeId, runs: JSON.stringify(runs) }).map(toAttempt),
    hasEndedBefore: (
      nodeId: NodeId,
      runs: RunOnNode[],
      { jobId, number }: Pick<Attempt, 'jobId' | 'number'>
    ): boolean => endedBefore.get({ nodeId, runs: JSON.stringify(runs), jobId, number }) === 1,
    readAhead,
    ask,
    flush,
    discard(): void {
      known.clear()
      wanted = new Map()
      ending = new Set()
      wantedLogs = new Set()
      asked = null
      left = []
      logs.clear()
      updates.discard()
    },
    applyChanges: (list: AttemptChange[]): boolean[] => list.map(apply),

    readLogAhead: (jobId: JobId): void => void wantedLogs.add(jobId),

    markLogArchived(jobId: JobId, attemptNumber: AttemptNumber, { packed, sizes }: ArchivedLog): void {
      const key = attemptKey(jobId, attemptNumber)
      const ahead = asked?.logged
      const logged = (ahead?.of.has(jobId) === true ? ahead : askLogged(new Set([jobId]))).rows()
      const attempt = logged.get(key)
      if (attempt === undefined) return
      const { project, bytes, packedBytes } = attempt
      if (packedBytes !== null) {
        logSums.add(project, -1, { count: 1, bytes: bytes!, packedBytes })
        keptLogs.forgetLogBlocks([{ jobId, number: attemptNumber }])
      }
      const storedBytes = packed === null ? (sizes?.storedBytes ?? null) : null
      const size = { bytes: storedBytes ?? packed?.length ?? 0, packedBytes: packed?.length ?? 0 }
      logSums.add(project, 1, { count: 1, ...size })
      logs.set(key, [jobId, attemptNumber, packed ?? NO_BYTES, sizes?.rawBytes ?? null, storedBytes])
      if (attempt.isArchived === 0) changes.job(jobId)
      // If this attempt's log is archived again in the same write, the sums must subtract this size.
      logged.set(key, { ...attempt, isArchived: 1, ...size })
    },

    findArchivedLog(jobId: JobId, attemptNumber: AttemptNumber): ArchivedLog | null {
      const row = keptLog.get(jobId, attemptNumber)
      if (row === undefined) return null
      return toLog({ ...row, packed: row.packed ?? NO_BYTES })
    }
  }
}
