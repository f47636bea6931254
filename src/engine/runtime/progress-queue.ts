/** Turns the calls of a callback into an iterable while work runs. A slow reader gets only the newest progress. */
export class ProgressQueue<Progress> {
  #newest: Progress | null = null
  #wake: () => void = () => {}

  add(progress: Progress): void {
    this.#newest = progress
    this.#wake()
  }

  /** Ends when `work` settles. Await `work` for its result. */
  async *until(work: Promise<unknown>): AsyncGenerator<Progress, void> {
    let isOver = false
    const end = () => {
      isOver = true
      this.#wake()
    }
    work.then(end, end)
    while (!isOver) {
      const newest = this.#newest
      this.#newest = null
      if (newest !== null) yield newest
      else await new Promise<void>((resolve) => void (this.#wake = resolve))
    }
  }
}
