import { expect, it } from 'vitest'
import type { RetryPolicy } from '../../../shared/contract/index.ts'
import { describeRetry, readRetry, retryTexts } from './retry.ts'

const POLICY: RetryPolicy = {
  attempts: 5,
  backoffSeconds: 30,
  backoffFactor: 2,
  backoffMaxSeconds: 90,
  on: ['failed', 'lost']
}

it('reads back what it wrote, and nothing where nothing stands', () => {
  expect(readRetry(retryTexts(POLICY))).toEqual({ retry: POLICY })
  expect(readRetry(retryTexts({ ...POLICY, on: ['lost'] }))).toEqual({ retry: { ...POLICY, on: ['lost'] } })
  expect(readRetry(retryTexts(null))).toEqual({ retry: null })
})

it('takes waits with their units, none included', () => {
  expect(readRetry({ ...retryTexts(POLICY), backoff: '0', longest: '2 h' })).toEqual({
    retry: { ...POLICY, backoffSeconds: 0, backoffMaxSeconds: 7200 }
  })
})

it.each([
  [{ attempts: '0' }, 'runs in all'],
  [{ attempts: 'two' }, 'runs in all'],
  [{ factor: '' }, 'then times'],
  [{ factor: '0.5' }, 'then times'],
  [{ backoff: '30' }, '30 s or 30 min'],
  [{ backoff: '2 d' }, 'first wait: at most 1 d'],
  [{ longest: '' }, 'longest wait: say how long']
])('says what is wrong with %o', (patch, words) => {
  const read = readRetry({ ...retryTexts(POLICY), ...patch })
  expect('problem' in read && read.problem).toContain(words)
})

it('says in words what it comes to', () => {
  expect(describeRetry(POLICY)).toBe('up to 5 runs when it failed or was lost, after 30 s, 1 min, 1 min 30 s …')
  expect(describeRetry({ ...POLICY, attempts: 2, on: ['lost'] })).toBe('up to 2 runs when it was lost, after 30 s')
  expect(describeRetry({ ...POLICY, attempts: 1 })).toBeNull()
  expect(describeRetry(null)).toBeNull()
})
