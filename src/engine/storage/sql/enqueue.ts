import type { Dependency, Hold, JobId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { encode } from '../../../shared/texts/message.ts'
import { holdOf, overlapKey } from '../../model/holds.ts'
import { laneText } from '../../model/lane.ts'
import type { NewJob } from '../../model/records.ts'
import type { Holds } from './holds.ts'
import type { JobWriting } from './counters.ts'
import type { Cell, Columns } from './database.ts'
import type { Order } from './order.ts'
import { insertMany, PUT_DEDUPE_KEY } from './table.ts'
import type { Outbox } from './outbox.ts'

/**
 * An insert deletes up to this many expired keys, or two per new key if that is more, so that they never accumulate.
 */
const KEYS_FORGOTTEN_AT_ONCE_MIN = 100

export const ENQUEUE_SQL = {
  /** For most jobs. Columns without a value are literals, because each bound parameter takes time. */
  insertPlain: `INSERT INTO jobs (id, jobid, project, version, spider, settings, args, rank, priority, lane, source, queued_at_ms, asked_text,
      schedule_id, nominal_ms, state, secret_names, after, placement_tags)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', '[]', '[]', '[]')`,
  insert: `INSERT INTO jobs (id, jobid, project, version, spider, settings, args, env, secret_names, limits, retry,
      not_before_ms, expires_at_ms, overlap_key, after, dedupe_key, hold, rank, priority,
      placement_node_id, placement_tags, lane, source, state, queued_at_ms, asked_text, asked_evidence, schedule_id, nominal_ms,
      user_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?)`
}

const PLAIN_COLUMNS: Columns = {
  id: 'TEXT',
  jobid: 'TEXT',
  project: 'TEXT',
  version: 'TEXT',
  spider: 'TEXT',
  settings: 'TEXT',
  args: 'TEXT',
  rank: 'REAL',
  priority: 'REAL',
  lane: 'TEXT',
  source: 'TEXT',
  queued_at_ms: 'INTEGER',
  asked_text: 'TEXT',
  schedule_id: 'TEXT',
  nominal_ms: 'INTEGER',
  state: 'TEXT',
  secret_names: 'TEXT',
  after: 'TEXT',
  placement_tags: 'TEXT'
}

/**
 * The maximum number of jobs per insert, about 100 kB of text, because values that the jobs of a request have in common
 * are sent only once.
 */
const INSERTED_AT_ONCE_MAX = 2_000

interface Dependencies extends Omit<JobWriting, 'timeline'> {
  holds: Holds
  order: Order
  outbox: Outbox
}

export function createEnqueue({ database, changes, counters, holds, order, outbox }: Dependencies) {
  const insertPlainJob = database.prepare(ENQUEUE_SQL.insertPlain)
  const insertPlainJobs = database.prepareGiven?.({ ...insertMany('jobs', PLAIN_COLUMNS), isAlike: true })
  const insertJob = database.prepare(ENQUEUE_SQL.insert)
  const exists = database.prepare<[string]>('SELECT 1 FROM jobs WHERE id = ?')
  const insertDependency = database.prepare<[string, string, string]>(
    'INSERT INTO job_dependencies (job_id, on_job_id, condition) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
  )
  const jobWithKey = database
    .prepare<[string, number], JobId>('SELECT job_id FROM dedupe_keys WHERE key = ? AND expires_at_ms > ?')
    .pluck()
  const putKey = database.prepare<[string, string, number]>(PUT_DEDUPE_KEY)
  const forgetKeys = database.prepare<[number, number]>(
    `DELETE FROM dedupe_keys
      WHERE key ${database.fragments.oneOf('SELECT key FROM dedupe_keys WHERE expires_at_ms <= ? LIMIT ?')}`
  )

  /** Rows that are not inserted yet. Insert them before the same write inserts or reads anything else. */
  let plain: Cell[][] = []

  function flush(): void {
    if (plain.length === 0) return
    const rows = plain
    plain = []
    insertPlainJobs!(rows)
  }

  function insert(job: NewJob, rank: number, hold: Hold | null): void {
    const { id, jobid, project, version, spider, priority, placement, entry } = job
    const lane = laneText(job)
    const [settings, args] = [textOfMap(job.settings), textOfMap(job.args)]
    counters.moved(null, { id, project, spider, status: 'queued', node_id: null, hold, lane })
    changes.job(id)
    if (insertPlainJobs !== undefined && isPlain(job, hold)) {
      const { source, scheduleId, nominalMs } = job
      const values = [id, jobid, project, version, spider, settings, args, rank, priority, lane, source]
      plain.push([...values, entry.atMs, encode(entry.message), scheduleId, nominalMs, 'queued', '[]', '[]', '[]'])
      return
    }
    // Both calls pass every value as a separate argument. Passing a list would cost more than this branch saves
    // (measured).
    if (isPlain(job, hold)) {
      const { source, scheduleId, nominalMs } = job
      insertPlainJob.run(
        id,
        jobid,
        project,
        version,
        spider,
        settings,
        args,
        rank,
        priority,
        lane,
        source,
        entry.atMs,
        encode(entry.message),
        scheduleId,
        nominalMs
      )
      return
    }
    insertJob.run(
      id,
      jobid,
      project,
      version,
      spider,
      settings,
      args,
      textOfMap(job.env),
      textOfList(job.secretNames),
      job.limits === null ? null : JSON.stringify(job.limits),
      job.retry === null ? null : JSON.stringify(job.retry),
      job.notBeforeMs,
      job.expiresAtMs,
      job.noOverlap ? overlapKey(job) : null,
      textOfList(job.after),
      job.dedupe === null ? null : job.dedupe.key,
      hold,
      rank,
      priority,
      placement.nodeId,
      textOfList(placement.tags),
      lane,
      job.source,
      entry.atMs,
      encode(entry.message),
      isEmpty(entry.evidence) ? null : JSON.stringify(entry.evidence),
      job.scheduleId,
      job.nominalMs,
      job.userId
    )
  }

  function recordDependencies(jobId: JobId, after: Dependency[]): void {
    for (const { jobId: onJobId, on } of after) {
      if (onJobId === jobId || exists.get(onJobId) === undefined) {
        throw new ScrapdeckError('JOB_NOT_FOUND', sentence('storage.no_job_to_wait_for', { jobId, onJobId }))
      }
      insertDependency.run(jobId, onJobId, on)
    }
  }

  return {
    enqueueJobs(jobs: NewJob[]): JobId[] {
      let rank = order.ranksAtBack(jobs.length)
      let keys = 0
      plain = []
      const ids = jobs.map((job) => {
        const nowMs = job.entry.atMs
        rank += 1
        if (plain.length >= INSERTED_AT_ONCE_MAX) flush()
        if (job.dedupe !== null) {
          const earlier = job.dedupe.renew === true ? undefined : jobWithKey.get(job.dedupe.key, nowMs)
          if (earlier !== undefined) return earlier
          putKey.run(job.dedupe.key, job.id, job.dedupe.expiresAtMs)
          keys += 1
        }
        if (job.after.length > 0) {
          flush()
          insert(job, rank, 'dependency')
          outbox.recordJob('job.queued', job.id, nowMs)
          recordDependencies(job.id, job.after)
          const verdict = holds.judge(job.id)
          // Nothing depends on a job that was just inserted, so ending it releases no others.
          if (verdict.kind === 'broken') holds.skip(job.id, verdict.by, nowMs)
          else if (verdict.kind === 'met') holds.holdFurther(job.id, nowMs)
        } else {
          const key = job.noOverlap ? overlapKey(job) : null
          const held = { notBeforeMs: job.notBeforeMs, overlapKey: key, attemptCount: 0 }
          insert(job, rank, holdOf(held, 'met', nowMs, holds.isOverlapLive))
          if (outbox.isWanted('job.queued')) flush()
          outbox.recordJob('job.queued', job.id, nowMs)
        }
        return job.id
      })
      flush()
      if (keys > 0) forgetKeys.run(jobs[0]!.entry.atMs, Math.max(KEYS_FORGOTTEN_AT_ONCE_MIN, 2 * keys))
      return ids
    },

    /** Inserts, without a hold, a run that started before Scrapdeck knew of it. */
    insertUnheld(job: NewJob): void {
      insert(job, order.ranksAtBack(1) + 1, null)
      flush()
    }
  }
}

function isPlain(
  {
    env,
    secretNames,
    limits,
    retry,
    notBeforeMs,
    expiresAtMs,
    noOverlap,
    after,
    dedupe,
    placement,
    userId,
    entry
  }: NewJob,
  hold: string | null
) {
  return (
    hold === null &&
    !noOverlap &&
    limits === null &&
    retry === null &&
    notBeforeMs === null &&
    expiresAtMs === null &&
    dedupe === null &&
    placement.nodeId === null &&
    userId === null &&
    secretNames.length + after.length + placement.tags.length === 0 &&
    isEmpty(env) &&
    isEmpty(entry.evidence)
  )
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false
  return true
}

/** Most jobs have no values, and a million can be queued together, so do not serialize empty maps every time. */
const textOfMap = (map: Record<string, string>): string => (isEmpty(map) ? '{}' : JSON.stringify(map))
const textOfList = (list: readonly unknown[]): string => (list.length === 0 ? '[]' : JSON.stringify(list))
