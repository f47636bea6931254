import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { listBackfilled } from '../../schedules/backfills.ts'
import type { AlertFactStore, AlertStore, AuditStore, BackfillStore, RetentionStore } from '../../storage/store.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'

const DAY_MS = 86_400_000
const CHANGES_KEPT = 100_000
const DELIVERED_KEPT_MS = 3 * DAY_MS
const DEAD_KEPT_MS = 30 * DAY_MS
/** The number of deliveries kept per webhook, separately for delivered and dead ones. About 50 MB. */
const DELIVERIES_KEPT = 50_000
/** How many firings to keep per schedule (a week if it fires every minute), and for how long (more than a year). */
export const FIRINGS_KEPT = 10_000
export const FIRINGS_KEPT_DAYS = 400
/** How long the cancellation of a queued job can be undone if chains have recorded the job. */
const CANCELS_UNDONE_MS = FIRINGS_KEPT_DAYS * DAY_MS
const ALERTS_KEPT_MS = 400 * DAY_MS
/** How long facts are kept for testing rules, and how many. About 100 MB at most. */
const ALERT_FACTS_KEPT_MS = 30 * DAY_MS
const ALERT_FACTS_KEPT = 200_000

/** Rows per step, which take about 6 ms of the store's time. */
const ROWS_AT_ONCE = 250
const PAUSE_MS = 50

export interface ForgettingParts {
  store: RetentionStore &
    BackfillStore &
    Pick<AuditStore, 'forgetAudit'> &
    Pick<AlertStore, 'pruneAlerts'> &
    Pick<AlertFactStore, 'pruneAlertFacts'>
  auditDays: number
  clock: Clock
  logger: Logger
}

/** Deletes expired data in small steps. Failed steps are retried on the next run. */
export class Forgetting {
  readonly #parts: ForgettingParts
  readonly #stopping = new AbortController()
  readonly #flight = new SingleFlight()

  constructor(parts: ForgettingParts) {
    this.#parts = parts
  }

  run(): Promise<void> {
    return this.#flight.run(() => this.#work())
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
    }
  }

  async #step(): Promise<number> {
    const { store, clock, auditDays } = this.#parts
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
    const audited = auditDays === 0 ? 0 : await store.forgetAudit(nowMs - auditDays * DAY_MS, ROWS_AT_ONCE)
    const others = await store.prune({ nowMs, changes: CHANGES_KEPT, deliveries, firings, chains }, ROWS_AT_ONCE)
    const alerts = await store.pruneAlerts(nowMs - ALERTS_KEPT_MS, ROWS_AT_ONCE)
    const facts = await store.pruneAlertFacts(nowMs - ALERT_FACTS_KEPT_MS, ALERT_FACTS_KEPT, ROWS_AT_ONCE)
    return Math.max(audited, others, alerts, facts)
  }
}
