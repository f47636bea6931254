import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LimitRule } from '../../../shared/contract/index.ts'
import { matchesGlob } from '../../../shared/glob.ts'
import { aNodeId, aProjectName, branded, type Plain } from '../../../shared/testing/ids.ts'
import { render } from '../../../shared/texts/message.ts'
import { describeLimit, LimitBook, limitReached, liveOf } from './limits.ts'

function aRule(values: Plain<Partial<LimitRule>> = {}): LimitRule {
  return branded({ id: '1', project: null, spider: null, tag: null, perNode: false, max: 1, ...values })
}

describe('limits on live jobs', () => {
  it.each([
    [{ max: 4 }, 'limit 4'],
    [{ project: 'shop', max: 2 }, 'limit 2 for project shop'],
    [{ spider: 'price*', perNode: true }, 'limit 1 of price* on each node'],
    [{ project: 'shop', spider: 'prices' }, 'limit 1 of prices of shop'],
    [{ project: 'shop', tag: 'eu', max: 3 }, 'limit 3 for project shop on nodes tagged eu'],
    [{ tag: 'eu', perNode: true, max: 3 }, 'limit 3 on each node tagged eu']
  ])('%j in words: %s', (values, words) => {
    expect(describeLimit(aRule(values))).toBe(words)
  })

  it.each([
    [{ max: 4 }, 4, 'the limit of 4 runs is reached (4 live)'],
    [{ project: 'shop', max: 2 }, 5, 'the limit of 2 runs of project shop is reached (5 live)'],
    [{ spider: 'price*' }, 1, 'the limit of 1 run of price* is reached (1 live)'],
    [{ project: 'shop', spider: 'prices', max: 3 }, 2, 'the limit of 3 runs of shop/prices is reached (3 live)'],
    [
      { project: 'shop', tag: 'eu', max: 3 },
      3,
      'the limit of 3 runs of project shop is reached on nodes tagged eu (3 live)'
    ],
    [
      { spider: 'slow', perNode: true, max: 2 },
      0,
      'the limit of 2 runs of slow is reached on each node with a free slot (2 live)'
    ],
    [{ project: 'shop', max: 0 }, 1, 'no run of project shop may start: the limit is 0'],
    [{ tag: 'eu', max: 0 }, 0, 'no run may start on nodes tagged eu: the limit is 0']
  ])('%j reached with %i live: %s', (values, live, words) => {
    expect(render(limitReached(aRule(values), live))).toBe(words)
  })

  it.each([
    [null, 'anything', true],
    ['shop', 'shop', true],
    ['shop', 'shops', false],
    ['*', '', true],
    ['price*', 'prices', true],
    ['*s', 'prices', true],
    ['p*c*s', 'prices', true],
    ['p*x*s', 'prices', false],
    ['ab*ba', 'aba', false],
    ['a.c', 'abc', false]
  ])('the pattern %j and the name %j: %s', (pattern, name, isMatch) => {
    expect(matchesGlob(pattern, name)).toBe(isMatch)
  })

  it('a pattern matches what a regular expression of the same meaning matches', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 })
    fc.assert(
      fc.property(texts, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }), (pattern, name) => {
        expect(matchesGlob(pattern, name)).toBe(new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name))
      })
    )
  })

  it('incremental counts equal counts from scratch', () => {
    const attempts = fc.array(
      fc.record({
        project: fc.constantFrom(...['shop', 'news'].map(aProjectName)),
        spider: fc.constantFrom('prices', 'stock'),
        nodeId: fc.constantFrom(...['n1', 'n2'].map(aNodeId))
      }),
      { maxLength: 20 }
    )
    const rules = [
      aRule(),
      aRule({ project: aProjectName('shop') }),
      aRule({ spider: 'p*', perNode: true }),
      aRule({ tag: 'eu' })
    ]
    fc.assert(
      fc.property(attempts, fc.nat(20), (all, endedCount) => {
        const kept = new LimitBook()
        kept.replace(rules, [])
        for (const one of all) kept.count(one, 1)
        for (const one of all.slice(0, endedCount)) kept.count(one, -1)
        const anew = new LimitBook()
        anew.replace(rules, all.slice(endedCount))
        const counts = (book: LimitBook) => book.rules().map((counted) => liveOf(counted, (id) => id === 'n1'))
        expect(counts(kept)).toEqual(counts(anew))
      })
    )
  })
})
