import { expect, test } from 'vitest'
import { afterFailure, afterSuccess, type Breaker, CLOSED_BREAKER } from './redis/redis-link.ts'

const failing = (breaker: Breaker, times: number, isCertain = false): Breaker =>
  Array.from({ length: times }).reduce<Breaker>((one) => afterFailure(one, { isCertain }), breaker)

test('five failures in a row open it, not five among successes; a definite failure opens it at once', () => {
  expect(failing(CLOSED_BREAKER, 4).isOpen).toBe(false)
  expect(failing(CLOSED_BREAKER, 5).isOpen).toBe(true)
  expect(failing(afterSuccess(failing(CLOSED_BREAKER, 4), 0), 4).isOpen).toBe(false)
  expect(failing(CLOSED_BREAKER, 1, true).isOpen).toBe(true)
})

test('each failed probe doubles the wait, up to 15 s; failures of calls in progress do not', () => {
  const open = failing(CLOSED_BREAKER, 5)
  expect(failing(open, 100).holdMs).toBe(500)
  expect(failing(open, 3, true).holdMs).toBe(4_000)
  expect(failing(open, 30, true).holdMs).toBe(15_000)
})

test('the wait is reset only after some time without failures', () => {
  const closed = afterSuccess(failing(failing(CLOSED_BREAKER, 5), 2, true), 1_000)
  expect(closed).toMatchObject({ isOpen: false, holdMs: 4_000 })
  expect(failing(afterSuccess(closed, 20_000), 5).holdMs).toBe(4_000)
  expect(failing(afterSuccess(closed, 31_000), 5).holdMs).toBe(500)
})
