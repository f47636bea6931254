import type { Database } from 'better-sqlite3'
import { type Migrations, missingSteps, newestVersion } from '../schema-versions.ts'
import { baseline } from './migrations/0001-baseline.ts'

/**
 * In order; never change a released one, append a new one. They are modules and not `.sql` files so that the bundled
 * desktop app includes them without a copy step that could be forgotten.
 */
export const MIGRATIONS: Migrations = { baseline: 36, steps: [baseline] }

/**
 * Migrates to the newest schema in one transaction: if it fails, the older Scrapdeck can still open the database.
 * Throws DATA_FROM_NEWER_VERSION or DATA_TOO_OLD, having changed nothing.
 */
export function migrate(database: Database, migrations = MIGRATIONS): void {
  const present = database.pragma('user_version', { simple: true }) as number
  const name = `The database ${database.name}`
  const missing = missingSteps(name, present, migrations, ', or choose another data directory')
  if (missing.length === 0) return
  database.transaction(() => {
    for (const sql of missing) database.exec(sql)
    database.pragma(`user_version = ${newestVersion(migrations)}`)
  })()
}
