import type { Problem, ProjectName, Waiting } from '../../../shared/contract/index.ts'
import { timeOfJobId } from '../../../shared/ids.ts'
import { say, waitingMessage } from '../../../shared/texts/message.ts'
import { parseLane } from '../../model/lane.ts'
import type { LaneReader } from '../../storage/store.ts'
import { problem } from './problem.ts'

export interface LongWait {
  project: ProjectName
  waiting: Waiting
  jobs: number
  sinceMs: number
}

const LONG_MS = 3_600_000
const LANES_READ = 1_000
const SHOWN_MAX = 20
/**
 * Reasons for waiting that last until an operator uploads a version, adds a node or a tag, fixes an egg, or uncordons
 * a node.
 */
const ENDLESS = new Set<Waiting['code']>([
  'version_missing',
  'no_matching_node',
  'no_nodes',
  'egg_refused',
  'nodes_cordoned'
])

export async function findLongWaits(
  store: LaneReader,
  waitingOf: (lane: string) => Waiting,
  nowMs: number
): Promise<LongWait[]> {
  const lanes = (await store.listLanes()).filter(({ lane }) => ENDLESS.has(waitingOf(lane).code)).slice(0, LANES_READ)
  if (lanes.length === 0) return []
  const heads = await store.readHeads(lanes.map(({ lane }) => ({ lane, limit: 1 })))
  const waits = new Map<string, LongWait>()
  for (const [index, { lane, depth }] of lanes.entries()) {
    const head = heads[index]![0]
    if (head === undefined || nowMs - timeOfJobId(head.id) < LONG_MS) continue
    const { project } = parseLane(lane)
    const waiting = waitingOf(lane)
    const key = `${project}\n${waiting.text}`
    const before = waits.get(key)
    const sinceMs = Math.min(before?.sinceMs ?? nowMs, timeOfJobId(head.id))
    waits.set(key, { project, waiting, jobs: (before?.jobs ?? 0) + depth, sinceMs })
  }
  return [...waits.values()].sort((one, other) => other.jobs - one.jobs).slice(0, SHOWN_MAX)
}

export function longWaitProblems(waits: readonly LongWait[], nowMs: number): Problem[] {
  return waits.map(({ project, waiting, jobs, sinceMs }) =>
    problem({
      id: `waiting:${project}:${waiting.code}:${waiting.text}`,
      severity: 'warning',
      title: say('problem_title.long_wait', { jobs, project }),
      text: say('problem.long_wait', { waiting: waitingMessage(waiting), queuedAgoMs: nowMs - sinceMs }),
      sinceMs,
      project,
      status: 'queued',
      mend: waiting.code === 'version_missing' || waiting.code === 'egg_refused' ? 'open_project' : 'open_jobs'
    })
  )
}
