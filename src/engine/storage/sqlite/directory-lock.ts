import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import DatabaseConstructor from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { isBusy } from './sqlite-error.ts'

export interface DirectoryLock {
  release(): void
}

/**
 * SQLite's exclusive lock on a separate file. The operating system releases the lock when the process dies, even after
 * `kill -9`, so it is never stale. Other programs can still read the data while an engine runs.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const file = join(directory, 'engine.lock')
  // Only the owner gets access: any user who can open the file can lock it and keep this engine from starting.
  closeSync(openSync(file, 'a', 0o600))
  const database = new DatabaseConstructor(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (!isBusy(error)) throw error
    throw new ScrapdeckError('DATA_DIRECTORY_IN_USE', sentence('storage.directory_taken', { directory }), {
      cause: error
    })
  }
  return { release: () => void database.close() }
}
