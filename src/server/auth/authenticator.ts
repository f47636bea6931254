import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import { managesUsers } from '../../engine/access/rights.ts'
import type { SessionsOfCaller } from '../../engine/api/router/router.ts'
import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import { type Clock, Timers } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { Session as ShownSession, UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { AccountBackoff } from './account-backoff.ts'
import { BearerJwts } from './bearer-jwt.ts'
import { addressOf, clientOf } from './client-address.ts'
import { FailureLog } from './failure-log.ts'
import { configuredRoles } from './group-roles.ts'
import { OidcSignIn } from './oidc-sign-in.ts'
import { OneTimeLinks } from './pending-logins.ts'
import { KnownClients, type NextStep, PasswordCheck, type Verdict } from './password-check.ts'
import { ProxyUsers } from './proxy-user.ts'
import { bearerToken } from '../nodes/node-endpoints.ts'
import type { Caller } from './request-rule.ts'
import { hashToken, type BasicCredentials, parseBasic } from './secrets.ts'
import { createSessionToken, readSessionToken, type SessionToken, type SignedInWith } from './session-token.ts'
import { cookiesOf, type Receiver, SessionResponses } from './session-reply.ts'
import { type Browser, type Session, SESSION_MS, Sessions } from './sessions.ts'
import type { SignInOptions } from './sign-in-options.ts'
import { SharedSessions } from './shared-sessions.ts'
import { PluginUsers } from './vouched-users.ts'

/**
 * Whether the sender knows the password. A browser repeats an entered password with every request, so a password from a
 * browser proves no more than a session.
 */
export function knowsPassword({ caller, headers }: FastifyRequest): boolean {
  return caller.kind === 'password' && isOwnerItself(caller) && headers['sec-fetch-site'] === undefined
}

/** Whether the caller has the service's own password. Returns false for tokens, and for users with the same role. */
const isOwnerItself = ({ principal }: Caller): boolean => principal?.userId === null && principal.tokenId === null

/** Throws UNAUTHORIZED for nodes and anonymous callers. */
export function principalOf({ caller }: FastifyRequest): Principal {
  if (caller.principal !== null) return caller.principal
  throw new ScrapdeckError('UNAUTHORIZED', UNAUTHORIZED_TEXTS.missing, { data: { credentials: 'missing' } })
}

const UNAUTHORIZED_TEXTS = {
  missing: sentence('server.credentials_missing'),
  wrong: sentence('server.credentials_wrong')
}

export interface AuthenticatorOptions {
  credentials: BasicCredentials
  authenticate: Engine['authenticate']
  access: Engine['access']
  secondFactors: Engine['secondFactors']
  audit: Engine['audit']
  dataDirectory: string
  /** Shared by all engines. null if this is the only engine. */
  cache: SharedCache | null
  signIn: SignInOptions
  clock: Clock
  logger: Logger
}

/** How long a connection can repeat verified credentials without another full check. */
const VERIFIED_ON_SOCKET_MS = 60_000
/** The maximum duration of a plugin user's session. It is short, because groups are only read at login. */
const PLUGIN_SESSION_MS = 12 * 3_600_000
const EXPIRY_CHECK_MS = 30_000
/** The maximum number of session cookies to read per request. Pages on other ports of the host can add cookies. */
const SHARED_COOKIES_MAX = 10
/** How long to remember that Basic credentials sent along with a session are meant for a proxy. */
const PROXY_CREDENTIALS_MS = 60_000
const PROXY_CREDENTIALS_MAX = 1_000

export class Authenticator {
  readonly links: OneTimeLinks
  /** null if no identity provider is configured. */
  readonly oidc: OidcSignIn | null
  readonly #jwts: BearerJwts | null
  readonly #proxyUsers: ProxyUsers | null
  readonly #access: AuthenticatorOptions['access']
  readonly #secondFactors: AuthenticatorOptions['secondFactors']
  readonly #requiresSecondFactor: boolean
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #own: Sessions
  readonly #sessions: Sessions | SharedSessions
  readonly #responses = new SessionResponses()
  readonly #timers: Timers
  #checksExpiry = false
  readonly #known: KnownClients
  readonly #basicCheck: PasswordCheck
  readonly #formCheck: PasswordCheck
  /** Hashes of Basic credentials that were sent along with a session and match no user here. */
  readonly #proxyCredentials = new Map<string, number>()
  /**
   * The last verified credentials per connection. A plain comparison is safe, because the client of the connection
   * already knows them. A full check would take a tenth of the time of a short request.
   */
  readonly #verifiedOnSocket = new WeakMap<
    Socket,
    { authorization: string; address: string; caller: Caller; untilMs: number }
  >()

  constructor(options: AuthenticatorOptions) {
    const { credentials, authenticate, access, audit, clock, logger, cache } = options
    this.#access = access
    this.#secondFactors = options.secondFactors
    this.#requiresSecondFactor = options.signIn.requiresSecondFactor
    this.#clock = clock
    this.links = new OneTimeLinks({ clock, cache })
    const { oidc, jwt, proxy, pluginRoles: roles } = options.signIn
    access.roles.setConfigured(configuredRoles(options.signIn))
    this.oidc = oidc === null ? null : new OidcSignIn(oidc, { access, clock, logger })
    this.#jwts = jwt === null ? null : new BearerJwts(jwt, { access, clock })
    this.#proxyUsers = proxy === null ? null : new ProxyUsers(proxy, options)
    this.#logger = logger
    this.#own = new Sessions({
      file: join(options.dataDirectory, 'sessions.json'),
      credentials,
      clock,
      logger,
      onEnd: (id) => this.#responses.cut(id)
    })
    const receiving = () => this.#responses.sessions()
    this.#sessions =
      cache === null ? this.#own : new SharedSessions({ own: this.#own, cache, clock, logger, receiving })
    this.#known = new KnownClients(clock)
    const failures = new FailureLog({ clock, logger })
    const common = {
      credentials,
      access,
      pluginUsers: authenticate && new PluginUsers(authenticate, { access, audit, roles, clock }),
      clock,
      cache,
      known: this.#known,
      nextStepOf: (principal: Principal) => this.#nextStepOf(principal),
      failures,
      backoff: new AccountBackoff(clock)
    }
    this.#formCheck = new PasswordCheck({ ...common, name: 'form', maxFailuresPerMinute: 10, takesTokens: false })
    // A program that polls with an outdated password must not lock out others at the same address.
    this.#basicCheck = new PasswordCheck({ ...common, name: 'basic', maxFailuresPerMinute: 300, takesTokens: true })
    access.events.on('changed', () => this.#cutRevoked())
    this.#secondFactors.events.on('changed', () => this.#cutRevoked())
    this.#timers = new Timers(clock)
  }

  /** Whether a user logged in from this address in the last day. */
  knows(request: FastifyRequest): boolean {
    return this.#known.has(clientOf(addressOf(request)))
  }

  markKnown(request: FastifyRequest, name: string): void {
    this.#known.add(clientOf(addressOf(request)), name)
  }

  /** Returns the client if this user logged in from its address in the last day, otherwise null. */
  knownClientOf(request: FastifyRequest, name: string): string | null {
    const client = clientOf(addressOf(request))
    return this.#known.has(client, name) ? client : null
  }

  async hasSession(request: FastifyRequest): Promise<boolean> {
    return (await this.#findSession(request)) !== null
  }

  /**
   * Throws or rejects with UNAUTHORIZED or, after too many wrong credentials, TOO_MANY_REQUESTS. A bearer token takes
   * precedence over a proxy's user. Both take precedence over a cookie, because a page on another port may have set it.
   * Returns a promise only if it must wait.
   */
  check(request: FastifyRequest): Caller | Promise<Caller> {
    if (bearerToken(request.headers.authorization) !== null) return this.#checkCredentials(request)
    const vouched = this.#proxyUsers?.find(request) ?? null
    if (vouched !== null) return vouched instanceof Promise ? vouched.then(callerOf) : callerOf(vouched)
    const session = this.#findSession(request)
    if (!(session instanceof Promise)) return this.#checkWith(session, request)
    return session.then((found) => this.#checkWith(found, request))
  }

  #checkWith(session: FoundSession | null, request: FastifyRequest): Caller | Promise<Caller> {
    if (session === null) return this.#checkCredentials(request)
    const { id, principal, token } = session
    const caller: Caller = { kind: 'session', id, principal, cookie: token }
    const basic = parseBasic(request.headers.authorization)
    if (basic === null || basic.username.toLowerCase() === principal.name.toLowerCase()) return caller
    return this.#checkOther(caller, request)
  }

  /**
   * Checks a request with a session and Basic credentials of another user. Valid credentials take precedence, because a
   * page on another port may have set the cookie. Invalid credentials are assumed to be for a proxy in front of
   * Scrapdeck. This assumption is remembered for a minute.
   */
  async #checkOther(caller: Caller, request: FastifyRequest): Promise<Caller> {
    const key = hashToken(`${caller.id} ${request.headers.authorization}`)
    if (this.#clock.monotonicMs() < (this.#proxyCredentials.get(key) ?? 0)) return caller
    try {
      return await this.#checkCredentials(request)
    } catch (error) {
      if (!(error instanceof ScrapdeckError)) throw error
      if (this.#proxyCredentials.size >= PROXY_CREDENTIALS_MAX) this.#proxyCredentials.clear()
      this.#proxyCredentials.set(key, this.#clock.monotonicMs() + PROXY_CREDENTIALS_MS)
      return caller
    }
  }

  #checkCredentials(request: FastifyRequest): Caller | Promise<Caller> {
    const { authorization } = request.headers
    const { socket } = request.raw
    const before = this.#verifiedOnSocket.get(socket)
    if (
      before !== undefined &&
      before.authorization === authorization &&
      before.address === addressOf(request) &&
      this.#clock.monotonicMs() < before.untilMs &&
      this.#access.isCurrent(before.caller.principal!) &&
      this.#nextStepOf(before.caller.principal!) === null
    ) {
      return before.caller
    }
    const token = bearerToken(authorization)
    if (token !== null && this.#jwts?.isFor(token) === true) {
      const found = this.#jwts.find(token)
      return found instanceof Promise ? found.then(callerOf) : callerOf(found)
    }
    const given = credentialsOf(authorization)
    const verdict = given === null ? null : this.#basicCheck.check(request, given)
    if (!(verdict instanceof Promise)) return this.#callerOf(verdict, request)
    return verdict.then((found) => this.#callerOf(found, request))
  }

  #callerOf(verdict: Verdict | null, request: FastifyRequest): Caller {
    const { authorization } = request.headers
    if (verdict?.is === 'right') {
      const { principal } = verdict
      const caller = callerOf(principal)
      this.#verifiedOnSocket.set(request.raw.socket, {
        authorization: authorization!,
        address: addressOf(request),
        caller,
        untilMs: this.#clock.monotonicMs() + VERIFIED_ON_SOCKET_MS
      })
      return caller
    }
    if (verdict?.is === 'blocked') {
      const { retryAfterSeconds } = verdict
      throw new ScrapdeckError(
        'TOO_MANY_REQUESTS',
        sentence('server.too_many_wrong_passwords', { retryAfterSeconds }),
        { data: { retryAfterSeconds } }
      )
    }
    if (verdict?.is === 'half') {
      const { name } = verdict.principal
      throw new ScrapdeckError('SECOND_FACTOR_REQUIRED', sentence('server.second_factor_needed', { name }))
    }
    // Do not reveal whether the name or the password was wrong.
    const credentials = request.headers.authorization === undefined ? 'missing' : 'wrong'
    throw new ScrapdeckError('UNAUTHORIZED', UNAUTHORIZED_TEXTS[credentials], { data: { credentials } })
  }

  async checkForm(request: FastifyRequest, given: BasicCredentials): Promise<Verdict> {
    return this.#formCheck.check(request, given)
  }

  isCurrent({ kind, id, principal }: Receiver): boolean {
    return principal === null || this.#access.isCurrent(kind === 'session' ? this.#asCounted(id, principal) : principal)
  }

  /** Raises `sinceMs` to when this session ended its user's other sessions, even for requests in progress. */
  #asCounted(id: string, principal: Principal): Principal {
    const session = this.#own.get(id)
    return session === null ? principal : { ...principal, sinceMs: Math.max(principal.sinceMs, countedFrom(session)) }
  }

  /** Starts a session. Returns its id and its token, which is the value of the cookie. */
  async logIn(
    { userId }: Pick<Principal, 'userId'>,
    { signedInWith, endsAtMs, request }: { signedInWith: SignedInWith; endsAtMs?: number; request: FastifyRequest }
  ): Promise<{ token: string; id: string; maxAgeSeconds: number }> {
    const nowMs = this.#clock.nowMs()
    const isOfPlugin = userId !== null && this.#access.getUser(userId)?.origin === 'plugin'
    const ends = { endsAtMs: endsAtMs ?? nowMs + (isOfPlugin ? PLUGIN_SESSION_MS : SESSION_MS) }
    const token = createSessionToken({ userId, beganAtMs: this.#access.sessionStart(userId), ...ends, signedInWith })
    const read = readSessionToken(token)!
    await this.#sessions.add(read, browserOf(request))
    return { token, id: read.id, maxAgeSeconds: Math.ceil((ends.endsAtMs - nowMs) / 1_000) }
  }

  /** Records that the session is used. Returns the browser's new cookie, or null if the browser keeps its cookie. */
  renew({ cookie }: Caller, request: FastifyRequest): { token: string; maxAgeSeconds: number } | null {
    if (cookie === undefined) return null
    const token = this.#own.use(cookie, browserOf(request))
    if (token === null) return null
    const { endsAtMs } = readSessionToken(token)!
    return { token, maxAgeSeconds: Math.max(1, Math.ceil((endsAtMs - this.#clock.nowMs()) / 1_000)) }
  }

  /** Ends the request's sessions and their responses. Returns the id of a session from an identity provider. */
  async logOut(request: FastifyRequest): Promise<string | null> {
    let fromProvider: string | null = null
    for (const cookie of cookiesOf('session', request).slice(0, SHARED_COOKIES_MAX)) {
      const token = readSessionToken(cookie)
      if (token === null) continue
      const found = await this.#find(token, request)
      if (found !== null && token.signedInWith === 'oidc') fromProvider = found
      await this.#sessions.end(token.id)
    }
    return fromProvider
  }

  async endSession(id: string): Promise<void> {
    await this.#sessions.end(id)
  }

  /** The sessions that the caller can see. With several engines, lists only sessions that this engine knows. */
  sessionsOf(request: FastifyRequest): SessionsOfCaller {
    const { caller } = request
    const list = () =>
      this.#listSessions(principalOf(request)).map((one) => ({ ...one, isCurrent: one.id === caller.id }))
    return {
      list,
      ownIsOpen: caller.kind === 'session' ? this.#openCheckOf(caller.id) : () => true,
      endOthers: async () => {
        const { userId, sinceMs } = principalOf(request)
        const others = list().filter((one) => one.userId === userId && !one.isCurrent)
        if (userId !== null) {
          // Other engines can have sessions that are not listed here. They end too, because sessions of this user that
          // began before the time stored in the database are invalid.
          const countsFromMs = () => (caller.kind === 'session' ? this.#countedFrom(caller.id) : sinceMs)
          await this.#access.endOtherSessions(userId, countsFromMs, (fromMs) => this.#own.keepFrom(caller.id, fromMs))
        }
        for (const { id } of others) await this.#sessions.end(id)
      },
      end: async (id) => {
        if (!list().some((session) => session.id === id)) return false
        await this.#sessions.end(id)
        return true
      }
    }
  }

  #countedFrom(id: string): number | null {
    const session = this.#own.get(id)
    return session === null ? null : countedFrom(session)
  }

  /** This is a separate method, so that the returned function does not keep the request in memory. */
  #openCheckOf(id: string): () => boolean {
    return () => {
      const session = this.#own.get(id)
      if (session === null) return false
      return (
        this.#access.findBySession(session.userId as UserId | null, countedFrom(session), { isSeen: false }) !== null
      )
    }
  }

  /** A caller with a token sees no sessions unless it can manage users, because tokens have no sessions. */
  #listSessions(by: Principal): Omit<ShownSession, 'isCurrent'>[] {
    return this.#own.list().flatMap((one) => {
      const { id, userId, beganAtMs, signedInWith, endsAtMs, lastSeenAtMs, address, userAgent } = one
      const principal = this.#access.findBySession(userId as Principal['userId'], countedFrom(one), { isSeen: false })
      const isOwn = by.tokenId === null && by.userId === userId
      if (principal === null || (!managesUsers(by.rights) && !isOwn)) return []
      const shown = { signedInWith, endsAtMs, lastSeenAtMs, address, userAgent }
      return [{ id, userId: principal.userId, userName: principal.name, createdAtMs: beganAtMs, ...shown }]
    })
  }

  /** Ends all sessions and their responses, and revokes unused links. Returns the number of sessions known here. */
  async logOutEverywhere(): Promise<number> {
    await this.links.revokeAll()
    const ended = await this.#sessions.endAll()
    await this.#access.endAllSessions()
    return ended
  }

  stop(): void {
    this.#timers.stop()
    if (this.#sessions instanceof SharedSessions) this.#sessions.stop()
    this.#own.record()
  }

  /** Cuts off the response when the caller's session ends, or when the user or token is revoked. */
  bindResponse(caller: Caller, response: ServerResponse): void {
    // The service's own password changes only with a restart, so responses to clients that sent it need no tracking.
    if (caller.kind === 'session' || !isOwnerItself(caller)) this.#responses.add(caller, response)
    if (caller.principal?.tokenId != null && !this.#checksExpiry) this.#checkExpiry()
  }

  /** Polls while there are open responses to requests with a token, because no event reports an expired token. */
  #checkExpiry(): void {
    this.#checksExpiry = true
    this.#timers.set(EXPIRY_CHECK_MS, () => {
      this.#cutRevoked()
      this.#checksExpiry = false
      if (this.#responses.hasTokens) this.#checkExpiry()
    })
  }

  #cutRevoked(): void {
    this.#responses.cutUnless(
      (caller, principal) =>
        this.isCurrent(caller) && (caller.kind === 'session' || this.#nextStepOf(principal) === null)
    )
  }

  /** The step that must follow the password. null if there is none or the caller sent a token. */
  #nextStepOf({ userId, tokenId }: Principal): NextStep | null {
    if (tokenId !== null) return null
    return this.#secondFactors.stepAfterPassword(userId, { isRequired: this.#requiresSecondFactor })
  }

  #findSession(request: FastifyRequest): FoundSession | null | Promise<FoundSession | null> {
    const cookies = cookiesOf('session', request)
    if (cookies.length > 1) return this.#findAmong(cookies.slice(0, SHARED_COOKIES_MAX), request)
    const token = cookies.length === 0 ? null : readSessionToken(cookies[0]!)
    if (token === null) return null
    const found = this.#find(token, request)
    return found instanceof Promise
      ? found.then((id) => this.#sessionOf(id, token, cookies[0]!))
      : this.#sessionOf(found, token, cookies[0]!)
  }

  /**
   * Ignores invalid cookies, because a page on another port can add cookies to ours. Rejects cookies of different
   * users, because such a page may have added a cookie to make its victim act as another user.
   */
  async #findAmong(cookies: readonly string[], request: FastifyRequest): Promise<FoundSession | null> {
    const sessions: FoundSession[] = []
    for (const cookie of cookies) {
      const token = readSessionToken(cookie)
      const session = token === null ? null : this.#sessionOf(await this.#find(token, request), token, cookie)
      if (session !== null) sessions.push(session)
    }
    const users = new Set(sessions.map(({ principal }) => principal.userId))
    if (users.size <= 1) return sessions[0] ?? null
    this.#logger.warn({ address: addressOf(request) }, 'A request with sessions of two users was refused')
    return null
  }

  #find(token: SessionToken, request: FastifyRequest): string | null | Promise<string | null> {
    return this.#sessions.find(token, browserOf(request))
  }

  #sessionOf(id: string | null, read: SessionToken, token: string): FoundSession | null {
    if (id === null) return null
    const principal = this.#access.findBySession(read.userId, countedFrom(this.#own.get(id) ?? read))
    return principal === null ? null : { id, principal, token }
  }
}

const countedFrom = ({ beganAtMs, countsFromMs }: Pick<Session, 'beganAtMs' | 'countsFromMs'>): number =>
  Math.max(beganAtMs, countsFromMs ?? 0)

const callerOf = (principal: Principal): Caller => ({ kind: 'password', id: idOf(principal), principal })

function browserOf(request: FastifyRequest): Browser {
  return { address: addressOf(request), userAgent: request.headers['user-agent'] ?? '' }
}

/**
 * The id of a caller that sends credentials with each request. Contains the user's id, because another user can get the
 * same name later.
 */
function idOf({ tokenId, userId, name }: Principal): string {
  if (tokenId !== null) return `token:${tokenId}`
  return userId === null ? `user:${name}` : `user-id:${userId}`
}

type FoundSession = Pick<Caller, 'id'> & { principal: Principal; token: string }

function credentialsOf(authorization: string | undefined): BasicCredentials | null {
  const token = bearerToken(authorization)
  return token === null ? parseBasic(authorization) : { username: '', password: token }
}
