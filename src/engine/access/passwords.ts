import * as crypto from 'node:crypto'
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import type { Clock } from '../runtime/clock.ts'

/** The costs of a hash. RFC 9106 and OWASP's password storage cheat sheet recommend 19 MiB and two passes. */
const ARGON2ID = { memory: 19_456, passes: 2, parallelism: 1 }
/** The costs for runtimes without argon2 (Electron), as recommended by OWASP for scrypt. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** The maximum number of parallel checks. Each uses a core and up to 128 MB for a moment. */
const AT_ONCE = 2
const WAITING_MAX = 50
const RETRY_AFTER_SECONDS = 2

interface Parsed {
  kind: 'argon2id' | 'scrypt'
  /** argon2id: memory in KiB, passes, lanes. scrypt: N, r, p. */
  cost: [number, number, number]
  salt: Buffer
  hash: Buffer
}

/**
 * Computes password hashes, at most two in parallel. A hash whose algorithm this runtime does not support (argon2id in
 * Electron) never matches.
 */
export class Passwords {
  #running = 0
  readonly #waiting: (() => void)[] = []
  /** A hash to check for unknown users, so that an unknown name takes as long as a wrong password. */
  #decoy: Promise<string> | null = null

  /**
   * Hashes a password. The result contains the parameters, so that later versions can change them: `argon2id 19456,2,1
   * SALT HASH`.
   */
  async hash(password: string): Promise<string> {
    const kind = typeof crypto.argon2 === 'function' ? 'argon2id' : 'scrypt'
    const { memory, passes, parallelism } = ARGON2ID
    const cost: Parsed['cost'] = kind === 'argon2id' ? [memory, passes, parallelism] : [SCRYPT.N, SCRYPT.r, SCRYPT.p]
    const salt = randomBytes(SALT_BYTES)
    const hash = await this.#derive(password, { kind, cost, salt })
    return `${kind} ${cost.join(',')} ${salt.toString('base64url')} ${hash.toString('base64url')}`
  }

  /**
   * Whether the password matches the hash `stored`. null never matches, but takes the same time. Rejects with
   * TOO_MANY_REQUESTS.
   */
  async isRight(password: string, stored: string | null): Promise<boolean> {
    if (this.#waiting.length >= WAITING_MAX) {
      const text = sentence('access.too_many_passwords_checked', { retryAfterSeconds: RETRY_AFTER_SECONDS })
      throw new ScrapdeckError('TOO_MANY_REQUESTS', text, { data: { retryAfterSeconds: RETRY_AFTER_SECONDS } })
    }
    const own = stored === null ? null : parse(stored)
    const isKnown = own !== null && (own.kind === 'scrypt' || typeof crypto.argon2 === 'function')
    const parsed = isKnown ? own : parse(await this.#decoyOf())
    const given = await this.#derive(password, parsed)
    return timingSafeEqual(given, parsed.hash) && isKnown
  }

  async #decoyOf(): Promise<string> {
    this.#decoy ??= this.hash(randomBytes(SALT_BYTES).toString('hex'))
    try {
      return await this.#decoy
    } catch (error) {
      this.#decoy = null
      throw error
    }
  }

  async #derive(password: string, { kind, cost, salt }: Omit<Parsed, 'hash'>): Promise<Buffer> {
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running += 1
    try {
      return await (kind === 'argon2id' ? deriveArgon2(password, salt, cost) : deriveScrypt(password, salt, cost))
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}

function parse(stored: string): Parsed {
  const [kind, cost = '', salt = '', hash = ''] = stored.split(' ')
  const numbers = cost.split(',').map(Number)
  if ((kind !== 'argon2id' && kind !== 'scrypt') || numbers.length !== 3) {
    throw new Error('The hash of a password was made by another Scrapdeck')
  }
  const bytes = (text: string) => Buffer.from(text, 'base64url')
  return { kind, cost: numbers as Parsed['cost'], salt: bytes(salt), hash: bytes(hash) }
}

function deriveArgon2(message: string, nonce: Buffer, [memory, passes, parallelism]: Parsed['cost']): Promise<Buffer> {
  const options = { message, nonce, memory, passes, parallelism, tagLength: HASH_BYTES }
  return new Promise((resolve, reject) => {
    crypto.argon2('argon2id', options, (error, hash) => (error === null ? resolve(hash) : reject(error)))
  })
}

function deriveScrypt(password: string, salt: Buffer, [N, r, p]: Parsed['cost']): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { N, r, p, maxmem: 256 * N * r }
    scrypt(password, salt, HASH_BYTES, options, (error, hash) => (error === null ? resolve(hash) : reject(error)))
  })
}

const WINDOW_MS = 60_000
const PER_WINDOW = 10

export class UserAttemptLimiter {
  readonly #clock: Clock
  readonly #what: string
  readonly #windows = new Map<string, { beganAtMs: number; count: number }>()

  constructor(clock: Clock, what = 'passwords') {
    this.#clock = clock
    this.#what = what
  }

  /** Call this before each attempt, so that parallel attempts are counted. Throws TOO_MANY_REQUESTS. */
  begin(user: string): void {
    const nowMs = this.#clock.monotonicMs()
    const before = this.#windows.get(user)
    const window =
      before !== undefined && nowMs - before.beganAtMs < WINDOW_MS ? before : { beganAtMs: nowMs, count: 0 }
    if (window.count >= PER_WINDOW) {
      const retryAfterSeconds = Math.ceil((window.beganAtMs + WINDOW_MS - nowMs) / 1_000)
      const text = sentence('access.too_many_wrong', { what: this.#what, retryAfterSeconds })
      throw new ScrapdeckError('TOO_MANY_REQUESTS', text, { data: { retryAfterSeconds } })
    }
    window.count += 1
    this.#windows.set(user, window)
  }

  forget(user: string): void {
    this.#windows.delete(user)
  }
}

export const needsPassword = (text: string): ScrapdeckError =>
  new ScrapdeckError('PASSWORD_REQUIRED', sentence('access.needs_password', { text }))
