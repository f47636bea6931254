import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expectationsOf, type JudgedRun, judgeRun, weekdayOf } from './expectations.ts'

const DAY_MS = 86_400_000
const MONDAY_MS = Date.UTC(2026, 10, 2, 3)

const run = (over: Partial<JudgedRun> = {}, day = 0): JudgedRun => ({
  pages: 700,
  items: 620,
  errors: 0,
  filledFields: null,
  startedAtMs: MONDAY_MS - day * DAY_MS,
  endedAtMs: MONDAY_MS - day * DAY_MS + 1_500_000,
  ...over
})
const history = (count: number, of: (day: number) => Partial<JudgedRun> = () => ({})) =>
  Array.from({ length: count }, (_, index) => run(of(index + 1), index + 1))
const wordsOf = (one: JudgedRun, past: JudgedRun[]) =>
  judgeRun(one, expectationsOf(past, weekdayOf(one))).map(({ words }) => words)

const usual = history(30, (day) => ({ items: 610 + ((day * 7) % 31) }))

describe('a run compared with the earlier ones of its spider', () => {
  test.each<[string, Partial<JudgedRun>, string[]]>([
    ['like them', {}, []],
    ['with a few items less', { items: 500 }, []],
    ['with more items', { items: 2_000 }, []],
    ['with far fewer items', { items: 125 }, ['Items fell by 80 %: 125, usually 619 to 629']],
    ['without items', { items: 0 }, ['Items fell by 100 %: 0, usually 619 to 629']],
    ['with unknown items', { items: null }, []],
    ['with thrice the pages', { pages: 2_170 }, ['Pages rose to 3.1 times the median: 2,170, usually 700']],
    [
      'that takes far longer',
      { endedAtMs: MONDAY_MS + 4_500_000 },
      ['Runtime rose to 3.0 times the median: 1 h 15 min, usually 25 min']
    ],
    ['with some errors', { errors: 9 }, []],
    ['with many errors', { errors: 70 }, ['Errors rose to 10 per 100 pages, usually 0']]
  ])('%s', (_name, over, words) => {
    expect(wordsOf(run(over), usual)).toEqual(words)
  })

  test('is not judged before there are five earlier runs', () => {
    const few = usual.slice(0, 3)
    expect(expectationsOf(few, 1)).toMatchObject({ neededRuns: 2, of: {} })
    expect(wordsOf(run({ items: 0, pages: 0 }), few)).toEqual([])
    expect(wordsOf(run({ items: 0 }), usual.slice(0, 5))).toHaveLength(1)
  })

  test('is compared with those of the same weekday, if the spider has a weekly rhythm', () => {
    const sundays = history(30, (day) => ({ items: weekdayOf(run({}, day)) === 0 ? 90 : 620 }))
    const sunday = run({ items: 95 }, -6)
    expect(weekdayOf(sunday)).toBe(0)
    expect(wordsOf(sunday, sundays)).toEqual([])
    expect(wordsOf({ ...sunday, items: 0 }, sundays)).toEqual(['Items fell by 100 %: 0, usually 90'])
    expect(wordsOf(run({ items: 95 }), sundays)).toEqual(['Items fell by 85 %: 95, usually 620'])
  })

  test('is normal if one run in five was like it', () => {
    const mixed = (every: number) => history(30, (day) => ({ items: day % every === 0 ? 0 : 620, startedAtMs: null }))
    expect(wordsOf(run({ items: 0 }), mixed(4))).toEqual([])
    expect(wordsOf(run({ items: 0 }), mixed(10))).toHaveLength(1)
  })

  test('with small numbers raises no alarm', () => {
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
})

const filledIn = (fields: Record<string, number>, items = 100, hasMoreFields = false) => ({
  filledFields: { items, fields: Object.entries(fields), hasMoreFields }
})

describe('the fields of the items of a run', () => {
  const past = history(10, () => filledIn({ price: 99, title: 100, note: 30 }))

  test('are unusual if one is empty far more often than before', () => {
    expect(wordsOf(run(filledIn({ price: 60, title: 97, note: 10 })), past)).toEqual([
      'price is empty in 40 % of the items (usually 1 %)',
      'note is empty in 90 % of the items (usually 70 %)'
    ])
    expect(wordsOf(run(filledIn({ price: 100, title: 100, note: 100, extra: 1 })), past)).toEqual([])
  })

  test('are unusual if one is missing, unless some items were not counted', () => {
    const gone = { title: 100, note: 30 }
    expect(wordsOf(run(filledIn(gone)), past)).toEqual(['price is empty in 100 % of the items (usually 1 %)'])
    expect(wordsOf(run(filledIn(gone, 100, true)), past)).toEqual([])
  })

  test('are normal once other runs were like that, even if a field is missing', () => {
    const mixed = history(10, (day) => filledIn(day % 3 === 0 ? { title: 100 } : { title: 100, price: 99 }))
    expect(wordsOf(run(filledIn({ title: 100 })), mixed)).toEqual([])
  })

  test('are not judged by few items, before five runs were counted, or if they were not counted', () => {
    expect(wordsOf(run(filledIn({ price: 2 }, 19)), past)).toEqual([])
    expect(wordsOf(run(filledIn({ price: 2 })), past.slice(0, 4).concat(history(20)))).toEqual([])
    expect(expectationsOf(past.slice(0, 4).concat(history(20)), 1).fields).toMatchObject({
      neededRuns: 1,
      comparedRuns: 4
    })
    expect(wordsOf(run(), past)).toEqual([])
  })

  test('are one problem if all of them are missing, and the five worst are named', () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`field ${at}`, 60 + at]))
    const words = wordsOf(
      run(filledIn({})),
      history(10, () => filledIn(many))
    )
    expect(words).toHaveLength(5)
    expect(words[0]).toBe('field 29 is empty in 100 % of the items (usually 11 %)')
    expect(words[4]).toBe('field 25 is empty in 100 % of the items (usually 15 %), and 25 more fields like it')
  })

  test('have names that a spider chose: invisible characters are shown, and a long name is cut', () => {
    const names = { 'a\u202eb': 100, [`x${'y'.repeat(99)}`]: 100 }
    expect(
      wordsOf(
        run(filledIn({})),
        history(10, () => filledIn(names))
      )
    ).toEqual([
      'a⟨U+202E⟩b is empty in 100 % of the items (usually 0 %)',
      `x${'y'.repeat(59)}… is empty in 100 % of the items (usually 0 %)`
    ])
  })
})

const count = fc.option(fc.nat({ max: 5_000 }))
const anyFilled: fc.Arbitrary<JudgedRun['filledFields']> = fc
  .record({
    items: fc.nat({ max: 200 }),
    shares: fc.dictionary(fc.constantFrom('price', 'title', '__proto__', 'constructor', ''), fc.nat({ max: 100 })),
    hasMoreFields: fc.boolean()
  })
  .map(({ items, shares, hasMoreFields }) => ({
    items,
    fields: Object.entries(shares).map(([name, share]) => [name, Math.floor((items * share) / 100)]),
    hasMoreFields
  }))
const anyRun: fc.Arbitrary<JudgedRun> = fc.record({
  filledFields: fc.option(anyFilled),
  pages: count,
  items: count,
  errors: count,
  startedAtMs: fc.option(fc.integer({ min: 0, max: 100 * DAY_MS })),
  endedAtMs: fc.option(fc.integer({ min: 0, max: 100 * DAY_MS }))
})
const anyHistory = fc.array(anyRun, { maxLength: 40 })

test('too few earlier runs never raise an alarm', () => {
  fc.assert(
    fc.property(fc.array(anyRun, { maxLength: 4 }), anyRun, (past, one) => {
      expect(wordsOf(one, past)).toEqual([])
      expect(expectationsOf(past, weekdayOf(one)).neededRuns).toBe(5 - past.length)
    })
  )
})

test('the order of the earlier runs does not matter', () => {
  fc.assert(
    fc.property(anyHistory, anyRun, (past, one) => {
      expect(wordsOf(one, past.toReversed())).toEqual(wordsOf(one, past))
    })
  )
})

test('a run that equals most others is never unusual', () => {
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

test('a field that is filled more often is never more unusual', () => {
  fc.assert(
    fc.property(anyHistory, fc.nat({ max: 100 }), fc.nat({ max: 100 }), (past, some, more) => {
      const isReported = (price: number) =>
        wordsOf(run(filledIn({ price })), past).some((one) => one.startsWith('price'))
      if (isReported(Math.min(100, some + more))) expect(isReported(some)).toBe(true)
    })
  )
})

test('counted fields do not affect the other figures', () => {
  fc.assert(
    fc.property(anyHistory, anyRun, (past, one) => {
      const without = (runs: JudgedRun[]) => runs.map((each) => ({ ...each, filledFields: null }))
      const metricsOf = (run: JudgedRun, earlier: JudgedRun[]) =>
        judgeRun(run, expectationsOf(earlier, weekdayOf(run))).filter(({ metric }) => metric !== 'field')
      expect(metricsOf(one, past)).toEqual(metricsOf(without([one])[0]!, without(past)))
    })
  )
})
