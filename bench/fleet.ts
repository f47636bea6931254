import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare, type Figure, round } from './figure.ts'
import { BenchProblem } from './support/bench-problem.ts'
import { machine } from './support/bench-engine.ts'
import { pollBare } from './support/poll-bare.ts'
import { seedNodes } from './support/seed-nodes.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'
import type { Watched } from './support/watched-engine.ts'

export const about = 'what watching an idle fleet costs: processor, memory, and how long the event loop is kept waiting'

const SIZES = [10, 100, 1_000, 5_000]
// The engine lists each idle node's jobs once a minute. A shorter measurement would include all of these requests
// or none.
const MEASURE_MS = 60_000
const SETTLE_MS = 30_000
// As in `npm start`, `npm run serve` and the systemd unit. By default, V8 gives the young generation 128 MB on a
// large machine.
const SERVICE_FLAGS = ['--max-semi-space-size=16']
const SLOTS = 4
const INTERVAL_S = 5

/** An engine in its own process polls idle nodes every five seconds. The bound is a bare poller. */
export function run(words: string[]): AsyncGenerator<Figure> {
  const sizes = words.length === 0 ? SIZES : words.map(Number)
  if (!sizes.every((nodes) => Number.isInteger(nodes) && nodes > 0)) {
    throw new BenchProblem(`Give numbers of nodes (${SIZES.join(' ')}), not: ${words.join(' ')}`)
  }
  return measure({ sizes, measureMs: MEASURE_MS, settleMs: SETTLE_MS })
}

export async function* measure(options: {
  sizes: number[]
  measureMs: number
  settleMs: number
}): AsyncGenerator<Figure> {
  for (const nodes of options.sizes) yield* await measureSize(nodes, options)
}

async function measureSize(
  nodes: number,
  { measureMs, settleMs }: { measureMs: number; settleMs: number }
): Promise<Figure[]> {
  const fleet = await startSimulatedFleet({ nodes, slots: SLOTS, jobMs: 1_000 })
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  await seedNodes(directory, fleet.urls, { slots: SLOTS })
  const engine = fork(join(import.meta.dirname, 'support', 'watched-engine.ts'), [directory], {
    execArgv: SERVICE_FLAGS
  })
  const ask = async (askedMs: number) => {
    engine.send({ measureMs: askedMs })
    return (await once(engine, 'message'))[0] as Watched
  }
  try {
    // Waits until the engine has made the requests that it makes only when a node comes up.
    const deadline = performance.now() + Math.max(settleMs, 60_000)
    let watched = await ask(settleMs)
    while (watched.slotsTotal < nodes * SLOTS) {
      if (performance.now() > deadline) throw new Error(`only ${watched.slotsTotal / SLOTS} of ${nodes} nodes came up`)
      watched = await ask(1_000)
    }
    watched = await ask(measureMs)
    const { cpuMs, tookMs, rssMb, loopP99Ms } = watched
    engine.send('stop')
    await once(engine, 'exit')
    const bare = await pollBare(
      { urls: fleet.urls, intervalMs: INTERVAL_S * 1_000 },
      { settleMs: Math.min(settleMs, 2 * INTERVAL_S * 1_000), measureMs },
      SERVICE_FLAGS
    )
    const costPerPoll = (cost: { cpuMs: number; tookMs: number }) =>
      (cost.cpuMs * INTERVAL_S * 1_000_000) / (nodes * cost.tookMs)
    const conditions = {
      nodes,
      interval_s: INTERVAL_S,
      measured_s: Math.round(tookMs / 1_000),
      core_share: round(cpuMs / tookMs),
      ...machine()
    }
    const cost = { ours: costPerPoll(watched), bound: costPerPoll(bare), unit: 'µs per poll' }
    const boundIs = 'a bare poller with the same requests'
    return [
      ...compare(`at_${nodes}`, { ...cost, boundIs, wanted: { atMost: 1.6 } }, conditions),
      { figure: 'rss_mb', value: Math.round(rssMb), unit: 'MB', conditions },
      { figure: 'loop_p99_ms', value: round(loopP99Ms), unit: 'ms', conditions }
    ]
  } finally {
    if (engine.connected) engine.send('stop')
    if (engine.exitCode === null) await once(engine, 'exit')
    fleet.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
