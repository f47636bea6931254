import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JobId, Outcome } from '../../../../shared/contract/index.ts'
import type { PastRun } from '../../../model/records.ts'
import { NOW_MS } from '../../../testing/alert-news.ts'
import { historyOfDay, historyOfMetric, historyOfOutcomes, historyOfRuns, historyOfRunTime } from './histories.ts'

const MINUTE_MS = 60_000
const subject = 'shop/prices'
const idOf = (at: number) => String(at).padStart(32, '0') as JobId

const runsOf = (...items: (number | null)[]) =>
  items.toReversed().map((count, at) => ({
    id: idOf(items.length - at),
    outcome: 'succeeded' as Outcome | null,
    items: count,
    errors: 1,
    queuedAtMs: 0,
    endedAtMs: NOW_MS - at * MINUTE_MS
  }))
const outcomes = (...all: Outcome[]) =>
  runsOf(...all.map(() => 0)).map((run, at) => ({ ...run, outcome: all.at(-1 - at)! }))
const successes = (...seconds: number[]): PastRun[] =>
  seconds.toReversed().map((count, at) => ({
    jobId: idOf(seconds.length - at),
    pages: 200,
    items: 9,
    errors: 4,
    filledFields: null,
    startedAtMs: NOW_MS - count * 1_000,
    endedAtMs: NOW_MS
  }))

test('the run of an alert stands out among its neighbours, with the units spelled out', () => {
  expect(historyOfRuns('items', runsOf(1_204, 640, 3, 990), { subject, jobId: idOf(3) })).toEqual({
    title: 'Items of the last 4 runs of shop/prices',
    bars: [
      { value: 1_204, tone: 'past' },
      { value: 640, tone: 'past' },
      { value: 3, tone: 'now' },
      { value: 990, tone: 'past' }
    ],
    fromMs: NOW_MS - 3 * MINUTE_MS,
    untilMs: NOW_MS,
    caption: 'This run: 3 items. 3 other runs: 640 to 1,204 items.',
    titleCode: 'history_title.runs',
    titleParams: { metric: 'items', runs: 4, subject },
    captionCode: 'history.runs',
    captionParams: { isOfAlert: true, value: 3, others: 3, low: 640, high: 1_204, unit: 'items' }
  })
})

test('an ended alert shows the newest run, and a single run gives no chart', () => {
  const over = historyOfRuns('items', runsOf(3, 1), { subject, jobId: null })!
  expect(over.bars.map(({ tone }) => tone)).toEqual(['past', 'now'])
  expect(over.caption).toBe('The newest run: 1 item. 1 other run: 3 items.')
  expect(historyOfRuns('items', runsOf(3), { subject, jobId: idOf(1) })).toBeNull()
  expect(historyOfRuns('errors', [], { subject, jobId: null })).toBeNull()
})

test('runs that were lost, or have no count, are not drawn as zero', () => {
  const runs = runsOf(5, null, 7, 0)
  const lost = runs.map((run) => (run.items === 7 ? { ...run, outcome: 'lost' as const } : run))
  expect(historyOfRuns('items', lost, { subject, jobId: idOf(4) })?.bars.map(({ value }) => value)).toEqual([5, 0])
})

test('outcomes say how many failed, and how many in a row', () => {
  const captionOf = (...all: Outcome[]) => historyOfOutcomes(outcomes(...all), subject)?.caption
  expect(captionOf('succeeded', 'failed', 'succeeded', 'lost', 'failed')).toBe(
    'Tall bars are failed runs: 3 of 5, the last 2 in a row.'
  )
  expect(captionOf('succeeded', 'failed')).toBe('Tall bars are failed runs: 1 of 2, the last one.')
  expect(captionOf('failed', 'succeeded')).toBe('Tall bars are failed runs: 1 of 2.')
  expect(captionOf('failed', 'failed')).toBe('Tall bars are failed runs: 2 of 2, the last 2 in a row.')
  expect(captionOf('failed')).toBeUndefined()
})

test('a running job is shown beside the durations of successful ones', () => {
  const long = { id: idOf(9), startedAtMs: NOW_MS - 7_200_000, endedAtMs: null }
  const history = historyOfRunTime(long, successes(60, 90), { subject, nowMs: NOW_MS })!
  expect(history.caption).toBe('This run: 2 h. 2 other runs: 1 min to 1 min 30 s.')
  expect(history.title).toBe('Runtime of this run and of the last 2 successful runs of shop/prices')
  expect(history.bars.at(-1)).toEqual({ value: 7_200, tone: 'now' })
  expect(historyOfRunTime({ ...long, startedAtMs: null }, successes(60, 90), { subject, nowMs: NOW_MS })).toBeNull()
  const ended = { id: idOf(2), startedAtMs: NOW_MS - 90_000, endedAtMs: NOW_MS }
  expect(historyOfRunTime(ended, successes(60, 90), { subject, nowMs: NOW_MS })?.bars).toHaveLength(2)
})

test('for an unusual run, the unusual figure is drawn', () => {
  const captionOf = (metric: Parameters<typeof historyOfMetric>[0]) =>
    historyOfMetric(metric, successes(60, 90), { subject, jobId: idOf(2) })?.caption
  expect(captionOf('runtime')).toBe('This run: 1 min 30 s. 1 other run: 1 min.')
  expect(captionOf('errors')).toBe('This run: 2 errors per 100 pages. 1 other run: 2 errors per 100 pages.')
  expect(captionOf('field')).toBeUndefined()
})

test('a day shows the worst value of each half hour, and ends with the current value', () => {
  const ago = (minutes: number, value: number | null) => ({ atMs: NOW_MS - minutes * MINUTE_MS, value })
  const disk = historyOfDay('disk_free', [ago(100, 50), ago(80, 20), ago(70, 60)], { now: 8.2, nowMs: NOW_MS })
  expect(disk).toMatchObject({
    title: 'Free disk space of the service in the last 2 hours',
    bars: [50, 20, 60, 8.2].map((value, at) => ({ value, tone: at === 3 ? 'now' : 'past' })),
    fromMs: NOW_MS - 120 * MINUTE_MS,
    untilMs: NOW_MS,
    caption: 'Latest: 8.2 %. Earlier: 20 to 60 %. Each bar is the lowest value in 30 minutes.'
  })
  const queue = historyOfDay('queue_length', [ago(3_000, 7), ago(45, 1_310)], { now: 1_204, nowMs: NOW_MS })!
  expect(queue.bars.map(({ value }) => value)).toEqual([...Array(46).fill(7), 1_310, 1_204])
  expect(queue.title).toBe('Waiting jobs in the last 24 hours')
  expect(historyOfDay('queue_length', [], { now: 3, nowMs: NOW_MS })).toBeNull()
  expect(historyOfDay('queue_length', [ago(10, 3)], { now: 3, nowMs: NOW_MS })).toBeNull()
})

test('a day always has at most 48 bars, each with a recorded value, and a description of all of them', () => {
  const signal = fc.record({
    atMs: fc.integer({ min: NOW_MS - 200_000_000, max: NOW_MS + 1_000 }),
    value: fc.option(fc.nat(5_000))
  })
  fc.assert(
    fc.property(fc.array(signal, { maxLength: 80 }), fc.nat(5_000), (signals, now) => {
      const recorded = signals.sort((one, other) => one.atMs - other.atMs)
      const history = historyOfDay('queue_length', recorded, { now, nowMs: NOW_MS })
      if (history === null) return
      const values = history.bars.map(({ value }) => value)
      expect(values.length).toBeLessThanOrEqual(48)
      expect(values.at(-1)).toBe(now)
      const known = new Set<number | null>(recorded.map(({ value }) => value))
      for (const value of values.slice(0, -1)) expect(known).toContain(value)
      expect(history.caption).toContain(Math.max(...values.slice(0, -1)).toLocaleString('en-US'))
    })
  )
})

test('a chart always has at most 30 bars, oldest first, and one that stands out', () => {
  const items = fc.array(fc.option(fc.nat(9_999)), { maxLength: 50 })
  fc.assert(
    fc.property(items, fc.nat(60), (all, own) => {
      const history = historyOfRuns('items', runsOf(...all), { subject, jobId: idOf(own) })
      const known = all.filter((count) => count !== null).slice(-30)
      const bars = history?.bars ?? []
      expect(bars.map(({ value }) => value)).toEqual(known.length < 2 ? [] : known)
      expect(bars.filter(({ tone }) => tone === 'now')).toHaveLength(known.length < 2 ? 0 : 1)
    })
  )
})
