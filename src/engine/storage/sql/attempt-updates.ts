import type { Attempt, JobId } from '../../../shared/contract/index.ts'
import type { Cell, Columns, Database, ManySql } from './database.ts'
import { attemptKey } from './rows.ts'

const ATTEMPT_KEY: Columns = { job_id: 'TEXT', number: 'INTEGER' }
const ATTEMPT_COLUMNS: Columns = {
  state: 'TEXT',
  result: 'TEXT',
  reason: 'TEXT',
  accepted_at_ms: 'INTEGER',
  started_at_ms: 'INTEGER',
  ended_at_ms: 'INTEGER',
  pid: 'INTEGER',
  exit_code: 'INTEGER',
  signal: 'TEXT',
  limit_hit: 'TEXT',
  peak_memory_bytes: 'INTEGER',
  cpu_seconds: 'REAL',
  stats: 'TEXT'
}
const JOB_KEY: Columns = { id: 'TEXT' }
const FINDINGS: Columns = {
  killing_line: 'TEXT',
  pages: 'INTEGER',
  items: 'INTEGER',
  errors: 'INTEGER',
  may_have_run_twice: 'INTEGER'
}
const JOB_COLUMNS: Columns = {
  state: 'TEXT',
  outcome: 'TEXT',
  hold: 'TEXT',
  not_before_ms: 'INTEGER',
  reason: 'TEXT',
  node_id: 'TEXT',
  started_at_ms: 'INTEGER',
  ended_at_ms: 'INTEGER',
  ...FINDINGS
}

export const ATTEMPT_UPDATES_MANY = {
  attempts: updateMany('attempts', ATTEMPT_KEY, ATTEMPT_COLUMNS),
  jobs: updateMany('jobs', JOB_KEY, JOB_COLUMNS),
  findings: updateMany('jobs', JOB_KEY, FINDINGS)
}

export interface JobUpdate {
  id: JobId
  /** The values of the JOB_COLUMNS that affect counts or holds, in the order of the columns. */
  moving: Cell[]
  findings: Cell[]
  hasMoved: boolean
}

/** Collects changes to attempts and their jobs. Call `flush` before anything reads them in the same write. */
export function createAttemptUpdates(database: Database) {
  const updateAttempts = database.prepareMany(ATTEMPT_UPDATES_MANY.attempts)
  const updateJobs = database.prepareMany(ATTEMPT_UPDATES_MANY.jobs)
  const updateFindings = database.prepareMany(ATTEMPT_UPDATES_MANY.findings)
  /** By attempt. A later update replaces an earlier one, because each has all columns. */
  const attempts = new Map<string, Cell[]>()
  const jobs = new Map<JobId, JobUpdate>()

  function discard(): void {
    attempts.clear()
    jobs.clear()
  }

  return {
    discard,

    attempt(attempt: Attempt): void {
      const { state, result, reason, acceptedAtMs, startedAtMs, endedAtMs, pid, exitCode, signal } = attempt
      const { limitHit, peakMemoryBytes, cpuSeconds, stats, jobId, number } = attempt
      const times = [acceptedAtMs, startedAtMs, endedAtMs]
      const figures = [limitHit, peakMemoryBytes, cpuSeconds, stats === null ? null : JSON.stringify(stats)]
      const cells = [state, result, reason, ...times, pid, exitCode, signal, ...figures, jobId, number]
      attempts.set(attemptKey(jobId, number), cells)
    },

    job(update: JobUpdate): void {
      const hasMoved = update.hasMoved || jobs.get(update.id)?.hasMoved === true
      jobs.set(update.id, { ...update, hasMoved })
    },

    flush(): void {
      updateAttempts([...attempts.values()])
      const [moved, others] = [true, false].map((has) => [...jobs.values()].filter(({ hasMoved }) => hasMoved === has))
      updateJobs(moved!.map(({ id, moving, findings }) => [...moving, ...findings, id]))
      updateFindings(others!.map(({ id, findings }) => [...findings, id]))
      discard()
    }
  }
}

function updateMany(table: string, key: Columns, columns: Columns) {
  const [keys, names] = [Object.keys(key), Object.keys(columns)]
  const set = (value: (name: string) => string) => names.map((name) => `${name} = ${value(name)}`).join(', ')
  return {
    sql: `UPDATE ${table} SET ${set((name) => `given.${name}`)} FROM given
      WHERE ${keys.map((name) => `${table}.${name} = given.${name}`).join(' AND ')}`,
    each: `UPDATE ${table} SET ${set(() => '?')} WHERE ${keys.map((name) => `${name} = ?`).join(' AND ')}`,
    given: { ...columns, ...key }
  } satisfies ManySql
}
