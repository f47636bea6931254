import type { Database } from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { type Migrations, missingSteps, newestVersion, TEXTS_ARE_CODES } from '../schema-versions.ts'
import { tables } from '../migrations/0001-tables.ts'
import { oneIndexOfFirings } from '../migrations/0003-one-index-of-firings.ts'

/**
 * In order. Never change a released migration; append a new one. Migrations are modules, not `.sql` files, so that the
 * desktop app's bundle contains them.
 */
export const MIGRATIONS: Migrations = {
  baseline: 36,
  steps: [tables((sqlite) => sqlite), 'DROP TABLE told_problems', oneIndexOfFirings, TEXTS_ARE_CODES]
}

/** Returns an object that Scrapdeck never creates and that could run code or replace a table; null: there is none. */
export function findForeign(database: Database): string | null {
  const isMade = database.pragma('user_version', { simple: true }) !== 0
  const foreign = `SELECT type || ' ' || name FROM sqlite_schema
    WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL%' OR NOT ? LIMIT 1`
  return database.prepare<[number], string>(foreign).pluck().get(Number(isMade)) ?? null
}

export function requireOwn(database: Database): void {
  const foreign = findForeign(database)
  if (foreign === null) return
  const text = sentence('storage.database_foreign', { database: database.name, foreign })
  throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text)
}

/**
 * Migrates in one transaction, so that an older Scrapdeck can still open the database if this fails. Throws
 * DATA_FROM_NEWER_VERSION, DATA_TOO_OLD or DATA_DIRECTORY_UNUSABLE, and then changes nothing.
 */
export function migrate(database: Database, migrations = MIGRATIONS): void {
  const present = database.pragma('user_version', { simple: true }) as number
  const name = `The database ${database.name}`
  const missing = missingSteps(name, present, migrations, sentence('storage.or_other_data_directory'))
  requireOwn(database)
  if (missing.length === 0) return
  database.transaction(() => {
    for (const sql of missing) database.exec(sql)
    database.pragma(`user_version = ${newestVersion(migrations)}`)
  })()
}
