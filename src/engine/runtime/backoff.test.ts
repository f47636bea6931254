import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

test('the wait doubles with each failure in a row, from the first to the longest', () => {
  expect([0, 1, 2, 3, 4, 5].map((failures) => backoffMs(failures, 100, 900))).toEqual([100, 100, 200, 400, 800, 900])
})

test('it never shrinks, and stays between its bounds however many failures there were', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1_000 }), (failures, first, max) => {
      const waitMs = backoffMs(failures, first, max)
      expect(waitMs).toBeGreaterThanOrEqual(first)
      expect(waitMs).toBeLessThanOrEqual(max)
      expect(backoffMs(failures + 1, first, max)).toBeGreaterThanOrEqual(waitMs)
    })
  )
})
