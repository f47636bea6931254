import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/access.ts'
import type { Clock } from '../../runtime/clock.ts'
import { hash, randomBytes } from 'node:crypto'
import type { UserId } from '../../../shared/contract/index.ts'
import { BoundedMap } from '../../runtime/bounded.ts'
import { backoffMs } from '../../runtime/backoff.ts'

const FREE = 5
const FIRST_WAIT_MS = 2_000
const MAX_WAIT_MS = 15 * 60_000
const FORGOTTEN_AFTER_MS = 24 * 3_600_000
const MAX_ACCOUNTS = 10_000

/**
 * Limits how often a client that knows the password can guess six-digit codes. After five wrong codes, each further one
 * doubles the wait, up to a quarter of an hour. At that rate, guessing is hopeless: three in a million guesses are
 * right. Clients from which the user has logged in recently are counted separately (`client`).
 */
export class CodeGuesses {
  readonly #clock: Clock
  readonly #byAccount = new BoundedMap<string, { count: number; lastMs: number }>(MAX_ACCOUNTS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Call this before checking a code. Throws TOO_MANY_REQUESTS. */
  begin(account: string, client: string | null): void {
    const key = keyOf(account, client)
    const nowMs = this.#clock.monotonicMs()
    const before = this.#byAccount.get(key)
    const isRecent = before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS
    const count = isRecent ? before.count : 0
    const waitMs = count < FREE ? 0 : backoffMs(count - FREE + 1, FIRST_WAIT_MS, MAX_WAIT_MS)
    const leftMs = isRecent ? before.lastMs + waitMs - nowMs : 0
    if (leftMs > 0) {
      const retryAfterSeconds = Math.ceil(leftMs / 1_000)
      const text = sentence('access.too_many_wrong_codes', { retryAfterSeconds })
      throw new ScrapdeckError('TOO_MANY_REQUESTS', text, { data: { retryAfterSeconds } })
    }
    this.#byAccount.set(key, { count: count + 1, lastMs: nowMs })
  }

  forget(account: string, client: string | null): void {
    this.#byAccount.delete(keyOf(account, client))
  }
}

const keyOf = (account: string, client: string | null): string => (client === null ? account : `${account} ${client}`)

const COUNT = 10
/** The length of a recovery code in bytes. 80 bits are too many to guess, so a fast hash is safe. */
const BYTES = 10
/** Crockford's alphabet has no letters that look like digits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const FORM = /^[0-9a-hjkmnp-tv-z]{16}$/

export const createRecoveryCodes = (): string[] => Array.from({ length: COUNT }, createCode)

function createCode(): string {
  let bits = BigInt(`0x${randomBytes(BYTES).toString('hex')}`)
  let text = ''
  for (let at = 0; at < 16; at += 1, bits >>= 5n) text += ALPHABET[Number(bits & 31n)]
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Normalizes what a user typed. Returns null if it is not a recovery code. */
export function readRecoveryCode(text: string): string | null {
  const plain = text.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return FORM.test(plain) ? plain : null
}

/** Hashes a recovery code together with the user's id, so that identical codes of two users have different hashes. */
export const hashRecoveryCode = (user: UserId, code: string): string =>
  hash('sha256', `${user} ${readRecoveryCode(code) ?? code}`)

/** How long an authenticator app shows a code, by default (RFC 6238). */
const PERIOD_SECONDS = 30
const DIGITS = 6
const SECRET_BYTES = 20
/** How many time steps before and after the current one are accepted. The phone's clock can be inaccurate. */
const WINDOW = 1
const ISSUER = 'Scrapdeck'

const CODE = new RegExp(`^\\d{${DIGITS}}$`)

export interface SecretForApp {
  secret: string
  uri: string
  qrCode: string
}

/** `label` is what the app displays beside its codes, such as `anna (deck.example.org)`. */
export async function createSecret(label: string): Promise<SecretForApp> {
  const [{ Secret, TOTP }, { renderSVG }] = await Promise.all([import('otpauth'), import('uqr')])
  const secret = new Secret({ size: SECRET_BYTES })
  const uri = new TOTP({ issuer: ISSUER, label, secret, digits: DIGITS, period: PERIOD_SECONDS }).toString()
  return { secret: secret.base32, uri, qrCode: renderSVG(uri, { pixelSize: 4, border: 3 }) }
}

/** Returns the time step of a code, even if the code has been used. null: the code matches no current step. */
export async function stepOf(code: string, secret: string, nowMs: number): Promise<number | null> {
  const digits = code.replaceAll(/\s/g, '')
  if (!CODE.test(digits)) return null
  const { Secret, TOTP } = await import('otpauth')
  const totp = new TOTP({ secret: Secret.fromBase32(secret), digits: DIGITS, period: PERIOD_SECONDS })
  const delta = totp.validate({ token: digits, timestamp: nowMs, window: WINDOW })
  return delta === null ? null : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta
}
