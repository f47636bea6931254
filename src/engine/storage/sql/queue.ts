import type { JobId, NodeId } from '../../../shared/contract/index.ts'
import { type Holdable, holdOf } from '../../model/holds.ts'
import { mayBeRestored } from '../../model/restore.ts'
import { cancelledInQueue, eggNotImportable, type EndInQueue } from '../../model/timeline.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import type { AttemptStart, BegunAttempt, LaneDepth, QueueHead, StoredJob } from '../../model/records.ts'
import type { ChainEnds } from './chain-ends.ts'
import type { CountedRow, JobWriting } from './counters.ts'
import type { ManySql } from './database.ts'
import type { Fragments } from './fragments.ts'
import { COUNTED, HOLDABLE, type Holds, type JobThatEnded, RESTORABLE } from './holds.ts'
import { JOB, JOB_NAMES, type JobRow, toJob } from './rows.ts'

/** The most frequent statements, by name, so that a test can check their query plans. */
export const queueSql = (sql: Fragments) => ({
  lanes: 'SELECT lane, depth FROM queue_lanes ORDER BY lane',
  heads: `SELECT id, jobid, priority, rank, attempt_count AS "attemptCount" FROM jobs
    WHERE state = 'queued' AND hold IS NULL AND ${sql.sameLane('lane', '?')}
    ORDER BY priority DESC, rank, id LIMIT ?`,
  claim: `UPDATE jobs SET state = 'starting', node_id = :nodeId, attempt_count = :number, sent_version = :version,
      started_at_ms = NULL, reason = NULL
    WHERE id = :jobId AND state = 'queued' AND hold IS NULL AND attempt_count = :number - 1
      AND (expires_at_ms IS NULL OR expires_at_ms > :atMs)
      AND (overlap_key IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS live
        WHERE live.overlap_key = jobs.overlap_key AND live.state IN ('starting', 'running')))
    RETURNING ${JOB}`,
  nodeOf: 'SELECT node_id FROM jobs WHERE id = ?',
  /** Whether the job entered its lane after a time: every move into a lane has a timeline entry. */
  cameAfter: `SELECT 1 FROM jobs WHERE id = :id AND (queued_at_ms > :atMs
    OR EXISTS (SELECT 1 FROM transitions WHERE job_id = :id AND at_ms > :atMs))`,
  holdOverlapping: `UPDATE jobs SET hold = 'overlap'
    WHERE id = :jobId AND state = 'queued' AND hold IS NULL AND attempt_count = :number - 1
      AND (expires_at_ms IS NULL OR expires_at_ms > :atMs) AND overlap_key IS NOT NULL
    RETURNING ${COUNTED}`,
  insertAttempt: `INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'sending', ?) ON CONFLICT (node_id, project, jobid) DO NOTHING`
})

export const QUEUE_MANY = {
  /**
   * Claims only jobs without an overlap key. Jobs with an overlap key are claimed one by one, so that each claim sees
   * the previous claims. Also returns the attempts of jobs whose jobid is free on the node. The last column of an
   * attempt is the job's id.
   */
  claim: {
    with: `claimed(${JOB_NAMES}) AS (
      UPDATE jobs SET state = 'starting', node_id = given.to_node, attempt_count = given.start_number,
        sent_version = given.to_version, started_at_ms = NULL, reason = NULL
      FROM given WHERE jobs.id = given.start_id AND state = 'queued' AND hold IS NULL
        AND attempt_count = given.start_number - 1 AND overlap_key IS NULL
        AND (expires_at_ms IS NULL OR expires_at_ms > given.start_ms)
      RETURNING ${JOB}),
    begun AS (
      INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
      SELECT id, start_number, start_jobid, to_node, project, to_version, spider, 'sending', start_ms
      FROM claimed JOIN given ON given.start_id = claimed.id
      ON CONFLICT (node_id, project, jobid) DO NOTHING RETURNING job_id)`,
    sql: 'SELECT claimed.*, begun.job_id FROM claimed LEFT JOIN begun ON begun.job_id = claimed.id',
    given: {
      start_id: 'TEXT',
      to_node: 'TEXT',
      start_number: 'INTEGER',
      to_version: 'TEXT',
      start_ms: 'INTEGER',
      start_jobid: 'TEXT'
    }
  }
} satisfies Record<string, ManySql>

interface Dependencies extends JobWriting {
  holds: Holds
  chainEnds: ChainEnds
}

/** `hasAttempt`: whether the statement also inserted the attempt. */
interface Claimed {
  row: JobRow
  hasAttempt: boolean
}
type Claim = Omit<AttemptStart, 'entry'> & { atMs: number }

interface CancelledRow extends CountedRow, Holdable {
  state: string
  cancelled_while_queued: number
}

export function createQueue({ database, changes, timeline, counters, holds, chainEnds }: Dependencies) {
  const statements = queueSql(database.fragments)
  const lanes = database.prepare<[], LaneDepth>(statements.lanes)
  const heads = database.prepare<[string, number], QueueHead>(statements.heads)
  const claim = database.prepare<Claim, JobRow>(statements.claim).raw()
  const holdOverlapping = database.prepare<Claim, CountedRow>(statements.holdOverlapping)
  const nodeOf = database.prepare<[string], NodeId | null>(statements.nodeOf).pluck()
  const cameAfter = database.prepare<{ id: JobId; atMs: number }>(statements.cameAfter)
  const insertAttempt = database.prepare<[string, number, string, string, string, string, string, number]>(
    statements.insertAttempt
  )
  const claimMany = database.prepareGiven?.<[...JobRow, string | null]>(QUEUE_MANY.claim)
  const cancelled = database.prepare<[string], CancelledRow>(
    `SELECT state, cancelled_while_queued, ${HOLDABLE}, ${COUNTED} FROM jobs WHERE id = ?`
  )
  const restore = database.prepare<[string | null, string]>(
    `UPDATE jobs SET state = 'queued', hold = ?, outcome = NULL, reason = NULL, cancelled_while_queued = 0,
       cancel_asked_at_ms = NULL, started_at_ms = NULL, ended_at_ms = NULL WHERE id = ?`
  )
  const waitingFor = database
    .prepare<[string], JobId>('SELECT DISTINCT job_id FROM job_dependencies WHERE on_job_id = ?')
    .pluck()
  const isLive = database.prepare<[string]>("SELECT 1 FROM jobs WHERE id = ? AND state IN ('starting', 'running')")
  const askCancel = database.prepare<{ id: JobId; atMs: number }>(
    'UPDATE jobs SET cancel_asked_at_ms = :atMs WHERE id = :id AND cancel_asked_at_ms IS NULL'
  )

  /** Returns undefined for each start whose claim failed. */
  function claimAll(starts: AttemptStart[]): (Claimed | undefined)[] {
    const wantedOf = ({ entry, ...fields }: AttemptStart): Claim => ({ ...fields, atMs: entry.atMs })
    const alone = (row: JobRow | undefined) => (row === undefined ? undefined : { row, hasAttempt: false })
    if (claimMany === undefined) return starts.map((start) => alone(claim.get(wantedOf(start))))
    // Claim each job only for its first start, because a second start would find the job claimed.
    const firsts = new Map(starts.toReversed().map((start) => [start.jobId, start]))
    const given = [...firsts.values()].map(({ jobId, number, nodeId, version, entry, jobid }) => {
      return [jobId, nodeId, number, version, entry.atMs, jobid]
    })
    const claimed = new Map(
      claimMany(given)().map((row) => [row[0], { row: row as never, hasAttempt: row.at(-1) !== null }])
    )
    const asked = starts.map((start) => {
      const found = firsts.get(start.jobId) === start ? claimed.get(start.jobId) : undefined
      if (found !== undefined) return () => found
      const row = claim.ahead(wantedOf(start))
      return () => alone(row())
    })
    return asked.map((found) => found())
  }

  /** Inserts the missing attempts. Returns the jobid of each attempt on its node. */
  function writeAttempts(begun: { start: AttemptStart; job: StoredJob; hasAttempt: boolean }[]): string[] {
    const cellsOf = ({ start, job }: (typeof begun)[number], free: string) =>
      [start.jobId, start.number, free, start.nodeId, job.project, start.version, job.spider, start.entry.atMs] as const
    const inserted = begun.map((each) =>
      each.hasAttempt ? { changes: 1 } : insertAttempt.run(...cellsOf(each, each.start.jobid))
    )
    return begun.map((each, index) => {
      const { jobId, jobid, number } = each.start
      if (inserted[index]!.changes > 0) return jobid
      // A client's jobid may already exist on the node. Fall back to the job's id, which is unique.
      let free = `${jobId}-${number}`
      for (let copy = number + 1; insertAttempt.run(...cellsOf(each, free)).changes === 0; copy += 1)
        free = `${jobId}-${copy}`
      return free
    })
  }

  /** Requeues the job and recomputes its hold. Returns false if it must stay cancelled. */
  function restoreOne(id: JobId, isAsked: boolean, nowMs: number): boolean {
    const row = cancelled.get(id)
    if (row === undefined || row.state !== 'ended') return false
    if (!mayBeRestored(RESTORABLE[row.cancelled_while_queued]!, isAsked)) return false
    const verdict = holds.judge(id)
    if (verdict.kind === 'broken') return false
    const hold = holdOf(row, verdict.kind, nowMs, holds.isOverlapLive)
    restore.run(hold, id)
    chainEnds.withdrawEnd(id)
    counters.moved(row, { ...row, status: 'queued', hold })
    return true
  }

  function endAll(ids: JobId[], end: EndInQueue, how: Parameters<Holds['endQueued']>[2]): JobId[] {
    const ended: JobThatEnded[] = []
    for (const id of ids) {
      const job = holds.endQueued(id, end, how)
      if (job !== undefined) ended.push(job)
    }
    const done = ended.map(({ id }) => id)
    holds.releaseAfter(ended, end.entry.atMs)
    return done
  }

  return {
    listLanes: (): LaneDepth[] => lanes.all(),
    readHeads: (wanted: { lane: string; limit: number }[]): QueueHead[][] =>
      wanted.map(({ lane, limit }) => heads.aheadAll(lane, limit)).map((found) => found()),

    beginAttempts(starts: AttemptStart[]): BegunAttempt[] {
      // Only a job with earlier attempts has a node, so skip the query for first attempts.
      const nodesBefore = starts.map(({ jobId, number }) => (number === 1 ? null : nodeOf.ahead(jobId)))
      // This check is the whole claim: a second claimer finds the job no longer queued, or at a later attempt.
      const claimed = claimAll(starts)
      const begun: { start: AttemptStart; job: StoredJob; hasAttempt: boolean }[] = []
      for (const [index, start] of starts.entries()) {
        const found = claimed[index]
        if (found === undefined) {
          const { entry, ...fields } = start
          const held = holdOverlapping.get({ ...fields, atMs: entry.atMs })
          if (held !== undefined) {
            changes.job(start.jobId)
            counters.moved({ ...held, hold: null }, held)
          }
          continue
        }
        const job = toJob(found.row)
        const { project, spider, lane } = job
        const counted = { id: start.jobId, project, spider, lane, hold: null }
        const after = { ...counted, status: 'starting', node_id: start.nodeId }
        const nodeBefore = nodesBefore[index]?.() ?? null
        counters.moved({ ...counted, status: 'queued', node_id: nodeBefore }, after, { notify: false })
        timeline.add(start.jobId, start.number, 'sending', start.entry)
        changes.job(start.jobId)
        begun.push({ start, job, hasAttempt: found.hasAttempt })
      }
      const jobids = writeAttempts(begun)
      return begun.map(({ start: { entry, ...fields }, job }, index) => {
        const { project, spider } = job
        return { ...NEW_ATTEMPT, ...fields, jobid: jobids[index]!, project, spider, sentAtMs: entry.atMs, job }
      })
    },

    cancelQueued: (ids: JobId[], entry: TimelineEntry) =>
      endAll(ids, cancelledInQueue(entry), { isAsked: true, restorable: 'by_itself' }),

    failQueued(ids: JobId[], error: string, sinceMs: number, entry: TimelineEntry): JobId[] {
      timeline.flush()
      const there = ids.filter((id) => cameAfter.get({ id, atMs: sinceMs }) === undefined)
      return endAll(there, eggNotImportable(error, entry), { restorable: 'never' })
    },

    /** Also restores jobs that were skipped because one of these jobs was cancelled. */
    restoreCancelled(ids: JobId[], entry: TimelineEntry): JobId[] {
      const asked = new Set(ids)
      const restored: JobId[] = []
      const candidates = [...asked]
      // The array grows during the loop, so that chains of any length need no recursion.
      for (const id of candidates) {
        if (!restoreOne(id, asked.has(id), entry.atMs)) continue
        timeline.add(id, null, 'restored', entry)
        changes.job(id)
        restored.push(id)
        candidates.push(...waitingFor.all(id))
      }
      return restored
    },

    askCancel(ids: JobId[], entry: TimelineEntry): JobId[] {
      return ids.filter((id) => {
        if (isLive.get(id) === undefined) return false
        // A repeated request changes nothing, so it needs no timeline entry.
        if (askCancel.run({ id, atMs: entry.atMs }).changes > 0) {
          timeline.add(id, null, 'cancel_asked', entry)
          changes.job(id)
        }
        return true
      })
    }
  }
}

const NEW_ATTEMPT = {
  state: 'sending',
  result: null,
  reason: null,
  acceptedAtMs: null,
  startedAtMs: null,
  endedAtMs: null,
  pid: null,
  exitCode: null,
  signal: null,
  stats: null,
  limitHit: null,
  peakMemoryBytes: null,
  cpuSeconds: null,
  logArchived: false,
  logDeletedAtMs: null
} as const
