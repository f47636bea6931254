import type { Database } from './database.ts'
import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import type { RunReading } from '../records.ts'
import type { createErrorGroups } from './error-groups.ts'

export const READINGS_SQL = {
  keep: `INSERT INTO run_figures (job_id, attempt_number, figures) VALUES (?, ?, ?)
    ON CONFLICT (job_id, attempt_number) DO UPDATE SET figures = excluded.figures`,
  kept: 'SELECT figures FROM run_figures WHERE job_id = ? AND attempt_number = ?',
  run: 'SELECT project, spider, version, node_id AS nodeId FROM attempts WHERE job_id = ? AND number = ?'
}

interface RunRow {
  project: string
  spider: string
  version: string
  nodeId: string
}

/** What the logs of runs said, and their errors by group. */
export function createReadings({
  database,
  errorGroups
}: {
  database: Database
  errorGroups: Pick<ReturnType<typeof createErrorGroups>, 'record'>
}) {
  const keep = database.prepare<[string, number, string]>(READINGS_SQL.keep)
  const kept = database.prepare<[string, number], string>(READINGS_SQL.kept).pluck()
  const run = database.prepare<[string, number], RunRow>(READINGS_SQL.run)

  /** Of runs about to be recorded, by attempt: their rows never change in this. */
  const asked = new Map<string, () => RunRow | undefined>()

  function record({ jobId, attemptNumber, figures, errors }: RunReading): void {
    const of = asked.get(`${jobId} ${attemptNumber}`)?.() ?? run.get(jobId, attemptNumber)
    if (of === undefined) return
    if (figures !== null) keep.run(jobId, attemptNumber, figures)
    for (const error of errors) errorGroups.record(jobId, attemptNumber, of, error)
  }

  return {
    readAhead(readings: RunReading[]): void {
      for (const { jobId, attemptNumber } of readings)
        asked.set(`${jobId} ${attemptNumber}`, run.ahead(jobId, attemptNumber))
    },
    discard: () => asked.clear(),
    recordReadings: (readings: RunReading[]): void => readings.forEach(record),
    findFigures: (jobId: JobId, attemptNumber: AttemptNumber): string | null => kept.get(jobId, attemptNumber) ?? null
  }
}
