import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ScheduleTiming } from '../contract/schedules.ts'
import {
  type Builder,
  describeRule,
  describeTiming,
  listZones,
  occurrencesOf,
  problemOfCron,
  readBuilder,
  writeBuilder
} from './index.ts'

const wordsOf = (expression: string) => describeRule({ kind: 'cron', expression }, 'UTC')
const runsOf = (expression: string) =>
  occurrencesOf(ScheduleTiming.parse({ zone: 'UTC', rules: [{ kind: 'cron', expression }] }), {
    afterMs: Date.UTC(2027, 11, 30),
    limit: 1_000
  }).map(({ nominalMs }) => nominalMs)

describe('descriptions', () => {
  it.each([
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['*/7 * * * *', 'at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour'],
    ['30 * * * *', 'every hour at minute 30'],
    ['@daily', 'every day at 00:00'],
    ['0 9,14 * * MON-FRI', 'at 09:00 and 14:00 on Monday to Friday'],
    ['*/15 9-17 * * 1-5', 'every 15 minutes from 09:00 to 17:45 on Monday to Friday'],
    ['0 */2 * * *', 'every 2 hours from 00:00 to 22:00'],
    ['0 0 1,15,L * *', 'at 00:00 on days 1 and 15 and the last day of the month'],
    ['0 0 LW JAN-MAR *', 'at 00:00 on the last weekday (Monday to Friday) of the month in January to March'],
    ['0 0 15W * 5', 'at 00:00 on the weekday nearest to day 15 and also on Friday'],
    ['0 0 13 * +5', 'at 00:00 on day 13 if that is Friday'],
    ['0 0 * * FRI#2,1L', 'at 00:00 on the last Monday of the month and the second Friday of the month'],
    ['*/10 * * * * *', 'every 10 seconds'],
    ['10 30 2 * * *', 'every day at 02:30:10'],
    ['0 0 * * SUN,SAT', 'at 00:00 on Saturday and Sunday'],
    ['x', 'The expression has 1 field; it needs five (minute hour day month weekday), or six with seconds first.']
  ])('%s: %s', (expression, words) => {
    expect(wordsOf(expression)).toBe(words)
  })

  it('two expressions with the same description have the same runs', () => {
    const field = (values: string[]) => fc.constantFrom(...values)
    const expression = fc
      .tuple(
        field(['', '0 ', '*/30 ', '0,30 ', '10 ']),
        field(['0', '*', '*/15', '0,15,30,45', '5/15', '0-59', '30', '*/7', '0,30', '10-12']),
        field(['*', '0', '9-17', '*/2', '0-23', '9,12,15', '9-15/3', '0-22/2', '23-1', '2,4']),
        field(['*', '?', '1', '1,15', 'L', '15W', '*/2', '1-31', '1-31/2', 'LW']),
        field(['*', '1-12', '1', 'JAN,FEB,MAR', '1-3', '*/6']),
        field(['*', 'MON', '1', '1-5', 'MON-FRI', '0-6', '6,7', '5#2', '5L', '+1', '+MON-FRI', '*/2'])
      )
      .map(([second, ...rest]) => `${second}${rest.join(' ')}`)
    const known = new Map<string, string>()
    fc.assert(
      fc.property(expression, (text) => {
        const words = wordsOf(text)
        const other = known.get(words)
        known.set(words, text)
        if (other !== undefined && other !== text)
          expect(runsOf(text), `${text} = ${other}: ${words}`).toEqual(runsOf(other))
      }),
      { numRuns: 1_500 }
    )
    expect(known.size).toBeGreaterThan(100)
  })

  it('a timing is described with its zone, limits and exclusions', () => {
    const timing = ScheduleTiming.parse({
      zone: 'Europe/Berlin',
      rules: [
        { kind: 'cron', expression: '30 2 * * *' },
        { kind: 'interval', everySeconds: 5_400, anchorMs: Date.UTC(2026, 0, 1) },
        { kind: 'once', atMs: Date.UTC(2026, 6, 1, 10, 0, 5) }
      ],
      excludedDates: ['2026-01-01', '2026-12-25'],
      excludedCrons: ['* * * * SUN'],
      endMs: Date.UTC(2027, 0, 1)
    })
    expect(describeTiming(timing)).toBe(
      'every day at 02:30; every 1 h 30 min from 2026-01-01 01:00 on; once, 2026-07-01 12:00:05 (Europe/Berlin), until 2027-01-01 01:00, except on 2 dates and every minute on Sunday'
    )
  })
})

describe('the builder', () => {
  const hours = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 23 }).map(sorted)
  const minute = fc.integer({ min: 0, max: 59 })
  const builders: fc.Arbitrary<Builder> = fc.oneof(
    fc.constantFrom(1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30).map((every): Builder => ({ kind: 'minutes', every })),
    minute.map((one): Builder => ({ kind: 'hourly', minute: one })),
    fc.record({ kind: fc.constant('daily' as const), hours, minute }),
    fc.record({
      kind: fc.constant('weekly' as const),
      days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }).map(sorted),
      hours,
      minute
    }),
    fc.record({
      kind: fc.constant('monthly' as const),
      days: fc
        .tuple(fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 1 }).map(sorted), fc.boolean())
        .map(([days, withLast]): (number | 'L')[] => (withLast ? [...days, 'L'] : days)),
      hours,
      minute
    })
  )

  it('parses what it wrote, and its output is valid', () => {
    fc.assert(
      fc.property(builders, (builder) => {
        const text = writeBuilder(builder)
        expect(problemOfCron(text)).toBeNull()
        expect(readBuilder(text)).toEqual(builder)
      })
    )
  })

  it.each(['*/5 * * * *', '0 9 * * 1-5', '@weekly', '@monthly', '15 */6 * * *', '0 0 L * ?'])(
    'parses %s into something with the same runs',
    (expression) => {
      const builder = readBuilder(expression)
      expect(builder).not.toBeNull()
      if (builder !== null) expect(runsOf(writeBuilder(builder))).toEqual(runsOf(expression))
    }
  )

  it.each([
    '0,30 2 * * *',
    '*/7 * * * *',
    '0 0 1 1 *',
    '0 0 1 * MON',
    '0 0 * * 5#2',
    '0 0 15W * *',
    '0 0 0 * * *',
    'nonsense'
  ])('cannot represent %s', (expression) => {
    expect(readBuilder(expression)).toBeNull()
  })
})

describe('zones', () => {
  it('the list begins with UTC and has each name once', () => {
    const zones = listZones()
    expect(zones[0]).toBe('UTC')
    expect(zones).toContain('Europe/Berlin')
    expect(new Set(zones).size).toBe(zones.length)
  })
})

function sorted(values: number[]): number[] {
  return [...values].sort((one, other) => one - other)
}
