import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FILTER_KEYS, formatJobFilterQuery, parseJobFilterQuery, termsOf, toggleFilterValue } from './job-filter-query.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)
const nodes = [
  { id: 'n1', name: 'eu-1' },
  { id: 'local', name: 'This computer' }
]
const parse = (query: string) => parseJobFilterQuery(query, { nowMs, nodes })

describe('parseJobFilterQuery', () => {
  it('reads keys and words into a filter', () => {
    expect(parse('status:failed,running project:shop spider:price* node:eu-1 since:2d amazon de')).toMatchObject({
      filter: {
        status: ['failed', 'running'],
        project: 'shop',
        spider: 'price*',
        nodeId: 'n1',
        sinceMs: nowMs - 2 * 86_400_000,
        text: 'amazon de'
      },
      problems: []
    })
  })

  it('asks for everything when it is empty', () => {
    expect(parse('  ')).toEqual({ terms: [], filter: {}, problems: [] })
  })

  it('takes quoted values, node names with blanks and the other words for status', () => {
    expect(parse('node:"this computer" state:lost outcome:failed "two words"').filter).toEqual({
      nodeId: 'local',
      status: ['lost', 'failed'],
      text: 'two words'
    })
  })

  it.each([
    ['since:30m', 30 * 60_000],
    ['since:30min', 30 * 60_000],
    ['since:24h', 24 * 3_600_000],
    ['since:1w', 7 * 86_400_000]
  ])('understands %s', (query, beforeMs) => {
    expect(parse(query).filter.sinceMs).toBe(nowMs - beforeMs)
  })

  it('takes a day as its beginning here', () => {
    expect(parse('since:2026-11-19').filter.sinceMs).toBe(new Date(2026, 10, 19).getTime())
  })

  it.each([
    ['state:broken', '“broken” is no status'],
    ['node:eu-9', 'There is no node “eu-9”'],
    ['since:yesterday', '“yesterday” is no time'],
    ['colour:red', 'There is no key “colour”']
  ])('says what is wrong with %s and asks without it', (query, problem) => {
    const { filter, problems } = parse(query)
    expect(filter).toEqual({})
    expect(problems[0]).toContain(problem)
  })

  it('ignores a key that has no value yet', () => {
    expect(parse('status: amazon')).toMatchObject({ filter: { text: 'amazon' }, problems: [] })
    expect(parse('spider:')).toMatchObject({ filter: {}, problems: [] })
  })

  it('keeps a node id as it is while the nodes are loading', () => {
    expect(parseJobFilterQuery('node:n7', { nowMs }).filter).toEqual({ nodeId: 'n7' })
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string(), (query) => {
        parse(query)
      })
    )
  })
})

describe('formatJobFilterQuery', () => {
  it('writes what is read back as the same', () => {
    const term = fc.record({
      key: fc.constantFrom(null, ...FILTER_KEYS),
      value: fc.string({ minLength: 1 }).filter((value) => !value.includes('"'))
    })
    fc.assert(
      fc.property(fc.array(term), (terms) => {
        expect(termsOf(formatJobFilterQuery(terms))).toEqual(terms)
      })
    )
  })
})

describe('toggleFilterValue', () => {
  it('adds and removes a status among others', () => {
    const once = toggleFilterValue(termsOf('amazon status:failed'), 'status', 'lost')
    expect(formatJobFilterQuery(once)).toBe('amazon status:failed,lost')
    expect(formatJobFilterQuery(toggleFilterValue(once, 'status', 'failed'))).toBe('amazon status:lost')
  })

  it('replaces the one value of another key, and clears it the second time', () => {
    const shop = toggleFilterValue(termsOf('project:news'), 'project', 'shop')
    expect(formatJobFilterQuery(shop)).toBe('project:shop')
    expect(toggleFilterValue(shop, 'project', 'shop')).toEqual([])
  })
})
