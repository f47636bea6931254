import { compare, type Figure } from './figure.ts'
import { dispatchBare } from './support/bare-dispatch.ts'
import { machine } from './support/bench-engine.ts'
import type { PostgresAddress } from '../src/engine/runtime/postgres-address.ts'
import { until } from '../src/engine/testing/until.ts'
import { startBusyEngine, watchChanges } from './support/busy-engine.ts'
import { PROJECTS } from './support/seed-busy-database.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about =
  'from the queue to the nodes: jobs accepted per second, each durable, and what a job costs as fleet and queue grow'

const LANES = 2_000
const NODES = 1_000
const SLOTS = 16
const LONG_MS = 3_600_000

export interface Size {
  nodes: number
  slots: number
  queued: number
  lanes: number
}

const AT_FULL_SIZE: Size = { nodes: NODES, slots: SLOTS, queued: NODES * SLOTS, lanes: LANES }
const GROWTH: Size[] = [
  { ...AT_FULL_SIZE, nodes: 10, slots: 1_600 },
  { ...AT_FULL_SIZE, nodes: 100, slots: 160 },
  { ...AT_FULL_SIZE, queued: 1_000 },
  { ...AT_FULL_SIZE, queued: 100_000 },
  { ...AT_FULL_SIZE, queued: 1_000_000 }
]
const LIVES: Lives = { nodes: NODES, slots: SLOTS, queued: 60_000, lanes: LANES, jobMs: [4_000, 12_000] }

type Lives = Size & { jobMs: [number, number] }

export function run(): AsyncIterable<Figure> {
  return measure({ sizes: [AT_FULL_SIZE, ...GROWTH], lives: LIVES })
}

/**
 * Compares the first size with its bound: the same rows in grouped transactions and the same POSTs, without an
 * engine.
 */
export async function* measure(options: { sizes: Size[]; lives: Lives }): AsyncGenerator<Figure> {
  for (const [index, size] of options.sizes.entries()) {
    const { jobsPerSecond, cpuUsPerJob, conditions } = await fillSlots(size)
    if (index === 0) yield* await compareWithBare(size, jobsPerSecond, conditions)
    else yield { figure: 'growth_jobs_per_s', value: jobsPerSecond, unit: 'jobs/s', conditions }
    yield { figure: 'cpu_us_per_job', value: cpuUsPerJob, unit: 'µs', conditions }
  }
  yield* await liveWhole(options.lives)
}

async function compareWithBare(size: Size, ours: number, conditions: Figure['conditions']): Promise<Figure[]> {
  const fleet = await startSimulatedFleet({ ...size, jobMs: LONG_MS, projects: PROJECTS })
  try {
    const bound = await dispatchBare(fleet.urls, Math.min(size.queued, size.nodes * size.slots))
    const boundIs = 'the same rows in grouped transactions and the same POSTs'
    return compare('', { ours, bound, unit: 'jobs/s', boundIs, wanted: { atLeast: 0.4 } }, conditions)
  } finally {
    fleet.stop()
  }
}

/**
 * Measures the time from resuming until every job is recorded as accepted and all slots are taken or the queue is
 * empty.
 */
export async function fillSlots(size: Size, postgres?: PostgresAddress) {
  const jobs = Math.min(size.queued, size.nodes * size.slots)
  const measured = await timed({ ...size, jobMs: LONG_MS, postgres }, jobs, 'accepted')
  return { ...measured, conditions: { ...conditionsOf(size), jobs } }
}

async function liveWhole(size: Lives): Promise<Figure[]> {
  const { jobsPerSecond, cpuUsPerJob } = await timed(size, size.queued, 'ended')
  const conditions = { ...conditionsOf(size), jobs: size.queued, job_ms: size.jobMs.join('-') }
  return [
    { figure: 'whole_jobs_per_s', value: jobsPerSecond, unit: 'jobs/s', conditions },
    { figure: 'whole_cpu_us_per_job', value: cpuUsPerJob, unit: 'µs', conditions }
  ]
}

async function timed(
  size: Size & { jobMs: number | [number, number]; postgres?: PostgresAddress | undefined },
  jobs: number,
  target: 'accepted' | 'ended'
) {
  const fleet = await startSimulatedFleet({ ...size, projects: PROJECTS })
  // A node can list a job as running before the engine has recorded the node's response. That also counts as accepted.
  const reached = new Set<string>()
  let lastAtMs = 0
  const engine = await startBusyEngine({
    fleet,
    ...size,
    watch: (store) =>
      watchChanges(store, ({ jobId, to }) => {
        if (to === undefined || to === 'uncertain' || (target === 'ended' && to !== 'ended') || reached.has(jobId))
          return
        reached.add(jobId)
        lastAtMs = performance.now()
      })
  })
  try {
    const beganAtMs = performance.now()
    const before = process.cpuUsage()
    await engine.client.system.setPaused({ paused: false })
    await until(`${jobs} jobs ${target}`, async () => reached.size >= jobs, Boolean, 600_000)
    const used = process.cpuUsage(before)
    return {
      jobsPerSecond: Math.round(jobs / ((lastAtMs - beganAtMs) / 1_000)),
      cpuUsPerJob: Math.round((used.user + used.system) / jobs)
    }
  } finally {
    await engine.stop()
    fleet.stop()
  }
}

function conditionsOf({ nodes, slots, queued, lanes }: Size): Figure['conditions'] {
  return { nodes, slots_per_node: slots, queued, lanes, synchronous: 'FULL', ...machine() }
}
