import type { Clock } from '../../src/engine/runtime/clock.ts'
import type { VirtualTime } from './time.ts'

/**
 * At which of its calls to the outside a life ends. `after`: the call has its effect, but the engine never hears of it.
 */
export interface Death {
  call: number
  when: 'before' | 'after'
}

/**
 * One life of the engine, from its start to its stop or to a kill -9. Everything that the engine was lent asks here
 * before it has an effect: once the life is over nothing that it still does counts, none of its timers run, and none of
 * its calls are answered.
 */
export class Life {
  /** What was called, in order: `store.applyChanges`, `n1 schedule.json`. */
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

  /** Counts a call. `refused`: it must not be made. `last`: it is made, then `die` is for the caller to call. */
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

  /** How many timers are set: what a stopped engine must have brought to zero. */
  timerCount(): number {
    return this.#timers.size
  }

  /** The clock of the machine that the engine runs on: monotonic from the start of this life. */
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

/** What a call of a life that is over gets: no answer, ever. */
export function noAnswer<T>(): Promise<T> {
  return new Promise(() => {})
}
