import type { NodeId, ProjectName, VersionName, Waiting } from '../../../../shared/contract/index.ts'
import { describeTags } from '../../../../shared/tag-terms.ts'
import type { ImportError } from '../../../projects/distribution.ts'
import type { QueueLine } from '../../queue/fair-order.ts'
import { describeImportErrors } from './broken-egg.ts'
import type { EggState, NodeIndex, PlacementSummary, WhyNotReady } from './node-index.ts'

interface Asked {
  nodes: NodeIndex
  whyNotReady: WhyNotReady
  versionOf: (line: QueueLine) => VersionName | null
  eggState: (nodeId: NodeId, project: ProjectName, version: VersionName) => EggState
  /** What nodes said that cannot import the egg of this version. */
  importErrors: (project: ProjectName, version: VersionName) => ReadonlyMap<NodeId, ImportError>
}

/**
 * Why no node takes a line's jobs now: which nodes match, what they lack, or that they are just busy. `hasRoom`: a
 * matching node has room, so it lacks the egg. Pure.
 */
export function explainLine(line: QueueLine, input: Asked, hasRoom: boolean): Waiting {
  const { nodes } = input
  if (nodes.size === 0) return { code: 'no_nodes', text: 'there are no nodes; add one under Nodes' }
  const summary = nodes.summaryOf(line.placement, line.placementKey)
  const where = placeName(line, summary)
  if (summary.matching === 0 && line.placement.nodeId !== null) {
    return {
      code: 'no_matching_node',
      text: 'its node was removed or has different tags; run the job again on another node'
    }
  }
  if (summary.matching === 0) return { code: 'no_matching_node', text: `no node is ${where}` }
  if (summary.able.size === 0) return explainUnavailable(summary, where)
  const unready = summary.choosy.filter(({ id }) => input.whyNotReady(id, line.project) !== null)
  if (unready.length === summary.able.size) {
    const [first] = unready
    const others = summary.matching === 1 ? '' : `, and no other node${suffix(where)} can take it`
    return { code: 'python_not_ready', text: `${first!.name} ${input.whyNotReady(first!.id, line.project)}${others}` }
  }
  const slots = unready.reduce((left, node) => left - node.slots, summary.slots)
  return (hasRoom ? explainEgg(line, input) : null) ?? busy(slots, summary.held, where)
}

function explainUnavailable(summary: PlacementSummary, where: string): Waiting {
  const { firstUnavailable: first, unavailable, matching } = summary
  if (first === null) {
    const which = matching === 1 ? summary.first!.name : `every node${suffix(where)} that could run the job`
    return { code: 'nodes_cordoned', text: `${which} is cordoned` }
  }
  if (unavailable < matching) {
    return {
      code: 'nodes_down',
      text: `${first.name} ${first.unavailable}, and the other nodes${suffix(where)} are down or cordoned as well`
    }
  }
  const text =
    matching === 1
      ? `${first.name} ${first.unavailable}`
      : `none of the ${unavailable} nodes${suffix(where)} can take jobs now`
  return { code: 'nodes_down', text }
}

/** There is room, but not on a node with the egg. */
function explainEgg(line: QueueLine, asked: Asked): Waiting | null {
  const { nodes, versionOf, eggState, whyNotReady } = asked
  const version = versionOf(line)!
  const { able } = nodes.summaryOf(line.placement, line.placementKey)
  const open = [...nodes.open()].filter(({ id }) => able.has(id) && whyNotReady(id, line.project) === null)
  if (open.length === 0) return null
  const stateOn = (id: NodeId) => eggState(id, line.project, version)
  const sending = open.find(({ id }) => stateOn(id) === 'sending')
  if (sending !== undefined) {
    return eggOnItsWay(line, sending.name, asked)
  }
  // The nodes that have the egg are full, perhaps because of this plan.
  if (isAny(able, (id) => stateOn(id) === 'present')) {
    if (open.some(({ id }) => stateOn(id) !== 'present')) {
      return { code: 'all_slots_busy', text: `all slots with version ${version} are busy` }
    }
    return null
  }
  const text = importErrorText(line, asked)
  return {
    code: 'egg_refused',
    text: text ?? `no open node has version ${version}, and it could not be sent; see Projects`
  }
}

/** Names the nodes that have already refused the egg, too. */
export function eggOnItsWay(line: QueueLine, nodeName: string, asked: Asked): Waiting {
  const refused = importErrorText(line, asked)
  const text = `version ${asked.versionOf(line)} is being sent to ${nodeName}`
  return { code: 'egg_on_its_way', text: refused === null ? text : `${text}; ${refused}` }
}

function importErrorText(line: QueueLine, { nodes, versionOf, importErrors }: Asked): string | null {
  const version = versionOf(line)!
  const errors = importErrors(line.project, version)
  if (errors.size === 0) return null
  const { able } = nodes.summaryOf(line.placement, line.placementKey)
  const named = [...errors].filter(([id]) => able.has(id))
  return describeImportErrors(
    version,
    named.map(([id, { output }]) => [nodes.get(id)!.name, output])
  )
}

function busy(slots: number, held: number, where: string): Waiting {
  const text = slots === 1 ? `the slot${suffix(where)} is busy` : `all ${slots} slots${suffix(where)} are busy`
  const inThem = slots === 1 ? 'in it' : `in ${held} of them`
  const why = held === 0 ? '' : `; ${inThem}, a spider has ended, but something that it started keeps its process open`
  return { code: 'all_slots_busy', text: `${text}${why}` }
}

function placeName({ placement }: QueueLine, summary: PlacementSummary): string {
  if (placement.nodeId !== null) return summary.first?.name ?? 'the node asked for'
  return describeTags(placement.tags)
}

function suffix(where: string): string {
  if (where === '') return ''
  return /^(not )?tagged /.test(where) ? ` ${where}` : ` of ${where}`
}

function isAny<T>(items: Iterable<T>, isSo: (item: T) => boolean): boolean {
  for (const item of items) if (isSo(item)) return true
  return false
}
