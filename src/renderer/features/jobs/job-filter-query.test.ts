import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ShownStatus } from '../../../shared/contract/index.ts'
import { aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import {
  type FilterSearch,
  filterOfSearch,
  formatTerm,
  isFiltering,
  parseFilterText,
  splitTyped,
  termsOfSearch,
  toggleFacet,
  withoutTerm
} from './job-filter-query.ts'

const nowMs = new Date(2026, 10, 20, 12).getTime()
const nodes = [
  { id: aNodeId('n1'), name: 'eu-1' },
  { id: aNodeId('local'), name: 'This computer' }
]
const parse = (text: string) => parseFilterText(text, { nowMs, nodes })

describe('parseFilterText', () => {
  it('reads keys and search words', () => {
    expect(parse('status:failed,running project:shop spider:price* node:eu-1 since:2d amazon de')).toEqual({
      search: {
        status: ['failed', 'running'],
        project: 'shop',
        spider: 'price*',
        node: 'n1',
        sinceHours: 48,
        text: 'amazon de'
      },
      problems: []
    })
  })

  it('reads a user, to the letter', () => {
    const { search } = parse('user:"Ann B" prices')
    expect(search).toEqual({ user: 'Ann B', text: 'prices' })
    expect(filterOfSearch(search, nowMs)).toEqual({ userId: 'Ann B', text: 'prices' })
  })

  it('finds no filter in an empty text', () => {
    expect(parse('  ')).toEqual({ search: {}, problems: [] })
  })

  it('accepts quoted values, node names with spaces and synonyms for status', () => {
    expect(parse('node:"this computer" state:lost outcome:failed "two words"').search).toEqual({
      node: 'local',
      status: ['lost', 'failed'],
      text: 'two words'
    })
  })

  it.each([
    ['since:30m', 0.5],
    ['since:30min', 0.5],
    ['since:24h', 24],
    ['since:1w', 168],
    ['since:2026-11-19', 36]
  ])('parses %s', (text, hours) => {
    expect(parse(text).search.sinceHours).toBe(hours)
  })

  it('accepts every status that a row can show', () => {
    expect(parse('status:unknown,running')).toEqual({ search: { status: ['unknown', 'running'] }, problems: [] })
  })

  it.each([
    ['state:broken', 'Unknown status “broken”'],
    ['node:eu-9', 'Unknown node “eu-9”'],
    ['since:yesterday', '“yesterday” is not a time'],
    ['since:2030-01-01', '“2030-01-01” is not a time in the past'],
    ['colour:red', 'Unknown filter “colour”']
  ])('reports what is wrong with %s and continues without it', (text, problem) => {
    const { search, problems } = parse(text)
    expect(search).toEqual({})
    expect(problems[0]).toContain(problem)
  })

  it('ignores a key that has no value yet', () => {
    expect(parse('status: amazon')).toEqual({ search: { text: 'amazon' }, problems: [] })
    expect(parse('spider:')).toEqual({ search: {}, problems: [] })
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parse(text)
      })
    )
  })

  it('parses the text of the chips', () => {
    const value = fc.string({ minLength: 1, maxLength: 30 }).filter((text) => !text.includes('"') && text.trim() !== '')
    const anySearch: fc.Arbitrary<FilterSearch> = fc.record(
      {
        status: fc.uniqueArray(fc.constantFrom(...ShownStatus.options), { minLength: 1 }),
        project: value.map(aProjectName),
        spider: value,
        node: fc.constantFrom(...['n1', 'local'].map(aNodeId)),
        sinceHours: fc
          .integer({ min: 1, max: 99_999 })
          .map((minutes) => (minutes < 60 ? minutes / 60 : Math.floor(minutes / 60)))
      },
      { requiredKeys: [] }
    )
    fc.assert(
      fc.property(anySearch, (search) => {
        const { search: again, problems } = parse(termsOfSearch(search, nodes).map(formatTerm).join(' '))
        expect(problems).toEqual([])
        expect({ ...again, sinceHours: again.sinceHours?.toFixed(6) }).toEqual({
          ...search,
          sinceHours: search.sinceHours?.toFixed(6)
        })
      })
    )
  })
})

describe('splitTyped', () => {
  it('takes complete terms out of the box and leaves search words and the term being typed', () => {
    expect(splitTyped('status:failed amaz')).toEqual({ whole: 'status:failed', rest: 'amaz' })
    expect(splitTyped('status:fail')).toEqual({ whole: '', rest: 'status:fail' })
    expect(splitTyped('node:"this computer" ')).toEqual({ whole: 'node:"this computer"', rest: '' })
    expect(splitTyped('node:"this comp ')).toEqual({ whole: '', rest: 'node:"this comp ' })
  })
})

describe('filterOfSearch', () => {
  it("builds the engine's filter from the address", () => {
    expect(filterOfSearch({ status: ['failed'], node: aNodeId('n1'), sinceHours: 1, text: 'x' }, 7_200_000)).toEqual({
      status: ['failed'],
      nodeId: 'n1',
      sinceMs: 3_600_000,
      text: 'x'
    })
    expect(isFiltering({})).toBe(false)
    expect(isFiltering({ spider: 'a*' })).toBe(true)
  })
})

describe('toggleFacet', () => {
  it('adds and removes a status among others', () => {
    const both = toggleFacet({ status: ['failed'], text: 'a' }, 'status', 'lost')
    expect(both).toEqual({ status: ['failed', 'lost'], text: 'a' })
    expect(toggleFacet(toggleFacet(both, 'status', 'failed'), 'status', 'lost').status).toBeUndefined()
  })

  it('replaces the single value of a project, and clears it the second time', () => {
    const shop = toggleFacet({ project: aProjectName('news') }, 'project', 'shop')
    expect(shop.project).toBe('shop')
    expect(toggleFacet(shop, 'project', 'shop').project).toBeUndefined()
  })
})

it('removing a chip removes its value', () => {
  expect(withoutTerm({ sinceHours: 2, text: 'a' }, 'since')).toEqual({ sinceHours: undefined, text: 'a' })
})
