import { setTimeout as delay } from 'node:timers/promises'
import { compare, type Figure } from './figure.ts'
import { startBareSpiders } from './support/bare-spiders.ts'
import { machine, percentile } from './support/bench-engine.ts'
import {
  median,
  openedAtMs,
  progress,
  SCRAPYD_POLL_SECONDS,
  schedule,
  type Side,
  startOurs,
  startTheirs,
  untilQuiet
} from './support/sides.ts'

export const needsSetup = true
export const about = 'schedule.json on the local node until the log says "Spider opened", beside a real Scrapyd 1.6'

const SLOTS = 4
const FAST_POLL_SECONDS = 0.1

/**
 * Runs one job at a time on an idle node and measures the time from before the POST until Scrapy logs "Spider
 * opened". The sides alternate. Requests are spread evenly over the poll interval, because the median of twelve
 * random waits of 0 to 5 s can be anything from 1.5 to 3.5 s. The bound is a bare Python that has loaded Scrapy,
 * forks and logs the same line.
 */
export const run = () => measure({ ours: 60, fastPoll: 20, byDefault: 12 })

export async function measure(samples: { ours: number; fastPoll: number; byDefault: number }): Promise<Figure[]> {
  const sides: Side[] = []
  const bare = await startBareSpiders()
  const bareMs: number[] = []
  try {
    sides.push(await startOurs({ slots: SLOTS }))
    sides.push(
      await startTheirs('Scrapyd, poll_interval 0.1', { maxProc: SLOTS, pollIntervalSeconds: FAST_POLL_SECONDS })
    )
    sides.push(await startTheirs('Scrapyd', { maxProc: SLOTS }))
    const wanted = [samples.ours, samples.fastPoll, samples.byDefault]
    const openedMs: number[][] = [[], [], []]
    const turns = Math.max(...wanted)
    for (let turn = 0; turn < turns; turn += 1) {
      for (const [index, side] of sides.entries()) {
        const due = Math.floor(((turn + 1) * wanted[index]!) / turns)
        if (openedMs[index]!.length >= due) continue
        const intervalMs = index === 2 ? SCRAPYD_POLL_SECONDS * 1000 : FAST_POLL_SECONDS * 1000
        await untilPhase(intervalMs, openedMs[index]!.length / wanted[index]!, 1 / wanted[index]!)
        openedMs[index]!.push(await openMs(side))
        if (index === 0) bareMs.push(await bare.openMs())
        progress(`${side.name} ${openedMs[index]!.length}/${wanted[index]}: ${Math.round(openedMs[index]!.at(-1)!)} ms`)
      }
    }
    const [ours, fastPoll, byDefault] = openedMs as [number[], number[], number[]]
    const conditions = {
      ...Object.fromEntries(['ours', 'fast_poll', 'default'].map((name, index) => [`jobs_${name}`, wanted[index]!])),
      scrapyd: '1.6.0',
      scrapyd_p50_ms: Math.round(median(byDefault)),
      scrapyd_fast_poll_p50_ms: Math.round(median(fastPoll)),
      from: 'before the POST',
      ...machine()
    }
    const p50Ms = median(ours)
    const round = (value: number) => Math.round(value * 10) / 10
    return [
      ...compare(
        'p50',
        {
          ours: p50Ms,
          bound: median(bareMs),
          unit: 'ms',
          boundIs: 'a fork of a Python with Scrapy loaded',
          wanted: { atMost: 1.5 }
        },
        conditions
      ),
      { figure: 'opened_p95_ms', value: round(percentile(ours, 0.95)), unit: 'ms', conditions },
      { figure: 'ratio_default', value: round(median(byDefault) / p50Ms), unit: 'times', conditions },
      { figure: 'ratio_fast_poll', value: round(median(fastPoll) / p50Ms), unit: 'times', conditions }
    ]
  } finally {
    await bare.stop()
    for (const side of sides) await side.stop()
  }
}

/**
 * Waits until a random time within the given part of the interval. It is unknown when in the interval Scrapyd polls.
 */
async function untilPhase(intervalMs: number, from: number, width: number): Promise<void> {
  const phaseMs = (from + Math.random() * width) * intervalMs
  await delay((phaseMs - (performance.now() % intervalMs) + intervalMs) % intervalMs)
}

async function openMs(side: Side): Promise<number> {
  const askedAtMs = performance.timeOrigin + performance.now()
  const jobid = await schedule(side, 'noop')
  await delay(100)
  await untilQuiet(side)
  return (await openedAtMs(side, 'noop', jobid)) - askedAtMs
}
