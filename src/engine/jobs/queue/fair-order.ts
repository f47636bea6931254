import type { ProjectName } from '../../../shared/contract/index.ts'
import type { Lane } from '../../model/lane.ts'
import type { QueueHead } from '../../model/records.ts'
import { Heap } from '../../runtime/heap.ts'

/** One spider's queued jobs in a line. `jobs` are the first ones. */
export interface QueueLane {
  lane: string
  spider: string
  jobs: readonly QueueHead[]
  hasMore: boolean
  /**
   * Whether the maximum number of heads was read and none could be placed. If so, other lanes do not wait for the rest
   * of this lane.
   */
  isStuck?: boolean
}

/**
 * Lanes that differ only in their spider. Except for limits, anything that blocks one lane on a node blocks all of
 * them.
 */
export interface QueueLine extends Omit<Lane, 'spider'> {
  key: string
  placementKey: string
  lanes: ReadonlyMap<string, QueueLane>
}

export interface ProjectShare {
  slots: number
  weight: number
  /** The project's turn among projects with equal shares. The lowest goes first (fair-shares.ts). */
  pass: number
}

export interface Head {
  line: QueueLine
  lane: QueueLane
  job: QueueHead
}

interface LaneTurn {
  lane: QueueLane
  index: number
}
interface LineTurn {
  line: QueueLine
  lanes: Heap<LaneTurn>
}
interface ProjectTurn extends ProjectShare {
  lines: Heap<LineTurn>
}

/**
 * The order in which queued jobs are considered: highest priority first, then the project with the fewest slots for
 * its weight, at equal shares the one whose turn it is, then the oldest job (rank, then id). A project with ten
 * thousand jobs thus never starves another. Building the order takes one step per lane; each further step is
 * logarithmic.
 *
 * If a lane has more jobs than were read, the order ends at the last one read (`endedAt`), unless the lane is stuck:
 * the next job is unknown, and jobs of lower priority must not go before it.
 */
export class FairOrder {
  readonly #projects: Heap<ProjectTurn>
  readonly passFloor: number
  endedAt: QueueLane | null = null

  constructor(lines: Iterable<QueueLine>, shareOf: (project: ProjectName) => ProjectShare) {
    const linesOf = new Map<ProjectName, LineTurn[]>()
    for (const line of lines) {
      const lanes: LaneTurn[] = []
      for (const lane of line.lanes.values()) if (lane.jobs.length > 0) lanes.push({ lane, index: 0 })
      if (lanes.length === 0) continue
      const turn = { line, lanes: new Heap(lanes, laneGoesBefore) }
      const others = linesOf.get(line.project)
      if (others === undefined) linesOf.set(line.project, [turn])
      else others.push(turn)
    }
    const projects: ProjectTurn[] = []
    let floor = Number.POSITIVE_INFINITY
    for (const [project, turns] of linesOf) {
      const share = shareOf(project)
      floor = Math.min(floor, share.pass)
      projects.push({ ...share, lines: new Heap(turns, lineGoesBefore) })
    }
    this.passFloor = floor === Number.POSITIVE_INFINITY ? 0 : floor
    this.#projects = new Heap(projects, projectGoesBefore)
  }

  current(): Head | null {
    const line = this.endedAt === null ? this.#projects.first()?.lines.first() : undefined
    if (line === undefined) return null
    const { lane, index } = line.lanes.first()!
    return { line: line.line, lane, job: lane.jobs[index]! }
  }

  acceptJob(): void {
    const project = this.#projects.first()!
    project.slots += 1
    project.pass += 1 / project.weight
    this.skipJob()
  }

  /** Call this when the current job cannot be placed now, but later jobs may be. */
  skipJob(): void {
    const lanes = this.#projects.first()!.lines.first()!.lanes
    const turn = lanes.first()!
    turn.index += 1
    if (turn.index < turn.lane.jobs.length) lanes.sinkFirst()
    else {
      if (turn.lane.hasMore && turn.lane.isStuck !== true) this.endedAt = turn.lane
      lanes.removeFirst()
    }
    this.#reorder()
  }

  skipLane(): void {
    this.#projects.first()!.lines.first()!.lanes.removeFirst()
    this.#reorder()
  }

  skipLine(): void {
    this.#projects.first()!.lines.removeFirst()
    this.#reorder()
  }

  #reorder(): void {
    const { lines } = this.#projects.first()!
    if (lines.first()?.lanes.size === 0) lines.removeFirst()
    else if (lines.size > 0) lines.sinkFirst()
    if (lines.size === 0) this.#projects.removeFirst()
    else this.#projects.sinkFirst()
  }
}

const jobOfLane = ({ lane, index }: LaneTurn): QueueHead => lane.jobs[index]!
const jobOfLine = ({ lanes }: LineTurn): QueueHead => jobOfLane(lanes.first()!)

function jobGoesBefore(one: QueueHead, other: QueueHead): boolean {
  if (one.priority !== other.priority) return one.priority > other.priority
  return isOlder(one, other)
}

function isOlder(one: QueueHead, other: QueueHead): boolean {
  return one.rank === other.rank ? one.id < other.id : one.rank < other.rank
}

function laneGoesBefore(one: LaneTurn, other: LaneTurn): boolean {
  return jobGoesBefore(jobOfLane(one), jobOfLane(other))
}

function lineGoesBefore(one: LineTurn, other: LineTurn): boolean {
  return jobGoesBefore(jobOfLine(one), jobOfLine(other))
}

function projectGoesBefore(one: ProjectTurn, other: ProjectTurn): boolean {
  const oneJob = jobOfLine(one.lines.first()!)
  const otherJob = jobOfLine(other.lines.first()!)
  if (oneJob.priority !== otherJob.priority) return oneJob.priority > otherJob.priority
  const difference = one.slots / one.weight - other.slots / other.weight
  if (difference !== 0) return difference < 0
  if (one.pass !== other.pass) return one.pass < other.pass
  return isOlder(oneJob, otherJob)
}
