import { expect, it } from 'vitest'
import { adviceOf, firedWords, isNoisy } from './noise.ts'

const rule = (over: Partial<Parameters<typeof adviceOf>[0]>) => ({
  watch: 'spider_errors' as const,
  comparison: 'at_least' as const,
  fired: 41,
  actedOn: 2,
  ...over
})

it('a rule that fires often and is rarely acted on is noisy, with advice that makes it quieter', () => {
  expect(adviceOf(rule({}))).toBe('consider a longer time or a higher threshold')
  expect(adviceOf(rule({ watch: 'spider_items', comparison: 'at_most' }))).toMatch(/lower threshold/)
  expect(adviceOf(rule({ watch: 'node_down' }))).toBe('consider a longer time')
  expect(firedWords(rule({}))).toBe('fired 41 times, acted on 2')
})

it('a rule that fired too rarely to judge, or that is acted on, is not noisy', () => {
  expect(isNoisy(rule({ fired: 9, actedOn: 0 }))).toBe(false)
  expect(isNoisy(rule({ fired: 10, actedOn: 0 }))).toBe(true)
  expect(adviceOf(rule({ fired: 10, actedOn: 2 }))).toBeNull()
  expect(firedWords(rule({ fired: 1, actedOn: 0 }))).toBe('fired once, acted on none')
  expect(firedWords(rule({ fired: 0, actedOn: 0 }))).toBe('not fired in 30 days')
})
