import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { makePrivateDirectory } from '../../runtime/private-directory.ts'
import { type DirectoryLock, lockDirectory } from './directory-lock.ts'
import { migrate } from './migrate.ts'
import { explainSqliteError } from './sqlite-error.ts'

/** Throws DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE, DATA_FROM_NEWER_VERSION or DATA_TOO_OLD. */
export function openDatabase(path: string): { database: Database; lock: DirectoryLock } {
  let lock: DirectoryLock | null = null
  let database: Database | null = null
  try {
    makePrivateDirectory(dirname(path))
    lock = lockDirectory(dirname(path))
    // The file contains credentials, so no other user may read it. SQLite's other files inherit this mode.
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

/** Also turns on incremental vacuum, which new databases have from the start. */
export function compactDatabase(database: Database): void {
  database.pragma('auto_vacuum = INCREMENTAL')
  database.exec('VACUUM')
}

function configure(database: Database): void {
  // This only affects an empty file before its first write. compactDatabase converts existing databases.
  database.pragma('auto_vacuum = INCREMENTAL')
  const mode = database.pragma('journal_mode = WAL', { simple: true })
  if (mode !== 'wal') {
    throw new ScrapdeckError(
      'DATA_DIRECTORY_UNUSABLE',
      sentence('storage.no_write_ahead_log', { database: database.name, mode: String(mode) })
    )
  }
  // FULL: COMMIT returns when the write-ahead log is on disk (I1). With NORMAL, a power failure would lose jobs.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  database.pragma('cache_size = -65536')
  database.pragma('temp_store = MEMORY')
  database.pragma('journal_size_limit = 67108864')
  // Checkpoints after many commits save a third of the time spent waiting for the disk. They usually run when the
  // store is idle (idle-work.ts). When the log has this many pages, SQLite runs one in a commit.
  database.pragma('wal_autocheckpoint = 16000')
}

/** An up-to-date database opens without an error on a full or read-only disk, so write to it once. */
function proveWritable(database: Database): void {
  database
    .prepare("INSERT INTO settings VALUES ('store.opened', '1') ON CONFLICT DO UPDATE SET value = value + 1")
    .run()
}
