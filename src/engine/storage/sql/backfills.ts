import type { Database } from './database.ts'
import type { StoredBackfill } from '../../model/records.ts'
import { createTable } from './table.ts'
import { requireNextRevision } from './revisions.ts'

/** The newest backfill of each schedule, deleted with its schedule. Writes run inside the caller's transaction. */
export function createBackfills(database: Database) {
  const backfills = createTable<StoredBackfill>(database, {
    ...{ name: 'backfills', key: 'schedule_id', order: 'schedule_id', columns: { order: 'direction' } },
    fields: 'id scheduleId revision fromMs untilMs order concurrency state total fired failed mayGoFirst:flag'
  })
  const revision = database.prepare<[string], number>('SELECT revision FROM backfills WHERE schedule_id = ?').pluck()

  return {
    list: backfills.all,

    put(backfill: StoredBackfill): void {
      requireNextRevision(backfill.revision, revision.get(backfill.scheduleId), 'backfill')
      backfills.put(backfill)
    }
  }
}
