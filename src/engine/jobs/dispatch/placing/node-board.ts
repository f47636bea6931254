import type { Unavailable } from '../../../../shared/texts/en.ts'
import type { NodeId } from '../../../../shared/contract/index.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DispatchContext } from '../context.ts'
import type { Follower } from '../following/follower.ts'
import type { StuckNodes } from '../following/stuck-nodes.ts'
import type { Sender } from './sender.ts'
import { NodeIndex, roomOn } from '../decide/node-index.ts'

/** The maximum number of requests in flight to one Scrapyd, which handles them one at a time. */
const REQUESTS_TO_ONE_MAX = 4
export interface NodeBoardParts {
  stuck: Pick<StuckNodes, 'isStuck' | 'roomFor'>
  lists: Pick<Follower, 'knowsLists'>
  sender: Pick<Sender, 'requestsTo'>
}

/**
 * The fleet as placement sees it, kept between runs. A node is compared with its last known state only after each of
 * its responses (`refreshOne`) or when marked stale. Comparing all nodes on every run took a sixth of a core with
 * 1,000 nodes and 200 ended jobs per second.
 */
export class NodeBoard {
  readonly index = new NodeIndex()
  readonly #context: Pick<DispatchContext, 'fleet' | 'live'>
  readonly #parts: NodeBoardParts
  readonly #stale = new Set<NodeId>()

  constructor(context: Pick<DispatchContext, 'fleet' | 'live'>, parts: NodeBoardParts) {
    this.#context = context
    this.#parts = parts
  }

  /**
   * Call this after a node's used slots or requests in flight have changed. The next `refresh` re-evaluates the node.
   */
  markStale(nodeId: NodeId): void {
    this.#stale.add(nodeId)
  }

  refresh(): void {
    const { fleet } = this.#context
    for (const id of this.#stale) {
      const node = fleet.get(id)
      if (node !== undefined) this.refreshOne(node)
    }
    this.#stale.clear()
    const nodes = fleet.list()
    if (this.index.size === nodes.length) return
    const ids = new Set(nodes.map(({ stored }) => stored.id))
    for (const { id } of [...this.index.all()]) if (!ids.has(id)) this.index.remove(id)
  }

  /** Returns true if the node gained room, or if its change may affect why jobs are waiting. */
  refreshOne(node: FleetNode): boolean {
    const { stored, status } = node
    const { live } = this.#context
    const { stuck, sender } = this.#parts
    const { id, name, tags, mode, queueAhead, logsKept } = stored
    const { slots, isTrying } = status.capacity
    const held = status.external.running.reduce((sum, { heldOf }) => sum + Number(heldOf !== undefined), 0)
    const used = slotsUsed(node, live.slotsUsedOn(id))
    const { client } = node
    const requestsMax = client.traits.answersAtOnce
      ? Number.POSITIVE_INFINITY
      : REQUESTS_TO_ONE_MAX - sender.requestsTo(id)
    const roomMax = Math.min(requestsMax, stuck.roomFor(id))
    const unavailable = this.#whyUnavailable(node)
    const before = this.index.get(id)
    if (
      before !== undefined &&
      before.used === used &&
      before.slots === slots &&
      before.isTrying === isTrying &&
      before.held === held &&
      before.roomMax === roomMax &&
      before.unavailable === unavailable &&
      before.name === name &&
      before.tags === tags &&
      before.mode === mode &&
      before.queueAhead === queueAhead &&
      before.logsKept === logsKept
    ) {
      return false
    }
    const isChoosy = client.whyNotReady !== undefined
    const room = { slots, isTrying, queueAhead, used, held, roomMax }
    const after = { id, name, ...room, tags, mode, unavailable, isChoosy, logsKept }
    return this.index.put(after) || roomOn(after) > roomOn(before!)
  }

  #whyUnavailable(node: FleetNode): Unavailable | null {
    if (node.status.health !== 'up') return node.status.health
    if (!this.#parts.lists.knowsLists(node)) return 'unlisted'
    return this.#parts.stuck.isStuck(node.stored.id) ? 'stuck' : null
  }
}

/**
 * The counters can be newer than the lists and include an external job that just started. If they exceed the number
 * of our own jobs, the excess counts as external.
 */
function slotsUsed({ status }: FleetNode, ours: number): number {
  const listed = status.external.running.length + status.external.pending.length
  const counted = (status.running ?? 0) + (status.pending ?? 0)
  const strangers = Math.max(listed, counted - status.oursWhenCounted)
  return Math.max(ours + strangers, counted)
}
