import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { BasicCredentials } from './secrets.ts'
import { readSessionToken, renewSessionToken, type SessionToken } from './session-token.ts'

const DAY_MS = 24 * 3_600_000
/** The maximum duration of a session. The operator sets it for sessions from an identity provider. */
export const SESSION_MS = 30 * DAY_MS
export const IDLE_MS = 7 * DAY_MS
const MAX_SESSIONS = 1000
/** The maximum number of sessions per user, so that frequent logins end only the user's own sessions. */
const MAX_SESSIONS_OF_USER = 50
/** How often a browser gets a new cookie. A cookie leaked from a backup or a log then soon becomes worthless. */
const RENEW_EVERY_MS = 3_600_000
/** How long the previous cookie remains valid after a renewal. Requests already in flight still carry it. */
const FORMER_FOR_MS = 60_000
/**
 * How often to store when sessions were last used. The idle limit does not need more precision, and each write replaces
 * the file.
 */
const RECORD_EVERY_MS = 5 * 60_000
const SEEN_EVERY_MS = 10_000
const USER_AGENT_MAX = 200

const Hash = z.string().regex(/^[0-9a-f]{64}$/)
const Session = z.strictObject({
  /** null for the owner. */
  userId: z.string().nullable(),
  signedInWith: z.enum(['password', 'link', 'oidc', 'passkey']),
  beganAtMs: z.number(),
  endsAtMs: z.number(),
  lastSeenAtMs: z.number(),
  address: z.string(),
  userAgent: z.string(),
  /**
   * `renewal` is the hash of the renewed part of the current cookie. `next` is this hash for a newer cookie that was
   * sent but not used yet.
   */
  renewal: Hash,
  renewedAtMs: z.number(),
  next: Hash.nullable(),
  /**
   * Set when this session ended all other sessions of its user. Validity checks then use this time instead of
   * `beganAtMs`.
   */
  countsFromMs: z.number().optional()
})
export type Session = z.infer<typeof Session>

const SessionsFile = z.strictObject({
  /** Identifies the credentials that the sessions were created for. */
  credentials: z.strictObject({ salt: z.string(), hash: z.string() }),
  sessions: z.record(Hash, Session)
})
type SessionsFile = z.infer<typeof SessionsFile>

export interface Browser {
  address: string
  userAgent: string
}

export interface SessionsOptions {
  file: string
  /** If these have changed, existing sessions end when the file is opened. */
  credentials: BasicCredentials
  clock: Clock
  logger: Logger
  onEnd: (id: string) => void
}

/** Sessions of browsers, stored in a file, so that they survive a restart. The file contains only hashes of tokens. */
export class Sessions {
  readonly #options: SessionsOptions
  /** Oldest first. */
  readonly #byId: Map<string, Session>
  /** Cookies that were sent but not used yet, so that concurrent requests get the same cookie. */
  readonly #sent = new Map<string, string>()
  readonly #former = new Map<string, { renewal: string; untilMs: number }>()
  #recordedAtMs: number
  #isChanged = false
  /** null until the first session is created. */
  #credentials: SessionsFile['credentials'] | null

  constructor(options: SessionsOptions) {
    this.#options = options
    const kept = readSessions(options.file, options.logger)
    const isCurrent = kept !== null && isSame(kept.credentials, options.credentials)
    this.#credentials = isCurrent ? kept.credentials : null
    this.#byId = new Map(Object.entries(isCurrent ? kept.sessions : {}))
    this.#recordedAtMs = options.clock.nowMs()
    // Write the file now. Otherwise, changing the password back would also restore the old sessions.
    if (kept !== null && !isCurrent) {
      options.logger.info({}, 'The user name or password has changed: all browsers have been logged out')
      this.#write()
    }
  }

  add(token: SessionToken, browser: Browser): void {
    const { id, userId, signedInWith, beganAtMs, endsAtMs, renewal } = token
    const nowMs = this.#options.clock.nowMs()
    for (const [other, session] of this.#byId) if (!isAlive(session, nowMs)) this.#drop(other)
    const others = userId === null ? [] : [...this.#byId].filter(([, session]) => session.userId === userId)
    if (others.length >= MAX_SESSIONS_OF_USER) this.#drop(others[0]![0])
    const oldest = this.#byId.keys().next().value
    if (this.#byId.size >= MAX_SESSIONS && oldest !== undefined) this.#drop(oldest)
    this.#byId.set(id, {
      userId,
      signedInWith,
      beganAtMs,
      endsAtMs,
      lastSeenAtMs: nowMs,
      ...shorten(browser),
      renewal,
      renewedAtMs: nowMs,
      next: null
    })
    this.#write()
  }

  /** Returns the session's id, or null if there is no such session or this cookie was replaced. */
  find(token: SessionToken, _browser?: Browser): string | null {
    const session = this.get(token.id)
    return session !== null && this.#accepts(session, token) ? token.id : null
  }

  get(id: string): Session | null {
    const session = this.#byId.get(id)
    return session !== undefined && isAlive(session, this.#options.clock.nowMs()) ? session : null
  }

  /** Valid sessions, newest first. */
  list(): ({ id: string } & Session)[] {
    const nowMs = this.#options.clock.nowMs()
    const all = [...this.#byId].filter(([, session]) => isAlive(session, nowMs))
    return all.map(([id, session]) => ({ id, ...session })).toReversed()
  }

  /** Records a use of the session. Returns a new token for the browser, or null if the browser keeps its token. */
  use(token: string, browser: Browser): string | null {
    const { clock } = this.#options
    const nowMs = clock.nowMs()
    const read = readSessionToken(token)!
    const session = this.#byId.get(read.id)
    // If the session is unknown, it started on another engine, which renews the cookie.
    if (session === undefined || nowMs - session.lastSeenAtMs < SEEN_EVERY_MS) return null
    Object.assign(session, { lastSeenAtMs: nowMs, ...shorten(browser) })
    this.#isChanged = true
    if (nowMs - this.#recordedAtMs >= RECORD_EVERY_MS) this.record()
    if (nowMs - session.renewedAtMs < RENEW_EVERY_MS || read.renewal !== session.renewal) return null
    const sent = this.#sent.get(read.id)
    if (sent !== undefined) return sent
    const renewed = renewSessionToken(token)
    session.next = renewed.renewal
    this.#sent.set(read.id, renewed.token)
    // Store the new cookie now, because the browser may already use it when the service restarts after a crash.
    this.#isChanged = true
    this.record()
    return renewed.token
  }

  keepFrom(id: string, sinceMs: number): void {
    const session = this.#byId.get(id)
    if (session === undefined) return
    session.countsFromMs = sinceMs
    this.#isChanged = true
    this.record()
  }

  end(id: string): void {
    if (this.#drop(id)) this.#write()
    // The session was never recorded here, but one of its responses can be in progress.
    else this.#options.onEnd(id)
  }

  /** Returns the number of valid sessions that ended. */
  endAll(): number {
    const valid = this.list().length
    for (const id of [...this.#byId.keys()]) this.#drop(id)
    this.#write()
    return valid
  }

  /** Stores when sessions were last used. A full disk must not lock out users with a valid session. */
  record(): void {
    if (!this.#isChanged) return
    try {
      this.#write()
    } catch (error) {
      this.#recordedAtMs = this.#options.clock.nowMs()
      this.#options.logger.warn({ err: error }, 'The sessions file cannot be written')
    }
  }

  /** A browser that sends the next cookie has received it, so the previous cookie expires after FORMER_FOR_MS. */
  #accepts(session: Session, { id, renewal }: SessionToken): boolean {
    if (renewal === session.renewal) return true
    const { clock } = this.#options
    if (renewal !== session.next) {
      const former = this.#former.get(id)
      return former !== undefined && former.renewal === renewal && clock.monotonicMs() < former.untilMs
    }
    if (this.#former.size >= MAX_SESSIONS) this.#former.clear()
    this.#former.set(id, { renewal: session.renewal, untilMs: clock.monotonicMs() + FORMER_FOR_MS })
    Object.assign(session, { renewal, renewedAtMs: clock.nowMs(), next: null })
    this.#sent.delete(id)
    this.#isChanged = true
    return true
  }

  #drop(id: string): boolean {
    const existed = this.#byId.delete(id)
    this.#sent.delete(id)
    this.#former.delete(id)
    if (existed) this.#options.onEnd(id)
    return existed
  }

  #write(): void {
    const { file, credentials, clock } = this.#options
    this.#credentials ??= identify(credentials, randomBytes(16))
    const content: SessionsFile = { credentials: this.#credentials, sessions: Object.fromEntries(this.#byId) }
    const temporary = `${file}.new`
    writeFileSync(temporary, JSON.stringify(content), { mode: 0o600 })
    renameSync(temporary, file)
    this.#isChanged = false
    this.#recordedAtMs = clock.nowMs()
  }
}

const isAlive = ({ endsAtMs, lastSeenAtMs }: Session, nowMs: number): boolean =>
  nowMs < endsAtMs && nowMs - lastSeenAtMs < IDLE_MS

/** Also replaces line breaks and characters that change the direction of text. */
const shorten = ({ address, userAgent }: Browser): Browser => ({
  address,
  userAgent: userAgent.slice(0, USER_AGENT_MAX).replaceAll(/[^\P{C}]|[\u2028\u2029]/gu, '?')
})

/**
 * The hash is deliberately slow (about 10 ms), so that the file does not help to guess the password. It is computed
 * once per start.
 */
function identify({ username, password }: BasicCredentials, salt: Buffer): SessionsFile['credentials'] {
  const hash = scryptSync(JSON.stringify([username, password]), salt, 32, { N: 4096 })
  return { salt: salt.toString('hex'), hash: hash.toString('hex') }
}

function isSame(kept: SessionsFile['credentials'], credentials: BasicCredentials): boolean {
  const { hash } = identify(credentials, Buffer.from(kept.salt, 'hex'))
  return kept.hash.length === hash.length && timingSafeEqual(Buffer.from(kept.hash), Buffer.from(hash))
}

/** A damaged file, or a file from an older version, logs everyone out but does not prevent startup. */
function readSessions(file: string, logger: Logger): SessionsFile | null {
  if (!existsSync(file)) return null
  try {
    return SessionsFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    logger.warn({ err: error, file }, 'The sessions file cannot be read: browsers have to log in again')
    return null
  }
}
