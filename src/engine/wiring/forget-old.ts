import { type Clock, sleep } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { listBackfilled } from '../schedules/backfills.ts'
import type { RetentionStore, BackfillStore } from '../store/store.ts'

const DAY_MS = 86_400_000
const CHANGES_KEPT = 100_000
const DELIVERED_KEPT_MS = 3 * DAY_MS
const DEAD_KEPT_MS = 30 * DAY_MS
/** Of each webhook, delivered and dead ones by themselves: some fifty megabytes. */
const DELIVERIES_KEPT = 50_000
/** Of each schedule: a week of one that fires each minute; and a year of all, with the days after it. */
export const FIRINGS_KEPT = 10_000
export const FIRINGS_KEPT_DAYS = 400
/** So long a cancel of a queued job can be undone where chains know of the job. */
const CANCELS_UNDONE_MS = FIRINGS_KEPT_DAYS * DAY_MS

/** Rows of a step: some six milliseconds of the store's time. */
const ROWS_AT_ONCE = 250
/** Between two steps the store is the others'. */
const PAUSE_MS = 50

interface ForgettingParts {
  store: RetentionStore & BackfillStore
  clock: Clock
  logger: Logger
}

/**
 * Deletes what is kept for a while only, in small steps: the change log, ended deliveries, answers to requests with a
 * key, what chains know of jobs, firings. What fails is tried again the next time.
 */
export class Forgetting {
  readonly #parts: ForgettingParts
  readonly #stopping = new AbortController()
  #running: Promise<void> | null = null

  constructor(parts: ForgettingParts) {
    this.#parts = parts
  }

  /** Does nothing while it is still at it. */
  run(): Promise<void> {
    return (this.#running ??= this.#work())
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #work(): Promise<void> {
    const { clock, logger } = this.#parts
    const { signal } = this.#stopping
    try {
      while (!signal.aborted && (await this.#step()) >= ROWS_AT_ONCE) await sleep(clock, PAUSE_MS, signal)
    } catch (error) {
      if (!signal.aborted) logger.error({ error }, 'deleting old records failed; retrying later')
    } finally {
      this.#running = null
    }
  }

  async #step(): Promise<number> {
    const { store, clock } = this.#parts
    const nowMs = clock.nowMs()
    const firings = {
      newest: FIRINGS_KEPT,
      sinceMs: nowMs - FIRINGS_KEPT_DAYS * DAY_MS,
      except: await listBackfilled(store)
    }
    const deliveries = {
      deliveredSinceMs: nowMs - DELIVERED_KEPT_MS,
      deadSinceMs: nowMs - DEAD_KEPT_MS,
      newest: DELIVERIES_KEPT
    }
    const chains = { cancelledSinceMs: nowMs - CANCELS_UNDONE_MS }
    return store.prune({ nowMs, changes: CHANGES_KEPT, deliveries, firings, chains }, ROWS_AT_ONCE)
  }
}
