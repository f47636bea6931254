import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { occurrencesOf } from '../../../shared/calendar/index.ts'
import type { ScheduleTiming } from '../../../shared/contract/index.ts'
import { clockChangesOf } from './clock-changes.ts'

const NOW_MS = Date.UTC(2026, 10, 21)
const timing = (expression: string, over: Partial<ScheduleTiming> = {}): ScheduleTiming => ({
  zone: 'Europe/Berlin',
  rules: [{ kind: 'cron', expression }],
  excludedDates: [],
  excludedCrons: [],
  gap: 'run_at_shift',
  doubled: 'run_once',
  startMs: null,
  endMs: null,
  ...over
})
const effects = (each: ScheduleTiming) => clockChangesOf(each, NOW_MS).map(({ effect }) => effect)

describe('clockChangesOf', () => {
  it('says what happens to a skipped time, and to a repeated one, under each policy', () => {
    const changes = clockChangesOf(timing('30 2 * * *'), NOW_MS)
    expect(changes.map(({ title }) => title)).toEqual([
      'Sun 28 Mar 2027: clocks go forward 1 h',
      'Sun 31 Oct 2027: clocks go back 1 h'
    ])
    expect(effects(timing('30 2 * * *'))).toEqual([
      '02:30 does not exist on that day: it runs at 03:00, once.',
      '02:30 is repeated: only the first occurrence runs.'
    ])
    expect(effects(timing('30 2 * * *', { gap: 'skip', doubled: 'run_twice' }))).toEqual([
      '02:30 does not exist on that day: no run.',
      '02:30 is repeated: both occurrences run.'
    ])
  })

  it('says that other times are not affected, and how they move in UTC', () => {
    expect(effects(timing('0 12 * * *'))[0]).toBe(
      'No run is skipped or doubled. After that, it runs 1 h earlier in UTC.'
    )
  })

  it('says that rules recurring within the hour follow elapsed time', () => {
    expect(effects(timing('*/10 * * * *'))).toEqual([
      'The interval is elapsed time: no run is skipped or doubled.',
      'The interval is elapsed time: no run is skipped or doubled.'
    ])
  })

  it('reports no change if clocks stay the same, or if the schedule has ended by then', () => {
    expect(clockChangesOf(timing('30 2 * * *', { zone: 'UTC' }), NOW_MS)).toEqual([])
    expect(clockChangesOf(timing('30 2 * * *', { zone: 'Asia/Tokyo' }), NOW_MS)).toEqual([])
    expect(clockChangesOf(timing('30 2 * * *', { endMs: Date.UTC(2027, 0, 1) }), NOW_MS)).toEqual([])
  })

  it('marks a change as affecting runs exactly if the calendar marks a run of that day, for any time, zone and policy', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Asia/Tokyo'),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        (zone, hour, minute) => {
          const each = timing(`${minute} ${hour} * * *`, { zone, doubled: 'run_twice' })
          for (const { atMs, isTouched } of clockChangesOf(each, NOW_MS)) {
            const around = occurrencesOf(each, {
              afterMs: atMs - 26 * 3_600_000,
              untilMs: atMs + 26 * 3_600_000,
              limit: 9
            })
            expect(isTouched, `${zone} ${hour}:${minute}`).toBe(around.some(({ kind }) => kind !== 'normal'))
          }
        }
      )
    )
  })
})
