import type { Timer } from '../../src/engine/runtime/clock.ts'

interface Event {
  dueMs: number
  order: number
  callback: (() => void) | null
}

/**
 * The maximum number of turns of the event loop, or of events, without time advancing. No legitimate chain of writes
 * needs nearly as many.
 */
const TURNS_MAX = 20_000

/** The engine works without end while no time passes. A real one would use 100 % of a core and not respond. */
export class NeverAtRest extends Error {
  constructor(atMs: number) {
    super(`after ${Math.round(atMs)} ms the engine goes round in circles: no timer and no node has a part in it`)
  }
}

/**
 * Provides the only time in the simulation: events in a heap, each of which settles before the next one. A story takes
 * only as long as its computation.
 *
 * Settled means that no promise can continue without an event. The engine waits only for events in this heap or calls
 * to the store. `busy` counts these calls, because the store commits in a later turn of the event loop. Promises need
 * no counting, because they are processed between any two turns.
 */
export class VirtualTime {
  /** Calls to the real world (the store) that have not returned. */
  busy = 0
  #elapsedMs = 0
  #order = 0
  readonly #heap: Event[] = []

  get nowMs(): number {
    return this.#elapsedMs
  }

  after(delayMs: number, callback: () => void): Timer {
    const event: Event = { dueMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback }
    this.#push(event)
    return {
      cancel: () => {
        event.callback = null
      }
    }
  }

  async runUntil(limitMs: number, isDone: () => boolean): Promise<void> {
    await this.settle()
    let atOnce = 0
    while (!isDone()) {
      const next = this.#heap[0]
      if (next === undefined || next.dueMs > limitMs) {
        this.#elapsedMs = Math.max(this.#elapsedMs, limitMs)
        return
      }
      this.#pop()
      if (next.callback === null) continue
      atOnce = next.dueMs > this.#elapsedMs ? 0 : atOnce + 1
      if (atOnce > TURNS_MAX) throw new NeverAtRest(this.#elapsedMs)
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs)
      next.callback()
      await this.settle()
    }
  }

  async settle(): Promise<void> {
    let turns = 0
    do {
      await new Promise(setImmediate)
      turns += 1
      if (turns > TURNS_MAX) throw new NeverAtRest(this.#elapsedMs)
    } while (this.busy > 0)
  }

  #push(event: Event): void {
    const heap = this.#heap
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
  }
}

function isBefore(left: Event, right: Event): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order)
}
