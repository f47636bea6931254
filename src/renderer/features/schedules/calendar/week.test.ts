import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Firing } from '../../../../shared/contract/index.ts'
import { aScheduleId } from '../../../../shared/testing/ids.ts'
import { dateOf, daysOfWeek, layOutWeek, mergeRuns, OFTEN_FROM, type Run, weeksOn } from './week.ts'

const NOW = Date.parse('2026-11-25T10:30:00Z')
const A = 'a'.repeat(32)
const B = 'b'.repeat(32)

const aFiring = (over: Partial<Firing>): Firing => ({
  id: 1,
  scheduleId: aScheduleId(A),
  nominalMs: NOW - 3_600_000,
  origin: 'tick',
  atMs: NOW - 3_600_000,
  state: 'fired',
  reason: 'on_time',
  text: '',
  count: 1,
  jobIds: [],
  outcome: 'succeeded',
  durationMs: 1000,
  ...over
})

it('a week runs from Monday to Sunday without a gap, adjacent to the weeks around it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1e12, max: 4e12 }), fc.boolean(), (atMs, utc) => {
      const days = daysOfWeek(undefined, atMs, utc)
      expect(days).toHaveLength(7)
      expect(new Date(`${days[0]?.date}T12:00:00Z`).getUTCDay()).toBe(1)
      expect(days.map(({ startMs }) => startMs).slice(1)).toEqual(days.map(({ endMs }) => endMs).slice(0, -1))
      expect(
        days.some(({ startMs, endMs, date }) => atMs >= startMs && atMs < endMs && date === dateOf(atMs, utc))
      ).toBe(true)
      expect(daysOfWeek(weeksOn(days, 1), atMs, utc)[0]?.startMs).toBe(days[6]?.endMs)
      expect(daysOfWeek(weeksOn(days, -1), atMs, utc)[6]?.endMs).toBe(days[0]?.startMs)
    })
  )
})

it('an address with an invalid day shows this week', () => {
  expect(daysOfWeek('2026-13-45', NOW, true)[0]?.date).toBe('2026-11-23')
})

it('every run is shown once: in its hour, or in the row of a schedule that runs often', () => {
  const days = daysOfWeek(undefined, NOW, true)
  const [fromMs, untilMs] = [days[0]!.startMs, days[6]!.endMs]
  const run = fc.record({
    scheduleId: fc.constantFrom(...[A, B, 'c'.repeat(32)].map(aScheduleId)),
    atMs: fc.integer({ min: fromMs, max: untilMs - 1 })
  })
  fc.assert(
    fc.property(fc.array(run, { maxLength: 120 }), (moments) => {
      const runs: Run[] = moments.map((moment) => ({ ...moment, look: 'ahead', count: 1, firing: null }))
      const week = layOutWeek(runs, days, true)
      const inHours = week.hours.flat().flat()
      const inRows = week.often.reduce((sum, { count }) => sum + count, 0)
      expect(inHours.length + inRows).toBe(runs.length)
      expect(week.runCount).toBe(runs.length)
      for (const [day, hours] of week.hours.entries())
        for (const [hour, list] of hours.entries())
          for (const { atMs } of list) {
            expect(Math.floor((atMs - fromMs) / 86_400_000)).toBe(day)
            expect(new Date(atMs).getUTCHours()).toBe(hour)
          }
    })
  )
})

it('a schedule that runs often has a row that shows the worst outcome of each hour', () => {
  const days = daysOfWeek(undefined, NOW, true)
  const start = days[0]!.startMs
  const runs = Array.from(
    { length: OFTEN_FROM },
    (_, index): Run => ({
      scheduleId: aScheduleId(A),
      atMs: start + index * 60_000,
      count: 1,
      firing: null,
      look: index === 3 ? 'missed' : 'succeeded'
    })
  )
  const { often, hours } = layOutWeek(runs, days, true)
  expect(hours.flat().flat()).toEqual([])
  expect(often).toMatchObject([{ scheduleId: A, count: OFTEN_FROM }])
  expect(often[0]?.days[0]?.hours[0]).toEqual({ count: OFTEN_FROM, look: 'missed' })
})

it('a run that was decided on is not shown as upcoming; one that is late because of jitter still is', () => {
  const moments = [
    { scheduleId: aScheduleId(A), atMs: NOW - 30_000 },
    { scheduleId: aScheduleId(B), atMs: NOW - 600_000 },
    { scheduleId: aScheduleId('c'.repeat(32)), atMs: NOW - 600_000 },
    { scheduleId: aScheduleId(A), atMs: NOW + 600_000 }
  ]
  const schedules = new Map([[B, { name: 'nightly', jitterSeconds: 900 }]])
  const runs = mergeRuns([aFiring({ nominalMs: NOW - 30_000 })], moments, schedules, NOW)
  expect(runs.map(({ scheduleId, atMs, look }) => [scheduleId[0], atMs - NOW, look])).toEqual([
    ['b', -600_000, 'ahead'],
    ['a', -30_000, 'succeeded'],
    ['a', 600_000, 'ahead']
  ])
})

it('a manual run is shown when it was made, and hides no scheduled one', () => {
  const manual = aFiring({ origin: 'manual', nominalMs: NOW + 600_000, atMs: NOW - 5_000, outcome: null })
  const runs = mergeRuns([manual], [{ scheduleId: aScheduleId(A), atMs: NOW + 600_000 }], new Map(), NOW)
  expect(runs.map(({ atMs, look }) => [atMs - NOW, look])).toEqual([
    [-5_000, 'live'],
    [600_000, 'ahead']
  ])
})

it('missed, skipped and refused runs are distinguished from successful and failed ones', () => {
  const looks = (['missed', 'skipped', 'failed'] as const).map(
    (state) => mergeRuns([aFiring({ state, outcome: null })], [], new Map(), NOW)[0]?.look
  )
  expect(looks).toEqual(['missed', 'skipped', 'refused'])
})
