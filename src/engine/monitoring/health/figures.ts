import { EventEmitter } from 'node:events'
import type { Figures, NodeId, Outcome, ProjectName } from '../../../shared/contract/index.ts'
import type { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import type { Fleet, FleetNode } from '../../nodes/fleet.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { OnlyProjects } from '../../model/records.ts'
import type { JobReader } from '../../storage/store.ts'
import { BoundedMap } from '../../runtime/bounded.ts'

export interface FiguresParts {
  store: JobReader
  fleet: Pick<Fleet, 'list'>
  live: Pick<LiveAttempts, 'slotsUsedOn'>
  clock: Clock
  logger: Logger
  /** 99th percentile of the event loop delay since the last call. */
  sampleLoopP99Ms: () => number
  isPaused: () => boolean
  isStuck: (nodeId: NodeId) => boolean
}

const SAMPLE_EVERY_MS = 1_000
const HISTORY_EVERY_MS = 10_000
const HISTORY_LENGTH = 360
const MANY_ENDS = 10_000
const MANY_ENDS_EVERY_MS = 15_000
const COUNTED_SETS_MAX = 200

interface EndsOfHour {
  counts: Record<Outcome, number>
  atMs: number
}

interface JobCounts {
  figures: Pick<Figures, 'queued' | 'starting' | 'running' | keyof ReturnType<typeof countEnds>>
  lastHour: EndsOfHour
}

export class FiguresSampler {
  /** `changed` is emitted when a sample differs from the previous one in more than its time. */
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: FiguresParts
  readonly #history: Figures[] = []
  #current: Figures
  #lastHour: EndsOfHour | null = null
  /**
   * The figures for each set of projects. Between two samples, the jobs of a set are counted once, regardless of the
   * number of requests.
   */
  readonly #counted = new BoundedMap<
    string,
    { of: Figures; counting: Promise<JobCounts>; lastHour: EndsOfHour | null }
  >(COUNTED_SETS_MAX)
  #timer: Timer | null = null
  #stopped = false

  constructor(parts: FiguresParts) {
    this.#parts = parts
    this.#current = emptyFigures(parts.clock.nowMs())
  }

  get current(): Figures {
    return this.#current
  }

  /** Counts only the jobs of these projects and the slots of nodes with one of these tags. null: all. */
  async of(projects: ReadonlySet<ProjectName> | null, nodeTags: ReadonlySet<string> | null = null): Promise<Figures> {
    const figures = await this.#ofProjects(projects)
    if (nodeTags === null) return figures
    return { ...figures, ...this.#slotsOf(({ stored }) => stored.tags.some((tag) => nodeTags.has(tag))) }
  }

  async #ofProjects(projects: ReadonlySet<ProjectName> | null): Promise<Figures> {
    if (projects === null) return this.#current
    const names = [...projects].toSorted()
    const key = names.join('\n')
    const before = this.#counted.get(key)
    const sample = this.#current
    if (before?.of === sample) return { ...sample, ...(await before.counting).figures }
    const counting = this.#countJobs(before?.lastHour ?? null, { onlyProjects: names })
    const counted = { of: sample, counting, lastHour: before?.lastHour ?? null }
    this.#counted.set(key, counted)
    try {
      const { figures, lastHour } = await counting
      counted.lastHour = lastHour
      return { ...sample, ...figures }
    } catch (error) {
      if (this.#counted.get(key) === counted) this.#counted.delete(key)
      throw error
    }
  }

  get history(): Figures[] {
    return [...this.#history]
  }

  async start(): Promise<void> {
    await this.refresh()
    this.#sampleLater()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  async #countJobs(before: EndsOfHour | null, only: OnlyProjects = {}): Promise<JobCounts> {
    const { store, clock } = this.#parts
    const nowMs = clock.nowMs()
    const [{ ended: _, ...live }, lastHour, lastMinute] = await Promise.all([
      store.countByState(only),
      this.#countLastHour(before, nowMs, only),
      store.countEndedSince(nowMs - 60_000, only)
    ])
    return { figures: { ...live, ...countEnds(lastHour.counts, lastMinute) }, lastHour }
  }

  /**
   * Cached, because counting hundreds of thousands of ended jobs every second would cost more than dispatching them.
   */
  async #countLastHour(before: EndsOfHour | null, nowMs: number, only: OnlyProjects): Promise<EndsOfHour> {
    const isRecent = before !== null && Math.abs(nowMs - before.atMs) < MANY_ENDS_EVERY_MS
    if (isRecent && sumOf(before.counts) > MANY_ENDS) return before
    return { counts: await this.#parts.store.countEndedSince(nowMs - 3_600_000, only), atMs: nowMs }
  }

  #sampleLater(): void {
    if (!this.#stopped) this.#timer = this.#parts.clock.setTimer(SAMPLE_EVERY_MS, () => void this.#sampleAgain())
  }

  async #sampleAgain(): Promise<void> {
    try {
      await this.refresh()
    } catch (error) {
      if (!this.#stopped) this.#parts.logger.error({ error }, 'reading the figures failed; retrying')
    }
    this.#sampleLater()
  }

  #slotsOf(isCounted: (node: FleetNode) => boolean): Pick<Figures, 'slotsTotal' | 'slotsUsed'> {
    const { fleet, live, isStuck } = this.#parts
    return countSlots(fleet.list().filter(isCounted), {
      usedOn: ({ stored, status }) => live.slotsUsedOn(stored.id) + status.external.running.length,
      isStuck: ({ stored }) => isStuck(stored.id)
    })
  }

  async refresh(): Promise<void> {
    const { clock, isPaused } = this.#parts
    const nowMs = clock.nowMs()
    const { figures: jobs, lastHour } = await this.#countJobs(this.#lastHour)
    this.#lastHour = lastHour
    if (this.#stopped) return
    const next: Figures = {
      sampledAtMs: nowMs,
      ...this.#slotsOf(() => true),
      ...jobs,
      loopP99Ms: Math.round(this.#parts.sampleLoopP99Ms() * 10) / 10,
      paused: isPaused()
    }
    const isNew = JSON.stringify({ ...next, sampledAtMs: 0 }) !== JSON.stringify({ ...this.#current, sampledAtMs: 0 })
    this.#current = next
    const newest = this.#history.at(-1)
    if (newest === undefined || nowMs - newest.sampledAtMs >= HISTORY_EVERY_MS) this.#history.push(next)
    if (this.#history.length > HISTORY_LENGTH) this.#history.shift()
    if (isNew) this.events.emit('changed')
  }
}

/**
 * A node that is cordoned, drained or stuck gets no jobs, so only its used slots count towards `slotsTotal`. When all
 * slots are busy, `slotsUsed` equals `slotsTotal`.
 */
export function countSlots<Node extends Pick<FleetNode, 'status' | 'stored'>>(
  nodes: readonly Node[],
  { usedOn, isStuck }: { usedOn: (node: Node) => number; isStuck: (node: Node) => boolean }
): { slotsTotal: number; slotsUsed: number } {
  let slotsTotal = 0
  let slotsUsed = 0
  for (const node of nodes) {
    const { stored, status } = node
    if (status.health !== 'up') continue
    const used = usedOn(node)
    const takesJobs = stored.mode === 'active' && !isStuck(node)
    slotsTotal += takesJobs ? status.capacity.slots : Math.min(status.capacity.slots, used)
    slotsUsed += used
  }
  return { slotsTotal, slotsUsed }
}

function countEnds(lastHour: Record<Outcome, number>, lastMinute: Record<Outcome, number>) {
  const finishedLastHour = sumOf(lastHour)
  return { finishedLastHour, failedLastHour: lastHour.failed + lastHour.lost, jobsPerMinute: sumOf(lastMinute) }
}

const sumOf = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0)

function emptyFigures(sampledAtMs: number): Figures {
  const jobs = { queued: 0, starting: 0, running: 0, finishedLastHour: 0, failedLastHour: 0, jobsPerMinute: 0 }
  return { sampledAtMs, slotsTotal: 0, slotsUsed: 0, ...jobs, loopP99Ms: 0, paused: false }
}
