import type { NodeId, ProjectName, VersionName, Waiting } from '../../../../shared/contract/index.ts'
import { asParam, type Message, say, waitFor } from '../../../../shared/texts/message.ts'
import type { ImportError } from '../../../projects/distribution.ts'
import type { QueueLine } from '../../queue/fair-order.ts'
import { lastLineOf } from './broken-egg.ts'
import type { EggState, NodeIndex, PlacementSummary, WhyNotReady } from './node-index.ts'

interface Asked {
  nodes: NodeIndex
  whyNotReady: WhyNotReady
  versionOf: (line: QueueLine) => VersionName | null
  eggState: (nodeId: NodeId, project: ProjectName, version: VersionName) => EggState
  importErrors: (project: ProjectName, version: VersionName) => ReadonlyMap<NodeId, ImportError>
}

/** Explains why no node takes a line's jobs. `hasRoom`: whether a matching node has room. It then lacks the egg. */
export function explainLine(line: QueueLine, input: Asked, hasRoom: boolean): Waiting {
  const { nodes } = input
  if (nodes.size === 0) return waitFor('no_nodes')
  const summary = nodes.summaryOf(line.placement, line.placementKey)
  const where = nodesOf(line, summary)
  const { matching } = summary
  if (matching === 0) return waitFor('no_matching_node', where)
  if (summary.able.size === 0) return explainUnavailable(summary, where)
  const unready = summary.choosy.filter(({ id }) => input.whyNotReady(id, line.project) !== null)
  if (unready.length === summary.able.size) {
    const { id, name } = unready[0]!
    const why = asParam(input.whyNotReady(id, line.project)!)
    return waitFor('python_not_ready', { node: name, why, matching, ...where })
  }
  const slots = unready.reduce((left, node) => left - node.slots, summary.slots)
  const busy = () => waitFor('all_slots_busy', { slots, held: summary.held, version: null, ...where })
  return (hasRoom ? explainEgg(line, input, where) : null) ?? busy()
}

function explainUnavailable(summary: PlacementSummary, where: Where): Waiting {
  const { first, firstUnavailable: down, unavailable, matching } = summary
  if (down === null) {
    return waitFor('nodes_cordoned', { node: matching === 1 ? first!.name : null, matching, ...where })
  }
  // Omits the node's name if the text does not contain it, because some readers must not see it.
  const named = unavailable < matching || matching === 1 ? down : null
  const { name: node = null, unavailable: why = null } = named ?? {}
  return waitFor('nodes_down', { node, why, matching, down: unavailable, ...where })
}

function explainEgg(line: QueueLine, asked: Asked, where: Where): Waiting | null {
  const { nodes, versionOf, eggState, whyNotReady } = asked
  const version = versionOf(line)!
  const { able, slots, held } = nodes.summaryOf(line.placement, line.placementKey)
  const open = [...nodes.open()].filter(({ id }) => able.has(id) && whyNotReady(id, line.project) === null)
  if (open.length === 0) return null
  const stateOn = (id: NodeId) => eggState(id, line.project, version)
  const sending = open.find(({ id }) => stateOn(id) === 'sending')
  if (sending !== undefined) return eggOnItsWay(line, sending.name, asked)
  // The nodes that have the egg are full, perhaps because of this plan.
  if (isAny(able, (id) => stateOn(id) === 'present')) {
    if (open.every(({ id }) => stateOn(id) === 'present')) return null
    return waitFor('all_slots_busy', { slots, held, version, ...where })
  }
  return waitFor('egg_refused', { version, refused: importErrors(line, asked) })
}

export function eggOnItsWay(line: QueueLine, nodeName: string, asked: Asked): Waiting {
  const version = asked.versionOf(line)!
  return waitFor('egg_on_its_way', { version, node: nodeName, refused: importErrors(line, asked) })
}

function importErrors(line: QueueLine, { nodes, versionOf, importErrors: errorsOf }: Asked): Message | null {
  const version = versionOf(line)!
  const errors = errorsOf(line.project, version)
  if (errors.size === 0) return null
  const { able } = nodes.summaryOf(line.placement, line.placementKey)
  const [first, ...others] = [...errors].filter(([id]) => able.has(id))
  if (first === undefined) return null
  const [id, { output }] = first
  const [node, error] = [nodes.get(id)!.name, lastLineOf(output)]
  return say('egg.not_importable', { node, others: others.length, version, error })
}

interface Where {
  only: string | null
  tags: readonly string[]
}

function nodesOf({ placement: { nodeId, tags } }: QueueLine, summary: PlacementSummary): Where {
  return nodeId === null ? { only: null, tags } : { only: summary.first?.name ?? nodeId, tags: [] }
}

function isAny<T>(items: Iterable<T>, isSo: (item: T) => boolean): boolean {
  for (const item of items) if (isSo(item)) return true
  return false
}
