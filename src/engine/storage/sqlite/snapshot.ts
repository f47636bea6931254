import { closeSync, openSync } from 'node:fs'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { AttemptNumber, JobId } from '../../../shared/contract/ids.ts'
import { missingSteps, requireNewestSchema } from '../schema-versions.ts'
import { findForeign, MIGRATIONS, requireOwn } from './migrate.ts'
import { explainSqliteError } from './sqlite-error.ts'

/** A file to which a row of the database refers. */
export type FileOfRow =
  | { kind: 'egg'; sha256: string; sizeBytes: number | null }
  | { kind: 'log' | 'items'; jobId: JobId; number: AttemptNumber; sizeBytes: number | null }

/**
 * Copies a database to `target`, which must not exist. An engine can use the database in the meantime: only this
 * thread is blocked, not the writers. Throws DATA_DIRECTORY_UNUSABLE.
 */
export function snapshotSqlite(path: string, target: string): void {
  try {
    // SQLite keeps the mode of an existing empty file.
    closeSync(openSync(target, 'wx', 0o600))
    using database = opened(path)
    requireNewestSchema(path, database.pragma('user_version', { simple: true }) as number, MIGRATIONS)
    requireOwn(database)
    database.prepare('VACUUM INTO ?').run(target)
  } catch (error) {
    throw explainSqliteError(error, path)
  }
}

export function filesOfRows(path: string): FileOfRow[] {
  using database = opened(path)
  const logs = `SELECT 'log' AS kind, attempts.job_id AS jobId, number, stored_bytes AS sizeBytes FROM attempts
    LEFT JOIN archived_logs ON archived_logs.job_id = attempts.job_id AND attempt_number = number
    WHERE log_archived = 1 AND coalesce(length(packed), 0) = 0`
  const items = `SELECT 'items' AS kind, job_id AS jobId, attempt_number AS number, stored_bytes AS sizeBytes
    FROM kept_items WHERE stored_bytes IS NOT NULL AND deleted_at_ms IS NULL`
  const eggs = `SELECT DISTINCT 'egg' AS kind, sha256, size_bytes AS sizeBytes FROM versions WHERE sha256 IS NOT NULL`
  return [eggs, logs, items].flatMap((sql) => database.prepare(sql).all() as FileOfRow[])
}

/** Throws BACKUP_DAMAGED, and DATA_FROM_NEWER_VERSION or DATA_TOO_OLD for a snapshot of another version. */
export function checkSnapshot(path: string): void {
  try {
    using database = opened(path)
    const version = database.pragma('user_version', { simple: true }) as number
    missingSteps(path, version, MIGRATIONS)
    const foreign = findForeign(database)
    if (foreign !== null) throw damaged(`it has the ${foreign}`)
    const [first] = database.pragma('integrity_check(1)') as { integrity_check: string }[]
    if (first?.integrity_check !== 'ok') throw damaged(first?.integrity_check)
    const [orphan] = database.pragma('foreign_key_check') as { table: string }[]
    if (orphan !== undefined) throw damaged(`rows of ${orphan.table} refer to rows that are not there`)
  } catch (error) {
    if (error instanceof DatabaseConstructor.SqliteError) throw damaged(error.message, error)
    throw error
  }
}

/** Pauses dispatching in the database of a restored backup before an engine opens it. */
export function pauseDispatch(path: string): void {
  using database = opened(path)
  database.exec(
    `INSERT INTO settings (key, value) VALUES ('paused', 'true') ON CONFLICT (key) DO UPDATE SET value = 'true'`
  )
}

function opened(path: string): Database & Disposable {
  const database = new DatabaseConstructor(path, { fileMustExist: true, timeout: 5_000 })
  return Object.assign(database, { [Symbol.dispose]: () => void database.close() })
}

function damaged(what: string | undefined, cause?: unknown): ScrapdeckError {
  const text = sentence('storage.backup_database_damaged', { what })
  return new ScrapdeckError('BACKUP_DAMAGED', text, { cause })
}
