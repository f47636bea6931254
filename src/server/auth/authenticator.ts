import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { SharedCache } from '../../engine/cache/shared-cache.ts'
import { type Clock, Timers } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { type BasicCredentials, parseBasic } from './basic.ts'
import { addressOf, clientOf } from './client-address.ts'
import { FailureLog } from './failure-log.ts'
import { OneTimeLinks } from './one-time-links.ts'
import { KnownClients, PasswordCheck, type Verdict } from './password-check.ts'
import { bearerToken } from '../nodes/node-door.ts'
import type { Caller } from './caller.ts'
import { readSessionToken } from './session-token.ts'
import { readSessionCookies } from './session-cookie.ts'
import { SessionResponses } from './session-responses.ts'
import { Sessions } from './sessions.ts'
import { SharedSessions } from './shared-sessions.ts'

/**
 * Whoever made this request has the password at hand. A browser that was once told the password repeats it with every
 * request, so there it proves as little as a session.
 */
export function knowsPassword({ caller, headers }: FastifyRequest): boolean {
  return caller.kind === 'password' && isOwnerItself(caller) && headers['sec-fetch-site'] === undefined
}

/** Not a user with that role, and not a token: whoever has the service's own password. */
const isOwnerItself = ({ principal }: Caller): boolean => principal?.userId === null && principal.tokenId === null

/** Whoever passed the gate; throws UNAUTHORIZED for nodes and for nobody. */
export function principalOf({ caller }: FastifyRequest): Principal {
  if (caller.principal !== null) return caller.principal
  throw new ScrapdeckError('UNAUTHORIZED', UNAUTHORIZED_TEXTS.missing, { data: { credentials: 'missing' } })
}

const UNAUTHORIZED_TEXTS = {
  missing:
    'No user name and password were sent. Send those that `npm run scrapdeck -- credentials` shows, or log in under /ui/.',
  wrong: 'The user name or the password is wrong. `npm run scrapdeck -- credentials` shows the right ones.'
}

export interface AuthenticatorOptions {
  credentials: BasicCredentials
  access: Engine['access']
  dataDirectory: string
  /** Of several engines; null: this one is alone. */
  cache: SharedCache | null
  clock: Clock
  logger: Logger
}

/** A client that is let in counts as known for a day from the last check. */
const RIGHT_FOR_MS = 60_000
const EXPIRED_EVERY_MS = 30_000
/** A browser has one session here, and pages on other ports of its host may have added some. */
const SHARED_COOKIES_MAX = 10

/** Decides who may do what with which password, session or link. */
export class Authenticator {
  readonly links: OneTimeLinks
  readonly #access: AuthenticatorOptions['access']
  readonly #clock: Clock
  readonly #sessions: Sessions | SharedSessions
  readonly #responses = new SessionResponses()
  readonly #timers: Timers
  #looksForExpired = false
  readonly #known: KnownClients
  readonly #basicCheck: PasswordCheck
  readonly #formCheck: PasswordCheck
  /**
   * What a connection was let in with last. Whoever sends it again there knows it, so that comparing it takes no care;
   * checking it anew took a tenth of a short request.
   */
  readonly #rightOn = new WeakMap<Socket, { authorization: string; address: string; caller: Caller; untilMs: number }>()

  constructor(options: AuthenticatorOptions) {
    const { credentials, access, clock, logger, cache } = options
    this.#access = access
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
    const common = { credentials, access, clock, cache, known: this.#known, failures }
    this.#formCheck = new PasswordCheck({ ...common, name: 'form', maxFailuresPerMinute: 10, takesTokens: false })
    // Higher than the form's: a poller with an outdated password must not lock out others behind the same address.
    this.#basicCheck = new PasswordCheck({ ...common, name: 'basic', maxFailuresPerMinute: 300, takesTokens: true })
    access.events.on('changed', () => this.#cutThoseWhoMayNot())
    this.#timers = new Timers(clock)
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

  #checkWith(session: Session | null, request: FastifyRequest): Caller | Promise<Caller> {
    if (session !== null) return { kind: 'session', ...session }
    const { authorization } = request.headers
    const { socket } = request.raw
    const before = this.#rightOn.get(socket)
    if (
      before !== undefined &&
      before.authorization === authorization &&
      before.address === addressOf(request) &&
      this.#clock.monotonicMs() < before.untilMs &&
      this.#access.isCurrent(before.caller.principal!)
    ) {
      return before.caller
    }
    const given = credentialsOf(authorization)
    const verdict = given === null ? null : this.#basicCheck.check(addressOf(request), given)
    if (!(verdict instanceof Promise)) return this.#callerOf(verdict, request)
    return verdict.then((found) => this.#callerOf(found, request))
  }

  #callerOf(verdict: Verdict | null, request: FastifyRequest): Caller {
    const { authorization } = request.headers
    if (verdict?.is === 'right') {
      const { principal } = verdict
      const caller: Caller = { kind: 'password', id: idOf(principal), principal }
      this.#rightOn.set(request.raw.socket, {
        authorization: authorization!,
        address: addressOf(request),
        ...{ caller, untilMs: this.#clock.monotonicMs() + RIGHT_FOR_MS }
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
  async checkForm(request: FastifyRequest, given: BasicCredentials): Promise<Verdict> {
    return this.#formCheck.check(addressOf(request), given)
  }

  /** Checks a password that a logged-in person entered again. */
  checkPasswordAgain(request: FastifyRequest, password: string): Promise<Verdict> {
    const { name, tokenId } = principalOf(request)
    if (tokenId === null) return this.checkForm(request, { username: name, password })
    throw new ScrapdeckError('PASSWORD_REQUIRED', 'A token cannot try the password of its user.')
  }

  /** Whether this caller may still do what it might when its request began. */
  isCurrent({ principal }: Caller): boolean {
    return principal === null || this.#access.isCurrent(principal)
  }

  /** Creates a session of this user (null: the owner) and returns its token, the value of the cookie. */
  async logIn(userId: UserId | null): Promise<string> {
    return this.#sessions.create(userId, this.#access.sessionStart(userId))
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
    this.#timers.stop()
    if (this.#sessions instanceof SharedSessions) this.#sessions.stop()
  }

  /** Cuts the response off when the caller's session ends, or the user or the token is revoked. */
  bindResponse(caller: Caller, response: ServerResponse): void {
    // The owner's password is only changed by a restart.
    if (caller.kind === 'session' || !isOwnerItself(caller)) this.#responses.add(caller, response)
    if (caller.principal?.tokenId != null && !this.#looksForExpired) this.#lookForExpired()
  }

  /** While tokens receive something: nothing is announced when one expires. */
  #lookForExpired(): void {
    this.#looksForExpired = true
    this.#timers.set(EXPIRED_EVERY_MS, () => {
      this.#cutThoseWhoMayNot()
      this.#looksForExpired = false
      if (this.#responses.hasTokens) this.#lookForExpired()
    })
  }

  #cutThoseWhoMayNot(): void {
    this.#responses.cutUnless((principal) => this.#access.isCurrent(principal))
  }

  #findSession(request: FastifyRequest): Session | null | Promise<Session | null> {
    const tokens = cookiesOf(request)
    for (const [at, token] of tokens.entries()) {
      const found = this.#sessions.find(token)
      if (found instanceof Promise) return this.#findAmong(found, tokens.slice(at, SHARED_COOKIES_MAX))
      const session = this.#sessionOf(found, token)
      if (session !== null) return session
    }
    return null
  }

  async #findAmong(first: Promise<string | null>, tokens: readonly string[]): Promise<Session | null> {
    let session: Session | null = null
    for (const [at, token] of tokens.entries()) {
      session ??= this.#sessionOf(await (at === 0 ? first : this.#sessions.find(token)), token)
    }
    return session
  }

  /** null: there is none, or its user may not log in any more. */
  #sessionOf(id: string | null, token: string): Session | null {
    const begun = id === null ? null : readSessionToken(token)
    const principal = begun === null ? null : this.#access.findBySession(begun.userId, begun.beganAtMs)
    return principal === null ? null : { id: id!, principal }
  }
}

/** Of requests that bring their credentials along. Names of users can pass from one to another, ids cannot. */
function idOf({ tokenId, userId, name }: Principal): string {
  if (tokenId !== null) return `token:${tokenId}`
  return userId === null ? `user:${name}` : `user-id:${userId}`
}

type Session = Pick<Caller, 'id'> & { principal: Principal }

/** Of Basic or Bearer; a bearer is a token, whoever it is of. */
function credentialsOf(authorization: string | undefined): BasicCredentials | null {
  const token = bearerToken(authorization)
  return token === null ? parseBasic(authorization) : { username: '', password: token }
}

function cookiesOf({ headers }: FastifyRequest): string[] {
  return readSessionCookies(headers.host ?? '', headers.cookie)
}
