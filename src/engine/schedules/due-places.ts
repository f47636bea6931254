import { Heap } from '../runtime/heap.ts'
import { dueAt, type ScheduleState } from './schedule-state.ts'

export const AGAIN_AFTER_FAILURE_MS = 1_000

interface Place {
  dueMs: number
  state: ScheduleState
  place: number
}

/** All schedules by due time. Only a schedule's newest place counts. Older places are skipped. */
export class DuePlaces {
  readonly #places = new Heap<Place>([], (one, other) => one.dueMs < other.dueMs)

  put(state: ScheduleState, dueMs = dueAt(state)): void {
    state.place += 1
    if (dueMs !== null) this.#places.push({ dueMs, state, place: state.place })
  }

  leave(state: ScheduleState): void {
    state.place = -1
  }

  first(): { dueMs: number; state: ScheduleState } | null {
    for (let first = this.#places.first(); first !== undefined; first = this.#places.first()) {
      if (first.place === first.state.place) return first
      this.#places.removeFirst()
    }
    return null
  }

  /** Removes and returns the schedules that are due up to `untilMs`. Each needs a new `put`. */
  removeDue(untilMs: number): { dueMs: number; state: ScheduleState }[] {
    const taken: { dueMs: number; state: ScheduleState }[] = []
    for (let first = this.first(); first !== null && first.dueMs <= untilMs; first = this.first()) {
      this.#places.removeFirst()
      taken.push(first)
    }
    return taken
  }
}
