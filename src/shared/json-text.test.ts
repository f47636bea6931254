import fc from 'fast-check'
import { expect, test } from 'vitest'
import { problemOfJsonText } from './json-text.ts'

const BOUNDS = { depth: 3, values: 1_000_000, fields: 1_000 }

function measure(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 0 }
  const below = Object.values(value).map(measure)
  return {
    depth: 1 + Math.max(0, ...below.map(({ depth }) => depth)),
    values: below.reduce((sum, one) => sum + 1 + one.values, 0)
  }
}

test('the depth is that of the parsed value, whatever strings contain', () => {
  const text = fc.oneof(fc.constantFrom('"', '\\', '[[[[', '{', '\\"', ','), fc.string())
  const values = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })
  fc.assert(
    fc.property(fc.array(fc.oneof(text, values), { maxLength: 5 }), (value) => {
      const problem = problemOfJsonText(JSON.stringify(value), BOUNDS)
      expect(problem?.text).toBe(measure(value).depth > 3 ? 'is nested more than 3 levels deep' : undefined)
    })
  )
})

test('values are counted, at least as many as there are and at most twice', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const { values } = measure(value)
      const text = JSON.stringify(value)
      expect(problemOfJsonText(text, { ...BOUNDS, depth: 9, values: 2 * values + 1 })).toBeNull()
      if (values > 2)
        expect(problemOfJsonText(text, { ...BOUNDS, depth: 9, values: Math.floor(values / 2) - 1 })).not.toBeNull()
    })
  )
})

test('text that is not JSON does not block it', () => {
  for (const text of ['"'.repeat(1_000_001), '\\'.repeat(1_000_000), `"${'\\"'.repeat(500_000)}`, ']'.repeat(9), '']) {
    expect(problemOfJsonText(text, BOUNDS)).toBeNull()
  }
  expect(problemOfJsonText('['.repeat(10_000_000), BOUNDS)?.text).toContain('nested')
  expect(problemOfJsonText(','.repeat(2_000_000), BOUNDS)?.text).toBe('has more than 1,000,000 values')
})

test('one object has a limited number of fields, a list any number of values', () => {
  const wide = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, [1, 2, 3]]))
  const bounds = { ...BOUNDS, fields: 10 }
  expect(problemOfJsonText(JSON.stringify([wide(10), wide(10)]), bounds)).toBeNull()
  expect(problemOfJsonText(JSON.stringify([wide(11)]), bounds)?.text).toBe('has more than 10 fields in one object')
  expect(problemOfJsonText(JSON.stringify({ a: Array(500).fill({ b: 1 }) }), bounds)).toBeNull()
})
