import type { AttemptChange } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'

interface Waiting {
  change: AttemptChange
  resolve: (isApplied: boolean) => void
  reject: (error: unknown) => void
}

/**
 * Writes changes that come by the hundred: while one call of the store is on its way, what comes meanwhile is gathered for the
 * next. So the number of calls follows the speed of the disk, and a single change is written at once.
 */
export class AcceptedWriter {
  readonly #store: Pick<Store, 'applyChanges'>
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(store: Pick<Store, 'applyChanges'>) {
    this.#store = store
  }

  /** False: the attempt had moved on meanwhile, and nothing was written (I4). */
  write(change: AttemptChange): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    this.#waiting.push({ change, resolve, reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        const applied = await this.#store.applyChanges(batch.map(({ change }) => change))
        for (const [index, { resolve }] of batch.entries()) resolve(applied[index] === true)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isWriting = false
  }
}
