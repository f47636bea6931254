import { EventEmitter } from 'node:events'
import type { Clock, Timer } from '../runtime/clock.ts'

export interface WatchdogParts {
  clock: Clock
  dueSinceMs: () => number | null
}

const LOOK_EVERY_MS = 60_000
const LATE_AFTER_MS = 300_000

/**
 * Reports firings that are several minutes late. Counts from when the due time was first noticed, so times that came
 * due while the machine slept or the engine was off are not late immediately.
 */
export class ScheduleWatchdog {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: WatchdogParts
  #first: { dueMs: number; seenMonotonicMs: number } | null = null
  #lateSinceMs: number | null = null
  #timer: Timer | null = null

  constructor(parts: WatchdogParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = this.#parts.clock.setTimer(LOOK_EVERY_MS, () => {
      this.#look()
      this.start()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  lateSinceMs(): number | null {
    return this.#lateSinceMs
  }

  #look(): void {
    const { clock, dueSinceMs } = this.#parts
    const dueMs = dueSinceMs()
    const nowMonotonicMs = clock.monotonicMs()
    if (dueMs === null || this.#first === null || dueMs > this.#first.dueMs)
      this.#first = dueMs === null ? null : { dueMs, seenMonotonicMs: nowMonotonicMs }
    const isLate = this.#first !== null && nowMonotonicMs - this.#first.seenMonotonicMs >= LATE_AFTER_MS
    const before = this.#lateSinceMs
    this.#lateSinceMs = isLate ? this.#first!.dueMs : null
    if (before !== this.#lateSinceMs) this.events.emit('changed')
  }
}
