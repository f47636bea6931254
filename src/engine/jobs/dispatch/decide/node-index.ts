import type { Message } from '../../../../shared/texts/message.ts'
import type { Unavailable } from '../../../../shared/texts/en.ts'
import type { NodeId, NodeMode, Placement, ProjectName } from '../../../../shared/contract/index.ts'
import { meetsTags } from '../../../../shared/tag-terms.ts'

/** Why a reachable node cannot run a project now, worded to follow the node's name. Null: it can. */
export type WhyNotReady = (nodeId: NodeId, project: ProjectName) => Message | null

/** `absent`: we have the egg and can send it. `never`: we do not have it, or must wait after a failed upload. */
export type EggState = 'present' | 'sending' | 'absent' | 'never'

export interface PlaceableNode {
  id: NodeId
  name: string
  slots: number
  /** How many jobs may wait in the node's own queue, in addition to those in its slots. */
  queueAhead: number
  /** Whether to send one job more than the node has slots, to find out if it has another slot. */
  isTrying: boolean
  /** Slots in use or promised: our live attempts (uncertain ones too) and external jobs. */
  used: number
  /**
   * Slots of ended runs that the node still lists as running, because something that the spider started keeps running.
   */
  held: number
  /** A temporary upper bound on the node's room (requests in flight, a node on probation). */
  roomMax: number
  tags: readonly string[]
  mode: NodeMode
  /** Why the node cannot take jobs now. Null: it can. */
  unavailable: Unavailable | null
  /** How many logs per spider the node keeps when it starts a run. Null: unknown. */
  logsKept: number | null
  /** Whether the node can run only some projects (see `whyNotReady`). True only for the local node. */
  isChoosy: boolean
}

/** The nodes that match a placement, regardless of how busy they are. */
export interface PlacementSummary {
  matching: number
  able: ReadonlySet<NodeId>
  slots: number
  held: number
  choosy: readonly PlaceableNode[]
  first: PlaceableNode | null
  unavailable: number
  firstUnavailable: PlaceableNode | null
}

/** When this many placements are cached, the cache is cleared. */
const SUMMARIES_MAX = 20_000

/** How many more jobs a node can take now (I3). */
export function roomOn(node: PlaceableNode): number {
  if (node.unavailable !== null || node.mode !== 'active') return 0
  const ahead = Math.max(node.queueAhead, Number(node.isTrying))
  return Math.max(0, Math.min(node.slots + ahead - node.used, node.roomMax))
}

/**
 * An index of the nodes for `place`, reused between plans. The summary of a placement is cached until a node is
 * added, is removed, or changes in anything other than its usage.
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

  open(): IterableIterator<PlaceableNode> {
    return this.#open.values()
  }

  /** Returns whether a property changed that can affect why jobs are waiting (see `differs`). */
  put(node: PlaceableNode): boolean {
    const before = this.#nodes.get(node.id)
    this.#nodes.set(node.id, node)
    if (roomOn(node) > 0) this.#open.set(node.id, node)
    else this.#open.delete(node.id)
    const isOther = before === undefined || differs(before, node)
    if (isOther) this.#summaries.clear()
    return isOther
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
    const summary = { matching: 0, able, slots: 0, held: 0, unavailable: 0, choosy }
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
        summary.held += node.held
        if (node.isChoosy) choosy.push(node)
      }
    }
    return { ...summary, first, firstUnavailable }
  }
}

function differs(one: PlaceableNode, other: PlaceableNode): boolean {
  return (
    one.name !== other.name ||
    one.slots !== other.slots ||
    one.held !== other.held ||
    one.mode !== other.mode ||
    one.unavailable !== other.unavailable ||
    one.isChoosy !== other.isChoosy ||
    (one.tags !== other.tags && one.tags.join(' ') !== other.tags.join(' '))
  )
}
