import type { Clock, Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { HoldStore } from '../store/store.ts'

/** Maximum time between scans, because the wall clock can be set forward or back. */
const RESCAN_MAX_MS = 30_000
/** Minimum time between non-urgent scans. */
const SCANS_APART_MS = 1_000
const AT_ONCE_MAX = 1_000
const AFTER_FAILURE_MS = 1_000

/**
 * Has the store lift holds and expire jobs when they are due: it scans once, then sleeps until the next due time that
 * the store returns. Released jobs reach the dispatcher like any change of the queue. Call `scan` after anything that
 * may be due earlier: a new job, a retry.
 */
export class DueTimer {
  readonly #store: HoldStore
  readonly #clock: Clock
  readonly #logger: Logger
  #timer: Timer | null = null
  #timerAtMs = Number.POSITIVE_INFINITY
  #scannedAtMs = Number.NEGATIVE_INFINITY
  #isScanning = false
  #mustRescan = false
  #isStopped = false

  constructor({ store, clock, logger }: { store: HoldStore; clock: Clock; logger: Logger }) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  scan({ isUrgent = false } = {}): void {
    if (this.#isScanning) this.#mustRescan = true
    else this.#releaseIn(isUrgent ? 0 : this.#scannedAtMs + SCANS_APART_MS - this.#clock.monotonicMs())
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** Keeps an earlier scan that is already planned. */
  #releaseIn(delayMs: number): void {
    if (this.#isStopped) return
    if (delayMs <= 0) {
      this.#timer?.cancel()
      return void this.#releaseNow()
    }
    const atMs = this.#clock.monotonicMs() + delayMs
    if (this.#timerAtMs <= atMs) return
    this.#timer?.cancel()
    this.#timerAtMs = atMs
    this.#timer = this.#clock.setTimer(delayMs, () => void this.#releaseNow())
  }

  async #releaseNow(): Promise<void> {
    this.#isScanning = true
    this.#mustRescan = false
    this.#timerAtMs = Number.POSITIVE_INFINITY
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
    if (againInMs < Number.POSITIVE_INFINITY) this.#releaseIn(Math.max(1, againInMs))
  }

  /** Returns the time until the next one is due. */
  async #releaseAll(): Promise<number> {
    for (;;) {
      const nowMs = this.#clock.nowMs()
      const { released, expired, nextDueMs } = await this.#store.releaseDue(nowMs, AT_ONCE_MAX)
      if (this.#isStopped || nextDueMs === null) return Number.POSITIVE_INFINITY
      if (released + expired === 0 || nextDueMs > nowMs) return Math.min(nextDueMs - nowMs, RESCAN_MAX_MS)
    }
  }
}
