import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { keepHeapSmall } from '../../src/cli/keep-heap-small.ts'
import { createEngine } from '../../src/engine/index.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import type { PostgresAddress } from '../../src/engine/runtime/postgres-address.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../../src/engine/storage/sqlite/open-sqlite-store.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { until } from '../../src/engine/testing/until.ts'
import { openBenchStore } from './bench-postgres.ts'
import { seedBusyDatabase } from './seed-busy-database.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import type { SimulatedFleet } from './start-simulated-fleet.ts'

/** Starts an engine on a database from seedBusyDatabase, paused. `watch` can wrap the store. */
export async function startBusyEngine(options: {
  fleet: SimulatedFleet
  slots: number
  queued: number
  lanes: number
  old?: number
  /** Default: SQLite. */
  postgres?: PostgresAddress | undefined
  watch?: (store: Store) => Store
  createNodeClient?: NonNullable<Parameters<typeof createEngine>[0]['seams']>['createNodeClient']
}) {
  const { fleet, slots, queued, lanes, old, postgres, watch = (store) => store } = options
  keepHeapSmall()
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  const open = () =>
    postgres === undefined
      ? openSqliteStore({ path: join(directory, 'scrapdeck.sqlite'), clock: systemClock, logger: silentLogger })
      : openBenchStore(directory, postgres)
  const size = { urls: fleet.urls, slots, queued, lanes, ...(old === undefined ? {} : { old }) }
  await seedBusyDatabase(directory, size, open)
  const store = await open()
  const engine = await createEngine({
    dataDirectory: directory,
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', '..', 'resources'),
    scrapdeckVersion: 'bench',
    localSlots: 0,
    seams: {
      store: watch(store),
      ...(options.createNodeClient === undefined ? {} : { createNodeClient: options.createNodeClient })
    }
  })
  const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  const isUp = async () => (await client.system.status()).figures.slotsTotal === fleet.urls.length * slots
  await until('all nodes up', isUp, Boolean, 120_000)
  // Waits until the engine has made the requests that it makes only when a node comes up.
  await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, 100 + fleet.urls.length * 5)))
  return {
    client,
    async stop() {
      await engine.stop()
      await rm(directory, { recursive: true, force: true })
    }
  }
}

export type BusyEngine = Awaited<ReturnType<typeof startBusyEngine>>

export function watchChanges(
  store: Store,
  hear: (change: Parameters<Store['applyChanges']>[0][number]) => void
): Store {
  return {
    ...store,
    async applyChanges(changes) {
      const applied = await store.applyChanges(changes)
      for (const [index, change] of changes.entries()) if (applied[index] === true) hear(change)
      return applied
    }
  }
}
