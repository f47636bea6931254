import { expect, it } from 'vitest'
import type { Version } from '../../../shared/contract/index.ts'
import { aNode } from '../../testing/fake-fleet.ts'
import { compareSpiders, spreadOf } from './compare-versions.ts'

const aVersion = (over: Partial<Version>): Version => ({
  project: 'shop',
  version: 'v',
  sha256: null,
  sizeBytes: null,
  spiders: null,
  createdAtMs: 0,
  deployments: [],
  ...over
})

it('tells which spiders came and went', () => {
  expect(compareSpiders(aVersion({ spiders: ['a', 'c'] }), aVersion({ spiders: ['a', 'b'] }))).toEqual({
    added: ['c'],
    removed: ['b']
  })
  expect(compareSpiders(aVersion({ spiders: ['a'] }), aVersion({}))).toBeNull()
  expect(compareSpiders(aVersion({ spiders: ['a'] }), undefined)).toBeNull()
})

it('counts only nodes that are still in the fleet', () => {
  const on = (nodeId: string, state: 'present' | 'failed') => ({ nodeId, state, error: null, changedAtMs: 0 })
  const version = aVersion({ deployments: [on('a', 'present'), on('b', 'failed'), on('gone', 'present')] })
  expect(spreadOf(version, [aNode({ id: 'a' }), aNode({ id: 'b' }), aNode({ id: 'c' })])).toEqual({
    present: 1,
    failed: 1,
    total: 3
  })
  expect(spreadOf(undefined, [aNode({ id: 'a' })])).toEqual({ present: 0, failed: 0, total: 1 })
})
