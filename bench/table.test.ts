import { expect, test } from 'vitest'
import { compare } from './figure.ts'
import { rowsOf, tableOf } from './table.ts'

const machine = { cpus: 2 }
const values = { unit: 'ms', boundIs: 'a bare one' }

test('a comparison is printed as its ratio, with both values under it', () => {
  const figures = compare('p95', { ...values, ours: 30, bound: 12, wanted: { atMost: 3 } }, machine)
  expect(figures.map(({ figure, value }) => [figure, value])).toEqual([
    ['p95_ratio', 2.5],
    ['p95_ours_ms', 30],
    ['p95_bound_ms', 12]
  ])
})

test('the table has a row for each comparison, and says which are missed', () => {
  const figures = [
    ...compare('fast', { ...values, ours: 1, bound: 2, wanted: { atMost: 0.6 } }, machine),
    ...compare('many', { ...values, ours: 2_000, bound: 1_000, unit: 'jobs/s', wanted: { atLeast: 3 } }, machine),
    { figure: 'other', value: 1, unit: 'ms', conditions: machine }
  ]
  expect(tableOf(rowsOf('some', figures)).split('\n').slice(2)).toEqual([
    '| `some` | `fast_ratio` | a bare one | 2 ms | 1 ms | 0.5 | ≤ 0.6 | yes |',
    '| `some` | `many_ratio` | a bare one | 1,000 jobs/s | 2,000 jobs/s | 2 | ≥ 3 | **no** |'
  ])
})
