import type { Figure } from './figure.ts'
import { deployNoop, machine, percentile, startBenchEngine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'a job asked for while a slot is free: how long until its POST is at the node'

const JOBS = 300
const NODES = 3

/**
 * One job at a time, each queued through the contract while slots are free, as the UI does. Measured from the call
 * until the POST to schedule.json reaches the node (in another process): this includes the engine's validation, two
 * durable transactions (job, attempt) and the loopback.
 */
export async function run(): Promise<Figure[]> {
  const fleet = await startSimulatedFleet({ nodes: NODES, slots: 8, jobMs: 20, report: true })
  const { client, stop } = await startBenchEngine()
  try {
    for (const url of fleet.urls) await client.nodes.add({ url, slots: 8 })
    await until(
      'all nodes up',
      async () => (await client.nodes.list()).nodes.every(({ health }) => health === 'up'),
      Boolean,
      60_000
    )
    await deployNoop(client)
    const arrivals = new Map<string, (atMs: number) => void>()
    fleet.onPost(({ jobid, atMs }) => arrivals.get(jobid)?.(atMs))
    const early = new Map<string, number>()
    fleet.onPost(({ jobid, atMs }) => early.set(jobid, atMs))
    const tookMs: number[] = []
    for (let count = 0; count < JOBS; count += 1) {
      const askedAtMs = performance.timeOrigin + performance.now()
      const { jobs } = await client.jobs.run({ project: 'noop', version: '1', spiders: ['noop'] })
      const id = jobs[0]!.id
      const arrivedAtMs = early.get(id) ?? (await new Promise<number>((resolve) => arrivals.set(id, resolve)))
      tookMs.push(arrivedAtMs - askedAtMs)
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
    const conditions = { jobs: JOBS, nodes: NODES, slots_per_node: 8, synchronous: 'FULL', ...machine() }
    return [
      { figure: 'post_p50_ms', value: round(percentile(tookMs, 0.5)), unit: 'ms', conditions },
      { figure: 'post_p95_ms', value: round(percentile(tookMs, 0.95)), unit: 'ms', conditions },
      { figure: 'post_max_ms', value: round(Math.max(...tookMs)), unit: 'ms', conditions }
    ]
  } finally {
    await stop()
    fleet.stop()
  }
}

const round = (value: number) => Math.round(value * 100) / 100
