/** Runs work at most once at a time. Calls during a run share its result. */
export class SingleFlight<T = void> {
  #running: Promise<T> | null = null

  get running(): Promise<T> | null {
    return this.#running
  }

  run(work: () => Promise<T>): Promise<T> {
    return (this.#running ??= work().finally(() => {
      this.#running = null
    }))
  }
}

export class KeyedSingleFlight<K, T> {
  readonly #running = new Map<K, Promise<T>>()

  get(key: K): Promise<T> | undefined {
    return this.#running.get(key)
  }

  run(key: K, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key) ?? work().finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return running
  }
}
