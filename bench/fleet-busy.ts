import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare, type Figure, round } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { startBusyEngine, watchChanges } from './support/busy-engine.ts'
import { pollBare } from './support/poll-bare.ts'
import { PROJECTS, seedBusyDatabase } from './support/seed-busy-database.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'how soon the end of a run is seen on a busy fleet, and what that costs'

const SLOTS = 8
// Run times are distributed uniformly up to this. All runs start together and are replaced as they end, so 200 runs
// per second end on 1,000 nodes during the measured half minute.
const LONGEST_RUN_MS = 61_000
const ENDS_PER_SECOND_AND_NODE = 0.2
const LANES = 40

/**
 * Each of 1,000 nodes runs eight jobs, and 200 runs end per second, so the engine polls every node each second. The
 * bound is a bare poller that does the same work from the same queue.
 */
export function run(): Promise<Figure[]> {
  return measure({ nodes: 1_000, measureMs: 30_000 })
}

interface Size {
  nodes: number
  measureMs: number
  longestRunMs?: number
}

export async function measure(options: Size): Promise<Figure[]> {
  const { nodes, measureMs, longestRunMs = LONGEST_RUN_MS } = options
  const fleet = await startSimulatedFleet({
    nodes,
    slots: SLOTS,
    projects: PROJECTS,
    reportEnds: true,
    jobMs: [0, longestRunMs]
  })
  const endedAtMs = new Map<string, number>()
  const seenAfterMs: number[] = []
  fleet.onEnd(({ jobid, atMs }) => void endedAtMs.set(jobid, atMs))
  const seenAtMs = new Map<string, number>()
  const engine = await startBusyEngine({
    fleet,
    slots: SLOTS,
    queued: queuedFor(options),
    lanes: LANES,
    watch: (store) =>
      watchChanges(store, ({ to, jobId }) => {
        if (to === 'finishing') seenAtMs.set(jobId, performance.timeOrigin + performance.now())
      })
  })
  const { client } = engine
  try {
    await client.system.setPaused({ paused: false })
    const isFull = async () => (await client.system.status()).figures.running >= nodes * SLOTS * 0.5
    await until('the fleet busy', isFull, Boolean, 120_000)
    await new Promise((resolve) => setTimeout(resolve, Math.min(measureMs, 10_000)))
    const fromMs = performance.timeOrigin + performance.now()
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, measureMs))
    const used = process.cpuUsage(before)
    const untilMs = performance.timeOrigin + performance.now()
    const isWithin = (atMs: number) => atMs >= fromMs && atMs < untilMs
    const ends = [...endedAtMs].filter(([, atMs]) => isWithin(atMs))
    // Waits, because the engine detects the last ends only after the measurement. If the engine misses an end, this
    // times out.
    await until('all ends seen', async () => ends.every(([jobid]) => seenAtMs.has(jobid)))
    for (const [jobid, atMs] of ends) seenAfterMs.push(seenAtMs.get(jobid)! - atMs)
    const conditions = {
      nodes,
      running_per_node: SLOTS,
      measured_s: Math.round(measureMs / 1_000),
      ended_per_s: Math.round((ends.length * 1_000) / measureMs),
      seen_p50_s: round(percentile(seenAfterMs, 0.5) / 1_000),
      ...machine()
    }
    const share = (used.user + used.system) / 1_000 / (untilMs - fromMs)
    return [
      { figure: 'seen_p99_s', value: round(percentile(seenAfterMs, 0.99) / 1_000), unit: 's', conditions },
      ...(await compareWithBare(share, options, conditions))
    ]
  } finally {
    await engine.stop()
    fleet.stop()
  }
}

function queuedFor({ nodes, measureMs, longestRunMs = LONGEST_RUN_MS }: Size): number {
  const endsPerSecond = nodes * ENDS_PER_SECOND_AND_NODE * (LONGEST_RUN_MS / longestRunMs)
  return nodes * SLOTS + Math.ceil(endsPerSecond * (measureMs / 1_000 + 60))
}

async function compareWithBare(ours: number, size: Size, conditions: Figure['conditions']): Promise<Figure[]> {
  const { nodes, measureMs, longestRunMs = LONGEST_RUN_MS } = size
  const fleet = await startSimulatedFleet({ nodes, slots: SLOTS, projects: PROJECTS, jobMs: [0, longestRunMs] })
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-bare-'))
  try {
    await seedBusyDatabase(directory, { urls: fleet.urls, slots: SLOTS, queued: queuedFor(size), lanes: LANES })
    const order = { urls: fleet.urls, intervalMs: 1_000, busy: { slots: SLOTS, directory } }
    const { cpuMs, tookMs, ends } = await pollBare(order, { settleMs: Math.min(measureMs, 10_000), measureMs })
    const comparison = {
      ours,
      bound: cpuMs / tookMs,
      unit: 'cores',
      wanted: { atMost: 2 },
      boundIs: 'a bare poller with the same requests, logs and rows'
    }
    return compare('', comparison, { ...conditions, bound_ended_per_s: Math.round((ends * 1_000) / tookMs) })
  } finally {
    fleet.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
