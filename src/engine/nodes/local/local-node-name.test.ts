import { expect, it } from 'vitest'
import { localNodeName } from './optional-local-node.ts'

it('the local node is called This computer in the desktop app only, and keeps a name that a user chose', () => {
  expect(localNodeName(undefined, 'desktop')).toBe('This computer')
  expect(localNodeName(undefined, 'service')).toBe('Local node')
  // An older service stored this name.
  expect(localNodeName('This computer', 'service')).toBe('Local node')
  for (const host of ['desktop', 'service'] as const) expect(localNodeName('north', host)).toBe('north')
})
