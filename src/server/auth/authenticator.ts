import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { createAttemptLimiter } from './attempt-limiter.ts'
import { type BasicCredentials, createCredentialsCheck, parseBasic } from './basic.ts'
import { createOneTimeLinks, type OneTimeLinks } from './one-time-links.ts'
import { readSessionCookies } from './session-cookie.ts'
import { SessionResponses } from './session-responses.ts'
import { Sessions } from './sessions.ts'

/** Who sent a request. */
export interface Caller {
  /** `password`: sent the password with this request, like every program. `nobody`: public routes. */
  kind: 'session' | 'password' | 'nobody'
  /** Stable per session or user name, and useless for logging in; empty for nobody. */
  id: string
}

export const NOBODY: Caller = { kind: 'nobody', id: '' }

export interface AuthenticatorOptions {
  credentials: BasicCredentials
  dataDirectory: string
  clock: Clock
  logger: Logger
}

/** Decides who may do what with which password, session or link. */
export class Authenticator {
  readonly links: OneTimeLinks
  readonly #credentials: BasicCredentials
  readonly #sessions: Sessions
  readonly #responses = new SessionResponses()
  readonly #isRight: (given: BasicCredentials) => boolean
  readonly #formLimiter
  readonly #basicLimiter

  constructor(options: AuthenticatorOptions) {
    const { credentials, clock, logger } = options
    this.#credentials = credentials
    this.#isRight = createCredentialsCheck(credentials)
    this.links = createOneTimeLinks({ clock })
    this.#sessions = new Sessions({
      file: join(options.dataDirectory, 'sessions.json'),
      credentials,
      clock,
      logger,
      onEnd: (id) => this.#responses.cut(id)
    })
    this.#formLimiter = createAttemptLimiter({ clock, maxFailuresPerMinute: 10 })
    // Higher than the form's: a poller with an outdated password must not lock out others behind the same address.
    this.#basicLimiter = createAttemptLimiter({ clock, maxFailuresPerMinute: 300 })
  }

  hasSession(request: FastifyRequest): boolean {
    return this.#findSession(request) !== null
  }

  /** Throws UNAUTHORIZED unless the request has a session or the right Basic credentials. */
  check(request: FastifyRequest): Caller {
    const session = this.#findSession(request)
    if (session !== null) return { kind: 'session', id: session }
    const given = parseBasic(request.headers.authorization)
    if (given !== null && !this.#basicLimiter.isBlocked(request.ip)) {
      if (this.#isRight(given)) return { kind: 'password', id: `user:${given.username}` }
      this.#basicLimiter.addFailure(request.ip)
    }
    throw new ScrapdeckError(
      'UNAUTHORIZED',
      'Send the user name and password that `npm run scrapdeck -- credentials` shows, or log in under /ui/.'
    )
  }

  /** Checks what was typed into a form. `blocked`: too many failed attempts from this client. */
  checkForm(client: string, given: BasicCredentials): 'right' | 'wrong' | 'blocked' {
    if (this.#formLimiter.isBlocked(client)) return 'blocked'
    if (this.#isRight(given)) return 'right'
    this.#formLimiter.addFailure(client)
    return 'wrong'
  }

  /** Checks a password that a logged-in person entered again. */
  checkPasswordAgain(client: string, password: string): 'right' | 'wrong' | 'blocked' {
    return this.checkForm(client, { username: this.#credentials.username, password })
  }

  /** Creates a session and returns its token, the value of the cookie. */
  logIn(): string {
    return this.#sessions.create()
  }

  /** Ends the sessions of this request and what they are receiving. */
  logOut(request: FastifyRequest): void {
    for (const token of cookiesOf(request)) this.#sessions.end(token)
  }

  /** Ends all sessions, what they are receiving, and unused links. Returns the number of sessions. */
  logOutEverywhere(): number {
    this.links.revokeAll()
    return this.#sessions.endAll()
  }

  /** Cuts the response off when the caller's session ends. */
  bindResponse(caller: Caller, response: ServerResponse): void {
    if (caller.kind === 'session') this.#responses.add(caller.id, response)
  }

  #findSession(request: FastifyRequest): string | null {
    for (const token of cookiesOf(request)) {
      const session = this.#sessions.find(token)
      if (session !== null) return session
    }
    return null
  }
}

function cookiesOf({ headers }: FastifyRequest): string[] {
  return readSessionCookies(headers.host ?? '', headers.cookie)
}
