import { compare, type Figure } from './figure.ts'
import { deployNoop, machine, startBenchEngine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import { type SimulatedFleet, startSimulatedFleet } from './support/start-simulated-fleet.ts'

export const about =
  'the same jobs on the same unequal nodes: until the last has ended, given out at once round robin and by our queue'

interface Load {
  slots: number[]
  jobs: number
  shortMs: number
  longMs: number
  /** One in this many jobs is long. */
  longEvery: number
  pollMs: number
}

const TRUE_POLL_MS = 5_000

/** Uses a fifth of realistic times, so that the bench takes only minutes. Our own polling is not accelerated. */
const FULL: Load = {
  slots: [4, 4, 4, 8, 8, 16],
  jobs: 450,
  shortMs: 5_000,
  longMs: 40_000,
  longEvery: 7,
  pollMs: 1_000
}

export function run(): Promise<Figure[]> {
  return measure(FULL)
}

/** Both sides run at the same time on separate fleets, so neither gets a quieter machine. */
export async function measure(load: Load): Promise<Figure[]> {
  const lengths = Array.from({ length: load.jobs }, (_, index) =>
    index % load.longEvery === 0 ? load.longMs : load.shortMs
  )
  const [theirs, ours] = await Promise.all([
    withFleet(load, (fleet) => givenOutAtOnce(fleet, lengths)),
    withFleet(load, (fleet) => fromOurQueue(fleet, load, lengths))
  ])
  const { slots, jobs, shortMs, longMs, longEvery, pollMs } = load
  const conditions = {
    slots: slots.join('+'),
    jobs,
    short_s: shortMs / 1_000,
    long_s: longMs / 1_000,
    long_every: longEvery,
    poll_interval_s: pollMs / 1_000,
    time_lapse: TRUE_POLL_MS / pollMs,
    theirs_s: Math.round(theirs / 100) / 10,
    ours_s: Math.round(ours / 100) / 10,
    ...machine()
  }
  const seconds = { ours: ours / 1_000, bound: theirs / 1_000, unit: 's' }
  return compare('', { ...seconds, boundIs: 'round-robin, as other tools do', wanted: { atMost: 0.8 } }, conditions)
}

async function withFleet(load: Load, measureOn: (fleet: SimulatedFleet) => Promise<number>): Promise<number> {
  const { slots, pollMs, shortMs } = load
  const fleet = await startSimulatedFleet({ nodes: slots.length, slots, jobMs: shortMs, pollMs, reportEnds: true })
  try {
    return await measureOn(fleet)
  } finally {
    fleet.stop()
  }
}

/** Posts every job immediately to a node's own queue, round robin, as ScrapydWeb does. */
async function givenOutAtOnce(fleet: SimulatedFleet, lengths: number[]): Promise<number> {
  const ended = countEnds(fleet)
  const beganAtMs = nowMs()
  for (const [index, ms] of lengths.entries()) {
    const body = new URLSearchParams({ project: 'noop', spider: 'noop', jobid: `theirs-${index}`, ms: String(ms) })
    const response = await fetch(`${fleet.urls[index % fleet.urls.length]}schedule.json`, { method: 'POST', body })
    if (!response.ok) throw new Error(`a simulated node answered ${response.status}`)
  }
  return ended(lengths.length, beganAtMs)
}

async function fromOurQueue(fleet: SimulatedFleet, { slots }: Load, lengths: number[]): Promise<number> {
  const ended = countEnds(fleet)
  const { client, stop } = await startBenchEngine()
  try {
    for (const [index, url] of fleet.urls.entries()) await client.nodes.add({ url, slots: slots[index]! })
    await until(
      'all nodes up',
      async () => (await client.nodes.list()).nodes.every(({ health }) => health === 'up'),
      Boolean,
      60_000
    )
    await deployNoop(client)
    const beganAtMs = nowMs()
    const jobs = lengths.map((ms) => ({ project: 'noop', version: '1', spider: 'noop', args: { ms: String(ms) } }))
    await client.jobs.runMany({ jobs })
    return await ended(lengths.length, beganAtMs)
  } finally {
    await stop()
  }
}

function countEnds(fleet: SimulatedFleet): (jobs: number, beganAtMs: number) => Promise<number> {
  let count = 0
  let lastAtMs = 0
  fleet.onEnd(({ atMs }) => {
    count += 1
    lastAtMs = atMs
  })
  return async (jobs, beganAtMs) => {
    await until(`${jobs} runs ended`, async () => count >= jobs, Boolean, 1_800_000)
    return lastAtMs - beganAtMs
  }
}

function nowMs(): number {
  return performance.timeOrigin + performance.now()
}
