import { expect, test } from 'vitest'
import { viewOfAlerts } from './app-url.ts'

test('an id from another engine stays one value of the address', () => {
  const view = viewOfAlerts('a1', 'x&state=resolved#/nodes?add=1')
  const hash = new URL(view, 'scrapdeck-app://app/').hash
  expect(hash).toBe('#/alerts?alert=x%26state%3Dresolved%23%2Fnodes%3Fadd%3D1')
  expect(viewOfAlerts(null, 'a'.repeat(32))).toBe(`#/alerts?alert=${'a'.repeat(32)}`)
})
