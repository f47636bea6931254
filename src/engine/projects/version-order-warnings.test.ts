import { expect, it } from 'vitest'
import { canDisagree, orderWarnings } from './version-order.ts'

it.each([
  // The orders in listversions.json of real Scrapyds (scrapyd-protocol.md, 4.2).
  [
    ['1.9', '1.10'],
    '1.10',
    'Scrapyd 1.2 and 1.3 would treat 1.10 as the latest, 1.4 and later would treat 1.9 as the latest.'
  ],
  [
    ['9', '10', '1.9', '1.10'],
    '10',
    '1.2 and 1.3 would treat 10 as the latest, 1.4 and later would treat 9 as the latest.'
  ],
  [
    ['r9', '1'],
    '1',
    'Scrapyd 1.2 and 1.3 cannot order these versions and fail, 1.4 and later would treat r9 as the latest.'
  ],
  [['1', '1rc1'], '1', '1.2 and 1.3 would treat 1rc1 as the latest, 1.4 and later would treat 1 as the latest.']
])('nodes choose different latest versions of %j, and the warning says which', (versions, latest, words) => {
  const warnings = orderWarnings(versions, latest)
  expect([...warnings.values()][0]).toContain(words)
  expect([...warnings.values()][0]).toContain(`Scrapdeck always names the version (jobs without one get ${latest})`)
  expect(warnings.has(latest)).toBe(true)
})

it.each([
  [['1', '2', '10'], '10'],
  [['20261119T181000', '20261120T090000'], '20261120T090000'],
  [['1.8', '1.9'], '1.9'],
  [['1.10'], '1.10'],
  [[], null]
])('all nodes choose the same latest version of %j', (versions, latest) => {
  expect(orderWarnings(versions, latest)).toEqual(new Map())
})

it('the warning is shown at the versions it is about, and at no other', () => {
  expect([...orderWarnings(['1.8', '1.9', '1.10'], '1.10').keys()].sort()).toEqual(['1.10', '1.9'])
})

it.each([
  [['1.3', '1.5+'], true],
  [['1.2', '1.4', null], true],
  [['1.3 or 1.4', '1.5+'], true],
  [['1.3 or 1.4', '1.3 or 1.4'], true],
  // A single node cannot disagree with itself.
  [['1.3 or 1.4'], false],
  [['1.5+', '1.4'], false],
  [['1.2', '1.3'], false],
  [['1.3', null], false],
  [[], false]
])('Scrapyds %j can order versions differently: %s', (releases, expected) => {
  expect(canDisagree(releases)).toBe(expected)
})
