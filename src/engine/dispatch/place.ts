import type { NodeMode, Placement, Waiting } from '../../shared/contract/index.ts'
import type { QueueLane } from '../queue/fair-order.ts'

/** What placement may know of a node. */
export interface PlaceableNode {
  id: string
  name: string
  slots: number
  /** Slots in use or promised: live attempts of ours (uncertain ones too) and external jobs. */
  used: number
  tags: readonly string[]
  mode: NodeMode
  /** Why it can take nothing now, in words that follow its name (`does not answer`); null: it can. */
  unavailable: string | null
}

/** Why a node that answers cannot run a project now, in words that follow the node's name; null: it can. */
export type WhyNotReady = (nodeId: string, project: string) => string | null

/** `absent`: we have the egg and may send it. `never`: we have none to send, or sending failed and waits for its back-off. */
export type EggState = 'present' | 'sending' | 'absent' | 'never'

export interface PlaceInput {
  /** In the order in which their heads should go (see queue/fair-order.ts). */
  heads: Iterable<{ lane: QueueLane; job: QueueLane['jobs'][number] }>
  lanes: readonly QueueLane[]
  nodes: readonly PlaceableNode[]
  isPaused: boolean
  /** The version that a lane's jobs run with when sent now; null: there is none. */
  versionOf: (lane: QueueLane) => string | null
  eggState: (nodeId: string, project: string, version: string) => EggState
  whyNotReady: WhyNotReady
  /** The node refused this job lately and gets it again only after a while. */
  isHeldBack: (jobId: string, nodeId: string) => boolean
}

export interface Assignment {
  jobId: string
  lane: string
  nodeId: string
  version: string
  /** For the timeline: `1 of 4 slots free, has the egg`. */
  because: string
}

export interface Plan {
  assignments: Assignment[]
  /** Eggs to send so that waiting jobs can go to these nodes; never more nodes than jobs that would use them. */
  uploads: { nodeId: string; project: string; version: string }[]
  /** Why the first job of a lane that is left over waits; every lane with jobs left has an entry. */
  waiting: Map<string, Waiting>
}

/**
 * Decides which queued jobs go where, now. Pure. Never gives a node more than its free slots (invariant I3), nor a
 * job to two nodes. Among the nodes that may run a job: those that have the egg first, then the least loaded share of slots,
 * then by id so that the same input gives the same plan.
 */
export function place(input: PlaceInput): Plan {
  const plan: Plan = { assignments: [], uploads: [], waiting: new Map() }
  if (input.isPaused) {
    for (const lane of input.lanes) plan.waiting.set(lane.lane, { code: 'paused', text: 'everything is paused' })
    return plan
  }
  const used = new Map(input.nodes.map((node) => [node.id, node.used]))
  const blocked = new Set<string>()
  const uploadsOfLane = new Map<string, { started: Set<string>; underWay: PlaceableNode[] }>()

  for (const { lane, job } of input.heads) {
    if (blocked.has(lane.lane)) continue
    const version = input.versionOf(lane)
    if (version === null) {
      plan.waiting.set(lane.lane, { code: 'version_missing', text: missingVersionText(lane) })
      blocked.add(lane.lane)
      continue
    }
    const candidates = input.nodes.filter(
      (node) => mayRun(node, lane.placement) && input.whyNotReady(node.id, lane.project) === null
    )
    const withRoom = candidates.filter((node) => (used.get(node.id) ?? 0) < node.slots)
    const open = withRoom.filter((node) => !input.isHeldBack(job.id, node.id))
    const isSending = (node: PlaceableNode) => input.eggState(node.id, lane.project, version) === 'sending'
    const ready = open.filter((node) => input.eggState(node.id, lane.project, version) === 'present')
    const best = leastLoaded(ready, used)
    if (best !== null) {
      const usedThere = used.get(best.id) ?? 0
      used.set(best.id, usedThere + 1)
      plan.assignments.push({
        jobId: job.id,
        lane: lane.lane,
        nodeId: best.id,
        version,
        because: `${best.slots - usedThere} of ${best.slots} slots free, has the egg`
      })
      continue
    }
    // No open node has the egg. Eggs already on their way will serve as many jobs; for the next job, send one more.
    const uploads = uploadsOfLane.get(lane.lane) ?? { started: new Set<string>(), underWay: open.filter(isSending) }
    uploadsOfLane.set(lane.lane, uploads)
    const awaited = uploads.underWay.shift()
    if (awaited !== undefined) {
      if (!plan.waiting.has(lane.lane)) plan.waiting.set(lane.lane, eggOnItsWay(awaited, version))
      continue
    }
    const target = leastLoaded(
      open.filter(
        (node) => input.eggState(node.id, lane.project, version) === 'absent' && !uploads.started.has(node.id)
      ),
      used
    )
    if (target !== null) {
      uploads.started.add(target.id)
      plan.uploads.push({ nodeId: target.id, project: lane.project, version })
      if (!plan.waiting.has(lane.lane)) plan.waiting.set(lane.lane, eggOnItsWay(target, version))
      continue
    }
    // What holds back one job must not hold up those behind it.
    if (open.length === withRoom.length) blocked.add(lane.lane)
    if (!plan.waiting.has(lane.lane)) {
      plan.waiting.set(lane.lane, explainWait({ lane, job, version, candidates, open, input }))
    }
  }
  return plan
}

function mayRun(node: PlaceableNode, placement: Placement): boolean {
  return node.unavailable === null && node.mode === 'active' && matches(node, placement)
}

function matches(node: PlaceableNode, placement: Placement): boolean {
  if (placement.nodeId !== null && placement.nodeId !== node.id) return false
  return placement.tags.every((tag) => node.tags.includes(tag))
}

function leastLoaded(nodes: readonly PlaceableNode[], used: ReadonlyMap<string, number>): PlaceableNode | null {
  let best: PlaceableNode | null = null
  let bestShare = Number.POSITIVE_INFINITY
  for (const node of nodes) {
    const share = (used.get(node.id) ?? 0) / node.slots
    if (share < bestShare || (share === bestShare && best !== null && node.id < best.id)) {
      best = node
      bestShare = share
    }
  }
  return best
}

function explainWait(context: {
  lane: QueueLane
  job: { id: string }
  version: string
  candidates: readonly PlaceableNode[]
  open: readonly PlaceableNode[]
  input: PlaceInput
}): Waiting {
  const { lane, job, version, candidates, open, input } = context
  if (input.nodes.length === 0) return { code: 'no_nodes', text: 'there is no node; add one under Nodes' }
  const where = placeName(lane.placement, input.nodes)
  const matching = input.nodes.filter((node) => matches(node, lane.placement))
  if (matching.length === 0 && lane.placement.nodeId !== null) {
    return {
      code: 'no_matching_node',
      text: 'the node it was to run on is gone, or has other tags; run it again elsewhere'
    }
  }
  if (matching.length === 0) return { code: 'no_matching_node', text: `no node is ${where}` }
  if (candidates.length === 0) {
    const unready = matching.find((node) => mayRun(node, lane.placement))
    if (unready !== undefined) {
      const others = matching.length === 1 ? '' : `, and no other node${suffix(where)} can take it`
      return {
        code: 'python_not_ready',
        text: `${unready.name} ${input.whyNotReady(unready.id, lane.project)}${others}`
      }
    }
    const down = matching.filter((node) => node.unavailable !== null)
    if (down.length === matching.length) {
      const [first] = down
      const text =
        matching.length === 1
          ? `${first?.name} ${first?.unavailable}`
          : `none of the ${down.length} nodes${suffix(where)} can take jobs now`
      return { code: 'nodes_down', text }
    }
    if (down.length > 0) {
      const text = `${down[0]?.name} ${down[0]?.unavailable}, and the other nodes${suffix(where)} are down or cordoned, too`
      return { code: 'nodes_down', text }
    }
    return { code: 'nodes_cordoned', text: `every node${suffix(where)} that could take it is cordoned` }
  }
  const heldBack = candidates.filter((node) => input.isHeldBack(job.id, node.id))
  if (open.length === 0 && heldBack.length > 0) {
    return { code: 'node_refused', text: `${heldBack[0]?.name} refused it; tried again soon` }
  }
  if (open.length === 0) {
    const slots = candidates.reduce((sum, node) => sum + node.slots, 0)
    return {
      code: 'all_slots_busy',
      text: slots === 1 ? `the slot${suffix(where)} is busy` : `all ${slots} slots${suffix(where)} busy`
    }
  }
  const sending = open.find((node) => input.eggState(node.id, lane.project, version) === 'sending')
  if (sending !== undefined) return eggOnItsWay(sending, version)
  const anyPresent = candidates.some((node) => input.eggState(node.id, lane.project, version) === 'present')
  if (anyPresent) return { code: 'all_slots_busy', text: `all slots with version ${version} busy` }
  return { code: 'egg_refused', text: `no open node has version ${version}, and it could not be sent; see Projects` }
}

function eggOnItsWay(node: PlaceableNode, version: string): Waiting {
  return { code: 'egg_on_its_way', text: `version ${version} is being sent to ${node.name}` }
}

function missingVersionText(lane: QueueLane): string {
  if (lane.version === null) return `no version of ${lane.project} is known; upload one`
  return `version ${lane.version} of ${lane.project} is gone; upload it again`
}

function placeName(placement: Placement, nodes: readonly PlaceableNode[]): string {
  if (placement.nodeId !== null) return nodes.find((node) => node.id === placement.nodeId)?.name ?? `the node asked for`
  if (placement.tags.length > 0) return `tagged ${placement.tags.join(' and ')}`
  return ''
}

function suffix(where: string): string {
  if (where === '') return ''
  return where.startsWith('tagged') ? ` ${where}` : ` of ${where}`
}
