/**
 * Compares the calendar with an independent one: a table of a zone's local times, as `Intl` formats them, in which
 * policies are applied by looking up local times. The two share no code.
 */
import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pickLength } from '../../../scripts/test-length.mjs'
import { ScheduleTiming } from '../contract/schedules.ts'
import { nextOccurrence, occurrencesOf, occurrencesToShow, problemOfTiming, TimingTooCostly } from './index.ts'

const YEARS = pickLength(1, 2)
const QUARTER_MS = 900_000
const DAY_MS = 86_400_000

interface TestRule {
  expression: string
  minutes: number[]
  hours: number[]
  isOpen: boolean
  meansDay: (day: Date) => boolean
}

const every = (size: number, step = 1) => Array.from({ length: size / step }, (_, index) => index * step)
const anyDay = () => true
const RULES: TestRule[] = [
  { expression: '30 2 * * *', minutes: [30], hours: [2], isOpen: false, meansDay: anyDay },
  { expression: '0,15,45 0,1,2 * * *', minutes: [0, 15, 45], hours: [0, 1, 2], isOpen: false, meansDay: anyDay },
  { expression: '30 0,3,23 * * MON-SUN', minutes: [30], hours: [0, 3, 23], isOpen: false, meansDay: anyDay },
  { expression: '45 1 * * SUN', minutes: [45], hours: [1], isOpen: false, meansDay: (day) => day.getUTCDay() === 0 },
  { expression: '*/15 * * * *', minutes: every(60, 15), hours: every(24), isOpen: true, meansDay: anyDay },
  { expression: '30 * * * *', minutes: [30], hours: every(24), isOpen: true, meansDay: anyDay },
  { expression: '0 */2 * * *', minutes: [0], hours: every(24, 2), isOpen: true, meansDay: anyDay },
  { expression: '*/30 2 * * *', minutes: [0, 30], hours: [2], isOpen: true, meansDay: anyDay }
]

/**
 * Zones, each with the first year to test. Most clocks change by half an hour, one hour or two hours, at several times
 * of day. In Apia, they skip a day.
 */
const ZONES: [string, number][] = [
  ['Europe/Berlin', 2026],
  ['America/New_York', 2026],
  ['Australia/Lord_Howe', 2026],
  ['Pacific/Chatham', 2026],
  ['America/Havana', 2026],
  ['Africa/Casablanca', 2026],
  ['Antarctica/Troll', 2026],
  ['America/St_Johns', 2026],
  ['Africa/Cairo', 2026],
  ['Asia/Kolkata', 2026],
  ['America/Sao_Paulo', 2017],
  ['Pacific/Apia', 2011]
]

interface ZoneTable {
  fromMs: number
  untilMs: number
  walls: number[]
  momentsOf: Map<number, number[]>
}

function tableOf(zone: string, year: number): ZoneTable {
  const fromMs = Date.UTC(year, 0, 3)
  const untilMs = Date.UTC(year + YEARS, 0, 3)
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const walls: number[] = []
  const momentsOf = new Map<number, number[]>()
  for (let atMs = fromMs; atMs < untilMs; atMs += QUARTER_MS) {
    const wall = Date.parse(`${format.format(atMs).replace(' ', 'T')}Z`)
    walls.push(wall)
    momentsOf.set(wall, [...(momentsOf.get(wall) ?? []), atMs])
  }
  return { fromMs, untilMs, walls, momentsOf }
}

function expectedOf(table: ZoneTable, rule: TestRule, timing: Pick<ScheduleTiming, 'gap' | 'doubled'>): string[] {
  const found = new Map<number, string>()
  const firstDay = Math.floor((table.walls[0] ?? 0) / DAY_MS) * DAY_MS
  for (let day = firstDay; day <= (table.walls.at(-1) ?? 0); day += DAY_MS) {
    if (!rule.meansDay(new Date(day))) continue
    for (const hour of rule.hours) {
      for (const minute of rule.minutes) {
        const wall = day + hour * 3_600_000 + minute * 60_000
        const moments = table.momentsOf.get(wall) ?? []
        if (moments.length === 1) found.set(moments[0] as number, found.get(moments[0] as number) ?? 'normal')
        if (moments.length === 2) {
          found.set(moments[0] as number, 'first_of_two')
          if (rule.isOpen || timing.doubled === 'run_twice') found.set(moments[1] as number, 'second_of_two')
        }
        const isInside = wall >= (table.walls[0] ?? 0) && wall <= (table.walls.at(-1) ?? 0)
        if (moments.length === 0 && isInside && !rule.isOpen && timing.gap === 'run_at_shift') {
          const index = table.walls.findIndex((shown, at) => shown > wall && (table.walls[at - 1] ?? 0) < wall)
          found.set(table.fromMs + index * QUARTER_MS, 'gap')
        }
      }
    }
  }
  return [...found]
    .sort(([one], [other]) => one - other)
    .map(([atMs, kind]) => `${new Date(atMs).toISOString()} ${kind}`)
}

const aTiming = (expressions: string[], more: Partial<ScheduleTiming> = {}) =>
  ScheduleTiming.parse({ zone: 'UTC', rules: expressions.map((expression) => ({ kind: 'cron', expression })), ...more })

function runsOf(timing: ScheduleTiming, fromMs: number, untilMs: number, limit = 100_000): string[] {
  return occurrencesOf(timing, { afterMs: fromMs - 1, untilMs: untilMs - 1, limit }).map(
    ({ nominalMs, kind }) => `${new Date(nominalMs).toISOString()} ${kind}`
  )
}

describe('compared with an independent calendar', () => {
  it.each(ZONES)(`%s from %i: every policy, for ${YEARS === 1 ? 'a year' : 'two years'}`, (zone, year) => {
    const table = tableOf(zone, year)
    for (const gap of ['run_at_shift', 'skip'] as const) {
      for (const doubled of ['run_once', 'run_twice'] as const) {
        for (const rule of RULES) {
          // The policies do not affect these long lists, so they are compared once.
          if (rule.hours.length === 24 && (gap !== 'skip' || doubled !== 'run_once')) continue
          const timing = aTiming([rule.expression], { zone, gap, doubled })
          const expected = expectedOf(table, rule, timing)
          expect(expected.length).toBeGreaterThan(45 * YEARS)
          expect(runsOf(timing, table.fromMs, table.untilMs), `${rule.expression} ${gap} ${doubled}`).toEqual(expected)
        }
      }
    }
  })

  it('does not depend on where a search starts, not even in the middle of a clock change', () => {
    const zones = ZONES.map(([zone]) => zone)
    const changes = [
      Date.UTC(2026, 2, 29),
      Date.UTC(2026, 9, 25),
      Date.UTC(2026, 3, 5),
      Date.UTC(2026, 2, 8),
      Date.UTC(2026, 10, 1)
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom(...RULES),
        fc.constantFrom('run_once' as const, 'run_twice' as const),
        fc.constantFrom(...changes),
        fc.integer({ min: -1_500, max: 1_500 }),
        (zone, rule, doubled, changeMs, minutes) => {
          const timing = aTiming([rule.expression, '15 2 * * *'], { zone, doubled })
          const all = occurrencesOf(timing, {
            afterMs: changeMs - 2 * DAY_MS,
            untilMs: changeMs + 3 * DAY_MS,
            limit: 10_000
          })
          const afterMs = changeMs + minutes * 60_000
          expect(nextOccurrence(timing, afterMs)).toEqual(
            all.find((one) => one.nominalMs > afterMs) ?? expect.anything()
          )
        }
      ),
      { numRuns: 300 }
    )
  })
})

describe('days', () => {
  /** An independent definition of each kind of day, without a parser. */
  const lastDayOf = (day: Date) => new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate()
  const weekdayOf = (day: Date, date: number) =>
    new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), date)).getUTCDay()
  const isWorkday = (day: Date, date: number) => ![0, 6].includes(weekdayOf(day, date))
  const nearestWorkday = (day: Date, wanted: number) =>
    [0, -1, 1, -2, 2]
      .map((step) => wanted + step)
      .find((date) => date >= 1 && date <= lastDayOf(day) && isWorkday(day, date))
  const lastWorkday = (day: Date) => [0, 1, 2].map((step) => lastDayOf(day) - step).find((date) => isWorkday(day, date))

  type DayTest = [text: string, means: (day: Date) => boolean]
  const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
  const dayOfMonth: fc.Arbitrary<DayTest> = fc.oneof(
    fc.integer({ min: 1, max: 31 }).map((date): DayTest => [`${date}`, (day) => day.getUTCDate() === date]),
    fc
      .integer({ min: 1, max: 31 })
      .map(
        (date): DayTest => [
          `${date}W`,
          (day) => date <= lastDayOf(day) && day.getUTCDate() === nearestWorkday(day, date)
        ]
      ),
    fc.constant<DayTest>(['L', (day) => day.getUTCDate() === lastDayOf(day)]),
    fc
      .tuple(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 16, max: 31 }), fc.integer({ min: 1, max: 9 }))
      .map(
        ([from, to, step]): DayTest => [
          `${from}-${to}/${step}`,
          (day) => day.getUTCDate() >= from && day.getUTCDate() <= to && (day.getUTCDate() - from) % step === 0
        ]
      )
  )
  const dayOfWeek: fc.Arbitrary<DayTest> = fc.oneof(
    fc.integer({ min: 0, max: 7 }).map((weekday): DayTest => [`${weekday}`, (day) => day.getUTCDay() === weekday % 7]),
    fc
      .integer({ min: 0, max: 6 })
      .map((weekday): DayTest => [WEEKDAYS[weekday]?.toLowerCase() as string, (day) => day.getUTCDay() === weekday]),
    fc
      .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 5 }))
      .map(
        ([weekday, nth]): DayTest => [
          `${WEEKDAYS[weekday]}#${nth}`,
          (day) => day.getUTCDay() === weekday && Math.ceil(day.getUTCDate() / 7) === nth
        ]
      ),
    fc
      .integer({ min: 0, max: 6 })
      .map(
        (weekday): DayTest => [
          `${weekday}L`,
          (day) => day.getUTCDay() === weekday && day.getUTCDate() + 7 > lastDayOf(day)
        ]
      ),
    fc
      .tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 }))
      .map(
        ([from, to]): DayTest => [
          `${WEEKDAYS[from]}-${WEEKDAYS[to]}`,
          (day) => (day.getUTCDay() - from + 7) % 7 <= (to - from + 7) % 7
        ]
      )
  )
  const listOf = (one: fc.Arbitrary<DayTest>): fc.Arbitrary<DayTest> =>
    fc
      .array(one, { minLength: 1, maxLength: 3 })
      .map((tests): DayTest => [tests.map(([text]) => text).join(','), (day) => tests.some(([, means]) => means(day))])
  const star: fc.Arbitrary<DayTest | null> = fc.constant(null)
  const daysOfMonth = fc.oneof(
    star,
    listOf(dayOfMonth),
    fc.constant<DayTest>(['LW', (day) => day.getUTCDate() === lastWorkday(day)])
  )
  const months: fc.Arbitrary<DayTest | null> = fc.oneof(
    star,
    fc
      .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }))
      .map(
        ([from, to]): DayTest => [
          `${from}-${to}`,
          (day) => (day.getUTCMonth() + 1 - from + 12) % 12 <= (to - from + 12) % 12
        ]
      )
  )

  it('match L, W, #, names, lists, steps and wrapping ranges', () => {
    const fromMs = Date.UTC(2027, 0, 1)
    const untilMs = Date.UTC(2029, 0, 1)
    fc.assert(
      fc.property(
        daysOfMonth,
        months,
        fc.oneof(star, listOf(dayOfWeek)),
        fc.boolean(),
        (date, month, weekday, isBoth) => {
          const weekdayText = weekday === null ? '*' : `${isBoth ? '+' : ''}${weekday[0]}`
          const expression = `0 12 ${date?.[0] ?? '*'} ${month?.[0] ?? '*'} ${weekdayText}`
          const expected: string[] = []
          for (let atMs = fromMs; atMs < untilMs; atMs += DAY_MS) {
            const day = new Date(atMs)
            const isDate = date?.[1](day)
            const isWeekday = weekday?.[1](day)
            const isDay =
              date !== null && weekday !== null
                ? isBoth
                  ? isDate && isWeekday
                  : isDate || isWeekday
                : (isDate ?? isWeekday ?? true)
            if (isDay && (month?.[1](day) ?? true)) expected.push(`${new Date(atMs + DAY_MS / 2).toISOString()} normal`)
          }
          expect(runsOf(aTiming([expression]), fromMs, untilMs), expression).toEqual(expected)
        }
      ),
      { numRuns: 300 }
    )
  })

  it('match those of croner', () => {
    for (const days of ['1W,15W,31W * *', 'LW * *', 'L 2,11 *', '* * 1#5,5#L', '13 * +5', '*/7 3-9 *']) {
      const croner = new Cron(`0 0 12 ${days}`, { utcOffset: 0, paused: true })
      const expected = croner.nextRuns(60, new Date(Date.UTC(2026, 0, 1)))
      const found = occurrencesOf(aTiming([`0 12 ${days}`]), { afterMs: Date.UTC(2026, 0, 1), limit: 60 })
      expect(
        found.map(({ nominalMs }) => nominalMs),
        days
      ).toEqual(expected.map((date) => date.getTime()))
    }
  })

  it('match both fields if the day of the month starts with *, as in crontab(5)', () => {
    const runs = occurrencesOf(aTiming(['0 0 */2 * MON']), { afterMs: Date.UTC(2026, 0, 1), limit: 3 })
    expect(runs.map(({ local }) => local.slice(0, 10))).toEqual(['2026-01-05', '2026-01-19', '2026-02-09'])
  })

  it('include 29 February in leap years', () => {
    const runs = occurrencesOf(aTiming(['0 0 29 2 *']), { afterMs: Date.UTC(2026, 0, 1), limit: 2 })
    expect(runs.map(({ local }) => local)).toEqual(['2028-02-29T00:00:00+00:00', '2032-02-29T00:00:00+00:00'])
  })
})

describe('several rules', () => {
  const afterMs = Date.UTC(2026, 5, 1) - 1
  const localsOf = (timing: ScheduleTiming, limit: number, after = afterMs) =>
    occurrencesOf(timing, { afterMs: after, limit }).map(({ local }) => local.slice(5, 19))

  it('rules that coincide fire once', () => {
    const timing = aTiming(['0 0 * * *', '0 */12 * * *'], {
      rules: [
        { kind: 'cron', expression: '0 0 * * *' },
        { kind: 'cron', expression: '0 */12 * * *' },
        { kind: 'interval', everySeconds: 43_200, anchorMs: 0 },
        { kind: 'once', atMs: afterMs + 1 }
      ]
    })
    expect(localsOf(timing, 3)).toEqual(['06-01T00:00:00', '06-01T12:00:00', '06-02T00:00:00'])
  })

  it('an interval counts elapsed time from its anchor, even across clock changes, and not before it', () => {
    const anchorMs = Date.UTC(2026, 2, 28, 20, 0, 30)
    const timing = aTiming([], { zone: 'Europe/Berlin', rules: [{ kind: 'interval', everySeconds: 10_800, anchorMs }] })
    expect(localsOf(timing, 4, 0)).toEqual(['03-28T21:00:30', '03-29T00:00:30', '03-29T04:00:30', '03-29T07:00:30'])
  })

  it('a single time fires once and is marked if clocks show it twice', () => {
    const atMs = Date.UTC(2026, 9, 25, 1, 30)
    const timing = aTiming([], { zone: 'Europe/Berlin', rules: [{ kind: 'once', atMs }] })
    expect(occurrencesOf(timing, { afterMs: 0, limit: 5 })).toEqual([
      { nominalMs: atMs, local: '2026-10-25T02:30:00+01:00', kind: 'second_of_two' }
    ])
    expect(nextOccurrence(timing, atMs)).toBeNull()
  })

  it('six fields have seconds first', () => {
    expect(localsOf(aTiming(['*/20 59 23 * * *']), 4)).toEqual([
      '06-01T23:59:00',
      '06-01T23:59:20',
      '06-01T23:59:40',
      '06-02T23:59:00'
    ])
  })

  it("a search excludes the start of the range, includes its end, and stays within the schedule's start and end", () => {
    const timing = aTiming(['0 * * * *'], { startMs: Date.UTC(2026, 5, 1, 3), endMs: Date.UTC(2026, 5, 1, 5) })
    expect(localsOf(timing, 10)).toEqual(['06-01T03:00:00', '06-01T04:00:00', '06-01T05:00:00'])
    expect(localsOf(timing, 10, Date.UTC(2026, 5, 1, 3))).toEqual(['06-01T04:00:00', '06-01T05:00:00'])
    const until = occurrencesOf(timing, { afterMs, untilMs: Date.UTC(2026, 5, 1, 4), limit: 10 })
    expect(until.map(({ local }) => local.slice(11, 16))).toEqual(['03:00', '04:00'])
  })
})

describe('exclusions', () => {
  const afterMs = Date.UTC(2026, 2, 28) - 1
  const localsOf = (timing: ScheduleTiming, limit: number) =>
    occurrencesOf(timing, { afterMs, limit }).map(({ local }) => local.slice(5, 19))

  it('dates are those of the zone', () => {
    const timing = aTiming(['0 1 * * *'], { zone: 'Asia/Tokyo', excludedDates: ['2026-03-29', '2026-03-30'] })
    expect(localsOf(timing, 2)).toEqual(['03-31T01:00:00', '04-01T01:00:00'])
  })

  it('an expression with five fields excludes the whole minute, one with six the second', () => {
    const interval = { rules: [{ kind: 'interval' as const, everySeconds: 30, anchorMs: afterMs + 1 }] }
    expect(localsOf(aTiming([], { ...interval, excludedCrons: ['* 0 * * *'] }), 1)).toEqual(['03-28T01:00:00'])
    expect(localsOf(aTiming([], { ...interval, excludedCrons: ['0 * 0 * * *'] }), 2)).toEqual([
      '03-28T00:00:30',
      '03-28T00:01:30'
    ])
  })

  it('apply to a run that a clock change moved, both at its nominal time and at its actual time', () => {
    const moved = { zone: 'Europe/Berlin', afterMs }
    expect(localsOf(aTiming(['30 2 * * *'], { zone: moved.zone, excludedCrons: ['* 2 * * SUN'] }), 2)).toEqual([
      '03-28T02:30:00',
      '03-30T02:30:00'
    ])
    expect(localsOf(aTiming(['30 2 * * *'], { zone: moved.zone, excludedCrons: ['* 3 * * SUN'] }), 2)).toEqual([
      '03-28T02:30:00',
      '03-30T02:30:00'
    ])
    expect(localsOf(aTiming(['0,30 2 * * *'], { zone: moved.zone, excludedCrons: ['0 2 * * *'] }), 2)).toEqual([
      '03-28T02:30:00',
      '03-29T03:00:00'
    ])
  })

  it('leave exactly the occurrences that no exclusion matches', () => {
    const expression = fc.constantFrom(
      '*/5 * * * *',
      '* 3-20 * * *',
      '*/10 * * * MON-WED',
      '0 * * * *',
      '30-45 */2 * * *',
      '* * 29 * *'
    )
    fc.assert(
      fc.property(
        expression,
        fc.array(expression, { maxLength: 2 }),
        fc.constantFrom('UTC', 'Europe/Berlin'),
        (rule, excludedCrons, zone) => {
          const range = { afterMs, untilMs: afterMs + 3 * DAY_MS, limit: 10_000 }
          const all = occurrencesOf(aTiming([rule], { zone }), range)
          const excluded = new Set(
            excludedCrons.flatMap((one) => occurrencesOf(aTiming([one], { zone }), range).map(({ local }) => local))
          )
          expect(occurrencesOf(aTiming([rule], { zone, excludedCrons }), range)).toEqual(
            all.filter(({ local }) => !excluded.has(local))
          )
        }
      ),
      { numRuns: 60 }
    )
  })
})

describe('the limited work of one call', () => {
  const afterMs = Date.UTC(2026, 10, 22)
  const seventeen = Array.from({ length: 17 }, (_, hour) => `0 ${hour} 0 1 1 *`)
  /** Together, these match all seconds of five hours of the day except the last one. */
  const nearlyAll = [...seventeen, '0-58 * * * * *', '59 0-58 * * * *', '59 59 1-4,6-9,11-14,16-19,21-23 * * *']

  it('finds a thousand seconds among exclusions of nearly all others at once', () => {
    const timing = aTiming(['* * * * * *'], { excludedCrons: nearlyAll })
    const found = occurrencesOf(timing, { afterMs, limit: 1_000 })
    expect(found.slice(0, 6).map(({ local }) => local.slice(8, 19))).toEqual([
      ...['22T00:59:59', '22T05:59:59', '22T10:59:59', '22T15:59:59', '22T20:59:59', '23T00:59:59']
    ])
    expect(found).toHaveLength(1_000)
  })

  it('reports exclusions of everything at once, with any number of rules', () => {
    const rules = Array.from({ length: 20 }, (_, second) => `${second} * * * * *`)
    const timing = aTiming(rules, { excludedCrons: [...nearlyAll.slice(0, -1), '59 59 * * * *'] })
    expect(problemOfTiming(timing)?.text).toMatch(/^It never fires/)
  })

  it('refuses a timing by the names of its exclusions when it is used up, and views show what was found', () => {
    const rules = [
      { kind: 'interval' as const, everySeconds: 60, anchorMs: 30_000 },
      { kind: 'once' as const, atMs: afterMs + DAY_MS }
    ]
    const timing = aTiming([], { rules, excludedCrons: ['1-59 * * * * *'] })
    expect(() => occurrencesOf(timing, { afterMs, limit: 2 })).toThrow(TimingTooCostly)
    expect(problemOfTiming(timing)?.text).toContain(
      'the exclusions ("1-59 * * * * *") leave almost nothing of its 2 rules'
    )
    expect(occurrencesToShow(timing, { afterMs, limit: 2 })).toEqual([])
  })

  it('leaves exactly what no exclusion matches, second by second', () => {
    const field = (size: number) =>
      fc.oneof(
        { weight: 2, arbitrary: fc.constant('*') },
        fc
          .tuple(fc.nat(size - 1), fc.nat(size - 1))
          .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
        fc.integer({ min: 2, max: size / 2 }).map((step) => `*/${step}`)
      )
    const day = fc.constantFrom('* * *', '22 * *', '* * MON', '1,23 11 *')
    const expression = fc
      .tuple(field(60), field(60), field(24), day, fc.boolean())
      .map(([second, minute, hour, days, isWhole]) => `${isWhole ? '' : `${second} `}${minute} ${hour} ${days}`)
    const aRule = fc.oneof(
      expression.map((text) => ({ kind: 'cron' as const, expression: text })),
      fc.constant({ kind: 'interval' as const, everySeconds: 41, anchorMs: 500 })
    )
    fc.assert(
      fc.property(aRule, fc.array(expression, { maxLength: 4 }), (rule, excludedCrons) => {
        const range = { afterMs, untilMs: afterMs + 1.5 * DAY_MS, limit: 5_000 }
        const excluded = excludedCrons.map((one) => {
          const fields = one.split(' ')
          return new Cron(fields.length === 5 ? `* ${one}` : one, { utcOffset: 0, paused: true })
        })
        const all = occurrencesOf(aTiming([], { rules: [rule] }), range)
        const expected = all.filter(({ nominalMs }) => {
          const second = Math.floor(nominalMs / 1_000) * 1_000
          return !excluded.some((one) => one.match(new Date(second)))
        })
        const untilMs = all.at(-1)?.nominalMs ?? afterMs
        const found = occurrencesOf(aTiming([], { rules: [rule], excludedCrons }), { ...range, untilMs })
        expect(found).toEqual(expected)
      }),
      { numRuns: 40 }
    )
  })
})
