import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRouterClient } from '@orpc/server'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { createEngine } from '../../src/engine/index.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../../src/engine/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/engine/store/store.ts'
import { aNewJob, aStoredNode } from '../../src/engine/testing/builders.ts'
import { until } from '../../src/engine/testing/until.ts'
import type { SimulatedFleet } from './start-simulated-fleet.ts'

const BATCH = 5_000

/** Version 1 of these is on all nodes from the start. */
export const PROJECTS = ['shop', 'news', 'maps', 'jobs']

/**
 * An engine that starts paused, with nodes that have all eggs and a long queue in many lanes. All of it is written
 * directly to its store: queueing a million jobs is a bench of its own. `watch` can wrap the store.
 */
export async function startBusyEngine(options: {
  fleet: SimulatedFleet
  slots: number
  queued: number
  lanes: number
  watch?: (store: Store) => Store
  createNodeClient?: NonNullable<Parameters<typeof createEngine>[0]['seams']>['createNodeClient']
}) {
  const { fleet, slots, queued, lanes, watch = (store) => store } = options
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  const path = join(directory, 'scrapdeck.sqlite')
  const store = await openSqliteStore({ path, clock: systemClock, logger: silentLogger })
  const nodes = fleet.urls.map((url, index) => aStoredNode({ id: `n-${index}`, name: `sim-${index}`, url, slots }))
  await Promise.all(nodes.map((node) => store.putNode(node)))
  for (const project of PROJECTS) {
    const sha256 = '0'.repeat(64)
    const deployments = nodes.map(({ id }) => {
      return { nodeId: id, state: 'present' as const, sha256, error: null, changedAtMs: Date.now() }
    })
    const spiders = Array.from({ length: lanes / PROJECTS.length }, (_, index) => `s${index}`)
    const version = {
      project: aProjectName(project),
      version: aVersionName('1'),
      sha256,
      sizeBytes: 1_000,
      spiders,
      createdAtMs: Date.now(),
      deployments
    }
    await store.putVersion(version)
  }
  for (let first = 0; first < queued; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, queued - first) }, (_, offset) => {
      const lane = (first + offset) % lanes
      const project = PROJECTS[lane % PROJECTS.length]!
      return aNewJob({
        project,
        version: '1',
        spider: `s${Math.floor(lane / PROJECTS.length)}`,
        settings: {},
        args: {}
      })
    })
    await store.enqueueJobs(jobs)
  }
  await store.putSetting('paused', true)
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
  const client = createRouterClient(engine.router, { context: { source: 'api' } })
  const isUp = async () => (await client.system.status()).figures.slotsTotal === nodes.length * slots
  await until('all nodes up', isUp, Boolean, 120_000)
  // By then the requests made only when a node comes up are done.
  await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, 100 + nodes.length * 5)))
  return {
    client,
    async stop() {
      await engine.stop()
      await rm(directory, { recursive: true, force: true })
    }
  }
}

/** Calls `hear` for every change that the store has applied. */
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
