import { closeAll, joinErrors } from './wiring/close-all.ts'
import type { Engine, EngineOptions } from './wiring/engine-options.ts'
import { connectListeners } from './wiring/listeners.ts'
import { openRooms } from './wiring/rooms.ts'
import { STARTS } from './wiring/starts.ts'

export type { Engine, EngineOptions } from './wiring/engine-options.ts'

/**
 * The engine's only entry point: opens the data directory, builds the rooms (see wiring/) and starts to work. Rejects
 * with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE or DATA_FROM_NEWER_VERSION, having changed nothing, or with
 * PYTHON_MISSING. If it rejects for any reason, everything that was opened is closed again.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const opened = new AsyncDisposableStack()
  try {
    const rooms = await openRooms(options, opened)
    connectListeners(rooms)
    for (const { start } of STARTS) await start(rooms)
    const { router, scrapyd, answers, incoming, credentials, healthWatch, systemCommands, metrics, figures, local } =
      rooms
    let stopped: Promise<void> | null = null
    return {
      router,
      scrapyd,
      answers,
      incoming,
      credentials,
      setAddress(address) {
        systemCommands.address = address
      },
      health: healthWatch,
      metrics: () => metrics.read({ nodes: rooms.listNodes(), figures: figures.current }),
      localRunningCount: () => local.node?.runningCount() ?? 0,
      stopLocalSpiders: async () => local.node?.stopAll(),
      stop: () => (stopped ??= stop(opened))
    }
  } catch (error) {
    throw joinErrors(
      [error, ...(await closeAll(opened))],
      'Scrapdeck could not start, and then not close all it had opened'
    )
  }
}

async function stop(opened: AsyncDisposableStack): Promise<void> {
  const errors = await closeAll(opened)
  if (errors.length > 0) throw joinErrors(errors, 'Scrapdeck could not stop in order')
}
