import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { groupsIn, nameIn, noRoleText, rightsIn } from './group-roles.ts'
import type { JwtVerifier } from './jwt-verifier.ts'
import type { Expected, OidcClient } from './oidc-client.ts'
import { BegunLogins } from './begun-logins.ts'
import type { OidcOptions } from './sign-in-options.ts'
import { BoundedMap } from '../../engine/runtime/bounded.ts'

/** Where a browser begins. */
export const SIGN_IN_PATH = '/ui/login/oidc'
/** Where the provider sends it back to. */
export const CALLBACK_PATH = '/ui/login/oidc/callback'

/** Where the provider says which sessions have ended there. */
export const BACK_CHANNEL_PATH = '/ui/login/oidc/logout'
/** What it says then (OpenID Connect Back-Channel Logout 1.0, 2.4). */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Until when a browser must be back. */
export const LOGIN_MS = 10 * 60_000
/** Limits the sessions that can be ended at the provider, too. */
const SESSIONS_THERE_MAX = 1_000
const ID_TOKEN_LENGTH_MAX = 16_384
const QUERY_LENGTH_MAX = 8_192
/** A page of the UI, which is behind `#`: never another place. */
const PAGE = /^#\/[\u0021-\u007e]{0,2000}$/

interface Begun extends Expected {
  page: string
}

/** A session at the provider. */
interface SessionThere {
  idToken: string
  /** How the provider calls it; null: it does not say. */
  sid: string | null
}

export interface SignedInUser {
  principal: Principal
  /** The fragment of the page that was wanted; empty: none. */
  page: string
  there: SessionThere
}

/**
 * Sign-in with an OpenID Connect provider. What the response must contain is kept here for ten minutes and one use. It
 * is found by a cookie of the browser that began the login, so the response to another browser does not log it in.
 */
export class OidcSignIn {
  readonly #options: OidcOptions
  readonly #access: Engine['access']
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #begun: BegunLogins<Begun>
  /** By session. They are lost with the process: then the provider asks whether to log out, and ends all of a user. */
  readonly #there = new BoundedMap<string, SessionThere>(SESSIONS_THERE_MAX)
  #client: Promise<OidcClient> | null = null
  #logoutTokens: Promise<JwtVerifier> | null = null

  constructor(options: OidcOptions, parts: { access: Engine['access']; clock: Clock; logger: Logger }) {
    this.#options = options
    this.#access = parts.access
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#begun = new BegunLogins(parts.clock, LOGIN_MS)
  }

  get label(): string {
    return this.#options.label
  }

  /** When a session that begins now ends. */
  endsAtMs(): number {
    return this.#clock.nowMs() + this.#options.sessionMs
  }

  /** Where the browser signs in, and the cookie that it must bring back. Rejects with SIGN_IN_UNAVAILABLE. */
  async begin(at: { address: string; client: string; page: string }): Promise<{ url: string; cookie: string }> {
    const { url, expected } = await this.#ask((client) => client.begin(`${at.address}${CALLBACK_PATH}`))
    const page = PAGE.test(at.page) ? at.page : ''
    return { url: url.href, cookie: this.#begun.add({ ...expected, page }, at.client) }
  }

  /**
   * `query`: what the browser brought back from the provider, without `?`. Rejects with the words for the login page:
   * SIGN_IN_FAILED, ROLE_REQUIRED, SIGN_IN_UNAVAILABLE, UNAUTHORIZED.
   */
  async finish(cookies: readonly string[], query: string): Promise<SignedInUser> {
    const begun = this.#begun.take(cookies)
    const parameters = new URLSearchParams(query.slice(0, QUERY_LENGTH_MAX))
    if (begun === null || parameters.get('state') !== begun.state) {
      throw failed('This login was not begun in this browser, was already used, or took more than ten minutes')
    }
    const error = parameters.get('error')
    if (error !== null) throw failed(`${this.label} refused the login (${error.slice(0, 100)})`)
    const { subject, claims, idToken } = await this.#ask((client) => client.finish(query, begun))
    const name = nameIn(claims, this.#options.nameClaim)
    const identity = `oidc ${this.#options.issuer} ${subject}`
    const groups = groupsIn(claims, this.#options.groupsClaim)
    const rights = rightsIn(groups, this.#options.roles) ?? this.#access.noneOfItsOwn(identity)
    if (rights === null) {
      await this.#access.disown(identity)
      this.#logger.warn({ name }, 'A login was refused: no group has a role (oidc_roles)')
      throw new ScrapdeckError('ROLE_REQUIRED', noRoleText(name, 'oidc_roles'))
    }
    const principal = await this.#access.signIn({ subject: identity, name, ...rights })
    this.#logger.info({ name: principal.name, role: principal.role }, 'Signed in with OIDC')
    const { sid } = claims
    return { principal, page: begun.page, there: { idToken, sid: typeof sid === 'string' ? sid : null } }
  }

  /** For the end of this session, here or there. */
  keep(session: string, there: SessionThere): void {
    if (there.idToken.length <= ID_TOKEN_LENGTH_MAX) this.#there.set(session, there)
  }

  /**
   * The provider reports that a user has logged out there. Ends all sessions of that user, or returns those that it
   * names. Rejects with BAD_INPUT unless the provider has signed that for us, and with SIGN_IN_UNAVAILABLE.
   */
  async endFromThere(logoutToken: string): Promise<string[]> {
    this.#logoutTokens ??= this.#loadVerifier()
    const verified = await (await this.#logoutTokens).verify(logoutToken, this.#clock.nowMs())
    if (verified.is === 'unknown') {
      throw new ScrapdeckError(
        'SIGN_IN_UNAVAILABLE',
        `The keys of ${this.label} cannot be read. Try again in a minute.`
      )
    }
    const claims = verified.is === 'valid' ? verified.claims : {}
    const { events, sub, sid } = claims
    const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, LOGOUT_EVENT)
    // A token of a login has a nonce: it must not pass for this.
    if (!isLogout || Object.hasOwn(claims, 'nonce')) {
      throw new ScrapdeckError('BAD_INPUT', 'This is not a logout token of the configured provider')
    }
    const sessions = [...this.#there].filter(([, there]) => sid !== undefined && there.sid === sid).map(([id]) => id)
    if (sessions.length === 0 && sub !== undefined)
      await this.#access.endSessions(`oidc ${this.#options.issuer} ${sub}`)
    return sessions
  }

  /** Where the browser ends its session at the provider, too; null: nowhere, or it does not respond. */
  async endUrl(session: string, returnTo: string): Promise<string | null> {
    const idToken = this.#there.get(session)?.idToken ?? null
    this.#there.delete(session)
    const url = await this.#ask((client) => client.endUrl(idToken, returnTo)).catch(() => null)
    return url?.href ?? null
  }

  async #ask<T>(question: (client: OidcClient) => Promise<T>): Promise<T> {
    this.#client ??= this.#load()
    const client = await this.#client
    try {
      return await question(client)
    } catch (error) {
      this.#logger.warn({ err: describe(error), issuer: this.#options.issuer }, 'A login with OIDC failed')
      throw isAnswer(error)
        ? failed(`The answer of ${this.label} is not accepted`)
        : new ScrapdeckError(
            'SIGN_IN_UNAVAILABLE',
            `${this.label} does not respond, so signing in with it is not possible. Try again later; users with a password here can still log in.`
          )
    }
  }

  async #loadVerifier(): Promise<JwtVerifier> {
    const { JwtVerifier: Verifier } = await import('./jwt-verifier.ts')
    const { issuer, clientId: audience } = this.#options
    return new Verifier({ issuer, audience, jwksUrl: null, requires: ['iat', 'jti'] }, this.#clock)
  }

  async #load(): Promise<OidcClient> {
    const { OidcClient: Client } = await import('./oidc-client.ts')
    return new Client(this.#options, this.#clock)
  }
}

const failed = (text: string): ScrapdeckError => new ScrapdeckError('SIGN_IN_FAILED', `${text}. Start again.`)

/** No answer came, or one of a server in front of the provider. */
const NOT_ANSWERED = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'])

/** The library names what is wrong with an answer; everything else happened on the way to it. */
function isAnswer(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && code.startsWith('OAUTH_') && !NOT_ANSWERED.has(code)
}

/** Without what the provider sent: there may be tokens in it. */
function describe(error: unknown): Error {
  const { message, cause } = error as Error
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return new Error(`${message}${reason}`.slice(0, 500))
}
