import { type Message, say } from '../../../../shared/texts/message.ts'
import type { NodeChoices } from '../../../notify/plugins/node-chooser.ts'
import type { NodeQuestion } from '../../../notify/plugins/plugin.ts'
import { type PlaceableNode, roomOn } from './node-index.ts'
import type { Assignment } from './place.ts'

export function nodeQuestions(assignments: readonly Assignment[]): NodeQuestion[] {
  // All questions share one description per node, so that it is copied to the plugin's thread only once.
  const shown = new Map<PlaceableNode, NodeQuestion['candidates'][number]>()
  for (const node of new Set(assignments.flatMap(({ candidates }) => candidates))) {
    const { id, name, tags, slots } = node
    shown.set(node, { id, name, tags, slots, free: roomOn(node) })
  }
  return assignments.filter(isAChoice).map(({ job: { id, priority }, line, lane, version, candidates }) => ({
    job: { id, project: line.project, spider: line.lanes.get(lane)!.spider, priority, version },
    candidates: candidates.map((node) => shown.get(node)!)
  }))
}

export function choiceNotes(assignment: Assignment, choices: NodeChoices | null): Record<string, Message | string> {
  if (choices === null || !isAChoice(assignment)) return {}
  const { plugin, problem, byJob } = choices
  if (problem !== null) return { [`not asked of ${plugin}`]: problem }
  const choice = byJob.get(assignment.job.id)
  if (choice == null) return {}
  if (choice.node === assignment.nodeId) return { [`chosen by ${plugin}`]: choice.why }
  return { [`not as ${plugin} chose`]: say('choice.node_full') }
}

const isAChoice = ({ candidates }: Assignment): boolean => candidates.length > 1
