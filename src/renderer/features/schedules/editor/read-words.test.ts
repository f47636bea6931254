import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeRule, occurrencesOf, writeBuilder } from '../../../../shared/calendar/index.ts'
import type { ScheduleTiming } from '../../../../shared/contract/index.ts'
import { readWords } from './read-words.ts'

const timing = (expression: string): ScheduleTiming => ({
  zone: 'UTC',
  rules: [{ kind: 'cron', expression }],
  excludedDates: [],
  excludedCrons: [],
  gap: 'run_at_shift',
  doubled: 'run_once',
  startMs: null,
  endMs: null
})
const runs = (expression: string) =>
  occurrencesOf(timing(expression), { afterMs: Date.UTC(2026, 0, 1), limit: 40 }).map(({ nominalMs }) => nominalMs)

describe('readWords', () => {
  it.each([
    ['every weekday at 3:00', '0 3 * * 1-5'],
    ['Weekdays at 9am', '0 9 * * 1-5'],
    ['at 03:00, Monday through Friday', '0 3 * * 1-5'],
    ['Mon–Fri at 03:30', '30 3 * * 1-5'],
    ['every 15 minutes', '*/15 * * * *'],
    ['every minute', '* * * * *'],
    ['every 30 seconds', '*/30 * * * * *'],
    ['every 10 seconds between 8 and 18 on weekdays', '*/10 * 8-18 * * 1-5'],
    ['every second hour', '0 */2 * * *'],
    ['every half hour on weekends', '*/30 * * * 0,6'],
    ['every 5 minutes between 8 and 18 on weekdays', '*/5 8-18 * * 1-5'],
    ['hourly', '0 * * * *'],
    ['every hour at :05', '5 * * * *'],
    ['every 2 hours at minute 30', '30 */2 * * *'],
    ['daily at 6:00, 12:00 and 18:00', '0 6,12,18 * * *'],
    ['every day at noon', '0 12 * * *'],
    ['Tuesday and Thursday at 5:45 pm', '45 17 * * 2,4'],
    ['weekly on Sunday at 1:30', '30 1 * * 0'],
    ['monthly on the 1st and 15th at midnight', '0 0 1,15 * *'],
    ['last day of the month at 23:30', '30 23 L * *'],
    ['first Monday of the month at 9:00', '0 9 * * 1#1'],
    ['last Friday of every month at 17:00', '0 17 * * 5L'],
    ['on the 24th in december at 6', '0 6 24 12 *'],
    ['0 3 * * 1-5', '0 3 * * 1-5'],
    ['@daily', '@daily']
  ])('reads “%s”', (words, expression) => {
    expect(readWords(words)).toEqual({ expression })
  })

  it.each(['', 'whenever it rains', 'every weekday at 3:00 unless it rains', 'at 25:00', 'every blue moon'])(
    'does not pretend to understand “%s”',
    (words) => expect(readWords(words)).toHaveProperty('problem')
  )

  it('says why if cron itself cannot express it', () => {
    for (const words of ['every 7 minutes', 'every 5 hours', 'every 45 seconds', 'every 0 seconds'])
      expect(readWords(words), words).toMatchObject({ problem: expect.stringContaining('“Interval”') })
    expect(readWords('at 3:00 and 4:30')).toMatchObject({ problem: expect.stringContaining('Add a rule') })
    expect(readWords('on the 1st and every Monday at 3:00')).toMatchObject({
      problem: expect.stringContaining('two rules')
    })
  })

  it("parses the calendar's description of any expression from the builder into the same runs", () => {
    const hours = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 5 })
    const minute = fc.integer({ min: 0, max: 59 })
    const builder = fc.oneof(
      fc.record({ kind: fc.constant('minutes' as const), every: fc.constantFrom(1, 2, 5, 10, 15, 20, 30) }),
      fc.record({ kind: fc.constant('hourly' as const), minute }),
      fc.record({ kind: fc.constant('daily' as const), hours, minute }),
      fc.record({
        kind: fc.constant('weekly' as const),
        days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
        hours,
        minute
      }),
      fc.record({
        kind: fc.constant('monthly' as const),
        days: fc.uniqueArray(fc.oneof(fc.integer({ min: 1, max: 28 }), fc.constant('L' as const)), {
          minLength: 1,
          maxLength: 4
        }),
        hours,
        minute
      })
    )
    fc.assert(
      fc.property(builder, (each) => {
        const expression = writeBuilder(each)
        const words = describeRule({ kind: 'cron', expression }, 'UTC')
        const read = readWords(words)
        expect(read, words).toHaveProperty('expression')
        if ('expression' in read) expect(runs(read.expression), words).toEqual(runs(expression))
      }),
      { numRuns: 150 }
    )
  })
})
