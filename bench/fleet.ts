import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createRouterClient } from '@orpc/server'
import { createEngine } from '../src/engine/index.ts'
import type { Figure } from './figure.ts'
import { machine, waitFor } from './support/bench-engine.ts'
import { seedNodes } from './support/seed-nodes.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'what watching an idle fleet costs: processor, memory, and how long the event loop is kept waiting'

const SIZES = [10, 100, 1_000, 5_000]
const MEASURE_MS = 30_000
const SLOTS = 4
const LOOP_RESOLUTION_MS = 1

/** Idle nodes, each asked every five seconds, by an engine in this process: only its own processor time counts. */
export function run(): AsyncIterable<Figure> {
  return measure({ sizes: SIZES, measureMs: MEASURE_MS })
}

export async function* measure(options: { sizes: number[]; measureMs: number }): AsyncGenerator<Figure> {
  // Memory is the process's high-water mark of the sizes before it, so the largest comes last.
  for (const nodes of options.sizes) yield* await measureSize(nodes, options.measureMs)
}

async function measureSize(nodes: number, measureMs: number): Promise<Figure[]> {
  const fleet = await startSimulatedFleet({ nodes, slots: SLOTS, jobMs: 1_000 })
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  await seedNodes(directory, fleet.urls, { slots: SLOTS })
  const engine = await createEngine({
    dataDirectory: directory,
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', 'resources'),
    scrapdeckVersion: 'bench',
    localSlots: 0
  })
  const client = createRouterClient(engine.router, { context: {} })
  try {
    // The list of thousands of nodes, asked for again and again, would be what fills the memory.
    const isUp = async () => (await client.system.status()).figures.slotsTotal === nodes * SLOTS
    await waitFor('all nodes up', isUp, 120_000)
    // What is asked once of a node that has come up is over by then.
    await new Promise((resolve) => setTimeout(resolve, Math.min(measureMs, 10_000)))
    const histogram = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
    histogram.enable()
    const before = process.cpuUsage()
    const begunAtMs = performance.now()
    await new Promise((resolve) => setTimeout(resolve, measureMs))
    const used = process.cpuUsage(before)
    const tookMs = performance.now() - begunAtMs
    histogram.disable()
    const cpuMs = (used.user + used.system) / 1_000
    const polls = (nodes * tookMs) / 5_000
    const conditions = {
      nodes,
      interval_s: 5,
      measured_s: Math.round(tookMs / 1_000),
      cpu_us_per_poll: Math.round((cpuMs * 1_000) / polls),
      ...machine()
    }
    return [
      { figure: 'core_share', value: round(cpuMs / tookMs, 4), unit: 'core', conditions },
      { figure: 'rss_mb', value: Math.round(process.memoryUsage.rss() / 2 ** 20), unit: 'MB', conditions },
      {
        figure: 'loop_p99_ms',
        value: round(histogram.percentile(99) / 1e6 - LOOP_RESOLUTION_MS, 2),
        unit: 'ms',
        conditions
      }
    ]
  } finally {
    await engine.stop()
    await rm(directory, { recursive: true, force: true })
    fleet.stop()
  }
}

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits
}
