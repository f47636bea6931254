import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../../engine/runtime/clock.ts'

/** Wrong passwords of one account that cost nothing: people mistype. */
const FREE = 5
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 30_000
/** After the last wrong one. */
const FORGOTTEN_AFTER_MS = 15 * 60_000
const MAX_ACCOUNTS = 10_000
/** Of an account: the same wrong password again is a program that was not told of a new one, and no guess. */
const REMEMBERED = 20

/**
 * Slows down guesses at one account that come from many addresses: after five wrong passwords, each next one doubles the
 * wait, up to half a minute. Whoever asks leaves out those who must never wait (password-check.ts), so an account can be
 * made slow for strangers, and for nobody else.
 */
export class AccountBackoff {
  readonly #clock: Clock
  readonly #key = randomBytes(32)
  readonly #byName = new Map<string, { failures: number; lastMs: number; seen: string[] }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How long no password of this account is checked; 0: it is checked now. */
  waitMs(name: string): number {
    const account = this.#byName.get(fold(name))
    if (account === undefined || account.failures < FREE) return 0
    return Math.max(0, account.lastMs + waitAfter(account.failures) - this.#clock.monotonicMs())
  }

  addFailure(name: string, password: string): void {
    const nowMs = this.#clock.monotonicMs()
    const key = fold(name)
    const before = this.#byName.get(key)
    const account =
      before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS ? before : { failures: 0, lastMs: 0, seen: [] }
    const guess = createHmac('sha256', this.#key).update(password).digest('base64url')
    if (account.seen.includes(guess)) return
    account.failures += 1
    account.lastMs = nowMs
    account.seen = [...account.seen.slice(1 - REMEMBERED), guess]
    // In the order of the last failures.
    this.#byName.delete(key)
    const oldest = this.#byName.keys().next().value
    if (this.#byName.size >= MAX_ACCOUNTS && oldest !== undefined) this.#byName.delete(oldest)
    this.#byName.set(key, account)
  }
}

const waitAfter = (failures: number): number => Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - FREE))

const fold = (name: string): string => name.slice(0, 64).normalize('NFKC').toLowerCase()
