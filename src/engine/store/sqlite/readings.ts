import type { Database } from 'better-sqlite3'
import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import type { RunErrorRow, RunReading } from '../records.ts'

export const READINGS_SQL = {
  keep: `INSERT INTO run_figures (job_id, attempt_number, figures) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET figures = excluded.figures`,
  kept: 'SELECT figures FROM run_figures WHERE job_id = ? AND attempt_number = ?',
  run: 'SELECT project, spider, version, node_id AS nodeId FROM attempts WHERE job_id = ? AND number = ?',
  countedBefore: 'SELECT count FROM error_occurrences WHERE group_id = ? AND job_id = ? AND attempt_number = ?',
  occurrence: `INSERT INTO error_occurrences (group_id, job_id, attempt_number, spider, version, node_id, count,
      first_seen_ms, last_seen_ms, line, offset, message)
    VALUES (:groupId, :jobId, :attemptNumber, :spider, :version, :nodeId, :count, :firstSeenMs, :lastSeenMs, :line,
      :offset, :message)
    ON CONFLICT DO UPDATE SET count = excluded.count, last_seen_ms = excluded.last_seen_ms`,
  // A resolved group that is seen again is open again; an ignored one stays ignored.
  group: `INSERT INTO error_groups (id, project, fingerprint, title, culprit, exception_type, because, state,
      first_seen_ms, last_seen_ms, first_version, count, job_count)
    VALUES (:groupId, :project, :fingerprint, :title, :culprit, :exceptionType, :because, 'open', :firstSeenMs,
      :lastSeenMs, :version, :more, :isNewRun)
    ON CONFLICT DO UPDATE SET
      reopened_at_ms = iif(state = 'resolved' AND excluded.last_seen_ms > state_at_ms, excluded.last_seen_ms, reopened_at_ms),
      state = iif(state = 'resolved' AND excluded.last_seen_ms > state_at_ms, 'open', state),
      first_version = iif(excluded.first_seen_ms < first_seen_ms, excluded.first_version, first_version),
      first_seen_ms = min(first_seen_ms, excluded.first_seen_ms),
      last_seen_ms = max(last_seen_ms, excluded.last_seen_ms),
      count = count + excluded.count, job_count = job_count + excluded.job_count`
}

interface RunRow {
  project: string
  spider: string
  version: string
  nodeId: string
}

/** What the logs of runs said, and their errors by group. */
export function createReadings({ database }: { database: Database }) {
  const keep = database.prepare<[string, number, string]>(READINGS_SQL.keep)
  const kept = database.prepare<[string, number], string>(READINGS_SQL.kept).pluck()
  const run = database.prepare<[string, number], RunRow>(READINGS_SQL.run)
  const countedBefore = database.prepare<[string, string, number], number>(READINGS_SQL.countedBefore).pluck()
  const occurrence = database.prepare<[object]>(READINGS_SQL.occurrence)
  const group = database.prepare<[object]>(READINGS_SQL.group)

  function record({ jobId, attemptNumber, figures, errors }: RunReading): void {
    const of = run.get(jobId, attemptNumber)
    if (of === undefined) return
    if (figures !== null) keep.run(jobId, attemptNumber, figures)
    for (const error of errors) recordError(jobId, attemptNumber, of, error)
  }

  function recordError(jobId: JobId, attemptNumber: AttemptNumber, of: RunRow, error: RunErrorRow): void {
    const groupId = `${error.fingerprint}-${of.project}`
    const before = countedBefore.get(groupId, jobId, attemptNumber)
    const row = { ...error, groupId, jobId, attemptNumber, ...of }
    const { project, fingerprint, title, culprit, exceptionType, because, firstSeenMs, lastSeenMs, version } = row
    const more = Math.max(0, error.count - (before ?? 0))
    group.run({
      ...{ groupId, project, fingerprint, title, culprit, exceptionType, because, firstSeenMs, lastSeenMs, version },
      ...{ more, isNewRun: before === undefined ? 1 : 0 }
    })
    const { spider, nodeId, count, line, offset, message } = row
    occurrence.run({
      ...{ groupId, jobId, attemptNumber, spider, version, nodeId, count, firstSeenMs, lastSeenMs },
      ...{ line, offset, message }
    })
  }

  return {
    recordReadings: (readings: RunReading[]): void => readings.forEach(record),
    findFigures: (jobId: JobId, attemptNumber: AttemptNumber): string | null => kept.get(jobId, attemptNumber) ?? null
  }
}
