import { compare, type Figure } from './figure.ts'
import type { Endpoint } from './support/generate-load.ts'
import { machine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import {
  counts,
  measureLoad,
  progress,
  schedule,
  type Side,
  startOurs,
  startTheirs,
  untilQuiet
} from './support/sides.ts'

export const needsSetup = true
export const about = 'requests a second of the Scrapyd-compatible API, ours beside a real Scrapyd 1.6'

const FINISHED = 100
const CONNECTIONS = 32
/** The goals: the ratio of our requests per second to those of Scrapyd. */
const WANTED: Record<Endpoint, number> = {
  daemonstatus: 6,
  listprojects: 5,
  listspiders: 5,
  listjobs: 20,
  schedule: 10,
  mixed: 8
}
const READS: Endpoint[] = ['daemonstatus', 'listprojects', 'listspiders', 'listjobs', 'mixed']

/**
 * Sends the same requests to both sides from one generator (a separate process, with keep-alive connections and
 * passwords), in alternating rounds. Figures are from the round with the median ratio. The lists hold the 100 newest
 * finished jobs. During the schedule rounds, an idle spider occupies the only slot of each side, so the bench
 * measures only accepting jobs.
 */
export const run = () => measure({ finished: FINISHED, rounds: 7, durationMs: 2_000 })

export async function measure(options: { finished: number; rounds: number; durationMs: number }): Promise<Figure[]> {
  const { finished, rounds, durationMs } = options
  const conditions = {
    connections: CONNECTIONS,
    rounds,
    round_ms: durationMs,
    scrapyd: '1.6.0',
    auth: 'basic, both',
    ...machine()
  }
  const figures: Figure[] = []
  const load = { connections: CONNECTIONS, durationMs }

  await withSides({ slots: 4, maxProc: 16 }, async (sides) => {
    await Promise.all(sides.map((side) => fillHistory(side, finished)))
    for (const endpoint of READS) {
      figures.push(...(await compareSides(endpoint, sides, rounds, load, { finished, ...conditions })))
    }
  })
  await withSides({ slots: 1, maxProc: 1 }, async (sides) => {
    await Promise.all(sides.map((side) => occupySlot(side)))
    figures.push(...(await compareSides('schedule', sides, rounds, load, { slots: '1, taken', ...conditions })))
  })
  return figures
}

async function compareSides(
  endpoint: Endpoint,
  [ours, theirs]: readonly [Side, Side],
  rounds: number,
  load: { connections: number; durationMs: number },
  conditions: Figure['conditions']
): Promise<Figure[]> {
  const rates: { ours: number; theirs: number }[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const newest = { ours: await measureLoad(ours, endpoint, load), theirs: await measureLoad(theirs, endpoint, load) }
    rates.push(newest)
    progress(`${endpoint} ${round}/${rounds}: ${Math.round(newest.ours)}/s, Scrapyd ${Math.round(newest.theirs)}/s`)
  }
  // Uses the median round, so that a round in which only one side was slowed down does not distort the result.
  const middle = rates.toSorted((one, other) => one.ours / one.theirs - other.ours / other.theirs)[rates.length >> 1]!
  const values = { ours: middle.ours, bound: middle.theirs, unit: 'requests/s', boundIs: 'Scrapyd' }
  return compare(endpoint, { ...values, wanted: { atLeast: WANTED[endpoint] } }, conditions)
}

async function withSides(
  options: { slots: number; maxProc: number },
  work: (sides: readonly [Side, Side]) => Promise<void>
): Promise<void> {
  const ours = await startOurs({ slots: options.slots })
  try {
    const theirs = await startTheirs('Scrapyd', { maxProc: options.maxProc })
    try {
      await work([ours, theirs])
    } finally {
      await theirs.stop()
    }
  } finally {
    await ours.stop()
  }
}

async function fillHistory(side: Side, finished: number): Promise<void> {
  for (let count = 0; count < finished; count += 1) await schedule(side, 'noop')
  await untilQuiet(side)
  progress(`${side.name}: ${finished} jobs ran`)
}

async function occupySlot(side: Side): Promise<void> {
  await schedule(side, 'idle')
  await until(`${side.name}: the idle spider runs`, async () => (await counts(side)).running === 1)
}
