import { expect, it } from 'vitest'
import { MUTANTS } from './mutants.ts'
import { MUTANTS as OF_SCHEDULES } from './schedules/mutants.ts'

it.each([
  ['the simulation', MUTANTS],
  ['schedules', OF_SCHEDULES]
])('a planted bug of %s is known by its name: each has another', (_, all) => {
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
})
