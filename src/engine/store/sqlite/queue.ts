import type { Database } from 'better-sqlite3'
import type { Attempt } from '../../../shared/contract/index.ts'
import { laneText } from '../lane.ts'
import type { AttemptStart, LaneDepth, NewJob, QueueHead, TimelineEntry } from '../store.ts'
import type { ChangeLog } from './change-log.ts'
import { type AttemptRow, toAttempt } from './rows.ts'
import type { Timeline } from './timeline.ts'

/** Counting further than this tells nobody more. */
const DEPTH_LIMIT = 10_000

/** The hot statements, by name, so that a test can look at their plans. */
export const QUEUE_SQL = {
  lanes: 'SELECT lane, min(depth, :limit) AS depth FROM queue_lanes ORDER BY lane',
  heads: `SELECT id, jobid, priority, rank, attempt_count AS attemptCount FROM jobs
    WHERE state = 'queued' AND hold IS NULL AND lane = ? ORDER BY priority DESC, rank, id LIMIT ?`,
  claim: `UPDATE jobs SET state = 'starting', node_id = :nodeId, attempt_count = :number, started_at_ms = NULL, reason = NULL
    WHERE id = :jobId AND state = 'queued' AND attempt_count = :number - 1
    RETURNING project, spider`
}

interface Dependencies {
  database: Database
  changes: ChangeLog
  timeline: Timeline
}

/** Jobs on their way into, through and out of the queue. Every function runs inside a transaction of its caller. */
export function createQueue({ database, changes, timeline }: Dependencies) {
  const insertJob = database.prepare(
    `INSERT INTO jobs (id, jobid, project, version, spider, settings, args, secret_names, limits, retry,
       not_before_ms, expires_at_ms, overlap_key, after, dedupe_key, hold, rank, priority,
       placement_node_id, placement_tags, lane, source, state, queued_at_ms)
     VALUES (:id, :jobid, :project, :version, :spider, :settings, :args, :secretNames, :limits, :retry,
       :notBeforeMs, :expiresAtMs, :overlapKey, :after, :dedupeKey, :hold, :rank, :priority,
       :nodeId, :tags, :lane, :source, 'queued', :queuedAtMs)`
  )
  const lanes = database.prepare<{ limit: number }, LaneDepth>(QUEUE_SQL.lanes)
  const heads = database.prepare<[string, number], QueueHead>(QUEUE_SQL.heads)
  const newestRank = database.prepare<[], number | null>('SELECT max(rowid) FROM jobs').pluck()
  const claim = database.prepare<AttemptStart, { project: string; spider: string }>(QUEUE_SQL.claim)
  const insertAttempt = database.prepare<unknown[], AttemptRow>(
    `INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
     VALUES (:jobId, :number, :jobid, :nodeId, :project, :version, :spider, 'sending', :sentAtMs) RETURNING *`
  )
  const isTaken = database.prepare<[string, string, string]>(
    'SELECT 1 FROM attempts WHERE node_id = ? AND project = ? AND jobid = ?'
  )
  const cancel = database.prepare<{ id: string; atMs: number }>(
    `UPDATE jobs SET state = 'ended', outcome = 'cancelled', reason = 'cancelled while queued',
       cancelled_while_queued = 1, cancel_asked_at_ms = :atMs, ended_at_ms = :atMs
     WHERE id = :id AND state = 'queued'`
  )
  const restore = database.prepare<[string]>(
    `UPDATE jobs SET state = 'queued', outcome = NULL, reason = NULL, cancelled_while_queued = 0,
       cancel_asked_at_ms = NULL, started_at_ms = NULL, ended_at_ms = NULL
     WHERE id = ? AND state = 'ended' AND cancelled_while_queued = 1`
  )
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

  return {
    enqueue(jobs: NewJob[]): string[] {
      let rank = newestRank.get() ?? 0
      for (const { placement, entry, dedupe, noOverlap, ...job } of jobs) {
        rank += 1
        insertJob.run({
          ...job,
          settings: JSON.stringify(job.settings),
          args: JSON.stringify(job.args),
          secretNames: JSON.stringify(job.secretNames),
          limits: job.limits === null ? null : JSON.stringify(job.limits),
          retry: job.retry === null ? null : JSON.stringify(job.retry),
          after: JSON.stringify(job.after),
          overlapKey: noOverlap ? overlapKey(job) : null,
          dedupeKey: dedupe?.key ?? null,
          hold: null,
          rank,
          nodeId: placement.nodeId,
          tags: JSON.stringify(placement.tags),
          lane: laneText({ ...job, placement }),
          queuedAtMs: entry.atMs
        })
        timeline.add(job.id, null, 'queued', entry)
        changes.add('job', job.id)
      }
      return jobs.map(({ id }) => id)
    },

    listLanes: (): LaneDepth[] => lanes.all({ limit: DEPTH_LIMIT }),
    readHeads: (wanted: { lane: string; limit: number }[]): QueueHead[][] =>
      wanted.map(({ lane, limit }) => heads.all(lane, limit)),

    beginAttempts(starts: AttemptStart[]): Attempt[] {
      const begun: Attempt[] = []
      for (const start of starts) {
        // The guard is the whole claim: whoever comes second finds the job no longer queued, or further on in its attempts.
        const { entry, ...fields } = start
        const job = claim.get(fields as AttemptStart)
        if (job === undefined) continue
        const jobid = freeJobid(start, job.project)
        const row = insertAttempt.get({ ...fields, ...job, jobid, sentAtMs: entry.atMs }) as AttemptRow
        timeline.add(start.jobId, start.number, 'sending', entry)
        changes.add('job', start.jobId)
        begun.push(toAttempt(row))
      }
      return begun
    },

    cancelQueued(ids: string[], entry: TimelineEntry): string[] {
      return ids.filter((id) => {
        if (cancel.run({ id, atMs: entry.atMs }).changes === 0) return false
        timeline.add(id, null, 'ended', entry)
        changes.add('job', id)
        return true
      })
    },

    restoreCancelled(ids: string[], entry: TimelineEntry): string[] {
      return ids.filter((id) => {
        if (restore.run(id).changes === 0) return false
        timeline.add(id, null, 'restored', entry)
        changes.add('job', id)
        return true
      })
    },

    askCancel(ids: string[], entry: TimelineEntry): string[] {
      return ids.filter((id) => {
        if (isLive.get(id) === undefined) return false
        // Asking again changes nothing, and what changes nothing is no transition.
        if (askCancel.run({ id, atMs: entry.atMs }).changes > 0) {
          timeline.add(id, null, 'cancel_asked', entry)
          changes.add('job', id)
        }
        return true
      })
    }
  }
}

/** The same for the same spider and arguments; settings are not looked at. */
function overlapKey({ project, spider, args }: Pick<NewJob, 'project' | 'spider' | 'args'>): string {
  const sorted = Object.entries(args).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([project, spider, sorted])
}
