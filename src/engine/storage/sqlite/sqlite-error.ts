import DatabaseConstructor from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'

export function isBusy(error: unknown): boolean {
  return error instanceof DatabaseConstructor.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** Turns errors that an operator can fix (disk, permissions) into a ScrapdeckError; returns others unchanged. */
export function explainSqliteError(error: unknown, path: string): unknown {
  if (error instanceof ScrapdeckError) return error
  const problem = problemOf(error)
  if (problem === null) return error
  return new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', `${path}: ${problem}`, { cause: error })
}

function problemOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return 'the disk is full. Free some space.'
  if (code.startsWith('SQLITE_READONLY') || ['EACCES', 'EPERM', 'EROFS'].includes(code)) {
    return 'it cannot be written. Give the user that runs Scrapdeck write permission there, or choose another data directory.'
  }
  if (code.startsWith('SQLITE_CANTOPEN') || ['ENOTDIR', 'EEXIST', 'ENOENT'].includes(code)) {
    return 'it cannot be opened or created. Check that the data directory is a writable directory.'
  }
  if (code.startsWith('SQLITE_IOERR')) return 'a disk read or write failed. Check its space, quota and health.'
  const isOther = code === 'SQLITE_ERROR' && /^no such (table|column)/.test((error as Error).message)
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB' || isOther) {
    return 'it is damaged or not a Scrapdeck database. Restore a backup, or choose another data directory.'
  }
  if (code.startsWith('SQLITE_BUSY')) return 'another program holds a lock on it. Close that program and try again.'
  return null
}
