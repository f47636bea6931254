import type { Clock, Timer } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { readableName } from '../../shared/unseen.ts'

const WINDOW_MS = 60_000
const MAX_LINES_PER_ADDRESS = 5
const MAX_LINES = 60

/** Logs failed logins without passwords. Limits the number of entries, so that guessing cannot fill the disk. */
export class FailureLog {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #linesByAddress = new Map<string, number>()
  #lines = 0
  #suppressed = 0
  #window: Timer | null = null

  constructor(options: { clock: Clock; logger: Logger }) {
    this.#clock = options.clock
    this.#logger = options.logger
  }

  add(address: string, username: string): void {
    this.#window ??= this.#clock.setTimer(WINDOW_MS, () => this.#endWindow())
    const lines = this.#linesByAddress.get(address) ?? 0
    if (this.#lines >= MAX_LINES || lines >= MAX_LINES_PER_ADDRESS) {
      this.#suppressed += 1
      return
    }
    this.#lines += 1
    this.#linesByAddress.set(address, lines + 1)
    this.#logger.warn({ address, username: readableName(username) }, 'Login failed: wrong user name or password')
  }

  addBlock(address: string): void {
    this.#logger.warn({ address }, 'Too many failed logins: this address is blocked for the rest of the minute')
  }

  #endWindow(): void {
    if (this.#suppressed > 0) {
      this.#logger.warn({ count: this.#suppressed }, 'More logins failed in the last minute than were logged')
    }
    this.#window = null
    this.#linesByAddress.clear()
    this.#lines = 0
    this.#suppressed = 0
  }
}
