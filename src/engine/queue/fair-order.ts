import type { ProjectName } from '../../shared/contract/index.ts'
import type { Lane } from '../store/lane.ts'
import type { QueueHead } from '../store/records.ts'
import { Heap } from './heap.ts'

/** The jobs of one spider in a line, and as many of the first as were read. */
export interface QueueLane {
  lane: string
  spider: string
  jobs: readonly QueueHead[]
  /** There are more behind them. */
  hasMore: boolean
  /** The most that are ever read were read, and none could go: others need not wait for those behind them. */
  isStuck?: boolean
}

/** Lanes that differ in nothing but their spider: whatever keeps one from a node keeps all of them, but for limits. */
export interface QueueLine extends Omit<Lane, 'spider'> {
  key: string
  /** Equal where the placement is. */
  placementKey: string
  lanes: ReadonlyMap<string, QueueLane>
}

/** What a project has of the slots, and what it should have. */
export interface ProjectShare {
  /** Slots that its live attempts hold. */
  slots: number
  weight: number
  /** Where it stands in the turns that are taken when shares are equal (fair-shares.ts). */
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
 * The order in which queued jobs are looked at: highest priority first; then the project whose slots are fewest for its
 * weight; at equal shares the one whose turn it is; then the oldest job (rank, then id). So a project with ten thousand
 * jobs starves nobody, whatever the number of slots. Building it costs a look at each lane, each step a logarithm.
 *
 * Where the heads that were read end before their lane does, the order ends too (`endedAt`): what would follow is not
 * known, and jobs of lower priority must not go first; unless the lane is stuck.
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

  /** The current job got a slot. */
  acceptJob(): void {
    const project = this.#projects.first()!
    project.slots += 1
    project.pass += 1 / project.weight
    this.skipJob()
  }

  /** The current job cannot go now; those behind it may. */
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

  /** No job of the current lane can go now. */
  skipLane(): void {
    this.#projects.first()!.lines.first()!.lanes.removeFirst()
    this.#reorder()
  }

  /** No job of the current line can go now. */
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
