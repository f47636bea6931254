import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { BACK_OFF_MS, planTry, type SendResult } from './plan-try.ts'

const plan = (tries: number, told: SendResult, seed = 1) =>
  planTry({ id: 'a', tries }, told, { nowMs: 1_000, random: createSeededRandom(seed) })

test('a failed try is followed by another, later and later, for three days; then it is dead', () => {
  const bad = { isGood: false, answer: '500' }
  let waitedMs = 0
  for (let tries = 0; tries < BACK_OFF_MS.length; tries += 1) {
    const { state, nextTryAtMs } = plan(tries, bad)
    expect(state).toBe('waiting')
    waitedMs += nextTryAtMs! - 1_000
  }
  expect(waitedMs / 3_600_000).toBeGreaterThan(72)
  expect(plan(BACK_OFF_MS.length, bad)).toEqual({
    id: 'a',
    state: 'dead',
    atMs: 1_000,
    nextTryAtMs: null,
    answer: '500'
  })
})

test("a wait is never shorter than the backoff or the receiver's request, and at most a tenth longer", () => {
  fc.assert(
    fc.property(
      fc.nat({ max: BACK_OFF_MS.length - 1 }),
      fc.option(fc.nat({ max: 999_999 })),
      fc.integer(),
      (tries, retryAfterSeconds, seed) => {
        const { nextTryAtMs } = plan(tries, { isGood: false, answer: '429', retryAfterSeconds }, seed)
        const leastMs = Math.max(BACK_OFF_MS[tries]!, Math.min(86_400_000, (retryAfterSeconds ?? 0) * 1000))
        expect(nextTryAtMs! - 1_000).toBeGreaterThanOrEqual(leastMs)
        expect(nextTryAtMs! - 1_000).toBeLessThanOrEqual(Math.ceil(leastMs * 1.1))
      }
    )
  )
})

test('a message that can never be accepted is dead at once, and its receiver stays enabled', () => {
  const { state, isGone } = plan(0, { isGood: false, answer: '550', isFinal: true })
  expect({ state, isGone }).toEqual({ state: 'dead', isGone: undefined })
})

test('410 ends it at once, and long responses are cut', () => {
  expect(plan(0, { isGood: false, answer: '410', isGone: true })).toMatchObject({ state: 'dead', isGone: true })
  expect(plan(0, { isGood: true, answer: 'x'.repeat(10_000) }).answer.length).toBe(500)
})
