import { EventEmitter } from 'node:events'
import type { JobId, NodeId } from '../../../shared/contract/index.ts'
import { type Clock, Timers } from '../../runtime/clock.ts'
import type { LiveAttempt } from '../live-attempts.ts'

const FIRST_MS = 5_000
const MAX_MS = 300_000
const KEPT = 10_000

/** Jobs that a node refused are kept from that node for a while, longer each time. */
export class HoldBacks {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #held = new Map<string, { untilMs: number; count: number }>()
  #forgetAbove = KEPT

  /** `over`: a job may be sent to its node again. */
  readonly events = new EventEmitter<{ over: [] }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timers = new Timers(clock)
  }

  isHeld(nodeId: NodeId, jobId: JobId): boolean {
    return this.#held.size > 0 && (this.#held.get(`${jobId}/${nodeId}`)?.untilMs ?? 0) > this.#clock.monotonicMs()
  }

  add({ jobId, nodeId }: LiveAttempt): void {
    const key = `${jobId}/${nodeId}`
    const count = (this.#held.get(key)?.count ?? 0) + 1
    const delayMs = Math.min(MAX_MS, FIRST_MS * 2 ** (count - 1))
    this.#held.set(key, { untilMs: this.#clock.monotonicMs() + delayMs, count })
    this.#timers.set(delayMs, () => this.events.emit('over'))
    if (this.#held.size > this.#forgetAbove) this.#forgetOld()
  }

  stop(): void {
    this.#timers.stop()
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [key, held] of this.#held) if (held.untilMs < nowMs) this.#held.delete(key)
    // Where many are of now, looking at all of them for each new one would cost their square.
    this.#forgetAbove = Math.max(KEPT, 2 * this.#held.size)
  }
}
