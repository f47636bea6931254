import type { NodeId, NodeMode, SourceId } from '../../../shared/contract/index.ts'
import type { VanishedNode } from '../../model/records.ts'
import type { FoundNode } from './found-node.ts'

/** The last good result of a source. */
export interface SourceAnswer {
  sourceId: SourceId
  /** null: no result yet. */
  nodes: readonly FoundNode[] | null
  /** It may have named nodes that could not be read, so none of its nodes count as vanished. */
  isPartial: boolean
}

export interface KnownNode {
  id: NodeId
  url: string
  mode: NodeMode
  sourceId: SourceId | null
}

/**
 * A node that its source no longer lists. `cordoning`: decided, perhaps not done yet; `cordoned`: by us, for this
 * reason; `left`: the operator had cordoned it already.
 */
export type Vanished = Omit<VanishedNode, 'nodeId'>

/** Nodes in the fleet beyond which discovery adds none: far more than real fleets have, little enough to poll. */
export const NODES_MAX = {
  /** Of one source, those it no longer lists included. */
  ofSource: 2_000,
  /** With those added by hand and by other sources. */
  inAll: 5_000
} as const

export interface DiscoveryPlan {
  /** Nodes to add, with the source that owns them from now on. */
  add: { sourceId: SourceId; node: FoundNode }[]
  /** How many nodes of a source are not added, because it or the fleet has as many as it may. */
  leftOut: Map<SourceId, number>
  /** No longer listed; `cordon`: stop sending jobs to it. */
  vanish: { nodeId: NodeId; cordon: boolean }[]
  /** Listed again; `activate`: it was cordoned only because it had vanished. */
  comeBack: { nodeId: NodeId; activate: boolean }[]
}

/**
 * What the results of all sources require. Pure. A node belongs to the source that found it first, or to none if it was
 * added by hand. It vanishes only if no source names it and the result of its own source is complete. What is beyond
 * NODES_MAX is left out.
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
