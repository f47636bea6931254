import type { Database } from './database.ts'
import type { AttemptNumber, JobId, NodeId, Outcome, ProjectName, ScheduleId } from '../../../shared/contract/index.ts'
import { horizonOf, judgeRetention, protectionOf, type ProjectBounds, type Verdict } from '../../model/retention.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import type {
  DeletedLog,
  RetentionBounds,
  RetentionCounts,
  RetentionLimit,
  RetentionPass,
  RetentionPreviewStep,
  RetentionStep,
  StorageSums,
  StoredStoragePolicy
} from '../../model/records.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ChangeLog } from './change-log.ts'
import type { Counters } from './counters.ts'
import { among, type Fragments } from './fragments.ts'
import type { LogSums } from './kept-logs.ts'
import { requireNextRevision } from './table.ts'
import type { Timeline } from './timeline.ts'

/** For each schedule, retention keeps the jobs of this many firings, for run bars and overlap and failure rules. */
const FIRINGS_SHOWN = 30

const LOG_BYTES = 'coalesce(stored_bytes, length(packed))'

export const retentionSql = (sql: Fragments) => ({
  walk: `SELECT ended_at_ms AS "endedAtMs", id, outcome, project, spider FROM jobs
    WHERE state = 'ended' AND (ended_at_ms, id) > (:endedAtMs, :id) ORDER BY ended_at_ms, id LIMIT :limit`,
  logsOf: `SELECT attempt_number AS number, ${LOG_BYTES} AS bytes, length(packed) AS "packedBytes"
    FROM archived_logs WHERE job_id = ?`,
  detail: `SELECT kept, may_have_run_twice AS "mayHaveRunTwice", dedupe_key AS "dedupeKey", schedule_id AS "scheduleId",
      node_id AS "nodeId", lane FROM jobs WHERE id = ?`,
  newest: `SELECT max(id) FROM jobs WHERE project = :project AND spider = :spider AND state = 'ended' AND outcome = :outcome`,
  firings: `SELECT job_ids FROM firings ${sql.byIndex('firings_of_schedule')}
    WHERE schedule_id = :id AND state = 'fired' ORDER BY id DESC LIMIT ${FIRINGS_SHOWN}`,
  awaited: `SELECT 1 FROM job_dependencies JOIN jobs ON jobs.id = job_id
    WHERE on_job_id = ? AND (state <> 'ended' OR cancelled_while_queued <> 0) LIMIT 1`,
  keyed: 'SELECT 1 FROM dedupe_keys WHERE key = :key AND job_id = :id AND expires_at_ms > :nowMs',
  dueToChain: 'SELECT 1 FROM chain_ends WHERE job_id = ? AND answered_at_ms IS NULL LIMIT 1',
  ofSpider: 'SELECT count FROM ended_jobs WHERE project = ? AND spider = ?',
  ofProject: 'SELECT coalesce(sum(count), 0) FROM ended_jobs WHERE project = ?',
  logBytes: 'SELECT bytes FROM log_sums WHERE project = ?',
  itemsOf: `SELECT DISTINCT job_id AS id FROM kept_items
    WHERE job_id ${among(sql, '?')} AND stored_bytes IS NOT NULL`
})

/** The statements run in this order, because rows that refer to others must be deleted first. */
const deleteJobsSql = (sql: Fragments) => [
  `DELETE FROM job_dependencies WHERE job_id ${among(sql, '?')}`,
  `DELETE FROM job_dependencies WHERE on_job_id ${among(sql, '?')}`,
  `DELETE FROM chain_ends WHERE job_id ${among(sql, '?')}`,
  `DELETE FROM chain_lines WHERE job_id ${among(sql, '?')}`,
  `DELETE FROM transitions WHERE job_id ${among(sql, '?')}`,
  `DELETE FROM archived_logs WHERE job_id ${among(sql, '?')}`,
  // Rows with a blob remain until the blob is deleted.
  `DELETE FROM kept_items WHERE job_id ${among(sql, '?')} AND stored_bytes IS NULL`,
  `DELETE FROM attempts WHERE job_id ${among(sql, '?')}`,
  `DELETE FROM jobs WHERE id ${among(sql, '?')}`
]
const deleteLogsSql = (sql: Fragments) => [
  `DELETE FROM archived_logs WHERE job_id ${among(sql, ':ids')}`,
  `UPDATE attempts SET log_archived = 0, log_deleted_at_ms = :nowMs
    WHERE job_id ${among(sql, ':ids')} AND log_archived = 1`
]
export const retentionDeletesSql = (sql: Fragments) => [...deleteJobsSql(sql), ...deleteLogsSql(sql)]

interface WalkedRow {
  endedAtMs: number
  id: JobId
  outcome: Outcome
  project: ProjectName
  spider: string
}

interface DetailRow {
  kept: number
  mayHaveRunTwice: number
  dedupeKey: string | null
  scheduleId: ScheduleId | null
  nodeId: NodeId | null
  lane: string
}

interface LogRow {
  number: AttemptNumber
  bytes: number
  packedBytes: number
}

export function createRetention({
  database,
  changes,
  timeline,
  counters,
  logSums,
  clock
}: {
  database: Database
  clock: Clock
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
  logSums: LogSums
}) {
  const statements = retentionSql(database.fragments)
  const walk = database.prepare<{ endedAtMs: number; id: string; limit: number }, WalkedRow>(statements.walk)
  const logsOf = database.prepare<[string], LogRow>(statements.logsOf)
  const detailOf = database.prepare<[string], DetailRow>(statements.detail)
  const newest = database.prepare<WalkedRow, string>(statements.newest).pluck()
  const firings = database.prepare<{ id: string }, { job_ids: string }>(statements.firings)
  const awaited = database.prepare<[string]>(statements.awaited)
  const keyed = database.prepare<{ key: string; id: string; nowMs: number }>(statements.keyed)
  const dueToChain = database.prepare<[string]>(statements.dueToChain)
  const ofSpider = database.prepare<[string, string], number>(statements.ofSpider).pluck()
  const ofProject = database.prepare<[string], number>(statements.ofProject).pluck()
  const logBytes = database.prepare<[string], number>(statements.logBytes).pluck()
  const itemsOf = database.prepare<[string], { id: JobId }>(statements.itemsOf)
  const forgetKey = database.prepare<[string, string]>('DELETE FROM dedupe_keys WHERE key = ? AND job_id = ?')
  const deleteJobs = deleteJobsSql(database.fragments).map((sql) => database.prepare<[string]>(sql))
  const deleteLogs = deleteLogsSql(database.fragments).map((sql) =>
    database.prepare<{ ids: string; nowMs: number }>(sql)
  )
  const recordDeleted = database.prepare<[string, number]>(
    'INSERT INTO deleted_logs VALUES (?, ?) ON CONFLICT DO NOTHING'
  )
  const listDeleted = database.prepare<[number], DeletedLog>(
    'SELECT job_id AS "jobId", attempt_number AS "attemptNumber" FROM deleted_logs LIMIT ?'
  )
  const forgetDeleted = database.prepare<[string, number]>(
    'DELETE FROM deleted_logs WHERE job_id = ? AND attempt_number = ?'
  )
  const keep = database.prepare<[number, string]>('UPDATE jobs SET kept = ? WHERE id = ?')
  const isKeptNow = database.prepare<[string], number>('SELECT kept FROM jobs WHERE id = ?').pluck()
  const policy = database.prepare<[], { revision: number; policy: string }>('SELECT * FROM storage_policy')
  const forgetPolicy = database.prepare('DELETE FROM storage_policy')
  const putPolicy = database.prepare<[number, string]>('INSERT INTO storage_policy VALUES (?, ?)')
  const endedByProject = database.prepare<[], { project: ProjectName; jobs: number }>(
    'SELECT project, sum(count) AS jobs FROM ended_jobs GROUP BY project'
  )
  const logsByProject = database.prepare<[], { project: ProjectName; logs: number; bytes: number; packed: number }>(
    'SELECT project, count AS logs, bytes, packed_bytes AS packed FROM log_sums'
  )

  function amountsNow() {
    const [spiders, projects, bytes] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()]
    return {
      ofSpider: ({ project, spider }: WalkedRow) =>
        cached(spiders, `${project}\0${spider}`, () => ofSpider.get(project, spider) ?? 0),
      ofProject: ({ project }: WalkedRow) => cached(projects, project, () => ofProject.get(project)!),
      logBytes: ({ project }: WalkedRow) => cached(bytes, project, () => logBytes.get(project) ?? 0)
    }
  }

  function shieldsOf(row: WalkedRow, detail: DetailRow, nowMs: number, ofSchedule: (id: ScheduleId) => Set<string>) {
    const { id } = row
    const { dedupeKey, scheduleId } = detail
    return {
      isKept: detail.kept === 1,
      isNewest: newest.get(row) === id,
      mayHaveRunTwice: detail.mayHaveRunTwice === 1,
      isOfSchedule: scheduleId !== null && ofSchedule(scheduleId).has(id),
      isAwaited: awaited.get(id) !== undefined,
      hasDedupeKey: dedupeKey !== null && keyed.get({ key: dedupeKey, id, nowMs }) !== undefined,
      isDueToChain: dueToChain.get(id) !== undefined
    }
  }

  /**
   * Judges the next jobs without changing anything. A job's rank is the current number of jobs minus those that the
   * pass has covered.
   */
  function judgeNext(before: RetentionPass, { nowMs, defaults, projects }: RetentionBounds, limit: RetentionLimit) {
    const horizonMs = horizonOf([defaults, ...projects.values()], nowMs)
    const pass = structuredClone(before)
    const amounts = amountsNow()
    const scheduled = new Map<string, Set<string>>()
    const ofSchedule = (id: ScheduleId) =>
      cached(scheduled, id, () => new Set(firings.all({ id }).flatMap((row) => JSON.parse(row.job_ids) as string[])))
    const judged: Judged[] = []
    const isEmpty = !Number.isFinite(horizonMs)
    let isDone = true
    let going = 0
    // Read row by row, because most steps end long before the limit.
    for (const row of isEmpty ? [] : walk.iterate({ ...pass.after, limit: limit.rows + 1 })) {
      if (row.endedAtMs >= horizonMs) break
      if (going >= limit.jobs || judged.length >= limit.rows) {
        isDone = false
        break
      }
      const own = projects.get(row.project) ?? defaults
      const logs = logsOf.all(row.id)
      const bytes = logs.reduce((sum, log) => sum + log.bytes, 0)
      const { spiders, jobs, logBytes } = pass
      const standing = {
        endedAtMs: row.endedAtMs,
        rankOfSpider: countsSpiders(own) ? amounts.ofSpider(row) - (spiders.get(keyOf(row)) ?? 0) : 0,
        rankOfProject: countsJobs(own) ? amounts.ofProject(row) - (jobs.get(row.project) ?? 0) : 0,
        hasLog: logs.length > 0,
        logBytesSince: countsBytes(own) ? amounts.logBytes(row) - (logBytes.get(row.project) ?? 0) : 0
      }
      let detail: DetailRow | null = null
      const verdict = judgeRetention(own, nowMs, standing, (overTerm) => {
        detail = detailOf.get(row.id)!
        return protectionOf(shieldsOf(row, detail, nowMs, ofSchedule), overTerm)
      })
      if (verdict.job === 'goes' || verdict.log === 'goes') going += 1
      judged.push({ row, detail, logs, bytes, ...verdict })
      goOver(pass, own, row, 1, bytes)
      pass.after = { endedAtMs: row.endedAtMs, id: row.id }
    }
    return { judged, pass, isDone }
  }

  function goOver(pass: RetentionPass, own: ProjectBounds, row: WalkedRow, count: number, bytes: number): void {
    if (countsSpiders(own)) increase(pass.spiders, keyOf(row), count)
    if (countsJobs(own)) increase(pass.jobs, row.project, count)
    if (countsBytes(own)) increase(pass.logBytes, row.project, bytes)
  }

  function deleteAll(going: readonly Judged[], nowMs: number): void {
    const jobs = going.filter(({ job }) => job === 'goes')
    const logs = going.filter(({ job, log }) => job !== 'goes' && log === 'goes')
    for (const { row, logs: own } of going) {
      for (const { number, bytes, packedBytes } of own) {
        logSums.add(row.project, -1, { count: 1, bytes, packedBytes })
        if (packedBytes === 0) recordDeleted.run(row.id, number)
      }
    }
    for (const { row, detail } of jobs) {
      const { id, project, spider, outcome } = row
      counters.moved(
        { id, project, spider, status: outcome, node_id: detail!.nodeId, hold: null, lane: detail!.lane },
        null
      )
      if (detail!.dedupeKey !== null) forgetKey.run(detail!.dedupeKey, id)
    }
    const idsOf = (those: readonly Judged[]) => JSON.stringify(those.map(({ row }) => row.id))
    if (jobs.length > 0) for (const statement of deleteJobs) statement.run(idsOf(jobs))
    if (logs.length > 0) for (const statement of deleteLogs) statement.run({ ids: idsOf(logs), nowMs })
  }

  return {
    previewRetention(before: RetentionPass, bounds: RetentionBounds, rows: number): RetentionPreviewStep {
      const startedMs = clock.monotonicMs()
      const { judged, pass, isDone } = judgeNext(before, bounds, { rows, jobs: rows })
      const going = judged.filter(({ job }) => job === 'goes').map(({ row }) => row.id)
      const withItems = going.length === 0 ? [] : itemsOf.all(JSON.stringify(going)).map(({ id }) => id)
      const tookMs = clock.monotonicMs() - startedMs
      return { pass: isDone ? null : pass, tookMs, counts: countAll(judged), withItems }
    },

    applyRetention(before: RetentionPass, bounds: RetentionBounds, limit: RetentionLimit): RetentionStep {
      const startedMs = clock.monotonicMs()
      const { judged, pass, isDone } = judgeNext(before, bounds, limit)
      const going = judged.filter(({ job, log }) => job === 'goes' || log === 'goes')
      deleteAll(going, bounds.nowMs)
      for (const { row, job, bytes, log } of going) {
        const own = bounds.projects.get(row.project) ?? bounds.defaults
        goOver(pass, own, row, job === 'goes' ? -1 : 0, log === 'goes' ? -bytes : 0)
      }
      pass.isUnpublished ||= going.length > 0
      if (pass.isUnpublished && (isDone || limit.publish)) {
        // One entry for all these jobs: clients then reload what they show.
        changes.allJobs()
        pass.isUnpublished = false
      }
      return { pass: isDone ? null : pass, tookMs: clock.monotonicMs() - startedMs, counts: countAll(judged) }
    },

    listDeletedLogs: (limit: number): DeletedLog[] => listDeleted.all(limit),

    forgetDeletedLogs(list: DeletedLog[]): void {
      for (const { jobId, attemptNumber } of list) forgetDeleted.run(jobId, attemptNumber)
    },

    keepJobs(ids: JobId[], isKept: boolean, entry: TimelineEntry): JobId[] {
      const found: JobId[] = []
      for (const id of new Set(ids)) {
        const was = isKeptNow.get(id)
        if (was === undefined) continue
        found.push(id)
        if (was === Number(isKept)) continue
        keep.run(Number(isKept), id)
        timeline.add(id, null, 'changed', entry)
        changes.job(id)
      }
      return found
    },

    getStoragePolicy(): StoredStoragePolicy | null {
      const row = policy.get()
      return row === undefined ? null : { revision: row.revision, policy: JSON.parse(row.policy) }
    },

    putStoragePolicy(stored: StoredStoragePolicy): void {
      requireNextRevision(stored.revision, policy.get()?.revision, 'storage policy')
      forgetPolicy.run()
      putPolicy.run(stored.revision, JSON.stringify(stored.policy))
    },

    sums: (): Omit<StorageSums, 'database'> => ({ jobs: endedByProject.all(), logs: logsByProject.all() })
  }
}

interface Judged {
  row: WalkedRow
  detail: DetailRow | null
  logs: LogRow[]
  bytes: number
  job: Verdict
  log: Verdict
}

const keyOf = ({ project, spider }: WalkedRow) => `${project}\0${spider}`
const countsSpiders = ({ jobs, logs }: ProjectBounds) => jobs.newestPerSpider !== null || logs.newestPerSpider !== null
const countsJobs = ({ jobs }: ProjectBounds) => jobs.newestPerProject !== null
const countsBytes = ({ logs }: ProjectBounds) => logs.bytesPerProject !== null

function countAll(judged: readonly Judged[]): RetentionCounts[] {
  const counts = new Map<string, RetentionCounts>()
  for (const { row, job, log, logs, bytes } of judged) {
    for (const [kind, verdict] of [['jobs', job] as const, ['logs', log] as const]) {
      if (verdict === 'stays') continue
      const why = verdict === 'goes' ? null : verdict
      const one = cached(counts, `${row.project}\0${kind}\0${why}`, () => ({
        project: row.project,
        kind,
        protection: why,
        count: 0,
        bytes: 0,
        oldestMs: row.endedAtMs,
        newestMs: row.endedAtMs
      }))
      one.count += kind === 'jobs' ? 1 : logs.length
      one.bytes += kind === 'jobs' ? 0 : bytes
      one.newestMs = row.endedAtMs
    }
  }
  return [...counts.values()]
}

function cached<Value>(cache: Map<string, Value>, key: string, read: () => Value): Value {
  const known = cache.get(key)
  if (known !== undefined) return known
  const value = read()
  cache.set(key, value)
  return value
}

function increase(amounts: Map<string, number>, key: string, by: number): void {
  if (by !== 0) amounts.set(key, (amounts.get(key) ?? 0) + by)
}
