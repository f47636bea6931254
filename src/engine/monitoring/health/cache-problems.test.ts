import { expect, test } from 'vitest'
import { cacheProblems } from './engine-problems.ts'

test('a lost shared cache is a problem, but a missing or untried one is not', () => {
  const state = { name: 'cache:6379', isUp: true, reason: null, sinceMs: 1 }
  expect(cacheProblems(null)).toEqual([])
  expect(cacheProblems(state)).toEqual([])
  expect(cacheProblems({ ...state, isUp: false })).toEqual([])
  const [problem] = cacheProblems({ ...state, isUp: false, reason: 'nothing listens at its address' })
  expect(problem).toMatchObject({ id: 'cache', severity: 'warning', sinceMs: 1 })
  expect(problem!.text).toContain('cache:6379: nothing listens at its address. Until it is back')
})
