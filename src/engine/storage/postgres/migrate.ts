import { sentence } from '../../../shared/texts/errors/storage.ts'
import { type Migrations, missingSteps, newestVersion, TEXTS_ARE_CODES } from '../schema-versions.ts'
import type { Connection } from './connection.ts'
import { oneIndexOfFirings } from '../migrations/0003-one-index-of-firings.ts'
import { baseline } from './migrations/0001-baseline.ts'

/** In order. Never change a released migration; append a new one. */
export const MIGRATIONS: Migrations = {
  baseline: 20,
  steps: [baseline, 'DROP TABLE told_problems', oneIndexOfFirings, TEXTS_ARE_CODES]
}

/**
 * Migrates in one transaction, while no other engine writes. Throws DATA_FROM_NEWER_VERSION or DATA_TOO_OLD, and then
 * changes nothing.
 */
export function migrate(
  connection: Connection,
  { schema, lockSql, name }: { schema: string; lockSql: string; name: string },
  migrations = MIGRATIONS
): void {
  const missing = (version: number) =>
    missingSteps(`The database ${name}`, version, migrations, sentence('storage.or_other_namespace'))
  const one = (text: string) => connection.send({ text, values: [] }).result().rows[0]
  const quoted = `"${schema}"`
  const present = one(`SELECT to_regclass('${quoted}.schema_version') IS NOT NULL`)![0] === 1
  const before = present ? (one('SELECT version FROM schema_version')![0] as number) : 0
  if (missing(before).length === 0) return
  one('BEGIN')
  try {
    one(lockSql)
    one(`CREATE SCHEMA IF NOT EXISTS ${quoted}`)
    one('CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)')
    // Another engine may have migrated first.
    const now = (one('SELECT max(version) FROM schema_version')![0] as number | null) ?? 0
    for (const sql of missing(now)) for (const statement of statementsOf(sql)) one(statement)
    one('DELETE FROM schema_version')
    one(`INSERT INTO schema_version VALUES (${newestVersion(migrations)})`)
    one('COMMIT')
  } catch (error) {
    connection.forget()
    connection.send({ text: 'ROLLBACK', values: [] })
    connection.forget()
    throw error
  }
}

/** Splits the SQL, because a prepared statement can contain only one command. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/--.*$/gm, '')
    .split(/;\n/)
    .filter((statement) => statement.trim() !== '')
