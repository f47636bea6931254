import type { AttemptMove, LiveAttempt, LiveAttempts } from '../live-attempts.ts'

interface Waiting {
  move: AttemptMove & { one: LiveAttempt }
  resolve: (isApplied: boolean) => void
  reject: (error: unknown) => void
}

/** Moves that arrive during a write form the next batch, so the batches adapt to the speed of the disk. */
export class GatheredMoves {
  readonly #live: Pick<LiveAttempts, 'moveAll'>
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(live: Pick<LiveAttempts, 'moveAll'>) {
    this.#live = live
  }

  move(one: LiveAttempt, move: AttemptMove): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    this.#waiting.push({ move: { one, ...move }, resolve, reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        const applied = await this.#live.moveAll(batch.map(({ move }) => move))
        for (const [index, { resolve }] of batch.entries()) resolve(applied[index] === true)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isWriting = false
  }
}
