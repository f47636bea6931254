import { join } from 'node:path'
import { aNodeId, anAttemptNumber, aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { plain } from '../../src/shared/texts/message.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../../src/engine/storage/sqlite/open-sqlite-store.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { aNewJob, anAttemptStart, aStoredNode } from '../../src/engine/testing/builders.ts'

const BATCH = 5_000
const DAY_MS = 86_400_000
/** How many days ago old jobs ended. The bench deletes those that ended more than two days ago. */
const OLD_DAYS = 10

/** Projects whose version 1 is on all nodes from the start. */
export const PROJECTS = ['shop', 'news', 'maps', 'jobs']

/** Writes directly to the store, because queueing a million jobs would take too long. */
export async function seedBusyDatabase(
  directory: string,
  size: { urls: readonly string[]; slots: number; queued: number; lanes: number; old?: number },
  open: () => Promise<Store> = () =>
    openSqliteStore({ path: join(directory, 'scrapdeck.sqlite'), clock: systemClock, logger: silentLogger })
): Promise<void> {
  const { urls, slots, queued, lanes, old = 0 } = size
  const store = await open()
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
  for (let first = 0; first < old; first += BATCH) {
    const count = Math.min(BATCH, old - first)
    await store.recordRuns(Array.from({ length: count }, (_, offset) => anOldRun(first + offset, lanes)))
  }
  for (let first = 0; first < queued; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, queued - first) }, (_, offset) => {
      return aNewJob({ ...laneOf(first + offset, lanes), version: '1', settings: {}, args: {} })
    })
    await store.enqueueJobs(jobs)
  }
  await store.putSetting('paused', true)
  await store.close()
}

function laneOf(index: number, lanes: number): { project: string; spider: string } {
  const lane = index % lanes
  return { project: PROJECTS[lane % PROJECTS.length]!, spider: `s${Math.floor(lane / PROJECTS.length)}` }
}

function anOldRun(index: number, lanes: number): Parameters<Store['recordRuns']>[0][number] {
  const atMs = Date.now() - OLD_DAYS * DAY_MS + index
  const id = `${atMs.toString(16).padStart(12, '0')}${index.toString(16).padStart(8, '0')}`.padEnd(32, '0')
  const at = (text: string) => ({ atMs, message: plain(text), evidence: {} })
  const job = aNewJob({
    ...laneOf(index, lanes),
    id,
    jobid: id,
    version: '1',
    settings: {},
    args: {},
    entry: at('queued')
  })
  const change = { jobId: job.id, attemptNumber: anAttemptNumber(1), entry: at('seen') }
  return {
    job,
    start: anAttemptStart(job, { nodeId: aNodeId(`n-${index % 16}`), entry: at('sent') }),
    changes: [
      { ...change, from: ['sending'], to: 'accepted', kind: 'accepted' },
      { ...change, from: ['accepted'], to: 'running', kind: 'running' },
      { ...change, from: ['running'], to: 'ended', kind: 'ended', result: 'succeeded' }
    ]
  }
}
