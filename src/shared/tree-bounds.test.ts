import fc from 'fast-check'
import { expect, test } from 'vitest'
import { problemOfTree } from './tree-bounds.ts'

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

test('a tree may be as deep as allowed; a much deeper one is refused without recursion', () => {
  expect(problemOfTree(nested(100), { depth: 100 })).toBeNull()
  expect(problemOfTree(nested(101), { depth: 100 })?.text).toBe('is nested more than 100 levels deep')
  expect(problemOfTree(nested(1_000_000), { depth: 100 })?.text).toBe('is nested more than 100 levels deep')
})

test('a value that is used many times counts each time', () => {
  const long = 'x'.repeat(1_000)
  const row = Array.from({ length: 1_000 }, () => long)
  expect(problemOfTree([row], { depth: 10, size: 1_100_000 })).toBeNull()
  expect(problemOfTree([row, row], { depth: 10, size: 1_100_000 })?.text).toContain('is larger than')
})

test('a field called __proto__ is found at any depth, and no other field is refused', () => {
  expect(problemOfTree(JSON.parse('{"a":[{"b":{"__proto__":1}}]}'), { depth: 100 })?.text).toContain('"__proto__"')
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
      fc.pre(!JSON.stringify(value).includes('__proto__'))
      expect(problemOfTree(value, { depth: 100 })).toBeNull()
    })
  )
})
