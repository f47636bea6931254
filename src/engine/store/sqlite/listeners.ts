import type { Logger } from '../../runtime/logger.ts'

/** Who is told of one kind of news of the store. */
export class Listeners<News> {
  readonly #listeners = new Set<(news: News) => void>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Returns the way to stop. */
  add(listener: (news: News) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(news: News): void {
    for (const listener of this.#listeners) {
      try {
        listener(news)
      } catch (error) {
        // The data is on the disk: a listener's fault must not turn that into a failed write.
        this.#logger.error({ error }, 'A listener to the store failed')
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
