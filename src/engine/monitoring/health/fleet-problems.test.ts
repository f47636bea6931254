import { expect, it } from 'vitest'
import type { SourceState } from '../../../shared/contract/index.ts'
import { aNodeId, aProjectName, aSourceId } from '../../../shared/testing/ids.ts'
import { discoveryProblems, versionOrderProblems } from './engine-problems.ts'

const source: SourceState = {
  id: aSourceId('k8s'),
  source: { kind: 'file', path: '/n.txt' },
  refreshSeconds: 30,
  node: {},
  hasPassword: false,
  isFromConfiguration: false,
  refreshedAtMs: 1,
  problem: null,
  found: 3,
  vanished: 0,
  vanishedNodes: []
}

it('a source without trouble is no problem', () => {
  expect(discoveryProblems([source])).toEqual([])
})

it('a source that fails, and nodes that it no longer names, link to the sources', () => {
  const vanishedNodes = [
    { nodeId: aNodeId('n1'), sinceMs: 20, isCordonedForIt: true },
    { nodeId: aNodeId('n2'), sinceMs: 10, isCordonedForIt: true },
    { nodeId: aNodeId('n3'), sinceMs: 5, isCordonedForIt: false }
  ]
  expect(discoveryProblems([{ ...source, problem: '/n.txt: there is no such file.', vanishedNodes }])).toMatchObject([
    { id: 'discovery:k8s', text: '/n.txt: there is no such file.', mend: 'open_discovery' },
    { id: 'vanished:k8s', title: 'k8s no longer lists 2 nodes', sinceMs: 10, mend: 'open_discovery' }
  ])
})

it('versions that nodes order differently link to their project', () => {
  expect(versionOrderProblems([{ project: aProjectName('shop'), text: 'why' }])).toMatchObject([
    { id: 'version-order:shop', severity: 'warning', text: 'why', project: 'shop', mend: 'open_project' }
  ])
})
