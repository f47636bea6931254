import type { Database } from './database.ts'
import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { replaceRow } from './upsert.ts'
import type { ItemsRecord, KeptItemsFile, LogKey } from '../../model/records.ts'

type Columns = Omit<ItemsRecord, 'sizes'> & { rawBytes: number | null; storedBytes: number | null }
type ListedColumns = Columns & { state: string | null; kept: number; mayHaveRunTwice: number }

const COLUMNS = `job_id AS "jobId", attempt_number AS number, kept_items.project, kept_items.spider,
  kept_items.ended_at_ms AS "endedAtMs", raw_bytes AS "rawBytes", stored_bytes AS "storedBytes", problem,
  deleted_at_ms AS "deletedAtMs"`

export const KEPT_ITEMS_SQL = {
  one: `SELECT ${COLUMNS} FROM kept_items WHERE job_id = ? AND attempt_number = ?`,
  page: `SELECT ${COLUMNS}, jobs.state, coalesce(kept, 0) AS kept,
      coalesce(may_have_run_twice, 0) AS "mayHaveRunTwice"
    FROM kept_items LEFT JOIN jobs ON jobs.id = job_id
    WHERE (job_id, attempt_number) > (:jobId, :number) AND stored_bytes IS NOT NULL
    ORDER BY job_id, attempt_number LIMIT :limit`,
  forgetGone: 'DELETE FROM kept_items WHERE job_id = :jobId AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = :jobId)'
}

/** The items files that are kept here, or why not. Writes run inside the caller's transaction. */
export function createKeptItems(database: Database) {
  const one = database.prepare<[string, number], Columns>(KEPT_ITEMS_SQL.one)
  const page = database.prepare<{ jobId: string; number: number; limit: number }, ListedColumns>(KEPT_ITEMS_SQL.page)
  const forgetGone = database.prepare<{ jobId: string }>(KEPT_ITEMS_SQL.forgetGone)
  const put = database.prepare(
    replaceRow('kept_items', ['job_id', 'attempt_number'], {
      ...{ job_id: ':jobId', attempt_number: ':number', project: ':project', spider: ':spider' },
      ...{ ended_at_ms: ':endedAtMs', raw_bytes: ':rawBytes', stored_bytes: ':storedBytes' },
      ...{ problem: ':problem', deleted_at_ms: ':deletedAtMs' }
    })
  )

  return {
    findItems(jobId: JobId, number: AttemptNumber): ItemsRecord | null {
      const row = one.get(jobId, number)
      return row === undefined ? null : toRecord(row)
    },

    record({ sizes, ...record }: ItemsRecord): void {
      put.run({ ...record, rawBytes: sizes?.rawBytes ?? null, storedBytes: sizes?.storedBytes ?? null })
      // Once retention has deleted a job, the fate of its items can no longer be queried.
      if (sizes === null) forgetGone.run(record)
    },

    listKeptItems: (after: LogKey | null, limit: number): KeptItemsFile[] =>
      page.all({ jobId: after?.jobId ?? '', number: after?.number ?? 0, limit }).map((row) => {
        const { state, kept, mayHaveRunTwice, ...columns } = row
        const { sizes, ...record } = toRecord(columns)
        const ofJob = { hasEnded: state === 'ended', kept: kept === 1, mayHaveRunTwice: mayHaveRunTwice === 1 }
        return { ...record, sizes: sizes!, job: state === null ? null : ofJob }
      })
  }
}

function toRecord({ rawBytes, storedBytes, ...record }: Columns): ItemsRecord {
  return { ...record, sizes: rawBytes === null || storedBytes === null ? null : { rawBytes, storedBytes } }
}
