import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expectationsOf, type JudgedRun, judgeRun, weekdayOf } from './expectations.ts'

const DAY_MS = 86_400_000
const MONDAY_MS = Date.UTC(2026, 10, 2, 3)

const run = (over: Partial<JudgedRun> = {}, day = 0): JudgedRun => ({
  ...{ pages: 700, items: 620, errors: 0 },
  ...{ startedAtMs: MONDAY_MS - day * DAY_MS, endedAtMs: MONDAY_MS - day * DAY_MS + 1_500_000 },
  ...over
})
const history = (count: number, of: (day: number) => Partial<JudgedRun> = () => ({})) =>
  Array.from({ length: count }, (_, index) => run(of(index + 1), index + 1))
const wordsOf = (one: JudgedRun, past: JudgedRun[]) =>
  judgeRun(one, expectationsOf(past, weekdayOf(one))).map(({ words }) => words)

/** 610 to 640 items. */
const usual = history(30, (day) => ({ items: 610 + ((day * 7) % 31) }))

describe('a run beside the earlier ones of its spider', () => {
  test.each<[string, Partial<JudgedRun>, string[]]>([
    ['like them', {}, []],
    ['with a few items less', { items: 500 }, []],
    ['with more items', { items: 2_000 }, []],
    ['with far fewer items', { items: 125 }, ['Items fell by 80 %: 125 instead of usually 619 to 629']],
    ['without items', { items: 0 }, ['Items fell by 100 %: 0 instead of usually 619 to 629']],
    ['with unknown items', { items: null }, []],
    ['with thrice the pages', { pages: 2_170 }, ['Pages rose to 3.1 times as much: 2,170 instead of usually 700']],
    [
      'that takes far longer',
      { endedAtMs: MONDAY_MS + 4_500_000 },
      ['Runtime rose to 3.0 times as much: 1 h 15 min instead of usually 25 min']
    ],
    ['with some errors', { errors: 9 }, []],
    ['with many errors', { errors: 70 }, ['Errors rose to 10 per 100 pages, usually 0']]
  ])('%s', (_name, over, words) => {
    expect(wordsOf(run(over), usual)).toEqual(words)
  })

  test('is not judged before there are five of them', () => {
    const few = usual.slice(0, 3)
    expect(expectationsOf(few, 1)).toMatchObject({ neededRuns: 2, of: {} })
    expect(wordsOf(run({ items: 0, pages: 0 }), few)).toEqual([])
    expect(wordsOf(run({ items: 0 }), usual.slice(0, 5))).toHaveLength(1)
  })

  test('is compared with those of its weekday, if the spider has a weekly rhythm', () => {
    const sundays = history(30, (day) => ({ items: weekdayOf(run({}, day)) === 0 ? 90 : 620 }))
    const sunday = run({ items: 95 }, -6)
    expect(weekdayOf(sunday)).toBe(0)
    expect(wordsOf(sunday, sundays)).toEqual([])
    expect(wordsOf({ ...sunday, items: 0 }, sundays)).toEqual(['Items fell by 100 %: 0 instead of usually 90'])
    expect(wordsOf(run({ items: 95 }), sundays)).toEqual(['Items fell by 85 %: 95 instead of usually 620'])
  })

  test('is as usual if one in five was like it', () => {
    const mixed = (every: number) => history(30, (day) => ({ items: day % every === 0 ? 0 : 620, startedAtMs: null }))
    expect(wordsOf(run({ items: 0 }), mixed(4))).toEqual([])
    expect(wordsOf(run({ items: 0 }), mixed(10))).toHaveLength(1)
  })

  test('of small numbers is not worth an alarm', () => {
    expect(
      wordsOf(
        run({ items: 0, pages: 1 }),
        history(30, () => ({ items: 15, pages: 18 }))
      )
    ).toEqual([])
    expect(
      wordsOf(
        run({ endedAtMs: MONDAY_MS + 90_000 }),
        history(30, () => ({ startedAtMs: 0, endedAtMs: 10_000 }))
      )
    ).toEqual([])
  })

  test('reports a field that is empty far more often', () => {
    const past = history(10, () => ({ filled: { price: 0.99, title: 1, note: 0.3 } }))
    expect(wordsOf(run({ filled: { price: 0.6, title: 0.97, note: 0.1 } }), past)).toEqual([
      'price is empty in 40 % of the items (usually 1 %)',
      'note is empty in 90 % of the items (usually 70 %)'
    ])
    expect(wordsOf(run({ filled: { title: 1, note: 0.3 } }), past)).toEqual([
      'price is empty in 100 % of the items (usually 1 %)'
    ])
    expect(wordsOf(run(), past)).toEqual([])
  })
})

const count = fc.option(fc.nat({ max: 5_000 }))
const anyRun: fc.Arbitrary<JudgedRun> = fc.record({
  pages: count,
  items: count,
  errors: count,
  startedAtMs: fc.option(fc.integer({ min: 0, max: 100 * DAY_MS })),
  endedAtMs: fc.option(fc.integer({ min: 0, max: 100 * DAY_MS }))
})
const anyHistory = fc.array(anyRun, { maxLength: 40 })

test('a cold start never alarms', () => {
  fc.assert(
    fc.property(fc.array(anyRun, { maxLength: 4 }), anyRun, (past, one) => {
      expect(wordsOf(one, past)).toEqual([])
      expect(expectationsOf(past, weekdayOf(one)).neededRuns).toBe(5 - past.length)
    })
  )
})

test('the order of the earlier runs says nothing', () => {
  fc.assert(
    fc.property(anyHistory, anyRun, (past, one) => {
      expect(wordsOf(one, past.toReversed())).toEqual(wordsOf(one, past))
    })
  )
})

test('a run that repeats what most others did is never unusual', () => {
  fc.assert(
    fc.property(anyRun, fc.integer({ min: 5, max: 30 }), fc.array(anyRun, { maxLength: 1 }), (one, copies, odd) => {
      expect(wordsOf(one, [...Array.from({ length: copies }, () => one), ...odd])).toEqual([])
    })
  )
})

test('fewer items are never less unusual', () => {
  fc.assert(
    fc.property(anyHistory, anyRun, fc.nat({ max: 5_000 }), fc.nat({ max: 5_000 }), (past, one, some, more) => {
      const itemsOf = (items: number) => wordsOf({ ...one, items }, past).some((words) => words.startsWith('Items'))
      if (itemsOf(some + more)) expect(itemsOf(some)).toBe(true)
    })
  )
})
