import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CANCEL_WAITS_MS, limitWaitsOf } from './run-limits.ts'
import { LAST_STEP, signalOfStep, stepDue, waitAfterStep } from './stop-ladder.ts'

test('a stop goes from INT to a second INT to KILL, which is repeated', () => {
  const at = (sinceMs: number) => stepDue(sinceMs, limitWaitsOf(CANCEL_WAITS_MS))
  expect([0, 29_999, 30_000, 44_999, 45_000, 59_999, 60_000, 89_999, 90_000].map(at)).toEqual([
    0, 0, 1, 1, 2, 2, 3, 3, 4
  ])
  expect([0, 1, 2, 3].map(signalOfStep)).toEqual(['INT', 'INT', 'KILL', 'KILL'])
})

test('the due step is the one reached by waiting after each step', () => {
  const waits = fc.tuple(
    fc.integer({ min: 1, max: 10_000 }),
    fc.integer({ min: 1, max: 10_000 }),
    fc.integer({ min: 1, max: 10_000 })
  )
  fc.assert(
    fc.property(waits, fc.nat(100), (waitsMs, steps) => {
      let sinceMs = 0
      for (let step = 0; step < steps; step += 1) sinceMs += waitAfterStep(step, waitsMs)
      expect(stepDue(sinceMs, waitsMs)).toBe(steps)
      if (steps > 0) expect(stepDue(sinceMs - 1, waitsMs)).toBe(steps - 1)
    })
  )
})

test('with zero waits, the KILL is due right after the first wait', () => {
  expect(stepDue(9_999, [10_000, 0, 0])).toBe(0)
  expect(stepDue(10_000, [10_000, 0, 0])).toBeGreaterThanOrEqual(LAST_STEP)
})
