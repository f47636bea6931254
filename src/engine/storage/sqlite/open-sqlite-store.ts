import type { Worker } from 'node:worker_threads'
import { systemClock } from '../../runtime/clock.ts'
import type { Store } from '../store.ts'
import type { SqliteStoreOptions } from './sqlite-store.ts'
import { openStoreInWorker } from '../thread/store-thread.ts'

/**
 * Locks the directory until `close()`. Rejects with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE,
 * DATA_FROM_NEWER_VERSION or DATA_TOO_OLD. With a test clock, the store runs in the caller's thread, which otherwise
 * does not load SQLite. `thread`: from `startStoreThread`; default: a new thread.
 */
export async function openSqliteStore(options: SqliteStoreOptions & { thread?: Worker | null }): Promise<Store> {
  if (options.clock === systemClock) return openStoreInWorker({ ...options, postgres: null })
  const { openSqliteStoreHere } = await import('./sqlite-store.ts')
  return openSqliteStoreHere(options)
}
