import { expect, it } from 'vitest'
import { localNodeName } from './optional-local-node.ts'

it('only in the desktop app, the local node is this computer; a name that somebody chose stays', () => {
  expect(localNodeName(undefined, 'desktop')).toBe('This computer')
  expect(localNodeName(undefined, 'service')).toBe('Local node')
  // Of a service before this rule.
  expect(localNodeName('This computer', 'service')).toBe('Local node')
  for (const host of ['desktop', 'service'] as const) expect(localNodeName('north', host)).toBe('north')
})
