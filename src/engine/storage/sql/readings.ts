import type { Cell, Database } from './database.ts'
import { among, type Fragments } from './fragments.ts'
import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import type { RunReading } from '../../model/records.ts'
import { attemptKey } from './rows.ts'
import { insertMany } from './table.ts'
import type { createErrorGroups, RunRow } from './error-groups.ts'

export const readingsSql = (sql: Fragments) => ({
  kept: 'SELECT figures FROM run_figures WHERE job_id = ? AND attempt_number = ?',
  run: 'SELECT project, spider, version, node_id AS "nodeId" FROM attempts WHERE job_id = ? AND number = ?',
  runsOf: `SELECT job_id AS "jobId", number, project, spider, version, node_id AS "nodeId" FROM attempts
    WHERE job_id ${among(sql, '?')}`
})

export const READINGS_MANY = {
  keep: insertMany(
    'run_figures',
    { job_id: 'TEXT', attempt_number: 'INTEGER', figures: 'TEXT' },
    'ON CONFLICT (job_id, attempt_number) DO UPDATE SET figures = excluded.figures'
  )
}

export function createReadings({
  database,
  errorGroups
}: {
  database: Database
  errorGroups: Pick<ReturnType<typeof createErrorGroups>, 'record'>
}) {
  const statements = readingsSql(database.fragments)
  const figuresOf = database.prepare<[string, number], string>(statements.kept).pluck()
  const keep = database.prepareMany(READINGS_MANY.keep)
  const run = database.prepare<[string, number], RunRow>(statements.run)
  const runsOf = database.prepare<[string], RunRow & { jobId: JobId; number: AttemptNumber }>(statements.runsOf)

  /** Runs that are about to be recorded. Their rows do not change in this write. */
  const wanted = new Set<JobId>()
  let asked: (() => Map<string, RunRow>) | null = null
  const kept = new Map<string, Cell[]>()

  function ask(): void {
    if (wanted.size === 0) return
    const rows = runsOf.aheadAll(JSON.stringify([...wanted]))
    let runs: Map<string, RunRow> | null = null
    asked = () => (runs ??= new Map(rows().map((row) => [attemptKey(row.jobId, row.number), row])))
    wanted.clear()
  }

  function record({ jobId, attemptNumber, figures, errors }: RunReading): void {
    const of = asked?.().get(attemptKey(jobId, attemptNumber)) ?? run.get(jobId, attemptNumber)
    if (of === undefined) return
    if (figures !== null) kept.set(attemptKey(jobId, attemptNumber), [jobId, attemptNumber, figures])
    for (const error of errors) errorGroups.record(jobId, attemptNumber, of, error)
  }

  return {
    readAhead(readings: RunReading[]): void {
      for (const { jobId } of readings) wanted.add(jobId)
    },
    ask,
    flush(): void {
      keep([...kept.values()])
      kept.clear()
    },
    discard(): void {
      wanted.clear()
      asked = null
      kept.clear()
    },
    recordReadings: (readings: RunReading[]): void => readings.forEach(record),
    findFigures: (jobId: JobId, attemptNumber: AttemptNumber): string | null =>
      figuresOf.get(jobId, attemptNumber) ?? null
  }
}
