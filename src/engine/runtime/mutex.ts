export class Mutex {
  #last: Promise<unknown> = Promise.resolve()
  #count = 0

  get isIdle(): boolean {
    return this.#count === 0
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1
    const done = this.#last.then(work).finally(() => {
      this.#count -= 1
    })
    this.#last = done.catch(() => {})
    return done
  }
}
