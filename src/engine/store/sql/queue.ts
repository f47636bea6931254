import type { JobId, NodeId } from '../../../shared/contract/index.ts'
import { type Holdable, holdOf } from '../../job-rules/holds.ts'
import { mayBeRestored } from '../../job-rules/restore.ts'
import { cancelledInQueue, eggNotImportable, type EndInQueue } from '../../job-rules/timeline.ts'
import type { TimelineEntry } from '../../job-rules/attempt-change.ts'
import type { AttemptStart, BegunAttempt, LaneDepth, QueueHead, StoredJob } from '../records.ts'
import type { ChainEnds } from './chain-ends.ts'
import type { CountedRow } from './counters.ts'
import { COUNTED, HOLDABLE, type Holds, type JobThatEnded, RESTORABLE } from './holds.ts'
import type { JobWriting } from './job-writing.ts'
import { JOB, type JobRow, toJob } from './rows.ts'

/** The hot statements, by name, so that a test can check their query plans. */
export const QUEUE_SQL = {
  lanes: 'SELECT lane, depth FROM queue_lanes ORDER BY lane',
  heads: `SELECT id, jobid, priority, rank, attempt_count AS attemptCount FROM jobs
    WHERE state = 'queued' AND hold IS NULL AND lane = ? ORDER BY priority DESC, rank, id LIMIT ?`,
  claim: `UPDATE jobs SET state = 'starting', node_id = :nodeId, attempt_count = :number, sent_version = :version,
      started_at_ms = NULL, reason = NULL
    WHERE id = :jobId AND state = 'queued' AND hold IS NULL AND attempt_count = :number - 1
      AND (expires_at_ms IS NULL OR expires_at_ms > :atMs)
      AND (overlap_key IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS live
        WHERE live.overlap_key = jobs.overlap_key AND live.state IN ('starting', 'running')))
    RETURNING ${JOB}`,
  nodeOf: 'SELECT node_id FROM jobs WHERE id = ?',
  /** Whatever brings a job into its lane is in its timeline. */
  cameAfter: `SELECT 1 FROM jobs WHERE id = :id AND (queued_at_ms > :atMs
    OR EXISTS (SELECT 1 FROM transitions WHERE job_id = :id AND at_ms > :atMs))`,
  holdOverlapping: `UPDATE jobs SET hold = 'overlap'
    WHERE id = :jobId AND state = 'queued' AND hold IS NULL AND attempt_count = :number - 1
      AND (expires_at_ms IS NULL OR expires_at_ms > :atMs) AND overlap_key IS NOT NULL
    RETURNING ${COUNTED}`,
  insertAttempt: `INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'sending', ?) ON CONFLICT (node_id, project, jobid) DO NOTHING`
}

interface Dependencies extends JobWriting {
  holds: Holds
  chainEnds: ChainEnds
}

type Claim = Omit<AttemptStart, 'entry'> & { atMs: number }

interface CancelledRow extends CountedRow, Holdable {
  state: string
  cancelled_while_queued: number
}

/** Moves jobs through and out of the queue. Every function runs inside the caller's transaction. */
export function createQueue({ database, changes, timeline, counters, holds, chainEnds }: Dependencies) {
  const lanes = database.prepare<[], LaneDepth>(QUEUE_SQL.lanes)
  const heads = database.prepare<[string, number], QueueHead>(QUEUE_SQL.heads)
  const claim = database.prepare<Claim, JobRow>(QUEUE_SQL.claim).raw()
  const holdOverlapping = database.prepare<Claim, CountedRow>(QUEUE_SQL.holdOverlapping)
  const nodeOf = database.prepare<[string], NodeId | null>(QUEUE_SQL.nodeOf).pluck()
  const cameAfter = database.prepare<{ id: JobId; atMs: number }>(QUEUE_SQL.cameAfter)
  const insertAttempt = database.prepare<[string, number, string, string, string, string, string, number]>(
    QUEUE_SQL.insertAttempt
  )
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

  /** Asks for the attempt to be inserted; what it returns gives its jobid on the node. */
  function writeAttempt({ jobId, number, jobid, nodeId, version, entry }: AttemptStart, job: StoredJob): () => string {
    const { project, spider } = job
    const write = (free: string) => insertAttempt.run(jobId, number, free, nodeId, project, version, spider, entry.atMs)
    const first = write(jobid)
    return () => {
      if (first.changes > 0) return jobid
      // A jobid chosen by a client may already exist on the node; then use the job's id, which is unique.
      let free = `${jobId}-${number}`
      for (let copy = number + 1; write(free).changes === 0; copy += 1) free = `${jobId}-${copy}`
      return free
    }
  }

  /** Requeues the job and recomputes its hold; false if it must stay cancelled. */
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
      wanted.map(({ lane, limit }) => heads.all(lane, limit)),

    beginAttempts(starts: AttemptStart[]): BegunAttempt[] {
      const asked = starts.map((start) => {
        const { entry, ...fields } = start
        const wanted = { ...fields, atMs: entry.atMs }
        // Only a job with earlier attempts has a node, so the first attempt needs no query.
        const nodeBefore = start.number === 1 ? null : nodeOf.ahead(start.jobId)
        // This guard is the whole claim: a second claimer finds the job no longer queued, or at a later attempt.
        return { start, fields, wanted, nodeBefore, claimed: claim.ahead(wanted) }
      })
      const written: (() => BegunAttempt)[] = []
      for (const { start, fields, wanted, nodeBefore, claimed } of asked) {
        const row = claimed()
        if (row === undefined) {
          const held = holdOverlapping.get(wanted)
          if (held !== undefined) {
            changes.job(start.jobId)
            counters.moved({ ...held, hold: null }, held)
          }
          continue
        }
        const job = toJob(row)
        const { project, spider, lane } = job
        const counted = { id: start.jobId, project, spider, lane, hold: null }
        const after = { ...counted, status: 'starting', node_id: start.nodeId }
        counters.moved({ ...counted, status: 'queued', node_id: nodeBefore?.() ?? null }, after, { notify: false })
        const jobidOf = writeAttempt(start, job)
        timeline.add(start.jobId, start.number, 'sending', start.entry)
        changes.job(start.jobId)
        const sentAtMs = start.entry.atMs
        written.push(() => ({ ...NEW_ATTEMPT, ...fields, jobid: jobidOf(), project, spider, sentAtMs, job }))
      }
      return written.map((attempt) => attempt())
    },

    cancelQueued: (ids: JobId[], entry: TimelineEntry) =>
      endAll(ids, cancelledInQueue(entry), { isAsked: true, restorable: 'by_itself' }),

    failQueued(ids: JobId[], error: string, sinceMs: number, entry: TimelineEntry): JobId[] {
      timeline.flush()
      const there = ids.filter((id) => cameAfter.get({ id, atMs: sinceMs }) === undefined)
      return endAll(there, eggNotImportable(error, entry), { restorable: 'never' })
    },

    /** Also restores jobs that were skipped because one of these was cancelled. */
    restoreCancelled(ids: JobId[], entry: TimelineEntry): JobId[] {
      const asked = new Set(ids)
      const restored: JobId[] = []
      const candidates = [...asked]
      // The array grows during iteration: chains of any length need no recursion.
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
        // A repeated request changes nothing, so it is no transition.
        if (askCancel.run({ id, atMs: entry.atMs }).changes > 0) {
          timeline.add(id, null, 'cancel_asked', entry)
          changes.job(id)
        }
        return true
      })
    }
  }
}

/** Fields of an attempt that is about to be sent. */
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
