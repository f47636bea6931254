/** How often something happens: about the number within the last second, in which each counts less and less. */
export class EventRate {
  #count = 0
  #atMs = 0

  /** Once more, at this time of the monotonic clock. Returns the events per second, this one included. */
  note(nowMs: number): number {
    this.#count = 1 + this.#count * Math.exp((this.#atMs - nowMs) / 1_000)
    this.#atMs = nowMs
    return this.#count
  }
}
