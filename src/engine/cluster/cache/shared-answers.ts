import type { CacheFigures } from '../../runtime/cache-figures.ts'
import type { SharedCache } from './shared-cache.ts'
import type { StorePosition } from './store-position.ts'

/** The maximum size of the answers that are kept in memory, all at the newest position. */
const HELD_MAX_BYTES = 32_000_000

export type FoundAnswer =
  | { body: Buffer }
  /** No answer was found. `keep` stores a new one without waiting for the cache. */
  | { body: null; keep(body: Buffer): void }

/**
 * Answers that depend only on the store. One engine computes them and all serve them. An answer's position in the
 * change log is read *before* the answer is computed, so the answer includes at least all changes up to its position.
 * An answer is served only if the store is still at that position after the request arrived. Changes therefore need not
 * invalidate answers, and an old answer that is written late is never served.
 */
export class SharedAnswers {
  readonly #cache: Pick<SharedCache, 'readAnswer' | 'writeAnswer' | 'isAway'>
  readonly #position: StorePosition
  readonly #held = new Map<string, Buffer>()
  readonly #figures = { hits: 0, misses: 0 }
  #heldAt = -1
  #heldBytes = 0

  constructor(parts: { cache: Pick<SharedCache, 'readAnswer' | 'writeAnswer' | 'isAway'>; position: StorePosition }) {
    this.#cache = parts.cache
    this.#position = parts.position
  }

  figures(): CacheFigures {
    return { ...this.#figures, entries: this.#held.size, bytes: this.#heldBytes }
  }

  async find(key: string): Promise<FoundAnswer> {
    const asked = this.#position.current()
    const position = typeof asked === 'number' ? asked : await asked
    const held = position === this.#heldAt ? this.#held.get(key) : undefined
    const body = held ?? (await this.#read(key, position))
    this.#figures[body === null ? 'misses' : 'hits'] += 1
    if (body !== null) return { body }
    return {
      body: null,
      keep: (made) => {
        this.#hold(key, position, made)
        this.#cache.writeAnswer(key, { position, body: made }).catch(() => {})
      }
    }
  }

  async #read(key: string, position: number): Promise<Buffer | null> {
    if (this.#cache.isAway) return null
    const found = await this.#cache.readAnswer(key)
    if (found?.position !== position) return null
    this.#hold(key, position, found.body)
    return found.body
  }

  #hold(key: string, position: number, body: Buffer): void {
    if (position < this.#heldAt) return
    if (position > this.#heldAt) this.#drop()
    this.#heldAt = position
    this.#heldBytes += body.length - (this.#held.get(key)?.length ?? 0)
    this.#held.set(key, body)
    if (this.#heldBytes > HELD_MAX_BYTES) this.#drop()
  }

  #drop(): void {
    this.#held.clear()
    this.#heldBytes = 0
  }
}
