import { expect, it } from 'vitest'
import type { RetryPolicy } from '../../../shared/contract/index.ts'
import { problemsOf } from './form-of-schema.ts'
import { describeRetry, RetryForm, retryTexts } from './retry.ts'

const POLICY: RetryPolicy = {
  attempts: 5,
  backoffSeconds: 30,
  backoffFactor: 2,
  backoffMaxSeconds: 90,
  on: ['failed', 'lost']
}

it('parses what it formats, and nothing if nothing was entered', () => {
  for (const policy of [POLICY, { ...POLICY, on: ['lost' as const] }, null])
    expect(RetryForm.parse(retryTexts(policy))).toEqual(policy)
})

it('accepts waits with their units, and a wait of zero', () => {
  expect(RetryForm.parse({ ...retryTexts(POLICY), backoffSeconds: '0', backoffMaxSeconds: '2 h' })).toEqual({
    ...POLICY,
    backoffSeconds: 0,
    backoffMaxSeconds: 7200
  })
})

it.each([
  [{ attempts: '0' }, 'attempts', 'At least 1'],
  [{ attempts: '101' }, 'attempts', 'Up to 100'],
  [{ attempts: '1.5' }, 'attempts', 'Enter a whole number'],
  [{ attempts: 'two' }, 'attempts', 'Enter a number'],
  [{ backoffFactor: '' }, 'backoffFactor', 'Enter a number'],
  [{ backoffFactor: '0.5' }, 'backoffFactor', 'At least 1'],
  [{ backoffSeconds: '30' }, 'backoffSeconds', 'Add a unit: 30 s or 30 min'],
  [{ backoffSeconds: '2 d' }, 'backoffSeconds', 'Up to 1 d'],
  [{ backoffMaxSeconds: '' }, 'backoffMaxSeconds', 'Required. Example: 30 min']
])('shows at the field what is wrong with %o', (patch, field, words) => {
  expect([...problemsOf(RetryForm.safeParse({ ...retryTexts(POLICY), ...patch }))]).toEqual([[field, words]])
})

it('summarises the policy as text', () => {
  expect(describeRetry(POLICY)).toBe('up to 5 attempts if failed or lost, after 30 s, 1 min, 1 min 30 s …')
  expect(describeRetry({ ...POLICY, attempts: 2, on: ['lost'] })).toBe('up to 2 attempts if lost, after 30 s')
  expect(describeRetry({ ...POLICY, attempts: 1 })).toBeNull()
  expect(describeRetry(null)).toBeNull()
})
