import type { Cell, Database } from './database.ts'
import type { AttemptNumber, JobId, Transition, TransitionKind } from '../../../shared/contract/index.ts'
import { decode, encode, type Message, render, written } from '../../../shared/texts/message.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import type { NamedRow } from './rows.ts'
import { insertMany } from './table.ts'

export type Timeline = ReturnType<typeof createTimeline>

/**
 * Append-only (I4). `text` is an encoded message (shared/texts/message.ts), or a sentence stored before codes
 * existed.
 */
export function createTimeline(database: Database) {
  const insert = database.prepareMany(
    insertMany('transitions', {
      job_id: 'TEXT',
      attempt_number: 'INTEGER',
      at_ms: 'INTEGER',
      kind: 'TEXT',
      text: 'TEXT',
      evidence: 'TEXT'
    })
  )
  let added: Cell[][] = []
  // The first entry is in the job's row, with sequence 0, which no other entry has.
  type Read = Omit<Transition, 'code' | 'params' | 'evidenceCodes'>
  const ofJob = database.prepare<{ jobId: JobId }, NamedRow<Read, 'evidence'>>(
    `SELECT 0 AS sequence, id AS "jobId", NULL AS "attemptNumber", queued_at_ms AS "atMs", 'queued' AS kind, asked_text AS text,
       coalesce(asked_evidence, '{}') AS evidence
     FROM jobs WHERE id = :jobId AND asked_text IS NOT NULL
     UNION ALL SELECT sequence, job_id, attempt_number, at_ms, kind, text, evidence
     FROM transitions WHERE job_id = :jobId ORDER BY sequence`
  )

  return {
    add(jobId: JobId, attemptNumber: AttemptNumber | null, kind: TransitionKind, entry: TimelineEntry): void {
      const { atMs, message, evidence } = entry
      const text = encode(message)
      added.push([jobId, attemptNumber, atMs, kind, text, JSON.stringify(evidence)])
    },

    /** Writes the entries added so far. Call this before entries are read or deleted in the same write. */
    flush(): void {
      if (added.length === 0) return
      insert(added)
      added = []
    },

    discard(): void {
      added = []
    },

    listTimeline(jobId: JobId): Transition[] {
      return ofJob.all({ jobId }).map(({ text, evidence, ...row }) => ({
        ...row,
        ...written(decode(text)),
        ...writtenEvidence(JSON.parse(evidence))
      }))
    }
  }
}

/** Our own texts are stored in the evidence as messages, which no external text can imitate. */
function writtenEvidence(stored: Record<string, unknown>): Pick<Transition, 'evidence' | 'evidenceCodes'> {
  const said = Object.entries(stored).filter((entry): entry is [string, Message] => isStoredMessage(entry[1]))
  if (said.length === 0) return { evidence: stored }
  const texts = said.map(([name, message]) => [name, render(message)])
  return { evidence: { ...stored, ...Object.fromEntries(texts) }, evidenceCodes: Object.fromEntries(said) }
}

function isStoredMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false
  const { code, params } = value as Partial<Message>
  return typeof code === 'string' && typeof params === 'object' && Object.keys(value).length === 2
}
