import type { Clock } from '../../src/engine/runtime/clock.ts'
import type { VirtualTime } from './time.ts'

/** The outside call at which a life ends. `after`: the call takes effect, but the engine never learns of it. */
export interface Death {
  call: number
  when: 'before' | 'after'
}

/**
 * One life of the engine, from its start to its stop or a kill -9. Everything lent to the engine checks here before it
 * takes effect: once the life is over, its calls have no effect and never return, and its timers do not run.
 */
export class Life {
  /** The calls so far, in order: `store.applyChanges`, `n1 schedule.json`. */
  readonly calls: string[] = []
  isOver = false
  #death: Death | null
  readonly #onDeath: (call: string, when: Death['when']) => void
  readonly #time: VirtualTime
  readonly #timers = new Set<{ cancel(): void }>()
  readonly #whenOver: (() => void)[] = []
  readonly #begunAtMs: number

  constructor(options: {
    time: VirtualTime
    death: Death | null
    onDeath: (call: string, when: Death['when']) => void
  }) {
    this.#time = options.time
    this.#death = options.death
    this.#onDeath = options.onDeath
    this.#begunAtMs = options.time.nowMs
  }

  /** Ends the life at one of its next calls; null: at none. */
  dieAt(death: Death | null): void {
    this.#death = death
  }

  /** Counts a call. `refused`: do not make it. `last`: make it, then call `die`. */
  count(name: string): 'made' | 'refused' | 'last' {
    if (this.isOver) return 'refused'
    const isLast = this.calls.push(name) - 1 === this.#death?.call
    if (!isLast) return 'made'
    if (this.#death!.when === 'after') return 'last'
    this.die()
    return 'refused'
  }

  die(): void {
    if (this.isOver) return
    this.end()
    this.#onDeath(this.calls.at(-1) ?? 'start', this.#death?.when ?? 'before')
  }

  end(): void {
    this.isOver = true
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
    for (const callback of this.#whenOver) callback()
  }

  whenOver(callback: () => void): void {
    this.#whenOver.push(callback)
  }

  /** The number of set timers, which must be zero once an engine has stopped. */
  timerCount(): number {
    return this.#timers.size
  }

  /** The clock of the engine's machine: monotonic from the start of this life. */
  clock(wallMs: () => number): Clock {
    return {
      nowMs: () => Math.floor(wallMs()),
      monotonicMs: () => this.#time.nowMs - this.#begunAtMs,
      setTimer: (delayMs, callback) => {
        if (this.isOver) return { cancel() {} }
        const timer = this.#time.after(delayMs, () => {
          this.#timers.delete(timer)
          callback()
        })
        this.#timers.add(timer)
        return {
          cancel: () => {
            this.#timers.delete(timer)
            timer.cancel()
          }
        }
      }
    }
  }
}

/** The result of a call after the life is over: it never resolves. */
export function noAnswer<T>(): Promise<T> {
  return new Promise(() => {})
}
