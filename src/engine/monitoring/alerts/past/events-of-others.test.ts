import { expect, test } from 'vitest'
import type { ErrorGroupId, ProjectName, ScheduleId } from '../../../../shared/contract/index.ts'
import type { StoredErrorGroup, StoredFiring, StoredJob, StoredSchedule } from '../../../model/records.ts'
import type { JobReader } from '../../../storage/store.ts'
import { DAY_MS, eventsOfErrors, eventsOfFirings, eventsOfSuccesses } from './events-of-others.ts'
import { readJobs } from './read-past.ts'
import type { PastEvent } from './replay.ts'

const SHOP = 'shop' as ProjectName
const HOUR_MS = 3_600_000
const shown = (events: Iterable<PastEvent>) =>
  [...events].map((event) =>
    'signal' in event ? [event.atMs, event.signal.key, event.signal.value] : [event.atMs, event.gone.key]
  )

test('an error counts for a day from when it appeared or reappeared', () => {
  const group = (id: number, firstSeenMs: number, lastSeenMs: number, reopenedAtMs: number | null = null) =>
    ({
      id: id as ErrorGroupId,
      project: SHOP,
      title: 'KeyError',
      culprit: 'parse',
      jobCount: 4,
      firstSeenMs,
      lastSeenMs,
      reopenedAtMs
    }) as StoredErrorGroup
  expect(shown(eventsOfErrors([group(1, 100, 200), group(2, 50, 50), group(3, 1, 2 * DAY_MS, DAY_MS / 2)]))).toEqual([
    [50, '2', 1],
    [100, '1', 1],
    [200, '1', 4],
    [DAY_MS / 2, '3', 1],
    [DAY_MS + 50, '2'],
    [DAY_MS + 100, '1'],
    [1.5 * DAY_MS, '3']
  ])
})

test('a missed run counts for a day after the last one; a refused run counts until its schedule fires', () => {
  const schedule = {
    movedAtMs: HOUR_MS,
    settings: { name: 'Nightly', jobs: [{ project: SHOP }] }
  } as unknown as StoredSchedule
  const firing = (state: 'missed' | 'failed', atMs: number) =>
    ({ scheduleId: 's' as ScheduleId, state, atMs, nominalMs: atMs, text: 'it was late' }) as StoredFiring
  const schedules = new Map([['s' as ScheduleId, schedule]])
  const events = eventsOfFirings(
    [firing('missed', 2 * HOUR_MS), firing('missed', 0), firing('failed', HOUR_MS), firing('failed', 5 * HOUR_MS)],
    new Map([['s' as ScheduleId, [0, 3 * HOUR_MS]]]),
    schedules
  )
  expect(shown(events)).toEqual([
    [0, 's missed', 1],
    [HOUR_MS, 's failed', 1],
    [2 * HOUR_MS, 's missed', 1],
    [3 * HOUR_MS, 's failed'],
    [5 * HOUR_MS, 's failed', 1],
    [26 * HOUR_MS, 's missed'],
    [29 * HOUR_MS, 's failed']
  ])
  expect(shown(eventsOfFirings([firing('missed', 0)], new Map(), new Map()))).toEqual([])
  const projects = events.flatMap((event) => ('signal' in event ? [[event.atMs, event.signal.labels.project]] : []))
  expect(projects).toEqual([
    [0, null],
    [HOUR_MS, null],
    [2 * HOUR_MS, 'shop'],
    [5 * HOUR_MS, 'shop']
  ])
})

test('hours without a success are counted from the last one, and only within the period of the preview', () => {
  const of = { project: SHOP, spider: 'prices' }
  const times = { fromMs: 10 * HOUR_MS, untilMs: 14 * HOUR_MS }
  expect(shown(eventsOfSuccesses(of, [HOUR_MS, 12.5 * HOUR_MS], times))).toEqual([
    [10 * HOUR_MS, 'shop/prices', 9],
    [11 * HOUR_MS, 'shop/prices', 10],
    [12 * HOUR_MS, 'shop/prices', 11],
    [12.5 * HOUR_MS, 'shop/prices', 0],
    [13.5 * HOUR_MS, 'shop/prices', 1]
  ])
})

test('jobs are read in batches, and at most 50,000 of them', async () => {
  const limits: number[] = []
  const store = {
    async listJobs(_filter: unknown, { before, limit }: { before: string | null; limit: number }) {
      limits.push(limit)
      const first = before === null ? 200_000 : Number(before) - 1
      return [...Array(limit).keys()].map(
        (at) => ({ id: String(first - at), queuedAtMs: first - at, after: [] }) as never as StoredJob
      )
    }
  } as never as JobReader
  const few = await readJobs(store, {}, { sinceMs: 0, wantedMs: 100_000 })
  expect([few.rows.length, few.isComplete, new Set(limits)]).toEqual([50_000, false, new Set([1_000])])
  expect((await readJobs(store, {}, { sinceMs: 0, wantedMs: 190_000 })).isComplete).toBe(true)
})
