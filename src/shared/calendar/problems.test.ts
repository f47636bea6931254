import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ScheduleTiming } from '../contract/schedules.ts'
import { describeTiming, nextOccurrence, occurrencesOf, problemOfCron, problemOfTiming } from './index.ts'

const aTiming = (more: object) =>
  ScheduleTiming.parse({ zone: 'UTC', rules: [{ kind: 'cron', expression: '0 * * * *' }], ...more })
const cron = (expression: string) => ({ kind: 'cron' as const, expression })

describe('problems of a timing', () => {
  it.each([
    ['61 * * * *', 'The minute field ("61") has 61; it goes from 0 to 59.'],
    ['0 24 * * *', 'The hour field ("24") has 24; it goes from 0 to 23.'],
    ['0 0 0 * *', 'The day of month field ("0") has 0; it goes from 1 to 31.'],
    ['0 0 * FOO *', 'The month field ("FOO") has "FOO", which is not a number or name.'],
    ['0 0 * * 8', 'The day of week field ("8") has 8; it goes from 0 to 7.'],
    ['*/0 * * * *', 'The minute field ("*/0") has a step of 0; it must be at least 1.'],
    ['1,,2 * * * *', 'The minute field has an empty part.'],
    ['-5 * * * *', 'The minute field ("-5") is not complete.'],
    ['0 0 L-3 * *', 'The day of month field ("L-3") is unknown; use L (last day), 15W (nearest weekday) or LW.'],
    ['0 0 * * L', 'The day of week field ("L") needs a day before it: 5L is the last Friday of the month.'],
    ['* * *', 'The expression has 3 fields; it needs five (minute hour day month weekday), or six with seconds first.'],
    ['@reboot', '"@reboot" is unknown. Use one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly.']
  ])('%s: the message names the field', (expression, words) => {
    expect(problemOfCron(expression)?.text ?? null).toBe(words)
  })

  it.each([
    [{ zone: 'Mars/Olympus' }, '"Mars/Olympus" is not a time zone. Use a name such as Europe/Berlin or UTC.'],
    [{ rules: [cron('0 0 31 2 *')] }, 'It never fires: no day of any year matches its rules.'],
    [{ excludedCrons: ['* * * * *'] }, 'It never fires: its start, end and exclusions leave no run times.'],
    [
      { excludedCrons: ['* *'] },
      'Exclusion "* *": The expression has 2 fields; it needs five (minute hour day month weekday), or six with seconds first.'
    ],
    [{ excludedDates: ['2026-02-30'] }, 'Excluded date 2026-02-30 is not a day of the calendar.'],
    [{ startMs: 2, endMs: 1 }, 'The schedule ends before it starts.'],
    [{ startMs: 1, endMs: 2 }, 'It never fires: its start, end and exclusions leave no run times.'],
    [
      { rules: [cron('0 * * * *'), cron('x')] },
      'Rule 2: The expression has 1 field; it needs five (minute hour day month weekday), or six with seconds first.'
    ]
  ])('%j is explained', (more, words) => {
    expect(problemOfTiming(aTiming(more))?.text ?? null).toBe(words)
  })

  it('random text is either reported as invalid or computed', () => {
    const part = fc.oneof(
      fc.constantFrom('*', '?', '*/5', '0', '1-5', 'MON', 'L', 'LW', '5L', '15W', '5#2', '+1', '1/2', '59-1', ''),
      fc.string({ maxLength: 4 })
    )
    const expressions = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.array(part, { minLength: 4, maxLength: 7 }).map((parts) => parts.join(' '))
    )
    fc.assert(
      fc.property(expressions, (expression) => {
        const timing = aTiming({ zone: 'America/New_York', rules: [cron(expression === '' ? ' ' : expression)] })
        const problem = problemOfTiming(timing)
        if (problem === null) {
          expect(describeTiming(timing)).not.toContain('undefined')
          const [one, two] = occurrencesOf(timing, { afterMs: Date.UTC(2026, 0, 1), limit: 2 })
          expect(one?.nominalMs).toBeLessThan(two?.nominalMs ?? 0)
        } else expect(problem.text).toMatch(/^[^]+\.$/)
      }),
      { numRuns: 2_000 }
    )
  })

  it('times beyond every calendar end the search without an exception', () => {
    for (const afterMs of [8.64e15, 1e300, Number.MAX_SAFE_INTEGER])
      expect(nextOccurrence(aTiming({}), afterMs)).toBeNull()
    expect(nextOccurrence(aTiming({}), -8.64e15)?.nominalMs).toBe(0)
    // The contract accepts none of these, but a manually edited database can contain them.
    const interval = { kind: 'interval' as const, everySeconds: 60, anchorMs: 9e15 }
    const far = { ...aTiming({}), rules: [interval, { kind: 'once' as const, atMs: -9e15 }], startMs: -9e15 }
    expect(problemOfTiming(far)?.text).toContain('never fires')
  })
})
