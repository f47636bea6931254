import { expect, test } from 'vitest'
import { suggestNear } from './near-matches.ts'

test('names a slip away are suggested, the nearest first', () => {
  expect(suggestNear('quote', ['prices', 'quotes', 'quota'])).toBe(' Did you mean "quota" or "quotes"?')
})

test('a beginning and another case are near; something else is not', () => {
  expect(suggestNear('pri', ['prices-eu'])).toBe(' Did you mean "prices-eu"?')
  expect(suggestNear('Prices', ['prices'])).toBe(' Did you mean "prices"?')
  expect(suggestNear('quotes', ['prices', 'slow'])).toBe('')
})
