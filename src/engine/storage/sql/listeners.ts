import type { Logger } from '../../runtime/logger.ts'

export class Listeners<News> {
  readonly #listeners = new Set<(news: News) => void>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  add(listener: (news: News) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(news: News): void {
    for (const listener of this.#listeners) {
      try {
        listener(news)
      } catch (error) {
        // The data is on disk, so an error in a listener must not make the write fail.
        this.#logger.error({ error }, 'A listener to the store failed')
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
