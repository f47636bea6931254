import type { AccessTokenId, UserId } from '../../shared/contract/index.ts'
import { type Clock, Timers } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Directory } from './directory.ts'

/** How often it is recorded who was seen. */
const SEEN_EVERY_MS = 60_000

/** When users and tokens were last seen: collected, and recorded once a minute. */
export class LastSeen {
  readonly #parts: { directory: Directory; clock: Clock; logger: Logger }
  readonly #timers: Timers
  readonly #users = new Set<UserId>()
  readonly #tokens = new Set<AccessTokenId>()

  constructor(parts: { directory: Directory; clock: Clock; logger: Logger }) {
    this.#parts = parts
    this.#timers = new Timers(parts.clock)
  }

  async stop(): Promise<void> {
    this.#timers.stop()
    await this.#record()
  }

  /** null: the owner of this machine, or no token. */
  mark(userId: UserId | null, tokenId: AccessTokenId | null): void {
    if (userId === null && tokenId === null) return
    if (this.#users.size + this.#tokens.size === 0) this.#timers.set(SEEN_EVERY_MS, () => void this.#record())
    if (userId !== null) this.#users.add(userId)
    if (tokenId !== null) this.#tokens.add(tokenId)
  }

  async #record(): Promise<void> {
    const { directory, clock, logger } = this.#parts
    const [users, tokens] = [[...this.#users], [...this.#tokens]]
    this.#users.clear()
    this.#tokens.clear()
    if (users.length + tokens.length === 0) return
    const atMs = clock.nowMs()
    await directory
      .inTurn(() => directory.recordSeen(users, tokens, atMs))
      .catch((error: unknown) => logger.warn({ err: error }, 'When users were last seen is not recorded'))
  }
}
