import { formatDuration } from '../../shared/time.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { LateCause } from '../../shared/texts/en-schedules.ts'

/** The longest delay until a machine sleep or a clock change is detected. */
export const SLEEP_MAX_MS = 30_000
/**
 * If the clock is set back by at most this much, schedules wait until it catches up. If it is set back further, the
 * earlier time counts as wrong.
 */
export const CLOCK_SET_BACK_MAX_MS = 25 * 3_600_000
const CLOCK_JUMP_MIN_MS = 5_000

/** Detects that the machine slept or its clock was set, by comparing wall and monotonic time at each check. */
export class ClockWatch {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #startedAtMs: number
  #jumpedAtMs = Number.NEGATIVE_INFINITY
  #checked: { wallMs: number; monotonicMs: number } | null = null

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
    this.#startedAtMs = clock.nowMs()
  }

  /** `back`: times already handled are in the future again. */
  check(): 'ahead' | 'back' | null {
    const now = { wallMs: this.#clock.nowMs(), monotonicMs: this.#clock.monotonicMs() }
    const before = this.#checked
    this.#checked = now
    if (before === null) return null
    const jumpMs = now.wallMs - before.wallMs - (now.monotonicMs - before.monotonicMs)
    if (Math.abs(jumpMs) < CLOCK_JUMP_MIN_MS) return null
    const by = formatDuration(Math.round(Math.abs(jumpMs) / 1_000))
    if (jumpMs < 0) {
      this.#logger.warn({ jumpMs }, `the clock was set back by ${by}: schedules do not repeat earlier runs`)
      return 'back'
    }
    this.#jumpedAtMs = now.wallMs
    this.#logger.warn(
      { jumpMs },
      `the machine slept or its clock was set ahead, by ${by}: missed runs are handled by each schedule’s catch-up policy`
    )
    return 'ahead'
  }

  causeOf(dueMs: number): LateCause {
    if (dueMs < this.#startedAtMs) return 'stopped'
    return dueMs <= this.#jumpedAtMs ? 'clock' : 'busy'
  }
}
