import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SpiderOutcomeForm, spiderOutcomeTexts } from './spider-outcomes-form.ts'

test('rules of a spider are its own, none, or those of the project', () => {
  const texts = {
    requireResponse: '',
    maxErrors: '5',
    minItems: ' none',
    minPages: '',
    finishReasons: 'finished, done'
  }
  expect(SpiderOutcomeForm.parse(texts)).toEqual({ maxErrors: 5, minItems: null, finishReasons: ['finished', 'done'] })
  expect(SpiderOutcomeForm.parse(spiderOutcomeTexts(undefined))).toBeNull()
  expect(SpiderOutcomeForm.safeParse({ ...texts, maxErrors: 'x' }).success).toBe(false)
})

test('rules in the form give the same rules again', () => {
  const count = fc.option(fc.option(fc.nat({ max: 1_000 })), { nil: undefined })
  const finishReasons = fc
    .constantFrom(undefined, null, 'finished', 'a, b_c')
    .map((text) => text?.split(', ') ?? (text as null | undefined))
  const requireResponse = fc.constantFrom(undefined, null, true)
  const rules = fc.record({ requireResponse, maxErrors: count, minItems: count, minPages: count, finishReasons })
  fc.assert(
    fc.property(rules, (own) => {
      const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
      const expected = Object.keys(given).length === 0 ? null : given
      expect(SpiderOutcomeForm.parse(spiderOutcomeTexts(own))).toEqual(expected)
    })
  )
})
