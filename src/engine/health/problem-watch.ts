import type { Problem, Waiting } from '../../shared/contract/index.ts'
import type { Clock, Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredJob } from '../store/records.ts'
import type { ChainStore, ChangeLog, FiringReader, JobReader, LaneReader, ScheduleReader } from '../store/store.ts'
import { findLongWaits, type LongWait } from './long-waits.ts'
import { listProblems, type ProblemsInput } from './problems.ts'
import { NO_SCHEDULE_TROUBLES, readScheduleTroubles, type ScheduleTroubles } from './schedule-problems.ts'

export interface ProblemWatchParts {
  store: JobReader & LaneReader & FiringReader & ScheduleReader & ChainStore & ChangeLog
  clock: Clock
  logger: Logger
  waitingOf: (lane: string) => Waiting
  gather: () => Omit<ProblemsInput, 'nowMs' | 'recentFailures' | 'longWaits' | 'schedules'>
  /** The list of problems is another one now. */
  onChange: () => void
}

const SETTLE_MS = 500
const FAILURES_LOOKED_AT = 200
const DAY_MS = 86_400_000
/** What has waited for an hour may be told a minute late. */
const LONG_WAITS_EVERY_MS = 60_000

/** Problems, told when they have changed, and not more often than people can read. */
export class ProblemWatch {
  readonly #parts: ProblemWatchParts
  #recentFailures: StoredJob[] = []
  #failuresAreOld = true
  #longWaits: LongWait[] = []
  #longWaitsReadAtMs = Number.NEGATIVE_INFINITY
  #schedules: ScheduleTroubles = NO_SCHEDULE_TROUBLES
  #schedulesAreOld = true
  #timer: Timer | null = null
  #told = ''
  #stopped = false

  constructor(parts: ProblemWatchParts) {
    this.#parts = parts
  }

  current(): Problem[] {
    const { clock, gather } = this.#parts
    return listProblems({
      ...gather(),
      nowMs: clock.nowMs(),
      recentFailures: this.#recentFailures,
      longWaits: this.#longWaits,
      schedules: this.#schedules
    })
  }

  /** Something that problems are found by may have changed. */
  settle(): void {
    if (!this.#stopped) this.#timer ??= this.#parts.clock.setTimer(SETTLE_MS, () => void this.#tell())
  }

  /** A job ended: the failures are read again before the next telling. */
  noteJobEnded(): void {
    this.#failuresAreOld = true
    this.settle()
  }

  /** A moment of a schedule got its row, or somebody changed a schedule. */
  noteSchedules(): void {
    this.#schedulesAreOld = true
    this.settle()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  async #tell(): Promise<void> {
    this.#timer = null
    if (this.#failuresAreOld) await this.#readRecentFailures()
    if (this.#parts.clock.monotonicMs() - this.#longWaitsReadAtMs >= LONG_WAITS_EVERY_MS) {
      await this.#readLongWaits()
      // What was missed a day ago is no news.
      this.#schedulesAreOld = true
    }
    if (this.#schedulesAreOld) await this.#readSchedules()
    if (this.#stopped) return
    const now = JSON.stringify(this.current().map(({ id, title }) => [id, title]))
    if (now !== this.#told) this.#parts.onChange()
    this.#told = now
  }

  async #readSchedules(): Promise<void> {
    const { store, clock, logger } = this.#parts
    this.#schedulesAreOld = false
    try {
      this.#schedules = await readScheduleTroubles(store, clock.nowMs())
    } catch (error) {
      this.#schedulesAreOld = true
      if (!this.#stopped) logger.error({ error }, 'looking for schedules in trouble failed')
    }
  }

  async #readLongWaits(): Promise<void> {
    const { store, clock, logger, waitingOf } = this.#parts
    this.#longWaitsReadAtMs = clock.monotonicMs()
    try {
      this.#longWaits = await findLongWaits(store, waitingOf, clock.nowMs())
    } catch (error) {
      if (!this.#stopped) logger.error({ error }, 'looking for jobs that wait too long failed')
    }
  }

  async #readRecentFailures(): Promise<void> {
    this.#failuresAreOld = false
    try {
      this.#recentFailures = await this.#parts.store.listJobs(
        { status: ['failed', 'lost'], sinceMs: this.#parts.clock.nowMs() - DAY_MS },
        { before: null, limit: FAILURES_LOOKED_AT }
      )
    } catch (error) {
      this.#failuresAreOld = true
      if (!this.#stopped) this.#parts.logger.error({ error }, 'reading the recent failures failed')
    }
  }
}
