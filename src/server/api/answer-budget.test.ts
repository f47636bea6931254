import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AnswerBudget } from './json-rpc.ts'

it('responses never exceed the limit; a call is refused only if it had no room beside all earlier ones', async () => {
  const call = fc.record({ most: fc.integer({ min: 1, max: 60 }), share: fc.double({ min: 0, max: 1, noNaN: true }) })
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 40 }), async (calls) => {
      const budget = new AnswerBudget(100)
      let answered = 0
      let running = 0
      for (const { most, share } of calls) {
        const actual = Math.floor(most * share)
        const perform = async () => {
          expect(++running).toBeLessThanOrEqual(8)
          await new Promise((wake) => setImmediate(wake))
          running--
          answered += actual
          return actual
        }
        const refuse = () => {
          expect(running).toBe(0)
          expect(answered + most).toBeGreaterThan(100)
        }
        await budget.spend(most, { perform, refuse })
      }
      await budget.settled()
      expect(answered).toBeLessThanOrEqual(100)
    })
  )
})
