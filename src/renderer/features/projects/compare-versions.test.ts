import { expect, it } from 'vitest'
import type { Deployment, Version } from '../../../shared/contract/index.ts'
import { aNode } from '../../../shared/testing/builders.ts'
import { aNodeId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { compareSpiders, placeOf, spreadOf } from './compare-versions.ts'

const aVersion = (over: Partial<Version>): Version => ({
  project: aProjectName('shop'),
  version: aVersionName('v'),
  sha256: null,
  sizeBytes: null,
  spiders: null,
  createdAtMs: 0,
  orderWarning: null,
  deployments: [],
  ...over
})

it('lists the spiders that were added and removed', () => {
  expect(compareSpiders(aVersion({ spiders: ['a', 'c'] }), aVersion({ spiders: ['a', 'b'] }))).toEqual({
    added: ['c'],
    removed: ['b']
  })
  expect(compareSpiders(aVersion({ spiders: ['a'] }), aVersion({}))).toBeNull()
  expect(compareSpiders(aVersion({ spiders: ['a'] }), undefined)).toBeNull()
})

it('counts only nodes that are still in the fleet', () => {
  const on = (nodeId: string, state: Deployment['state'], sha256: string | null = null): Deployment => ({
    nodeId: aNodeId(nodeId),
    state,
    sha256,
    error: null,
    changedAtMs: 0
  })
  const version = aVersion({ deployments: [on('a', 'present'), on('b', 'failed'), on('gone', 'present')] })
  expect(spreadOf(version, [aNode({ id: 'a' }), aNode({ id: 'b' }), aNode({ id: 'c' })])).toEqual({
    present: 1,
    failed: 1,
    drifted: 0,
    total: 3
  })
  expect(spreadOf(undefined, [aNode({ id: 'a' })])).toEqual({ present: 0, failed: 0, drifted: 0, total: 1 })
  const drifted = aVersion({
    sha256: 'new',
    deployments: [on('a', 'missing', 'new'), on('b', 'foreign'), on('c', 'present', 'old'), on('d', 'present', 'new')]
  })
  expect(drifted.deployments.map((one) => placeOf(drifted, one))).toEqual(['missing', 'foreign', 'replaced', 'present'])
  const nodes = ['a', 'b', 'c', 'd'].map((id) => aNode({ id }))
  expect(spreadOf(drifted, nodes)).toEqual({ present: 1, failed: 0, drifted: 3, total: 4 })
})
