import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { SharedCache } from '../../engine/cache/shared-cache.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { type BasicCredentials, parseBasic } from './basic.ts'
import { addressOf, clientOf } from './client-address.ts'
import { FailureLog } from './failure-log.ts'
import { OneTimeLinks } from './one-time-links.ts'
import { KnownClients, PasswordCheck, type Verdict } from './password-check.ts'
import { readSessionCookies } from './session-cookie.ts'
import { SessionResponses } from './session-responses.ts'
import { Sessions } from './sessions.ts'
import { SharedSessions } from './shared-sessions.ts'

/** Who sent a request. */
export interface Caller {
  /**
   * `password`: sent the password with this request, like every program. `node`: a pulling node, at its own door only.
   * `nobody`: public routes.
   */
  kind: 'session' | 'password' | 'node' | 'nobody'
  /** Stable per session or user name (of a node: its id), and useless for logging in; empty for nobody. */
  id: string
}

export const NOBODY: Caller = { kind: 'nobody', id: '' }

/**
 * Whoever made this request has the password at hand. A browser that was once told the password repeats it with every
 * request, so there it proves as little as a session.
 */
export function knowsPassword({ caller, headers }: FastifyRequest): boolean {
  return caller.kind === 'password' && headers['sec-fetch-site'] === undefined
}

const UNAUTHORIZED_TEXTS = {
  missing:
    'No user name and password were sent. Send those that `npm run scrapdeck -- credentials` shows, or log in under /ui/.',
  wrong: 'The user name or the password is wrong. `npm run scrapdeck -- credentials` shows the right ones.'
}

export interface AuthenticatorOptions {
  credentials: BasicCredentials
  dataDirectory: string
  /** Of several engines; null: this one is alone. */
  cache: SharedCache | null
  clock: Clock
  logger: Logger
}

/** A client that is let in counts as known for a day from the last check. */
const RIGHT_FOR_MS = 60_000
/** A browser has one session here, and pages on other ports of its host may have added some. */
const SHARED_COOKIES_MAX = 10

/** Decides who may do what with which password, session or link. */
export class Authenticator {
  readonly links: OneTimeLinks
  readonly #credentials: BasicCredentials
  readonly #clock: Clock
  readonly #sessions: Sessions | SharedSessions
  readonly #responses = new SessionResponses()
  readonly #known: KnownClients
  readonly #basicCheck: PasswordCheck
  readonly #formCheck: PasswordCheck
  /**
   * What a connection was let in with last. Whoever sends it again there knows it, so that comparing it takes no care;
   * checking it anew took a tenth of a short request.
   */
  readonly #rightOn = new WeakMap<Socket, { authorization: string; address: string; caller: Caller; untilMs: number }>()

  constructor(options: AuthenticatorOptions) {
    const { credentials, clock, logger, cache } = options
    this.#credentials = credentials
    this.#clock = clock
    this.links = new OneTimeLinks({ clock, cache })
    const own = new Sessions({
      file: join(options.dataDirectory, 'sessions.json'),
      credentials,
      clock,
      logger,
      onEnd: (id) => this.#responses.cut(id)
    })
    const receiving = () => this.#responses.sessions()
    this.#sessions = cache === null ? own : new SharedSessions({ own, cache, clock, logger, receiving })
    this.#known = new KnownClients(clock)
    const failures = new FailureLog({ clock, logger })
    const common = { credentials, clock, cache, known: this.#known, failures }
    this.#formCheck = new PasswordCheck({ ...common, name: 'form', maxFailuresPerMinute: 10 })
    // Higher than the form's: a poller with an outdated password must not lock out others behind the same address.
    this.#basicCheck = new PasswordCheck({ ...common, name: 'basic', maxFailuresPerMinute: 300 })
  }

  /** Somebody logged in from this address in the last day. */
  knows(request: FastifyRequest): boolean {
    return this.#known.has(clientOf(addressOf(request)))
  }

  async hasSession(request: FastifyRequest): Promise<boolean> {
    return (await this.#findSession(request)) !== null
  }

  /**
   * Throws or rejects with UNAUTHORIZED unless the request has a session or the right Basic credentials, with
   * TOO_MANY_REQUESTS after too many wrong ones. Waits only for what a shared cache must be asked.
   */
  check(request: FastifyRequest): Caller | Promise<Caller> {
    const session = this.#findSession(request)
    if (!(session instanceof Promise)) return this.#checkWith(session, request)
    return session.then((found) => this.#checkWith(found, request))
  }

  #checkWith(session: string | null, request: FastifyRequest): Caller {
    if (session !== null) return { kind: 'session', id: session }
    const { authorization } = request.headers
    const { socket } = request.raw
    const before = this.#rightOn.get(socket)
    if (
      before !== undefined &&
      before.authorization === authorization &&
      before.address === addressOf(request) &&
      this.#clock.monotonicMs() < before.untilMs
    ) {
      return before.caller
    }
    const given = parseBasic(authorization)
    const verdict = given === null ? null : this.#basicCheck.check(addressOf(request), given)
    if (verdict?.is === 'right') {
      const caller: Caller = { kind: 'password', id: `user:${given!.username}` }
      this.#rightOn.set(socket, {
        authorization: authorization!,
        address: addressOf(request),
        caller,
        untilMs: this.#clock.monotonicMs() + RIGHT_FOR_MS
      })
      return caller
    }
    if (verdict?.is === 'blocked') {
      const { retryAfterSeconds } = verdict
      throw new ScrapdeckError(
        'TOO_MANY_REQUESTS',
        `Too many wrong passwords came from this address. Wait ${retryAfterSeconds} s and try again.`,
        { data: { retryAfterSeconds } }
      )
    }
    // Tells apart only what the client knows anyway, not which of the two was wrong.
    const credentials = request.headers.authorization === undefined ? 'missing' : 'wrong'
    throw new ScrapdeckError('UNAUTHORIZED', UNAUTHORIZED_TEXTS[credentials], { data: { credentials } })
  }

  /** Checks what was typed into the login form. */
  checkForm(request: FastifyRequest, given: BasicCredentials): Verdict {
    return this.#formCheck.check(addressOf(request), given)
  }

  /** Checks a password that a logged-in person entered again. */
  checkPasswordAgain(request: FastifyRequest, password: string): Verdict {
    return this.checkForm(request, { username: this.#credentials.username, password })
  }

  /** Creates a session and returns its token, the value of the cookie. */
  async logIn(): Promise<string> {
    return this.#sessions.create()
  }

  /** Ends the sessions of this request and what they are receiving. */
  async logOut(request: FastifyRequest): Promise<void> {
    for (const token of cookiesOf(request).slice(0, SHARED_COOKIES_MAX)) await this.#sessions.end(token)
  }

  /** Ends all sessions, what they are receiving, and unused links. Returns the number of sessions. */
  async logOutEverywhere(): Promise<number> {
    await this.links.revokeAll()
    return this.#sessions.endAll()
  }

  stop(): void {
    if (this.#sessions instanceof SharedSessions) this.#sessions.stop()
  }

  /** Cuts the response off when the caller's session ends. */
  bindResponse(caller: Caller, response: ServerResponse): void {
    if (caller.kind === 'session') this.#responses.add(caller.id, response)
  }

  #findSession(request: FastifyRequest): string | null | Promise<string | null> {
    const tokens = cookiesOf(request)
    for (const [at, token] of tokens.entries()) {
      const session = this.#sessions.find(token)
      if (session instanceof Promise) return this.#findAmong(session, tokens.slice(at + 1, SHARED_COOKIES_MAX))
      if (session !== null) return session
    }
    return null
  }

  async #findAmong(first: Promise<string | null>, others: readonly string[]): Promise<string | null> {
    let session = await first
    for (const token of others) session ??= await this.#sessions.find(token)
    return session
  }
}

function cookiesOf({ headers }: FastifyRequest): string[] {
  return readSessionCookies(headers.host ?? '', headers.cookie)
}
