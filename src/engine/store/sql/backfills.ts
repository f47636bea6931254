import type { Database } from './database.ts'
import type { StoredBackfill } from '../records.ts'
import { replaceRow } from './upsert.ts'
import { requireNextRevision } from './revisions.ts'

const COLUMNS = `id, schedule_id AS scheduleId, revision, from_ms AS fromMs, until_ms AS untilMs, direction AS "order",
  concurrency, state, total, fired, failed, may_go_first AS mayGoFirst`

type BackfillRow = Omit<StoredBackfill, 'mayGoFirst'> & { mayGoFirst: number }

/** The newest backfill of each schedule, deleted with its schedule. Writes run inside the caller's transaction. */
export function createBackfills(database: Database) {
  const all = database.prepare<[], BackfillRow>(`SELECT ${COLUMNS} FROM backfills ORDER BY schedule_id`)
  const revision = database.prepare<[string], number>('SELECT revision FROM backfills WHERE schedule_id = ?').pluck()
  const put = database.prepare<BackfillRow>(
    replaceRow('backfills', ['schedule_id'], {
      ...{ schedule_id: ':scheduleId', revision: ':revision', id: ':id', from_ms: ':fromMs', until_ms: ':untilMs' },
      ...{ direction: ':order', concurrency: ':concurrency', state: ':state' },
      ...{ total: ':total', fired: ':fired', failed: ':failed', may_go_first: ':mayGoFirst' }
    })
  )

  return {
    list: (): StoredBackfill[] => all.all().map((row) => ({ ...row, mayGoFirst: row.mayGoFirst === 1 })),

    put(backfill: StoredBackfill): void {
      requireNextRevision(backfill.revision, revision.get(backfill.scheduleId), 'backfill')
      put.run({ ...backfill, mayGoFirst: backfill.mayGoFirst ? 1 : 0 })
    }
  }
}
