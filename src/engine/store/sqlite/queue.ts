import type { Database } from 'better-sqlite3'
import type { Attempt } from '../../../shared/contract/index.ts'
import type { AttemptStart, LaneDepth, QueueHead, TimelineEntry } from '../store.ts'
import type { ChangeLog } from './change-log.ts'
import { type Holds, type JobThatEnded, RESTORABLE } from './holds.ts'
import { type AttemptRow, toAttempt } from './rows.ts'
import type { Timeline } from './timeline.ts'

/** The hot statements, by name, so that a test can look at their plans. */
export const QUEUE_SQL = {
  lanes: 'SELECT lane, depth FROM queue_lanes ORDER BY lane',
  heads: `SELECT id, jobid, priority, rank, attempt_count AS attemptCount FROM jobs
    WHERE state = 'queued' AND hold IS NULL AND lane = ? ORDER BY priority DESC, rank, id LIMIT ?`,
  claim: `UPDATE jobs SET state = 'starting', node_id = :nodeId, attempt_count = :number, started_at_ms = NULL, reason = NULL
    WHERE id = :jobId AND state = 'queued' AND hold IS NULL AND attempt_count = :number - 1
      AND (expires_at_ms IS NULL OR expires_at_ms > :atMs)
      AND (overlap_key IS NULL OR NOT EXISTS (SELECT 1 FROM jobs AS live
        WHERE live.overlap_key = jobs.overlap_key AND live.state IN ('starting', 'running')))
    RETURNING project, spider, lane`,
  holdOverlapping: `UPDATE jobs SET hold = 'overlap'
    WHERE id = :jobId AND state = 'queued' AND hold IS NULL AND attempt_count = :number - 1
      AND (expires_at_ms IS NULL OR expires_at_ms > :atMs) AND overlap_key IS NOT NULL
    RETURNING lane`
}

interface Dependencies {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  holds: Holds
}

type Claim = Omit<AttemptStart, 'entry'> & { atMs: number }

interface CancelledRow {
  state: string
  cancelled_while_queued: number
  not_before_ms: number | null
  overlap_key: string | null
  attempt_count: number
  lane: string
}

/** Jobs on their way through and out of the queue. Every function runs inside a transaction of its caller. */
export function createQueue({ database, changes, timeline, holds }: Dependencies) {
  const lanes = database.prepare<[], LaneDepth>(QUEUE_SQL.lanes)
  const heads = database.prepare<[string, number], QueueHead>(QUEUE_SQL.heads)
  const claim = database.prepare<Claim, { project: string; spider: string; lane: string }>(QUEUE_SQL.claim)
  const holdOverlapping = database.prepare<Claim, { lane: string }>(QUEUE_SQL.holdOverlapping)
  const insertAttempt = database.prepare<unknown[], AttemptRow>(
    `INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
     VALUES (:jobId, :number, :jobid, :nodeId, :project, :version, :spider, 'sending', :sentAtMs) RETURNING *`
  )
  const isTaken = database.prepare<[string, string, string]>(
    'SELECT 1 FROM attempts WHERE node_id = ? AND project = ? AND jobid = ?'
  )
  const cancelled = database.prepare<[string], CancelledRow>(
    'SELECT state, cancelled_while_queued, not_before_ms, overlap_key, attempt_count, lane FROM jobs WHERE id = ?'
  )
  const restore = database.prepare<[string | null, string]>(
    `UPDATE jobs SET state = 'queued', hold = ?, outcome = NULL, reason = NULL, cancelled_while_queued = 0,
       cancel_asked_at_ms = NULL, started_at_ms = NULL, ended_at_ms = NULL WHERE id = ?`
  )
  const waitingFor = database
    .prepare<[string], string>('SELECT DISTINCT job_id FROM job_dependencies WHERE on_job_id = ?')
    .pluck()
  const isLive = database.prepare<[string]>("SELECT 1 FROM jobs WHERE id = ? AND state IN ('starting', 'running')")
  const askCancel = database.prepare<{ id: string; atMs: number }>(
    'UPDATE jobs SET cancel_asked_at_ms = :atMs WHERE id = :id AND cancel_asked_at_ms IS NULL'
  )

  /** A jobid of a client's own making may be one that the node had before: then the job's id, which is nobody else's. */
  function freeJobid({ jobId, number, jobid, nodeId }: AttemptStart, project: string): string {
    let free = jobid
    for (let copy = number; isTaken.get(nodeId, project, free) !== undefined; copy += 1) free = `${jobId}-${copy}`
    return free
  }

  /** The job is queued again, with its hold found anew; false where it must stay cancelled. */
  function restoreOne(id: string, isAsked: boolean, nowMs: number): boolean {
    const row = cancelled.get(id)
    if (row === undefined || row.state !== 'ended') return false
    if (row.cancelled_while_queued === RESTORABLE.never) return false
    if (row.cancelled_while_queued === RESTORABLE.by_itself && !isAsked) return false
    const { broken, isMet } = holds.judge(id)
    if (broken !== undefined) return false
    const hold = isMet ? holds.laterHold(row, nowMs) : 'dependency'
    restore.run(hold, id)
    if (hold === null) changes.lane(row.lane)
    return true
  }

  return {
    listLanes: (): LaneDepth[] => lanes.all(),
    readHeads: (wanted: { lane: string; limit: number }[]): QueueHead[][] =>
      wanted.map(({ lane, limit }) => heads.all(lane, limit)),

    beginAttempts(starts: AttemptStart[]): Attempt[] {
      const begun: Attempt[] = []
      for (const start of starts) {
        // The guard is the whole claim: whoever comes second finds the job no longer queued, or further on in its attempts.
        const { entry, ...fields } = start
        const wanted = { ...fields, atMs: entry.atMs }
        const job = claim.get(wanted)
        if (job === undefined) {
          const held = holdOverlapping.get(wanted)
          if (held !== undefined) {
            changes.job(start.jobId)
            changes.lane(held.lane)
          }
          continue
        }
        const { project, spider, lane } = job
        const jobid = freeJobid(start, project)
        const row = insertAttempt.get({ ...fields, project, spider, jobid, sentAtMs: entry.atMs }) as AttemptRow
        timeline.add(start.jobId, start.number, 'sending', entry)
        changes.job(start.jobId)
        changes.lane(lane)
        begun.push(toAttempt(row))
      }
      return begun
    },

    cancelQueued(ids: string[], entry: TimelineEntry): string[] {
      const ended: JobThatEnded[] = []
      for (const id of ids) {
        const how = { reason: 'cancelled while queued', entry, isAsked: true, restorable: 'by_itself' as const }
        const job = holds.endQueued(id, how)
        if (job !== undefined) ended.push(job)
      }
      const done = ended.map(({ id }) => id)
      holds.settle(ended, entry.atMs)
      return done
    },

    /** Jobs that were skipped because one of these was cancelled come back with it. */
    restoreCancelled(ids: string[], entry: TimelineEntry): string[] {
      const asked = new Set(ids)
      const restored: string[] = []
      const candidates = [...asked]
      // It grows while it is walked: chains of any length need no recursion.
      for (const id of candidates) {
        if (!restoreOne(id, asked.has(id), entry.atMs)) continue
        timeline.add(id, null, 'restored', entry)
        changes.job(id)
        restored.push(id)
        candidates.push(...waitingFor.all(id))
      }
      return restored
    },

    askCancel(ids: string[], entry: TimelineEntry): string[] {
      return ids.filter((id) => {
        if (isLive.get(id) === undefined) return false
        // Asking again changes nothing, and what changes nothing is no transition.
        if (askCancel.run({ id, atMs: entry.atMs }).changes > 0) {
          timeline.add(id, null, 'cancel_asked', entry)
          changes.job(id)
        }
        return true
      })
    }
  }
}
