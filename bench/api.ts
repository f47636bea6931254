import type { Figure } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { until } from '../src/engine/testing/until.ts'
import {
  counts,
  measureLoad,
  median,
  PROJECT,
  progress,
  schedule,
  type Side,
  startOurs,
  startTheirs,
  untilQuiet
} from './support/sides.ts'

export const about = 'requests a second of the Scrapyd-compatible API, ours beside a real Scrapyd 1.6'

const FINISHED = 100
const CONNECTIONS = 32

/**
 * Both sides get the same requests from the same generator (its own process, kept-alive connections, passwords on
 * both), in alternating rounds; each figure is the median of the per-round ratios. The lists hold the 100 newest
 * finished jobs, which really ran. During the schedule rounds an idle spider occupies the only slot on each side, so
 * only accepting jobs is measured. Scrapdeck's jobs are on disk before it responds.
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
    const status = { ...load, endpoint: 'daemonstatus.json' }
    const list = { ...load, endpoint: `listjobs.json?project=${PROJECT}` }
    figures.push(...(await compare('daemonstatus', sides, rounds, status, { finished, ...conditions })))
    figures.push(...(await compare('listjobs', sides, rounds, list, { finished, ...conditions })))
  })
  await withSides({ slots: 1, maxProc: 1 }, async (sides) => {
    await Promise.all(sides.map((side) => occupySlot(side)))
    const form = { project: PROJECT, spider: 'noop', setting: 'LOG_LEVEL=INFO', page: '1' }
    const order = { ...load, endpoint: 'schedule.json', form }
    figures.push(...(await compare('schedule', sides, rounds, order, { slots: '1, taken', ...conditions })))
  })
  return figures
}

async function compare(
  name: string,
  [ours, theirs]: readonly [Side, Side],
  rounds: number,
  request: Parameters<typeof measureLoad>[1],
  conditions: Figure['conditions']
): Promise<Figure[]> {
  const rates: { ours: number; theirs: number }[] = []
  for (let round = 1; round <= rounds; round += 1) {
    rates.push({ ours: await measureLoad(ours, request), theirs: await measureLoad(theirs, request) })
    const newest = rates.at(-1)!
    progress(`${name} ${round}/${rounds}: ${Math.round(newest.ours)}/s, Scrapyd ${Math.round(newest.theirs)}/s`)
  }
  const perSecond = (of: 'ours' | 'theirs') => Math.round(median(rates.map((rate) => rate[of])))
  const ratio = median(rates.map((rate) => rate.ours / rate.theirs))
  return [
    { figure: `${name}_per_s`, value: perSecond('ours'), unit: 'requests/s', conditions },
    { figure: `${name}_scrapyd_per_s`, value: perSecond('theirs'), unit: 'requests/s', conditions },
    { figure: `${name}_ratio`, value: Math.round(ratio * 100) / 100, unit: 'times', conditions }
  ]
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
