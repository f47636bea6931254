import { ScrapdeckError } from '../../shared/errors.ts'
import type { Clock } from '../runtime/clock.ts'

const WINDOW_MS = 60_000
const PER_WINDOW = 10

/** Limits how often a logged-in user may try its own password, or other `what`. */
export class UserAttemptLimiter {
  readonly #clock: Clock
  readonly #what: string
  readonly #windows = new Map<string, { beganAtMs: number; count: number }>()

  constructor(clock: Clock, what = 'passwords') {
    this.#clock = clock
    this.#what = what
  }

  /** Counts an attempt before it is made, so that parallel ones count too. Throws TOO_MANY_REQUESTS. */
  begin(user: string): void {
    const nowMs = this.#clock.monotonicMs()
    const before = this.#windows.get(user)
    const window =
      before !== undefined && nowMs - before.beganAtMs < WINDOW_MS ? before : { beganAtMs: nowMs, count: 0 }
    if (window.count >= PER_WINDOW) {
      const retryAfterSeconds = Math.ceil((window.beganAtMs + WINDOW_MS - nowMs) / 1_000)
      const text = `Too many wrong ${this.#what}. Wait ${retryAfterSeconds} s and try again.`
      throw new ScrapdeckError('TOO_MANY_REQUESTS', text, { data: { retryAfterSeconds } })
    }
    window.count += 1
    this.#windows.set(user, window)
  }

  forget(user: string): void {
    this.#windows.delete(user)
  }
}
