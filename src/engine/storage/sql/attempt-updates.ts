import type { Attempt, JobId } from '../../../shared/contract/index.ts'
import type { Cell, Columns, Database } from './database.ts'
import { attemptKey } from './rows.ts'

const ATTEMPT_KEY: Columns = { job_id: 'TEXT', number: 'INTEGER' }
const ATTEMPT_COLUMNS: Columns = {
  ...{ state: 'TEXT', result: 'TEXT', reason: 'TEXT', accepted_at_ms: 'INTEGER', started_at_ms: 'INTEGER' },
  ...{ ended_at_ms: 'INTEGER', pid: 'INTEGER', exit_code: 'INTEGER', signal: 'TEXT', limit_hit: 'TEXT' },
  ...{ peak_memory_bytes: 'INTEGER', cpu_seconds: 'REAL', stats: 'TEXT' }
}
const JOB_KEY: Columns = { id: 'TEXT' }
const FINDINGS: Columns = {
  ...{ killing_line: 'TEXT', pages: 'INTEGER', items: 'INTEGER', errors: 'INTEGER', may_have_run_twice: 'INTEGER' }
}
const JOB_COLUMNS: Columns = {
  ...{ state: 'TEXT', outcome: 'TEXT', hold: 'TEXT', not_before_ms: 'INTEGER', reason: 'TEXT', node_id: 'TEXT' },
  ...{ started_at_ms: 'INTEGER', ended_at_ms: 'INTEGER', ...FINDINGS }
}

export const ATTEMPT_UPDATES_SQL = {
  attempt: update('attempts', ATTEMPT_KEY, ATTEMPT_COLUMNS),
  job: update('jobs', JOB_KEY, JOB_COLUMNS),
  /** Touches no index. */
  findings: update('jobs', JOB_KEY, FINDINGS)
}

export const ATTEMPT_UPDATES_MANY = {
  attempts: {
    sql: updateMany('attempts', ATTEMPT_KEY, ATTEMPT_COLUMNS),
    given: { ...ATTEMPT_COLUMNS, ...ATTEMPT_KEY }
  },
  jobs: { sql: updateMany('jobs', JOB_KEY, JOB_COLUMNS), given: { ...JOB_COLUMNS, ...JOB_KEY } }
}

/** A job's columns that follow its attempts. */
export interface JobUpdate {
  id: JobId
  /** Those of JOB_COLUMNS that do more than describe the run, in their order. */
  moving: Cell[]
  /** Those of FINDINGS, in their order. */
  findings: Cell[]
  hasMoved: boolean
}

/**
 * Writes attempts and the jobs that follow them: at once, or, where one statement for many is faster, when `flush` is
 * called; before whatever reads them in the same write.
 */
export function createAttemptUpdates(database: Database) {
  const updateAttempt = database.prepare(ATTEMPT_UPDATES_SQL.attempt)
  const updateJob = database.prepare(ATTEMPT_UPDATES_SQL.job)
  const updateFindings = database.prepare(ATTEMPT_UPDATES_SQL.findings)
  const { attempts, jobs } = ATTEMPT_UPDATES_MANY
  const updateAttempts = database.prepareMany?.(attempts)
  const updateJobs = database.prepareMany?.(jobs)
  /** By key: the last one counts, as each has all columns. */
  const waitingAttempts = new Map<string, Cell[]>()
  const waitingJobs = new Map<JobId, Cell[]>()

  return {
    attempt(attempt: Attempt): void {
      const { state, result, reason, acceptedAtMs, startedAtMs, endedAtMs, pid, exitCode, signal } = attempt
      const { limitHit, peakMemoryBytes, cpuSeconds, stats, jobId, number } = attempt
      const times = [acceptedAtMs, startedAtMs, endedAtMs]
      const figures = [limitHit, peakMemoryBytes, cpuSeconds, stats === null ? null : JSON.stringify(stats)]
      const cells = [state, result, reason, ...times, pid, exitCode, signal, ...figures, jobId, number]
      if (updateAttempts === undefined) updateAttempt.run(...cells)
      else waitingAttempts.set(attemptKey(jobId, number), cells)
    },

    job({ id, moving, findings, hasMoved }: JobUpdate): void {
      if (updateJobs !== undefined) waitingJobs.set(id, [...moving, ...findings, id])
      else if (hasMoved) updateJob.run(...moving, ...findings, id)
      else updateFindings.run(...findings, id)
    },

    flush(): void {
      updateAttempts?.([...waitingAttempts.values()])
      updateJobs?.([...waitingJobs.values()])
      this.discard()
    },

    discard(): void {
      waitingAttempts.clear()
      waitingJobs.clear()
    }
  }
}

function update(table: string, key: Columns, columns: Columns): string {
  const set = Object.keys(columns).map((name) => `${name} = ?`)
  const where = Object.keys(key).map((name) => `${name} = ?`)
  return `UPDATE ${table} SET ${set.join(', ')} WHERE ${where.join(' AND ')}`
}

function updateMany(table: string, key: Columns, columns: Columns): string {
  const set = Object.keys(columns).map((name) => `${name} = given.${name}`)
  const where = Object.keys(key).map((name) => `${table}.${name} = given.${name}`)
  return `UPDATE ${table} SET ${set.join(', ')} FROM given WHERE ${where.join(' AND ')}`
}
