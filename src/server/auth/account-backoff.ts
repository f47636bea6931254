import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../../engine/runtime/clock.ts'
import { BoundedMap, BoundedSet } from '../../engine/runtime/bounded.ts'

/** The number of clients that can send wrong passwords for an account before logins to this account slow down. */
const FREE_CLIENTS = 5
const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 30_000
/** How long after the last failure an account's failures are forgotten. */
const FORGOTTEN_AFTER_MS = 15 * 60_000
const MAX_ACCOUNTS = 1_000
/**
 * The maximum number of wrong passwords, and of clients, to remember per account. A repeated wrong password comes from
 * an outdated program and does not count as a guess.
 */
const REMEMBERED = 128

interface Account {
  lastMs: number
  clients: Set<string>
  guesses: Set<string>
  /** The number of failures that lengthen the wait. Counting starts with the first client beyond FREE_CLIENTS. */
  spread: number
}

/**
 * Slows down guesses at one account from many addresses. Each wrong password doubles the wait, up to half a minute. The
 * caller exempts known clients (password-check.ts), so an attacker cannot slow those down.
 */
export class AccountBackoff {
  readonly #clock: Clock
  readonly #key = randomBytes(32)
  readonly #byName = new BoundedMap<string, Account>(MAX_ACCOUNTS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How long to reject passwords for this account without checking them. 0 if they can be checked now. */
  waitMs(name: string): number {
    const account = this.#byName.get(fold(name))
    if (account === undefined || account.spread === 0) return 0
    const waitMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (account.spread - 1))
    return Math.max(0, account.lastMs + waitMs - this.#clock.monotonicMs())
  }

  addFailure(name: string, { client, password }: { client: string; password: string }): void {
    const nowMs = this.#clock.monotonicMs()
    const key = fold(name)
    const before = this.#byName.get(key)
    const isRecent = before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS
    const account = isRecent ? before : { lastMs: nowMs, clients: remembered(), guesses: remembered(), spread: 0 }
    const guess = createHmac('sha256', this.#key).update(password).digest('base64url').slice(0, 12)
    if (account.guesses.has(guess)) return
    account.guesses.add(guess)
    account.clients.add(client)
    account.lastMs = nowMs
    if (account.clients.size > FREE_CLIENTS) account.spread += 1
    this.#byName.set(key, account)
  }
}

const remembered = () => new BoundedSet<string>(REMEMBERED)

const fold = (name: string): string => name.slice(0, 64).normalize('NFKC').toLowerCase()
