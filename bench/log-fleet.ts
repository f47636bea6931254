import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Figure, type Goal, round } from './figure.ts'
import { machine, percentile } from './support/bench-engine.ts'
import type { Collected, CollectingOrder } from './support/collecting-engine.ts'
import { PROJECTS, seedBusyDatabase } from './support/seed-busy-database.ts'
import { progress } from './support/sides.ts'
import { startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about = 'what the live figures of 1,000 running remote jobs cost, and how old they are'

// As in `npm start`, `npm run serve` and the systemd unit.
const SERVICE_FLAGS = ['--max-semi-space-size=16']
const LOG_BYTES_PER_SECOND = 400
const FRESH_MS = 10_000
const RUN_MS = 86_400_000

export const run = () => measure({ nodes: 100, slots: 10, settleMs: 30_000, lookMs: 60_000, measureMs: 60_000 })

/**
 * Runs the nodes in one process, over real HTTP, and the engine in another. Measures first without logs (the cost
 * of polling), then with growing logs.
 */
export async function measure(size: {
  nodes: number
  slots: number
  settleMs: number
  /** How long to wait until the engine has found all logs. The engine searches for missing logs every half minute. */
  lookMs: number
  measureMs: number
}): Promise<Figure[]> {
  const { nodes, slots, settleMs, lookMs, measureMs } = size
  const jobs = nodes * slots
  const fleet = await startSimulatedFleet({
    nodes,
    slots,
    jobMs: RUN_MS,
    projects: PROJECTS,
    logBytesPerSecond: LOG_BYTES_PER_SECOND
  })
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  // Enough lanes that no node has three runs of one spider, because the engine would read the logs of such runs more
  // often.
  const lanes = PROJECTS.length * Math.max(1, Math.round(jobs / PROJECTS.length / 2))
  await seedBusyDatabase(directory, { urls: fleet.urls, slots, queued: jobs, lanes })
  const engine = fork(join(import.meta.dirname, 'support', 'collecting-engine.ts'), [directory], {
    execArgv: SERVICE_FLAGS
  })
  const ask = async (order: CollectingOrder): Promise<Collected> => {
    engine.send(order)
    return (await once(engine, 'message'))[0] as Collected
  }
  try {
    const deadline = performance.now() + Math.max(settleMs, 120_000)
    while ((await ask({ hasLogs: false, measureMs: 1_000 })).running < jobs) {
      if (performance.now() > deadline) throw new Error('not all jobs run')
    }
    await ask({ hasLogs: false, measureMs: settleMs })
    const base = await ask({ hasLogs: false, measureMs })
    progress(`log-fleet: ${round(shareOf(base))} cores without logs`)
    await ask({ hasLogs: true, measureMs: lookMs })
    const whole = await ask({ hasLogs: true, measureMs })
    const seconds = whole.tookMs / 1_000
    const conditions = {
      jobs,
      nodes,
      log_bytes_per_s_and_job: LOG_BYTES_PER_SECOND,
      runs_per_spider: 2,
      measured_s: Math.round(seconds),
      reads_per_s: round(whole.requests / seconds),
      kb_per_s: round(whole.bytes / seconds / 1_000),
      ...machine()
    }
    const figure = (name: string, value: number, unit: string, goal?: Goal): Figure => ({
      figure: name,
      value: round(value),
      unit,
      conditions,
      ...(goal === undefined ? {} : { goal })
    })
    const fresh = whole.agesMs.filter((ageMs) => ageMs <= FRESH_MS).length
    return [
      figure('core_share', shareOf(whole) - shareOf(base), 'cores', { atMost: 0.3 }),
      figure('whole_core_share', shareOf(whole), 'cores'),
      figure('base_core_share', shareOf(base), 'cores'),
      figure('fresh_share', fresh / jobs, 'share', { atLeast: 0.99 }),
      figure('age_p99_s', percentile(whole.agesMs, 0.99) / 1_000, 's')
    ]
  } finally {
    if (engine.connected) engine.send('stop')
    if (engine.exitCode === null) await once(engine, 'exit')
    fleet.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

const shareOf = ({ cpuMs, tookMs }: Collected): number => cpuMs / tookMs
