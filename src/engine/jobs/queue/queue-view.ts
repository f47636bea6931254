import type { JobId } from '../../../shared/contract/index.ts'
import { parseLane } from '../../model/lane.ts'
import type { QueueHead } from '../../model/records.ts'
import type { LaneReader } from '../../storage/store.ts'
import type { QueueLane, QueueLine } from './fair-order.ts'

/** How many heads are read from a lane at first, and the maximum that this grows to as its jobs are taken. */
const HEADS_FIRST = 4
const HEADS_MAX = 512
const HEADS_KEPT = 200_000

interface ViewedLane extends QueueLane {
  line: ViewedLine
  jobs: QueueHead[]
  isStuck: boolean
  /** The number of heads to read at once. Grows as jobs are taken. */
  wanted: number
  reading: number
}

interface ViewedLine extends QueueLine {
  lanes: Map<string, ViewedLane>
}

/**
 * The queue as dispatching sees it, in memory: all lanes, grouped into lines, with the first jobs of each. The store
 * reports which lanes changed, and only these are read again. The cost of a dispatcher run therefore depends on what it
 * sends and what changed, not on the length of the queue.
 */
export class QueueView {
  readonly #store: LaneReader
  readonly #lanes = new Map<string, ViewedLane>()
  readonly #lines = new Map<string, ViewedLine>()
  #stale = new Set<string>()
  readonly #thin = new Set<string>()
  #toReadAhead: string[] = []
  #readings = 0
  #readingsAhead = 0
  /** Jobs taken during a read-ahead, whose result may still contain them. */
  readonly #takenMeanwhile = new Set<string>()
  #isStopped = false
  #isComplete = false
  #keptMax = HEADS_MAX
  readonly #stopListening: () => void
  readonly #onChange: () => void
  readonly #onLaneEmptied: (lane: string) => void

  constructor(store: LaneReader, onChange: () => void, onLaneEmptied: (lane: string) => void = () => {}) {
    this.#store = store
    this.#onChange = onChange
    this.#onLaneEmptied = onLaneEmptied
    this.#stopListening = store.onQueueChange((lanes) => {
      for (const lane of lanes) this.#stale.add(lane)
      onChange()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#stopListening()
  }

  lines(): ReadonlyMap<string, QueueLine> {
    return this.#lines
  }

  /** Whether the lane had jobs at the last read. Held jobs do not count. */
  has(lane: string): boolean {
    return this.#lanes.has(lane)
  }

  /** Reads what changed since the last call. The first call reads all lanes. */
  async refresh(): Promise<void> {
    if (!this.#isComplete) {
      for (const { lane } of await this.#store.listLanes()) this.#stale.add(lane)
      this.#isComplete = true
    }
    if (this.#stale.size === 0) return
    const stale = [...this.#stale]
    this.#stale = new Set()
    this.#keptMax = Math.max(1, Math.min(HEADS_MAX, Math.floor(HEADS_KEPT / (this.#lanes.size + stale.length))))
    const wanted = this.#wanted(stale)
    const reading = (this.#readings += 1)
    try {
      const heads = await this.#store.readHeads(wanted)
      for (const [index, { lane, limit }] of wanted.entries()) this.#put(lane, heads[index]!, limit, reading)
    } catch (error) {
      for (const lane of stale) this.#stale.add(lane)
      throw error
    }
  }

  #wanted(lanes: string[]): { lane: string; limit: number }[] {
    return lanes.map((lane) => ({
      lane,
      limit: Math.min(this.#lanes.get(lane)?.wanted ?? HEADS_FIRST, this.#keptMax)
    }))
  }

  /** Reads more heads of lanes that run low, so that a freed slot finds a job. Leaves changed lanes to `refresh`. */
  async #readAhead(): Promise<void> {
    const lanes = this.#toReadAhead
    this.#toReadAhead = []
    if (this.#isStopped) return
    const wanted = this.#wanted(lanes)
    const reading = (this.#readings += 1)
    this.#readingsAhead += 1
    try {
      const heads = await this.#store.readHeads(wanted)
      for (const [index, { lane, limit }] of wanted.entries()) {
        const known = this.#lanes.get(lane)
        if (known === undefined || known.reading > reading || this.#stale.has(lane)) continue
        this.#put(lane, heads[index]!, limit, reading)
        if (known.jobs.length > 0 || !known.hasMore) continue
        this.#stale.add(lane)
        this.#onChange()
      }
    } catch {
      for (const lane of lanes) this.#stale.add(lane)
    } finally {
      for (const lane of lanes) this.#thin.delete(lane)
      this.#readingsAhead -= 1
      if (this.#readingsAhead === 0) this.#takenMeanwhile.clear()
    }
  }

  /**
   * Call this when the known heads of a lane are used up and the lane has more jobs. If the maximum was already read,
   * the lane is stuck until it changes. Returns false if the lane was already stuck or is gone.
   */
  readMore(lane: string): boolean {
    const viewed = this.#lanes.get(lane)
    if (viewed === undefined || viewed.isStuck) return false
    if (viewed.jobs.length >= this.#keptMax) {
      viewed.isStuck = true
      return true
    }
    // Grows at most once per refresh, regardless of how many jobs are taken before the next one.
    if (!this.#stale.has(lane)) viewed.wanted = Math.min(HEADS_MAX, viewed.wanted * 2)
    this.#stale.add(lane)
    return true
  }

  remove(lane: string, jobId: JobId): void {
    const viewed = this.#lanes.get(lane)
    if (viewed === undefined) return
    const index = viewed.jobs.findIndex(({ id }) => id === jobId)
    if (this.#readingsAhead > 0) this.#takenMeanwhile.add(jobId)
    if (index >= 0) viewed.jobs.splice(index, 1)
    viewed.isStuck = false
    // Read ahead, because a dispatcher run ends where a lane's heads end.
    if (viewed.hasMore && viewed.jobs.length <= Math.min(viewed.wanted, this.#keptMax) / 2) this.#planReadAhead(viewed)
    if (!viewed.hasMore && viewed.jobs.length === 0) this.#forget(viewed)
  }

  #planReadAhead(viewed: ViewedLane): void {
    const { lane } = viewed
    if (viewed.jobs.length === 0) return void this.readMore(lane)
    if (this.#thin.has(lane) || this.#stale.has(lane)) return
    viewed.wanted = Math.min(HEADS_MAX, viewed.wanted * 2)
    this.#thin.add(lane)
    // Schedules one read for all jobs taken in this turn.
    if (this.#toReadAhead.push(lane) === 1) queueMicrotask(() => void this.#readAhead())
  }

  markStale(lane: string): void {
    this.#stale.add(lane)
  }

  #put(text: string, read: QueueHead[], limit: number, reading: number): void {
    const known = this.#lanes.get(text)
    const hasMore = read.length >= limit
    const taken = this.#takenMeanwhile
    const jobs = taken.size === 0 ? read : read.filter(({ id }) => !taken.has(id))
    if (jobs.length === 0 && !hasMore) {
      if (known !== undefined) this.#forget(known)
      return
    }
    if (known !== undefined) {
      known.reading = reading
      known.jobs = jobs
      known.hasMore = hasMore
      known.isStuck = false
      return
    }
    const { project, version, placement, spider } = parseLane(text)
    const placementKey = JSON.stringify([placement.nodeId, placement.tags])
    const key = lineKey({ project, version, placement })
    let line = this.#lines.get(key)
    if (line === undefined) {
      this.#lines.set(key, (line = { key, project, version, placement, placementKey, lanes: new Map() }))
    }
    const lane: ViewedLane = { lane: text, line, spider, jobs, hasMore, isStuck: false, wanted: HEADS_FIRST, reading }
    line.lanes.set(text, lane)
    this.#lanes.set(text, lane)
  }

  #forget({ lane, line }: ViewedLane): void {
    this.#lanes.delete(lane)
    line.lanes.delete(lane)
    if (line.lanes.size === 0) this.#lines.delete(line.key)
    this.#onLaneEmptied(lane)
  }
}

export function lineKey({ project, version, placement }: Pick<QueueLine, 'project' | 'version' | 'placement'>): string {
  return JSON.stringify([project, version, placement.nodeId, placement.tags])
}
