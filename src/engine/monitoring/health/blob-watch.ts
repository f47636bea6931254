import { EventEmitter } from 'node:events'
import type { SharedBlobs } from '../../storage/blobs/shared-blobs.ts'
import type { Leadership } from '../../cluster/leadership/leadership.ts'
import { type Clock, type Timer, within } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { howLow } from './storage-problems.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'

export interface BlobsState {
  /** An address or a path for display, without secrets. */
  name: string
  problem: string | null
  sinceMs: number | null
  disk: { totalBytes: number; freeBytes: number } | null
  /** The engine that performed the check. null: this is the only engine. */
  engine: string | null
  apart: readonly { engine: string; place: string }[]
}

export interface BlobWatchParts {
  blobs: Pick<SharedBlobs, 'name' | 'check' | 'state'> | null
  engines: Pick<Leadership, 'name' | 'listApart'> | null
  clock: Clock
  logger: Logger
}

const EVERY_MS = 5_000
const LIMIT_MS = 5_000
/** How often to compare the storage of the engines. An engine's storage does not change while it runs. */
const APART_EVERY_MS = 30_000

export class BlobWatch {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: BlobWatchParts
  #state: BlobsState
  #apartReadAtMs = Number.NEGATIVE_INFINITY
  readonly #checking = new SingleFlight<unknown>()
  #timer: Timer | null = null
  #isStopped = false

  constructor(parts: BlobWatchParts) {
    this.#parts = parts
    const name = parts.blobs?.name ?? 'the data directory'
    const disk = parts.blobs?.state().disk ?? null
    this.#state = { name, problem: null, sinceMs: null, disk, engine: parts.engines?.name ?? null, apart: [] }
  }

  state(): BlobsState {
    return this.#state
  }

  start(): void {
    // Blobs in the data directory need checking only if there are other engines, whose blobs may be elsewhere.
    if (this.#parts.blobs !== null || this.#parts.engines !== null) void this.#look()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #look(): Promise<void> {
    const { blobs, clock } = this.#parts
    const [problem, apart] = [await this.#findProblem(), await this.#findApart()]
    if (this.#isStopped) return
    const before = this.#state
    const sinceMs = problem === null ? null : (before.sinceMs ?? clock.nowMs())
    this.#state = { ...before, problem, sinceMs, disk: blobs?.state().disk ?? null, apart }
    this.#tell(before)
    this.#timer = clock.setTimer(blobs === null ? APART_EVERY_MS : EVERY_MS, () => void this.#look())
  }

  /** A time limit is needed, because a hanging network share returns nothing, not even an error. */
  async #findProblem(): Promise<string | null> {
    const { blobs, clock } = this.#parts
    if (blobs === null) return null
    const checking = this.#checking.run(() => blobs.check())
    const found = await within(clock, LIMIT_MS, checking, () => 'late' as const)
    if (found === 'late') return `The blobs at ${blobs.name} do not respond`
    return blobs.state().problem?.message ?? null
  }

  async #findApart(): Promise<BlobsState['apart']> {
    const { engines, clock, logger } = this.#parts
    if (engines === null || clock.monotonicMs() - this.#apartReadAtMs < APART_EVERY_MS) return this.#state.apart
    this.#apartReadAtMs = clock.monotonicMs()
    try {
      return await engines.listApart()
    } catch (error) {
      if (!this.#isStopped) logger.debug({ error }, 'the other engines could not be listed')
      return this.#state.apart
    }
  }

  #tell(before: BlobsState): void {
    const { logger } = this.#parts
    const { name, problem, apart, disk } = this.#state
    if (problem !== before.problem) {
      if (problem === null) logger.info({ blobs: name }, 'the blobs can be used again')
      else logger.error({ problem }, 'the blobs cannot be used')
    }
    if (apart.length > before.apart.length)
      logger.error({ here: name, apart }, 'engines keep their blobs in different places')
    const isOther = problem !== before.problem || apart.length !== before.apart.length
    if (isOther || lownessOf(disk) !== lownessOf(before.disk)) this.events.emit('changed')
  }
}

const lownessOf = (disk: BlobsState['disk']) => (disk === null ? null : howLow(disk))
