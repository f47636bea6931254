/** Limits all responses of a batch together, as JSON: memory holds several copies. */
export const BATCH_ANSWER_BYTES = 12 * 1024 * 1024
const CALLS_AT_ONCE = 8

/**
 * Performs the calls of a batch, a few at a time, as long as there is room for what they may answer. Until a call has
 * been performed its room is reserved, so that no work is done for an answer that cannot be sent.
 */
export class AnswerBudget {
  readonly #limitBytes: number
  readonly #running = new Set<Promise<void>>()
  #takenBytes = 0

  constructor(limitBytes = BATCH_ANSWER_BYTES) {
    this.#limitBytes = limitBytes
  }

  /**
   * Starts the call (`perform` resolves to the size of its answer) or refuses it. Resolves when the next may start.
   * Rejects if a call that was started did.
   */
  async spend(mostBytes: number, call: { perform: () => Promise<number>; refuse: () => void }): Promise<void> {
    const fits = () => this.#takenBytes + mostBytes <= this.#limitBytes
    // Those that are being performed may need less than what is reserved for them.
    while (this.#running.size >= CALLS_AT_ONCE || (!fits() && this.#running.size > 0)) {
      await Promise.race(this.#running)
    }
    if (!fits()) return call.refuse()
    this.#takenBytes += mostBytes
    const running: Promise<void> = call.perform().then((bytes) => {
      this.#takenBytes += bytes - mostBytes
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  /** Resolves when all calls that were started have been performed. */
  async settled(): Promise<void> {
    await Promise.all(this.#running)
  }
}
