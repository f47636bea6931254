import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { type DirectoryLock, lockDirectory } from './directory-lock.ts'
import { migrate } from './migrate.ts'
import { explainSqliteError } from './sqlite-error.ts'

/**
 * Opens the database in its newest form and holds its directory. Refuses with DATA_DIRECTORY_UNUSABLE,
 * DATA_DIRECTORY_IN_USE or DATA_FROM_NEWER_VERSION; never carries on without a disk.
 */
export function openDatabase(path: string): { database: Database; lock: DirectoryLock } {
  let lock: DirectoryLock | null = null
  let database: Database | null = null
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    lock = lockDirectory(dirname(path))
    // It holds credentials: nobody else may read it, whatever the directory's mode. SQLite's own files take its mode.
    closeSync(openSync(path, 'a', 0o600))
    database = new DatabaseConstructor(path, { timeout: 5000 })
    configure(database)
    migrate(database)
    proveWritable(database)
    return { database, lock }
  } catch (error) {
    database?.close()
    lock?.release()
    throw explainSqliteError(error, path)
  }
}

function configure(database: Database): void {
  const mode = database.pragma('journal_mode = WAL', { simple: true })
  if (mode !== 'wal') {
    throw new ScrapdeckError(
      'DATA_DIRECTORY_UNUSABLE',
      `${database.name} is on a file system without write-ahead logging (it gave ${mode}). Choose a local disk.`
    )
  }
  // FULL: COMMIT returns after the write-ahead log is on the disk (I1). NORMAL would lose jobs in a power failure.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  database.pragma('cache_size = -65536')
  database.pragma('temp_store = MEMORY')
  database.pragma('journal_size_limit = 67108864')
  // Pages that every commit writes are copied into the database once for many commits: a third of the waiting for the
  // disk. Mostly between commits (idle-work.ts); at this many pages, as much as journal_size_limit, it waits no longer.
  database.pragma('wal_autocheckpoint = 16000')
}

/** A database that migrated long ago opens on a full or read-only disk without a word: better to hear of it now. */
function proveWritable(database: Database): void {
  database
    .prepare("INSERT INTO settings VALUES ('store.opened', '1') ON CONFLICT DO UPDATE SET value = value + 1")
    .run()
}
