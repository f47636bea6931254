import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import { createToken, hashToken } from './secrets.ts'

const VALID_MS = 10 * 60_000
const MAX_OPEN_LINKS = 100

/** Login links, each for one use within ten minutes. With a shared cache, any engine on it takes them. */
export class OneTimeLinks {
  readonly #clock: Clock
  readonly #cache: SharedCache | null
  /** Links that only this engine knows. Keyed by hash, so that lookup timing reveals nothing about other tokens. */
  readonly #expiryByHash = new Map<string, number>()

  constructor(options: { clock: Clock; cache: SharedCache | null }) {
    this.#clock = options.clock
    this.#cache = options.cache
  }

  /** Creates a link for this engine alone, and returns its token. */
  createHere(): string {
    const oldest = this.#expiryByHash.keys().next().value
    if (this.#expiryByHash.size >= MAX_OPEN_LINKS && oldest !== undefined) this.#expiryByHash.delete(oldest)
    const token = createToken()
    this.#expiryByHash.set(hashToken(token), this.#clock.monotonicMs() + VALID_MS)
    return token
  }

  /** Creates a link for all engines, or for this one if the cache does not answer. */
  async create(): Promise<string> {
    const token = createToken()
    const isShared = (await this.#cache?.addLink(hashToken(token), VALID_MS)) === true
    // Another token: the first may be in the cache all the same, and a link in both places would work twice.
    return isShared ? token : this.createHere()
  }

  async isOpen(token: string): Promise<boolean> {
    const hash = hashToken(token)
    return this.#isOpenHere(hash) || (await this.#cache?.hasLink(hash)) === true
  }

  /** True once per token, within ten minutes of its creation. */
  async redeem(token: string): Promise<boolean> {
    const hash = hashToken(token)
    if (this.#isOpenHere(hash)) return this.#expiryByHash.delete(hash)
    return (await this.#cache?.takeLink(hash)) === true
  }

  /** Makes all unused links invalid. */
  async revokeAll(): Promise<void> {
    this.#expiryByHash.clear()
    await this.#cache?.dropLinks()
  }

  #isOpenHere(hash: string): boolean {
    return this.#clock.monotonicMs() < (this.#expiryByHash.get(hash) ?? 0)
  }
}
