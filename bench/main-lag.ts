import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Figure } from './figure.ts'
import { deployNoop, machine, startBenchEngine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'how long the engine keeps the event loop of its host (the desktop’s main process) waiting'

const NODES = 100
const SLOTS = 2
const JOB_MS = 2_000
const MEASURE_MS = 30_000

/**
 * Hosts the engine in this process, as the desktop does, with 100 nodes whose slots are all busy. About a hundred
 * jobs per second start and end. Shows whether the engine must move out of the main process.
 */
export async function run(): Promise<Figure[]> {
  const fleet = await startSimulatedFleet({ nodes: NODES, slots: SLOTS, jobMs: JOB_MS })
  const { client, stop } = await startBenchEngine()
  try {
    for (const url of fleet.urls) await client.nodes.add({ url, slots: SLOTS })
    await until(
      'all nodes up',
      async () => (await client.nodes.list()).nodes.every(({ health }) => health === 'up'),
      Boolean,
      60_000
    )
    await deployNoop(client)
    const wanted = Math.ceil(((NODES * SLOTS) / JOB_MS) * (MEASURE_MS + 15_000))
    for (let queued = 0; queued < wanted; queued += 1_000) {
      await client.jobs.run({ project: 'noop', version: '1', spiders: Array.from({ length: 1_000 }, () => 'noop') })
    }
    const isBusy = async () => (await client.system.status()).figures.running >= (NODES * SLOTS) / 2
    await until('the fleet busy', isBusy)
    const endedBefore = (await client.system.status()).figures.finishedLastHour
    const resolutionMs = 1
    const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
    histogram.enable()
    await new Promise((resolve) => setTimeout(resolve, MEASURE_MS))
    histogram.disable()
    const { figures } = await client.system.status()
    const conditions = {
      nodes: NODES,
      slots_per_node: SLOTS,
      job_ms: JOB_MS,
      measured_s: MEASURE_MS / 1000,
      jobs_ended: figures.finishedLastHour - endedBefore,
      queued: figures.queued,
      ...machine()
    }
    const lag = (share: number) => Math.round((histogram.percentile(share) / 1e6 - resolutionMs) * 100) / 100
    return [
      { figure: 'loop_p50_ms', value: lag(50), unit: 'ms', conditions },
      { figure: 'loop_p99_ms', value: lag(99), unit: 'ms', conditions },
      {
        figure: 'loop_max_ms',
        value: Math.round((histogram.max / 1e6 - resolutionMs) * 100) / 100,
        unit: 'ms',
        conditions
      }
    ]
  } finally {
    await stop()
    fleet.stop()
  }
}
