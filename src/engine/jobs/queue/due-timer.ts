import { Alarm, type Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { HoldStore } from '../../storage/store.ts'

/** The maximum time between scans. If the wall clock is set forward, jobs become due earlier than planned. */
const RESCAN_MAX_MS = 30_000
const SCANS_APART_MS = 1_000
const AT_ONCE_MAX = 1_000
const AFTER_FAILURE_MS = 1_000

/**
 * Lifts holds and expires jobs when they are due: scans, then sleeps until the next due time. Call `scan` when
 * something may be due earlier: a new job, a retry.
 */
export class DueTimer {
  readonly #store: HoldStore
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #alarm: Alarm
  #scannedAtMs = Number.NEGATIVE_INFINITY
  #isScanning = false
  #mustRescan = false
  #isStopped = false

  constructor({ store, clock, logger }: { store: HoldStore; clock: Clock; logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#alarm = new Alarm(clock, () => void this.#releaseNow())
  }

  scan({ isUrgent = false } = {}): void {
    const waitMs = isUrgent ? 0 : this.#scannedAtMs + SCANS_APART_MS - this.#clock.monotonicMs()
    if (this.#isScanning) this.#mustRescan = true
    else if (waitMs <= 0) this.#alarm.ringNow()
    else this.#alarm.set(waitMs)
  }

  stop(): void {
    this.#isStopped = true
    this.#alarm.stop()
  }

  async #releaseNow(): Promise<void> {
    this.#isScanning = true
    this.#mustRescan = false
    let againInMs = Number.POSITIVE_INFINITY
    try {
      againInMs = await this.#releaseAll()
    } catch (error) {
      if (this.#isStopped) return
      this.#logger.error({ error }, 'Releasing due jobs failed; retrying in a second')
      againInMs = AFTER_FAILURE_MS
    } finally {
      this.#isScanning = false
    }
    this.#scannedAtMs = this.#clock.monotonicMs()
    if (this.#mustRescan) againInMs = Math.min(againInMs, SCANS_APART_MS)
    if (againInMs < Number.POSITIVE_INFINITY) this.#alarm.set(Math.max(1, againInMs))
  }

  async #releaseAll(): Promise<number> {
    for (;;) {
      const nowMs = this.#clock.nowMs()
      const { released, expired, nextDueMs } = await this.#store.releaseDue(nowMs, AT_ONCE_MAX)
      if (this.#isStopped || nextDueMs === null) return Number.POSITIVE_INFINITY
      if (released + expired === 0 || nextDueMs > nowMs) return Math.min(nextDueMs - nowMs, RESCAN_MAX_MS)
    }
  }
}
