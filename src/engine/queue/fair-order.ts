import type { Lane } from '../store/lane.ts'
import type { QueueHead } from '../store/store.ts'

/** A lane and as many of its first jobs as were read. */
export interface QueueLane extends Lane {
  lane: string
  jobs: QueueHead[]
  depth: number
}

type Head = { lane: QueueLane; job: QueueLane['jobs'][number] }

/**
 * The order in which queued jobs are looked at: highest priority first; at equal priority the projects take turns, so that a
 * project with ten thousand jobs does not starve one with three; within a project the oldest first. Pure and lazy: it
 * costs only as much as is taken from it. `share` says how many slots a project has already: fewer goes first.
 */
export function* orderFairly(lanes: readonly QueueLane[], share: (project: string) => number): Generator<Head> {
  const next = lanes.filter((lane) => lane.jobs.length > 0).map((lane) => ({ lane, index: 0 }))
  const taken = new Map<string, number>()
  const load = (project: string) => share(project) + (taken.get(project) ?? 0)
  while (next.length > 0) {
    let best = 0
    for (let index = 1; index < next.length; index += 1) {
      if (goesBefore(next[index]!, next[best]!, load)) best = index
    }
    const chosen = next[best]!
    yield { lane: chosen.lane, job: chosen.lane.jobs[chosen.index]! }
    taken.set(chosen.lane.project, (taken.get(chosen.lane.project) ?? 0) + 1)
    chosen.index += 1
    if (chosen.index >= chosen.lane.jobs.length) next.splice(best, 1)
  }
}

function goesBefore(
  left: { lane: QueueLane; index: number },
  right: { lane: QueueLane; index: number },
  load: (project: string) => number
): boolean {
  const leftJob = left.lane.jobs[left.index]!
  const rightJob = right.lane.jobs[right.index]!
  if (leftJob.priority !== rightJob.priority) return leftJob.priority > rightJob.priority
  const difference = load(left.lane.project) - load(right.lane.project)
  if (difference !== 0) return difference < 0
  if (leftJob.rank !== rightJob.rank) return leftJob.rank < rightJob.rank
  return leftJob.id < rightJob.id
}
