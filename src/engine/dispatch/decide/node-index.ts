import type { NodeId, NodeMode, Placement, ProjectName } from '../../../shared/contract/index.ts'
import { meetsTags } from '../../../shared/tag-terms.ts'

/** Why a node that answers cannot run a project now, in words that follow the node's name; null: it can. */
export type WhyNotReady = (nodeId: NodeId, project: ProjectName) => string | null

/** `absent`: we have the egg and may send it. `never`: we have none, or sending failed and is backing off. */
export type EggState = 'present' | 'sending' | 'absent' | 'never'

/** What placement may know of a node. */
export interface PlaceableNode {
  id: NodeId
  name: string
  slots: number
  /** How many may wait in its own queue besides those in its slots. */
  queueAhead: number
  /** Slots in use or promised: live attempts of ours (uncertain ones too) and external jobs. */
  used: number
  /** It may have no more than this now, for a while (requests on their way, a node on probation). */
  roomMax: number
  tags: readonly string[]
  mode: NodeMode
  /** Why it can take nothing now, in words that follow its name (`does not answer`); null: it can. */
  unavailable: string | null
  /** It can run one project and not another (`whyNotReady` tells): the local node. */
  isChoosy: boolean
}

/** What the nodes that a placement means have in common, whatever is in use on them now. */
export interface PlacementSummary {
  matching: number
  /** Those that could take a job if they had room. */
  able: ReadonlySet<NodeId>
  /** Of those. */
  slots: number
  /** Those of them that are to be asked about each project. */
  choosy: readonly PlaceableNode[]
  first: PlaceableNode | null
  unavailable: number
  firstUnavailable: PlaceableNode | null
}

/** Of placements that are asked about; started again when there are so many. */
const SUMMARIES_MAX = 20_000

/** How many jobs a node may be given now (I3). */
export function roomOn(node: PlaceableNode): number {
  if (node.unavailable !== null || node.mode !== 'active') return 0
  return Math.max(0, Math.min(node.slots + node.queueAhead - node.used, node.roomMax))
}

/**
 * The nodes as `place` asks about them, kept between runs: those with room are at hand, and what a placement means is
 * found once, until a node comes, goes or changes in more than what it has in use.
 */
export class NodeIndex {
  readonly #nodes = new Map<string, PlaceableNode>()
  readonly #open = new Map<string, PlaceableNode>()
  readonly #summaries = new Map<string, PlacementSummary>()

  constructor(nodes: Iterable<PlaceableNode> = []) {
    for (const node of nodes) this.put(node)
  }

  get size(): number {
    return this.#nodes.size
  }

  get(id: NodeId): PlaceableNode | undefined {
    return this.#nodes.get(id)
  }

  all(): IterableIterator<PlaceableNode> {
    return this.#nodes.values()
  }

  /** Those that could take a job now. */
  open(): IterableIterator<PlaceableNode> {
    return this.#open.values()
  }

  put(node: PlaceableNode): void {
    const before = this.#nodes.get(node.id)
    this.#nodes.set(node.id, node)
    if (roomOn(node) > 0) this.#open.set(node.id, node)
    else this.#open.delete(node.id)
    if (before === undefined || differs(before, node)) this.#summaries.clear()
  }

  remove(id: NodeId): void {
    if (!this.#nodes.delete(id)) return
    this.#open.delete(id)
    this.#summaries.clear()
  }

  summaryOf(placement: Placement, key: string): PlacementSummary {
    let summary = this.#summaries.get(key)
    if (summary === undefined && this.#summaries.size >= SUMMARIES_MAX) this.#summaries.clear()
    if (summary === undefined) this.#summaries.set(key, (summary = this.#summarize(placement)))
    return summary
  }

  #summarize(placement: Placement): PlacementSummary {
    const able = new Set<NodeId>()
    const choosy: PlaceableNode[] = []
    const summary = { matching: 0, able, slots: 0, unavailable: 0, choosy }
    let first: PlaceableNode | null = null
    let firstUnavailable: PlaceableNode | null = null
    const asked = placement.nodeId === null ? this.#nodes.values() : [this.#nodes.get(placement.nodeId)]
    for (const node of asked) {
      if (node === undefined || !meetsTags(placement.tags, node.tags)) continue
      summary.matching += 1
      first ??= node
      if (node.unavailable !== null) {
        summary.unavailable += 1
        firstUnavailable ??= node
      } else if (node.mode === 'active') {
        able.add(node.id)
        summary.slots += node.slots
        if (node.isChoosy) choosy.push(node)
      }
    }
    return { ...summary, first, firstUnavailable }
  }
}

/** In anything but what is in use. */
function differs(one: PlaceableNode, other: PlaceableNode): boolean {
  return (
    one.name !== other.name ||
    one.slots !== other.slots ||
    one.mode !== other.mode ||
    one.unavailable !== other.unavailable ||
    one.isChoosy !== other.isChoosy ||
    (one.tags !== other.tags && one.tags.join(' ') !== other.tags.join(' '))
  )
}
