import { type Clock, sleep } from './clock.ts'
import type { Logger } from './logger.ts'
import { SingleFlight } from './single-flight.ts'

interface SweepParts<Item> {
  list(): AsyncIterable<Item> | Promise<Iterable<Item>>
  /** Returns whether there was work. After a rejection, the next sweep retries. */
  work(item: Item, signal: AbortSignal): Promise<boolean>
  describe(item: Item): Record<string, unknown>
  words: string
  clock: Clock
  logger: Logger
}

/** The pause after each item, so that other work can use the disk and the store. */
const PAUSE_MS = 20
const MOST_AT_ONCE = 2_000

export class Sweep<Item> {
  readonly #parts: SweepParts<Item>
  readonly #stopping = new AbortController()
  readonly #flight = new SingleFlight<number>()

  constructor(parts: SweepParts<Item>) {
    this.#parts = parts
  }

  /** Resolves to the number of items that needed work. Never rejects. Calls during a sweep share its result. */
  run(): Promise<number> {
    return this.#flight.run(() => this.#run())
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #run(): Promise<number> {
    const { list, clock } = this.#parts
    const { signal } = this.#stopping
    let done = 0
    try {
      for await (const item of await list()) {
        if (signal.aborted || done >= MOST_AT_ONCE) break
        if (!(await this.#work(item))) continue
        done += 1
        await sleep(clock, PAUSE_MS, signal)
      }
    } catch (error) {
      this.#warn(error, {})
    }
    return done
  }

  async #work(item: Item): Promise<boolean> {
    const { work, describe } = this.#parts
    try {
      return await work(item, this.#stopping.signal)
    } catch (error) {
      this.#warn(error, describe(item))
      return false
    }
  }

  #warn(error: unknown, facts: Record<string, unknown>): void {
    if (!this.#stopping.signal.aborted) this.#parts.logger.warn({ ...facts, error }, this.#parts.words)
  }
}
