import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { UserId } from '../../shared/contract/index.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { BasicCredentials } from './basic.ts'
import { createSessionToken } from './session-token.ts'
import { hashToken } from './secrets.ts'

export const SESSION_MS = 30 * 24 * 3_600_000
const MAX_SESSIONS = 1000
/** Of a user: whoever logs in again and again ends only the own sessions. */
const MAX_SESSIONS_OF_USER = 50

const SessionsFile = z.strictObject({
  /** Identifies the credentials that the sessions were created for. */
  credentials: z.strictObject({ salt: z.string(), hash: z.string() }),
  expiryByHash: z.record(z.string().regex(/^[0-9a-f]{64}$/), z.number()),
  /** Of all but the owner's. */
  userByHash: z.record(z.string(), z.string()).default({})
})
type SessionsFile = z.infer<typeof SessionsFile>

export interface SessionsOptions {
  file: string
  /** Sessions that were created for other credentials end when the file is opened. */
  credentials: BasicCredentials
  clock: Clock
  logger: Logger
  /** A session is no longer valid. Gets its id. */
  onEnd: (id: string) => void
}

/** Sessions of browsers, kept in a file across restarts. It stores hashes of tokens, which cannot be used to log in. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #expiryByHash: Map<string, number>
  readonly #userByHash: Map<string, string>
  /** null: computed when the first session is created. */
  #credentials: SessionsFile['credentials'] | null

  constructor(options: SessionsOptions) {
    this.#options = options
    const kept = readSessions(options.file, options.logger)
    const isCurrent = kept !== null && isSame(kept.credentials, options.credentials)
    this.#credentials = isCurrent ? kept.credentials : null
    this.#expiryByHash = new Map(Object.entries(isCurrent ? kept.expiryByHash : {}))
    this.#userByHash = new Map(Object.entries(isCurrent ? kept.userByHash : {}))
    // Written at once: otherwise going back to the old password would bring its sessions back.
    if (kept !== null && !isCurrent) {
      options.logger.info({}, 'The user name or password has changed: all browsers have been logged out')
      this.#write()
    }
  }

  /** Creates a session of this user and returns its token, the value of the cookie. */
  create(userId: UserId | null, beginsAtMs: number): string {
    const token = createSessionToken(userId, beginsAtMs)
    this.#add(hashToken(token), userId)
    return token
  }

  /** The session's id, which cannot be used to log in; null: there is no such session. */
  find(token: string): string | null {
    return this.findByHash(hashToken(token))
  }

  findByHash(hash: string): string | null {
    return (this.#expiryByHash.get(hash) ?? 0) > this.#options.clock.nowMs() ? hash : null
  }

  end(token: string): void {
    this.endByHash(hashToken(token))
  }

  endByHash(hash: string): void {
    if (this.#drop(hash)) this.#write()
    // It may be receiving something without having been recorded here.
    else this.#options.onEnd(hash)
  }

  /** Records a session that another engine created. */
  adopt(hash: string): void {
    if (this.findByHash(hash) === null) this.#add(hash, null)
  }

  /** Returns how many valid sessions ended. */
  endAll(): number {
    const nowMs = this.#options.clock.nowMs()
    const valid = [...this.#expiryByHash.values()].filter((expiresAtMs) => expiresAtMs > nowMs).length
    for (const hash of [...this.#expiryByHash.keys()]) this.#drop(hash)
    this.#write()
    return valid
  }

  #add(added: string, userId: UserId | null): void {
    const nowMs = this.#options.clock.nowMs()
    for (const [hash, expiresAtMs] of this.#expiryByHash) if (expiresAtMs <= nowMs) this.#drop(hash)
    const others = userId === null ? [] : [...this.#userByHash].filter(([, user]) => user === userId)
    if (others.length >= MAX_SESSIONS_OF_USER) this.#drop(others[0]![0])
    const oldest = this.#expiryByHash.keys().next().value
    if (this.#expiryByHash.size >= MAX_SESSIONS && oldest !== undefined) this.#drop(oldest)
    this.#expiryByHash.set(added, nowMs + SESSION_MS)
    if (userId !== null) this.#userByHash.set(added, userId)
    this.#write()
  }

  #drop(hash: string): boolean {
    const existed = this.#expiryByHash.delete(hash)
    this.#userByHash.delete(hash)
    if (existed) this.#options.onEnd(hash)
    return existed
  }

  #write(): void {
    const { file, credentials } = this.#options
    this.#credentials ??= identify(credentials, randomBytes(16))
    const content: SessionsFile = {
      credentials: this.#credentials,
      expiryByHash: Object.fromEntries(this.#expiryByHash),
      userByHash: Object.fromEntries(this.#userByHash)
    }
    const temporary = `${file}.new`
    writeFileSync(temporary, JSON.stringify(content), { mode: 0o600 })
    renameSync(temporary, file)
  }
}

/** Slow on purpose (some 10 ms), so that the file does not help to guess the password. Computed once per start. */
function identify({ username, password }: BasicCredentials, salt: Buffer): SessionsFile['credentials'] {
  const hash = scryptSync(JSON.stringify([username, password]), salt, 32, { N: 4096 })
  return { salt: salt.toString('hex'), hash: hash.toString('hex') }
}

function isSame(kept: SessionsFile['credentials'], credentials: BasicCredentials): boolean {
  const { hash } = identify(credentials, Buffer.from(kept.salt, 'hex'))
  return kept.hash.length === hash.length && timingSafeEqual(Buffer.from(kept.hash), Buffer.from(hash))
}

/** A damaged file, or one of an older version, logs everyone out but does not prevent the start. */
function readSessions(file: string, logger: Logger): SessionsFile | null {
  if (!existsSync(file)) return null
  try {
    return SessionsFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    logger.warn({ err: error, file }, 'The sessions file cannot be read: browsers have to log in again')
    return null
  }
}
