import { join } from 'node:path'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../../src/engine/store/sqlite/open-sqlite-store.ts'
import { aNewJob, aStoredNode } from '../../src/engine/testing/builders.ts'

const BATCH = 5_000

/** Version 1 of these is on all nodes from the start. */
export const PROJECTS = ['shop', 'news', 'maps', 'jobs']

/**
 * Paused; nodes that have all eggs, and a long queue in many lanes. All of it is written directly to the store:
 * queueing a million jobs is a bench of its own.
 */
export async function seedBusyDatabase(
  directory: string,
  { urls, slots, queued, lanes }: { urls: readonly string[]; slots: number; queued: number; lanes: number }
): Promise<void> {
  const path = join(directory, 'scrapdeck.sqlite')
  const store = await openSqliteStore({ path, clock: systemClock, logger: silentLogger })
  const nodes = urls.map((url, index) => aStoredNode({ id: `n-${index}`, name: `sim-${index}`, url, slots }))
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
      const spider = `s${Math.floor(lane / PROJECTS.length)}`
      return aNewJob({ project, version: '1', spider, settings: {}, args: {} })
    })
    await store.enqueueJobs(jobs)
  }
  await store.putSetting('paused', true)
  await store.close()
}
