import type { NodeId, NodeMode, SourceId } from '../../../shared/contract/index.ts'
import type { VanishedNode } from '../../model/records.ts'
import type { FoundNode } from './found-node.ts'

export interface SourceAnswer {
  sourceId: SourceId
  nodes: readonly FoundNode[] | null
  /** Whether some entries were unreadable. If so, none of the source's nodes count as vanished. */
  isPartial: boolean
}

export interface KnownNode {
  id: NodeId
  url: string
  mode: NodeMode
  sourceId: SourceId | null
}

/**
 * A node that its source no longer lists. `cordoning`: we decided to cordon it but may not have done so yet.
 * `cordoned`: we cordoned it for this reason. `left`: the operator had already cordoned it.
 */
export type Vanished = Omit<VanishedNode, 'nodeId'>

/** The maximum numbers of nodes that discovery adds: more than any real fleet has, but still cheap to poll. */
export const NODES_MAX = {
  /** Includes nodes that the source no longer lists. */
  ofSource: 2_000,
  inAll: 5_000
} as const

export interface DiscoveryPlan {
  add: { sourceId: SourceId; node: FoundNode }[]
  leftOut: Map<SourceId, number>
  /** Nodes that are no longer listed. `cordon`: whether to cordon the node, so that it gets no more jobs. */
  vanish: { nodeId: NodeId; cordon: boolean }[]
  /** Nodes that are listed again. `activate`: whether the node was cordoned only because it had vanished. */
  comeBack: { nodeId: NodeId; activate: boolean }[]
}

/**
 * Plans the changes that follow from all sources. Pure. A node belongs to the source that found it first, or to none if
 * a user added it. A node vanishes only if no source lists it and the result of its source is complete.
 */
export function planDiscovery(input: {
  answers: readonly SourceAnswer[]
  known: readonly KnownNode[]
  vanished: ReadonlyMap<NodeId, Vanished>
}): DiscoveryPlan {
  const { answers, known, vanished } = input
  const plan: DiscoveryPlan = { add: [], leftOut: new Map(), vanish: [], comeBack: [] }
  const knownUrls = new Set(known.map(({ url }) => url))
  const ofSource = new Map<SourceId, number>()
  for (const { sourceId } of known) if (sourceId !== null) ofSource.set(sourceId, (ofSource.get(sourceId) ?? 0) + 1)
  const named = new Set<string>()
  const whole = new Set<string>()
  for (const { sourceId, nodes, isPartial } of answers) {
    for (const node of nodes ?? []) {
      const isNew = !named.has(node.url) && !knownUrls.has(node.url)
      named.add(node.url)
      if (!isNew) continue
      const count = ofSource.get(sourceId) ?? 0
      if (count < NODES_MAX.ofSource && known.length + plan.add.length < NODES_MAX.inAll) {
        plan.add.push({ sourceId, node })
        ofSource.set(sourceId, count + 1)
      } else plan.leftOut.set(sourceId, (plan.leftOut.get(sourceId) ?? 0) + 1)
    }
    if (nodes !== null && nodes.length > 0 && !isPartial) whole.add(sourceId)
  }
  for (const { id, url, mode, sourceId } of known) {
    const missed = vanished.get(id)
    if (named.has(url)) {
      const activate = missed !== undefined && missed.state !== 'left' && mode === 'cordoned'
      if (missed !== undefined) plan.comeBack.push({ nodeId: id, activate })
      continue
    }
    const isMissing = missed === undefined && sourceId !== null && whole.has(sourceId)
    if (isMissing || missed?.state === 'cordoning') plan.vanish.push({ nodeId: id, cordon: mode === 'active' })
  }
  return plan
}
