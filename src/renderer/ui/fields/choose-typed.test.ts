import { expect, it } from 'vitest'
import { findTyped } from './select.tsx'

it('finds the typed option, preferring the same letter case', () => {
  expect(findTyped(['demo2', 'Demo', 'demo'], 'demo')).toBe(2)
  expect(findTyped(['demo2', 'Demo'], 'demo')).toBe(1)
  expect(findTyped(['demo2', 'Demo', 'DEMO'], 'demo')).toBe(-1)
  expect(findTyped(['demo2'], 'demo')).toBe(-1)
})
