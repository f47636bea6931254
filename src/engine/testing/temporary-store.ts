import { join } from 'node:path'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { silentLogger } from '../runtime/logger.ts'
import { openSqliteStoreHere } from '../storage/sqlite/sqlite-store.ts'
import type { Store } from '../storage/store.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

export interface TemporaryStore {
  store: Store
  directory: string
  remove(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openTemporaryStore(options: { clock?: Clock; inMemory?: boolean } = {}): Promise<TemporaryStore> {
  const directory = await makeTemporaryDirectory(options)
  const store = await openSqliteStoreHere({
    path: join(directory.path, 'scrapdeck.db'),
    clock: options.clock ?? systemClock,
    logger: silentLogger
  })
  async function remove() {
    await store.close()
    await directory.remove()
  }
  return { store, directory: directory.path, remove, [Symbol.asyncDispose]: remove }
}
