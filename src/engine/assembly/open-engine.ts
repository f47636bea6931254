import type { Worker } from 'node:worker_threads'
import type { CacheFigures } from '../runtime/cache-figures.ts'
import type { Engine, EngineOptions } from './engine-options.ts'
import { connectListeners } from './listeners.ts'
import { openRooms, type Rooms } from './rooms.ts'
import { STARTS } from './starts.ts'

/**
 * What `createEngine` does once the rooms are loaded. `storeThread`: the thread that the store is to use, already
 * started; null: the store has none.
 */
export async function openEngine(options: EngineOptions, storeThread: Worker | null): Promise<Engine> {
  const opened = new AsyncDisposableStack()
  // A closed store has ended its thread; this one is for a start that fails before.
  opened.defer(async () => void (await storeThread?.terminate()))
  try {
    const rooms = await openRooms(options, storeThread, opened)
    connectListeners(rooms)
    for (const { start } of STARTS) await start(rooms)
    let stopped: Promise<void> | null = null
    return {
      router: rooms.router,
      scrapyd: rooms.scrapyd,
      cache: rooms.cache,
      sharedAnswers: rooms.sharedAnswers,
      answers: rooms.answers,
      crawlCacheSeconds: rooms.crawlCacheSeconds,
      incoming: rooms.incoming,
      credentials: rooms.credentials,
      pulling: rooms.pulling,
      authenticate: rooms.plugins.authenticate,
      access: rooms.access,
      secondFactors: rooms.secondFactors,
      signIns: rooms.signIns,
      audit: rooms.audit,
      setAddress(address, plainHttpOn = null) {
        rooms.systemCommands.address = address
        rooms.systemCommands.plainHttpOn = plainHttpOn
      },
      setCertificate(certificate) {
        rooms.systemCommands.certificate = certificate
      },
      openEgg: (token) => rooms.eggLinks.openEgg(token),
      health: rooms.healthWatch,
      metrics: () =>
        rooms.metrics.read({
          ...{ nodes: rooms.listNodes(), figures: rooms.figures.current, caches: cachesOf(rooms) },
          alerts: rooms.alerts.counts(),
          ...{ blobs: blobsOf(rooms), shared: rooms.cache, encryption: rooms.resealing?.state() ?? null }
        }),
      localRunningCount: () => rooms.local.node?.runningCount() ?? 0,
      stopLocalSpiders: async () => rooms.local.node?.stopAll(),
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

const blobsOf = ({ sharedBlobs }: Rooms) =>
  sharedBlobs === null ? undefined : { requests: sharedBlobs.figures(), isUsable: sharedBlobs.state().problem === null }

const cachesOf = ({ archive, scrapyd, sharedBlobs, sharedAnswers }: Rooms): Record<string, CacheFigures> => ({
  logs: archive.cacheFigures(),
  ...ifKnown(sharedBlobs?.cacheFigures()),
  scrapyd_lists: scrapyd.cacheFigures(),
  ...(sharedAnswers !== null && { scrapyd_shared: sharedAnswers.figures() })
})

const ifKnown = (blobs: CacheFigures | null | undefined): Record<string, CacheFigures> =>
  blobs == null ? {} : { blobs }

/** Closes everything on the stack even if parts fail, and returns the errors in the order in which they happened. */
async function closeAll(opened: AsyncDisposableStack): Promise<unknown[]> {
  try {
    await opened.disposeAsync()
    return []
  } catch (error) {
    return listErrors(error)
  }
}

/** Returns a single error as it is, and several as one AggregateError. */
function joinErrors(errors: readonly unknown[], text: string): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, text)
}

function listErrors(error: unknown): unknown[] {
  return error instanceof SuppressedError ? [...listErrors(error.suppressed), error.error] : [error]
}
