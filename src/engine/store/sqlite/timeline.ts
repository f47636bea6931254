import type { Database } from 'better-sqlite3'
import type { AttemptNumber, JobId, Transition, TransitionKind } from '../../../shared/contract/index.ts'
import type { TimelineEntry } from '../../job-rules/attempt-change.ts'
import { type AskedRow, toQueuedEntry, type TransitionRow, toTransition } from './rows.ts'

export type Timeline = ReturnType<typeof createTimeline>

/** The transitions of jobs (I4): only ever added to. */
export function createTimeline(database: Database) {
  const insert = database.prepare(
    'INSERT INTO transitions (job_id, attempt_number, at_ms, kind, text, evidence) VALUES (?, ?, ?, ?, ?, ?)'
  )
  const asked = database.prepare<[string], AskedRow>(
    'SELECT queued_at_ms, asked_text, asked_evidence FROM jobs WHERE id = ? AND asked_text IS NOT NULL'
  )
  const ofJob = database.prepare<[string], TransitionRow>(
    'SELECT * FROM transitions WHERE job_id = ? ORDER BY sequence'
  )

  return {
    add(jobId: JobId, attemptNumber: AttemptNumber | null, kind: TransitionKind, entry: TimelineEntry): void {
      insert.run(jobId, attemptNumber, entry.atMs, kind, entry.text, JSON.stringify(entry.evidence))
    },

    list(jobId: JobId): Transition[] {
      const row = asked.get(jobId)
      const rest = ofJob.all(jobId).map(toTransition)
      return row === undefined ? rest : [toQueuedEntry(jobId, row), ...rest]
    }
  }
}
