import type { Worker } from 'node:worker_threads'
import type { CacheFigures } from '../runtime/cache-figures.ts'
import type { Engine, EngineOptions } from './engine-options.ts'
import { connectListeners } from './listeners.ts'
import { openWings, type Wings } from './open-wings.ts'
import { STARTS } from './starts.ts'

/** `storeThread`: the store's running thread. null: the store has no thread. */
export async function openEngine(options: EngineOptions, storeThread: Worker | null): Promise<Engine> {
  const opened = new AsyncDisposableStack()
  // Ends the thread if the start fails early. Otherwise, closing the store ends it.
  opened.defer(async () => void (await storeThread?.terminate()))
  try {
    const wings = await openWings(opened, options, storeThread)
    connectListeners(wings)
    for (const { start } of STARTS) await start(wings)
    const { storage, cache, access, nodes, commands, monitoring, api } = wings
    const { systemCommands } = commands
    let stopped: Promise<void> | null = null
    return {
      router: api.router,
      scrapyd: api.scrapyd,
      answers: api.answers,
      crawlCacheSeconds: api.crawlCacheSeconds,
      cache: cache.cache,
      sharedAnswers: cache.sharedAnswers,
      incoming: storage.incoming,
      credentials: storage.credentials,
      pulling: nodes.pulling,
      authenticate: wings.plugins.authenticate,
      access: access.access,
      secondFactors: access.secondFactors,
      signIns: access.signIns,
      audit: access.audit,
      setAddress(address, plainHttpOn = null) {
        systemCommands.address = address
        systemCommands.plainHttpOn = plainHttpOn
      },
      setCertificate(certificate) {
        systemCommands.certificate = certificate
      },
      openEgg: (token) => nodes.eggLinks.openEgg(token),
      health: monitoring.healthWatch,
      metrics: () => readMetrics(wings),
      localRunningCount: () => nodes.local.node?.runningCount() ?? 0,
      stopLocalSpiders: async () => nodes.local.node?.stopAll(),
      stop: () => (stopped ??= stopAll(opened))
    }
  } catch (error) {
    throw joinErrors(
      [error, ...(await closeAll(opened))],
      'Scrapdeck could not start, and then not close all it had opened'
    )
  }
}

function readMetrics({ storage, archives, cache, monitoring, api }: Wings): Promise<string> {
  const { sharedBlobs } = storage
  const { sharedAnswers } = cache
  const ofBlobs = sharedBlobs?.cacheFigures() ?? null
  const caches: Record<string, CacheFigures> = {
    logs: archives.archive.cacheFigures(),
    ...(ofBlobs !== null && { blobs: ofBlobs }),
    scrapyd_lists: api.scrapyd.cacheFigures(),
    ...(sharedAnswers !== null && { scrapyd_shared: sharedAnswers.figures() })
  }
  return monitoring.metrics.read({
    nodes: api.listNodes(),
    figures: monitoring.figures.current,
    caches,
    alerts: monitoring.alerts.counts(),
    blobs:
      sharedBlobs === null
        ? undefined
        : { requests: sharedBlobs.figures(), isUsable: sharedBlobs.state().problem === null },
    shared: cache.cache,
    encryption: archives.reEncryption?.state() ?? null
  })
}

async function stopAll(opened: AsyncDisposableStack): Promise<void> {
  const errors = await closeAll(opened)
  if (errors.length > 0) throw joinErrors(errors, 'Scrapdeck could not stop in order')
}

async function closeAll(opened: AsyncDisposableStack): Promise<unknown[]> {
  try {
    await opened.disposeAsync()
    return []
  } catch (error) {
    return listErrors(error)
  }
}

function joinErrors(errors: readonly unknown[], text: string): unknown {
  return errors.length === 1 ? errors[0] : new AggregateError(errors, text)
}

function listErrors(error: unknown): unknown[] {
  return error instanceof SuppressedError ? [...listErrors(error.suppressed), error.error] : [error]
}
