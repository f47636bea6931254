import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Clock } from '../../runtime/clock.ts'

const FREE = 5
const FIRST_WAIT_MS = 2_000
const MAX_WAIT_MS = 15 * 60_000
const FORGOTTEN_AFTER_MS = 24 * 3_600_000
const MAX_ACCOUNTS = 10_000

/**
 * Limits guesses at six digits by a client that knows the password: after five wrong codes, each doubles the wait, up
 * to a quarter of an hour. A guess is right three times in a million, so a day of them is worth nothing.
 *
 * Guesses slow the account down for strangers only: a client from where its owner has logged in lately has its own
 * count (`client`), and neither recovery codes nor passkeys are counted here.
 */
export class CodeGuesses {
  readonly #clock: Clock
  readonly #byAccount = new Map<string, { count: number; lastMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts one before it is tried. Throws TOO_MANY_REQUESTS. */
  begin(account: string, client: string | null): void {
    const key = keyOf(account, client)
    const nowMs = this.#clock.monotonicMs()
    const before = this.#byAccount.get(key)
    const isRecent = before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS
    const count = isRecent ? before.count : 0
    const waitMs = count < FREE ? 0 : Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - FREE))
    const leftMs = isRecent ? before.lastMs + waitMs - nowMs : 0
    if (leftMs > 0) {
      const retryAfterSeconds = Math.ceil(leftMs / 1_000)
      const text = `Too many wrong codes. Wait ${retryAfterSeconds} s and try again, or use a recovery code or a passkey.`
      throw new ScrapdeckError('TOO_MANY_REQUESTS', text, { data: { retryAfterSeconds } })
    }
    // In the order of the last guesses.
    this.#byAccount.delete(key)
    const oldest = this.#byAccount.keys().next().value
    if (this.#byAccount.size >= MAX_ACCOUNTS && oldest !== undefined) this.#byAccount.delete(oldest)
    this.#byAccount.set(key, { count: count + 1, lastMs: nowMs })
  }

  /** The last one was right. */
  forget(account: string, client: string | null): void {
    this.#byAccount.delete(keyOf(account, client))
  }
}

const keyOf = (account: string, client: string | null): string => (client === null ? account : `${account} ${client}`)
