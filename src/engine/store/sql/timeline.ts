import type { Database } from './database.ts'
import type { AttemptNumber, JobId, Transition, TransitionKind } from '../../../shared/contract/index.ts'
import type { TimelineEntry } from '../../job-rules/attempt-change.ts'
import type { NamedRow } from './rows.ts'

export type Timeline = ReturnType<typeof createTimeline>

/** The timeline entries (transitions) of jobs (I4), append-only. */
export function createTimeline(database: Database) {
  const insert = database.prepare(
    'INSERT INTO transitions (job_id, attempt_number, at_ms, kind, text, evidence) VALUES (?, ?, ?, ?, ?, ?)'
  )
  // The first entry is in the job's own row and has sequence 0, which no other has.
  const ofJob = database.prepare<{ jobId: JobId }, NamedRow<Transition, 'evidence'>>(
    `SELECT 0 AS sequence, id AS jobId, NULL AS attemptNumber, queued_at_ms AS atMs, 'queued' AS kind, asked_text AS text,
       coalesce(asked_evidence, '{}') AS evidence
     FROM jobs WHERE id = :jobId AND asked_text IS NOT NULL
     UNION ALL SELECT sequence, job_id, attempt_number, at_ms, kind, text, evidence
     FROM transitions WHERE job_id = :jobId ORDER BY sequence`
  )

  return {
    add(jobId: JobId, attemptNumber: AttemptNumber | null, kind: TransitionKind, entry: TimelineEntry): void {
      insert.run(jobId, attemptNumber, entry.atMs, kind, entry.text, JSON.stringify(entry.evidence))
    },

    list(jobId: JobId): Transition[] {
      return ofJob.all({ jobId }).map((row) => ({ ...row, evidence: JSON.parse(row.evidence) }))
    }
  }
}
