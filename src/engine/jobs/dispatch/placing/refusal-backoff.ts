import { EventEmitter } from 'node:events'
import type { JobId, NodeId } from '../../../../shared/contract/index.ts'
import { type Clock, Timers } from '../../../runtime/clock.ts'
import type { LiveAttempt } from '../live-attempts.ts'
import { backoffMs } from '../../../runtime/backoff.ts'

const FIRST_MS = 5_000
const MAX_MS = 300_000
const KEPT = 10_000

export class RefusalBackoff {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #waits = new Map<string, { untilMs: number; count: number }>()
  #forgetAbove = KEPT

  readonly events = new EventEmitter<{ over: [] }>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timers = new Timers(clock)
  }

  isBackedOff(nodeId: NodeId, jobId: JobId): boolean {
    return this.#waits.size > 0 && (this.#waits.get(`${jobId}/${nodeId}`)?.untilMs ?? 0) > this.#clock.monotonicMs()
  }

  add({ jobId, nodeId }: LiveAttempt): void {
    const key = `${jobId}/${nodeId}`
    const count = (this.#waits.get(key)?.count ?? 0) + 1
    const delayMs = backoffMs(count, FIRST_MS, MAX_MS)
    this.#waits.set(key, { untilMs: this.#clock.monotonicMs() + delayMs, count })
    this.#timers.set(delayMs, () => this.events.emit('over'))
    if (this.#waits.size > this.#forgetAbove) this.#forgetOld()
  }

  stop(): void {
    this.#timers.stop()
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs()
    for (const [key, wait] of this.#waits) if (wait.untilMs < nowMs) this.#waits.delete(key)
    // Raises the threshold. Otherwise, while most entries are active, every new entry would cause a scan of all
    // entries.
    this.#forgetAbove = Math.max(KEPT, 2 * this.#waits.size)
  }
}
