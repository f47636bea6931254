import { expect, test } from 'vitest'
import { suggestNear } from './near-matches.ts'

test('suggests names with a typo, the nearest first', () => {
  expect(suggestNear('quote', ['prices', 'quotes', 'quota'])).toBe(' Did you mean "quota" or "quotes"?')
})

test('matches a beginning and a different case, but nothing else', () => {
  expect(suggestNear('pri', ['prices-eu'])).toBe(' Did you mean "prices-eu"?')
  expect(suggestNear('Prices', ['prices'])).toBe(' Did you mean "prices"?')
  expect(suggestNear('quotes', ['prices', 'slow'])).toBe('')
})
