import fc from 'fast-check'
import { expect, test } from 'vitest'
import { distanceWithin, suggestNear } from './near-matches.ts'

test('suggests names with a typo, the nearest first', () => {
  expect(suggestNear('quote', ['prices', 'quotes', 'quota'])).toBe(' Did you mean "quota" or "quotes"?')
})

test('matches a beginning and a different case, but nothing else', () => {
  expect(suggestNear('pri', ['prices-eu'])).toBe(' Did you mean "prices-eu"?')
  expect(suggestNear('Prices', ['prices'])).toBe(' Did you mean "prices"?')
  expect(suggestNear('quotes', ['prices', 'slow'])).toBe('')
})

test('a very long name is not compared, and of very many names only the first are read', () => {
  expect(suggestNear('a'.repeat(200_000), ['a'.repeat(199_999)])).toBe('')
  expect(suggestNear('quote', ['quotes'.repeat(40_000), 'quotes'])).toBe(' Did you mean "quotes"?')
  let looked = 0
  const endless = (function* () {
    for (;;) yield `spider-${(looked += 1)}`
  })()
  expect(suggestNear('prices', endless)).toBe('')
  expect(looked).toBeLessThan(10_000)
})

test('the distance is the number of edits as long as it is small enough to matter', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 4 }), (one, other, limit) => {
      const distance = slowDistance(one, other)
      expect(distanceWithin(one, other, limit)).toBe(distance <= limit ? distance : null)
    })
  )
})

function slowDistance(one: string, other: string): number {
  if (one === '' || other === '') return one.length + other.length
  const rest = slowDistance(one.slice(1), other.slice(1))
  if (one[0] === other[0]) return rest
  return 1 + Math.min(rest, slowDistance(one.slice(1), other), slowDistance(one, other.slice(1)))
}
