import type { Clock } from '../../src/engine/runtime/clock.ts'
import type { VirtualTime } from './time.ts'

/** The outside call at which a life ends. An `after` call takes effect, but the engine never learns of it. */
export interface Death {
  call: number
  when: 'before' | 'after'
}

/**
 * One life of the engine, from its start to its stop or a kill -9. When it is over, its calls have no effect and
 * never return, and its timers do not run.
 */
export class Life {
  /** The calls so far, in order: `store.applyChanges`, `n1 schedule.json`. */
  readonly calls: string[] = []
  isOver = false
  /**
   * Whether the engine's process is stopped (SIGSTOP). If so, no code of the engine runs, and all events wait for
   * `wake`.
   */
  isStalled = false
  #stall: { call: number; onStall: () => void } | null = null
  #due: (() => void)[] = []
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

  /** Ends the life at this call. null: at no call. */
  dieAt(death: Death | null): void {
    this.#death = death
  }

  /** `onStall` stops the process at one of the next calls. The call's response arrives after the process wakes up. */
  stallAt(stall: { call: number; onStall: () => void } | null): void {
    this.#stall = stall
  }

  stall(): void {
    this.isStalled = true
  }

  /** Runs everything that became due during the stall, in order. */
  wake(): void {
    if (!this.isStalled) return
    this.isStalled = false
    for (const callback of this.#due.splice(0)) this.#time.after(0, () => this.run(callback))
  }

  /** All events from outside pass through here. */
  run(callback: () => void): void {
    if (this.isOver) return
    if (this.isStalled) this.#due.push(callback)
    else callback()
  }

  /**
   * Counts a call. If the result is `refused`, do not make the call. If it is `last`, make the call, then call `die`.
   */
  count(name: string): 'made' | 'refused' | 'last' {
    if (this.isOver) return 'refused'
    const call = this.calls.push(name) - 1
    if (call === this.#stall?.call) this.#stall.onStall()
    const isLast = call === this.#death?.call
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

  /** The number of set timers. It must be zero after an engine stops. */
  timerCount(): number {
    return this.#timers.size
  }

  /** The clock of the engine's machine, monotonic from the start of this life. */
  clock(wallMs: () => number): Clock {
    return {
      nowMs: () => Math.floor(wallMs()),
      monotonicMs: () => this.#time.nowMs - this.#begunAtMs,
      setTimer: (delayMs, callback) => {
        if (this.isOver) return { cancel() {} }
        const timer = this.#time.after(delayMs, () => {
          // Another timer that was due during the stall can have cancelled this timer.
          this.run(() => void (this.#timers.delete(timer) && callback()))
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

/** The result of a call after the life is over. It never resolves. */
export function noAnswer<T>(): Promise<T> {
  return new Promise(() => {})
}
