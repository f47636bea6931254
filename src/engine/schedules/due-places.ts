import { Heap } from '../queue/heap.ts'
import { dueAt, type ScheduleState } from './schedule-state.ts'

/** A schedule that could not be gone over, or whose rows could not be written, has its place again so much later. */
export const AGAIN_AFTER_FAILURE_MS = 1_000

interface Place {
  dueMs: number
  state: ScheduleState
  place: number
}

/** All schedules by when they are due. A schedule's newest place counts; the former ones are passed over. */
export class DuePlaces {
  readonly #places = new Heap<Place>([], (one, other) => one.dueMs < other.dueMs)

  put(state: ScheduleState, dueMs = dueAt(state)): void {
    state.place += 1
    if (dueMs !== null) this.#places.push({ dueMs, state, place: state.place })
  }

  leave(state: ScheduleState): void {
    state.place = -1
  }

  /** The first of all; null: nothing is to come. */
  first(): { dueMs: number; state: ScheduleState } | null {
    for (let first = this.#places.first(); first !== undefined; first = this.#places.first()) {
      if (first.place === first.state.place) return first
      this.#places.removeFirst()
    }
    return null
  }

  /** Those whose time comes until then; they have no place until they are put again. */
  removeDue(untilMs: number): { dueMs: number; state: ScheduleState }[] {
    const taken: { dueMs: number; state: ScheduleState }[] = []
    for (let first = this.first(); first !== null && first.dueMs <= untilMs; first = this.first()) {
      this.#places.removeFirst()
      taken.push(first)
    }
    return taken
  }
}
