import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AttemptResult, RetryPolicy } from '../../../../shared/contract/index.ts'
import { render } from '../../../../shared/texts/message.ts'
import { type PlannedRetry, planRetry } from './retry.ts'

const NOW_MS = 1_800_000_000_000

function aPolicy(over: Partial<RetryPolicy> = {}): RetryPolicy {
  const defaults = { backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3_600 }
  return { attempts: 3, ...defaults, on: ['failed', 'lost'], ...over }
}

const anyPolicy = fc.record({
  attempts: fc.integer({ min: 1, max: 100 }),
  backoffSeconds: fc.double({ min: 0, max: 86_400, noNaN: true }),
  backoffFactor: fc.double({ min: 1, max: 10, noNaN: true }),
  backoffMaxSeconds: fc.double({ min: 0, max: 604_800, noNaN: true }),
  on: fc.subarray<'failed' | 'lost'>(['failed', 'lost'], { minLength: 1 })
})
const anyResult = fc.constantFrom<AttemptResult>(
  'failed',
  'lost',
  'refused',
  'absent',
  'succeeded',
  'cancelled',
  'unclear'
)

const textOf = (retry: PlannedRetry | null) => render(retry!.next)

it('says when the next run starts, and its number among how many', () => {
  const second = planRetry(aPolicy(), 'failed', [], NOW_MS)
  expect([second!.atMs, textOf(second)]).toEqual([NOW_MS + 30_000, 'retrying in 30 s (run 2 of 3)'])
  const third = planRetry(aPolicy(), 'lost', ['failed'], NOW_MS)
  expect([third!.atMs, textOf(third)]).toEqual([NOW_MS + 60_000, 'retrying in 1 min (run 3 of 3)'])
  const atOnce = planRetry(aPolicy({ backoffSeconds: 0 }), 'failed', [], NOW_MS)
  expect(textOf(atOnce)).toBe('retrying immediately (run 2 of 3)')
})

it('ends after the last run, without a policy, and for results that the policy does not name', () => {
  expect(planRetry(aPolicy(), 'failed', ['failed', 'lost'], NOW_MS)).toBeNull()
  expect(planRetry(aPolicy({ attempts: 1 }), 'failed', [], NOW_MS)).toBeNull()
  expect(planRetry(null, 'failed', [], NOW_MS)).toBeNull()
  expect(planRetry(aPolicy({ on: ['lost'] }), 'failed', [], NOW_MS)).toBeNull()
  expect(planRetry(aPolicy(), 'cancelled', [], NOW_MS)).toBeNull()
})

it('counts only runs: attempts that a node refused or never received do not count', () => {
  expect(textOf(planRetry(aPolicy(), 'failed', ['refused', 'absent', 'refused'], NOW_MS))).toContain('run 2 of 3')
})

it('never allows more runs than the policy, whatever the results are', () => {
  fc.assert(
    fc.property(anyPolicy, fc.array(anyResult, { maxLength: 300 }), (policy, results) => {
      const done: AttemptResult[] = []
      for (const result of results) {
        const retry = planRetry(policy, result, done, NOW_MS)
        done.push(result)
        // The job of an attempt that never ran returns to the queue. Any other job ends here unless it is retried.
        if (retry === null && result !== 'refused' && result !== 'absent') break
      }
      expect(done.filter((result) => result === 'failed' || result === 'lost').length).toBeLessThanOrEqual(
        policy.attempts
      )
    })
  )
})

it('waits longer after each run, but never longer than the limit', () => {
  fc.assert(
    fc.property(anyPolicy, (policy) => {
      const waits: number[] = []
      for (let runs = 0; runs < policy.attempts; runs += 1) {
        const retry = planRetry(policy, policy.on[0]!, Array<AttemptResult>(runs).fill('failed'), NOW_MS)
        if (retry !== null) waits.push(retry.atMs - NOW_MS)
      }
      expect(waits).toHaveLength(policy.attempts - 1)
      expect(waits).toEqual([...waits].sort((one, next) => one - next))
      for (const wait of waits) expect(wait).toBeLessThanOrEqual(Math.ceil(policy.backoffMaxSeconds * 1000))
    })
  )
})
