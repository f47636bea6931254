import type { Engine, EngineOptions } from './wiring/engine-options.ts'
import { startStoreThread } from './store/thread/store-thread.ts'

export type { Engine, EngineOptions } from './wiring/engine-options.ts'
export { startStoreThread } from './store/thread/store-thread.ts'

/**
 * The engine's only entry point: opens the data directory, builds the rooms (see wiring/) and starts to work. Rejects
 * with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE or DATA_FROM_NEWER_VERSION, having changed nothing, or with
 * PYTHON_MISSING. If it rejects for any reason, everything that was opened is closed again.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { store, clock } = options.seams ?? {}
  const start = () => options.storeThread ?? startStoreThread()
  // Loads SQLite while this thread loads the rooms: together that is half of the start.
  const storeThread = store === undefined && clock === undefined ? start() : null
  const { openEngine } = await import('./wiring/open-engine.ts')
  return openEngine(options, storeThread)
}
