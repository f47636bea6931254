import DatabaseConstructor from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'

export function isBusy(error: unknown): boolean {
  return error instanceof DatabaseConstructor.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** Turns errors that an operator can fix (disk, permissions) into a ScrapdeckError; returns others unchanged. */
export function explainSqliteError(error: unknown, path: string): unknown {
  if (error instanceof ScrapdeckError) return error
  const problem = problemOf(error)
  if (problem === null) return error
  return new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', sentence(`storage.database_${problem}`, { path }), {
    cause: error
  })
}

function problemOf(error: unknown) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return 'disk_full'
  if (code.startsWith('SQLITE_READONLY') || ['EACCES', 'EPERM', 'EROFS'].includes(code)) {
    return 'read_only'
  }
  if (code.startsWith('SQLITE_CANTOPEN') || ['ENOTDIR', 'EEXIST', 'ENOENT'].includes(code)) {
    return 'cannot_open'
  }
  if (code.startsWith('SQLITE_IOERR')) return 'io_failed'
  const isOther = code === 'SQLITE_ERROR' && /^no such (table|column)/.test((error as Error).message)
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB' || isOther) {
    return 'damaged'
  }
  if (code.startsWith('SQLITE_BUSY')) return 'locked'
  return null
}
