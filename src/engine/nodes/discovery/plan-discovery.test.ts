import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeMode } from '../../../shared/contract/index.ts'
import { aNodeId, aSourceId, branded } from '../../../shared/testing/ids.ts'
import { type KnownNode, NODES_MAX, planDiscovery, type SourceAnswer, type Vanished } from './plan-discovery.ts'

const answer = (sourceId: string, urls: string[] | null, isPartial = false): SourceAnswer => ({
  sourceId: aSourceId(sourceId),
  nodes: urls?.map((url) => ({ url })) ?? null,
  isPartial
})
const known = (id: string, url: string, sourceId: string | null = 'a', mode: NodeMode = 'active'): KnownNode => ({
  id: aNodeId(id),
  url,
  mode,
  sourceId: branded(sourceId)
})
const plan = (answers: SourceAnswer[], nodes: KnownNode[], vanished: [string, Vanished][] = []) =>
  planDiscovery({ answers, known: nodes, vanished: new Map(vanished.map(([id, one]) => [aNodeId(id), one])) })
const nothing = { add: [], leftOut: new Map(), vanish: [], comeBack: [] }

describe('a source', () => {
  it('adds an unknown node once, even if several sources name it', () => {
    const asked = plan([answer('a', ['u1', 'u2']), answer('b', ['u2', 'u3'])], [known('n1', 'u1', null)])
    expect(asked.add.map(({ sourceId, node }) => [sourceId, node.url])).toEqual([
      ['a', 'u2'],
      ['b', 'u3']
    ])
  })

  it('takes over neither nodes that were added by hand nor those of another source', () => {
    expect(plan([answer('a', ['u1', 'u2'])], [known('n1', 'u1', null), known('n2', 'u2', 'b')])).toEqual(nothing)
  })

  it('adds no more nodes than the limits of a source and of the fleet allow, and says how many it leaves out', () => {
    const urls = (from: string, count: number) => Array.from({ length: count }, (_, index) => `${from}${index}`)
    const many = plan([answer('a', urls('u', 30_000)), answer('b', urls('u', 10))], [known('n1', 'gone', 'a')])
    expect(many.add).toHaveLength(NODES_MAX.ofSource - 1)
    expect(many.leftOut).toEqual(new Map([['a', 30_000 - NODES_MAX.ofSource + 1]]))
    const full = urls('by-hand', NODES_MAX.inAll - 2).map((url) => known(url, url, null))
    const last = plan([answer('a', ['u1']), answer('b', ['u2', 'u3', 'u4'])], full)
    expect(last.add.map(({ node }) => node.url)).toEqual(['u1', 'u2'])
    expect(last.leftOut).toEqual(new Map([['b', 2]]))
  })

  it('cordons a node that it no longer names, unless another source still does', () => {
    const nodes = [known('n1', 'u1'), known('n2', 'u2')]
    expect(plan([answer('a', ['u3']), answer('b', ['u2'])], [...nodes, known('n3', 'u3')])).toEqual({
      ...nothing,
      vanish: [{ nodeId: 'n1', cordon: true }]
    })
  })

  it('does not touch a node that already takes no jobs, and later restores its state', () => {
    const drained = known('n1', 'u1', 'a', 'draining')
    expect(plan([answer('a', ['u2'])], [drained, known('n2', 'u2')]).vanish).toEqual([{ nodeId: 'n1', cordon: false }])
    const left: [string, Vanished] = ['n1', { sinceMs: 1, state: 'left' }]
    expect(plan([answer('a', ['u1'])], [known('n1', 'u1', 'a', 'cordoned')], [left]).comeBack).toEqual([
      { nodeId: 'n1', activate: false }
    ])
  })

  it('activates a node again that was cordoned for that reason only', () => {
    const missed: [string, Vanished] = ['n1', { sinceMs: 1, state: 'cordoned' }]
    expect(plan([answer('a', ['u1'])], [known('n1', 'u1', 'a', 'cordoned')], [missed]).comeBack).toEqual([
      { nodeId: 'n1', activate: true }
    ])
  })

  it('does not cordon a node again that an operator has activated', () => {
    const missed: [string, Vanished] = ['n1', { sinceMs: 1, state: 'cordoned' }]
    expect(plan([answer('a', ['u2'])], [known('n1', 'u1'), known('n2', 'u2')], [missed])).toEqual(nothing)
  })

  it('completes the decisions of an engine that stopped before it carried them out', () => {
    const missed: [string, Vanished] = ['n1', { sinceMs: 1, state: 'cordoning' }]
    expect(plan([answer('a', null)], [known('n1', 'u1')], [missed]).vanish).toEqual([{ nodeId: 'n1', cordon: true }])
  })

  it.each([
    ['has not answered', answer('a', null)],
    ['named none', answer('a', [])],
    ['was understood in part', answer('a', ['u2'], true)]
  ])('that %s leaves all nodes as they are', (_what, said) => {
    expect(plan([said], [known('n1', 'u1'), known('n2', 'u2')])).toEqual(nothing)
  })
})

it('whatever sources say, no address is added twice, no manual node changes, and no named node disappears', () => {
  const url = fc.constantFrom('u1', 'u2', 'u3', 'u4')
  const source = fc.constantFrom(...['a', 'b', 'c'].map(aSourceId))
  const answers = fc.uniqueArray(
    fc.record({ sourceId: source, urls: fc.option(fc.array(url)), isPartial: fc.boolean() }),
    { selector: ({ sourceId }) => sourceId }
  )
  const nodes = fc.uniqueArray(
    fc.record({ url, sourceId: fc.option(source), mode: fc.constantFrom<NodeMode>('active', 'cordoned', 'draining') }),
    { selector: (node) => node.url }
  )
  fc.assert(
    fc.property(answers, nodes, (said, list) => {
      const fleet = list.map((node) => ({ ...node, id: aNodeId(`n-${node.url}`) }))
      const asked = planDiscovery({
        answers: said.map(({ sourceId, urls, isPartial }) => answer(sourceId, urls, isPartial)),
        known: fleet,
        vanished: new Map()
      })
      const named = new Set(said.flatMap(({ urls }) => urls ?? []))
      const added = asked.add.map(({ node }) => node.url)
      expect(new Set([...added, ...fleet.map((node) => node.url)]).size).toBe(added.length + fleet.length)
      expect([...named].every((one) => added.includes(one) || fleet.some((node) => node.url === one))).toBe(true)
      for (const { nodeId } of asked.vanish) {
        const node = fleet.find(({ id }) => id === nodeId)!
        expect(node.sourceId).not.toBeNull()
        expect(named.has(node.url)).toBe(false)
      }
    })
  )
})
