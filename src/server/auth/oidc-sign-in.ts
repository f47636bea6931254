import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { groupsIn, nameIn, noRoleText, rightsIn } from './group-roles.ts'
import type { JwtVerifier } from './jwt-verifier.ts'
import type { Expected, OidcClient } from './oidc-client.ts'
import { PendingLogins } from './pending-logins.ts'
import type { OidcOptions } from './sign-in-options.ts'
import { BoundedMap } from '../../engine/runtime/bounded.ts'

export const SIGN_IN_PATH = '/ui/login/oidc'
export const CALLBACK_PATH = '/ui/login/oidc/callback'

export const BACK_CHANNEL_PATH = '/ui/login/oidc/logout'
/** The event in a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** How long a browser has to sign in at the provider. */
export const LOGIN_MS = 10 * 60_000
/** The maximum number of sessions for which to remember the session at the provider. */
const PROVIDER_SESSIONS_MAX = 1_000
const ID_TOKEN_LENGTH_MAX = 16_384
const QUERY_LENGTH_MAX = 8_192
/**
 * The format of a requested page. Only a fragment is accepted, so that the redirect always leads to a page of the UI.
 */
const PAGE = /^#\/[\u0021-\u007e]{0,2000}$/

interface Begun extends Expected {
  page: string
}

interface ProviderSession {
  idToken: string
  /** The provider's id of the session, or null if the provider sent none. */
  sid: string | null
}

export interface SignedInUser {
  principal: Principal
  /** The fragment of the requested page, or empty if none was requested. */
  page: string
  providerSession: ProviderSession
}

/**
 * Sign-in with an OpenID Connect provider. The expected values of a login are stored for ten minutes and used once. A
 * cookie identifies the browser that started the login, so a response sent to another browser does not log it in.
 */
export class OidcSignIn {
  readonly #options: OidcOptions
  readonly #access: Engine['access']
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #pending: PendingLogins<Begun>
  /** Keyed by session id. Empty after a restart, so that a logout at the provider ends all of the user's sessions. */
  readonly #providerSessions = new BoundedMap<string, ProviderSession>(PROVIDER_SESSIONS_MAX)
  #client: Promise<OidcClient> | null = null
  #logoutTokens: Promise<JwtVerifier> | null = null

  constructor(options: OidcOptions, parts: { access: Engine['access']; clock: Clock; logger: Logger }) {
    this.#options = options
    this.#access = parts.access
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#pending = new PendingLogins(parts.clock, LOGIN_MS)
  }

  get label(): string {
    return this.#options.label
  }

  endsAtMs(): number {
    return this.#clock.nowMs() + this.#options.sessionMs
  }

  /** Returns where the browser signs in, and the cookie that it must send back. Rejects with SIGN_IN_UNAVAILABLE. */
  async begin(at: { address: string; client: string; page: string }): Promise<{ url: string; cookie: string }> {
    const { url, expected } = await this.#ask((client) => client.begin(`${at.address}${CALLBACK_PATH}`))
    const page = PAGE.test(at.page) ? at.page : ''
    return { url: url.href, cookie: this.#pending.add({ ...expected, page }, at.client) }
  }

  /**
   * `query` is the query of the browser's request to the callback, without `?`. Rejects with SIGN_IN_FAILED,
   * ROLE_REQUIRED, SIGN_IN_UNAVAILABLE or UNAUTHORIZED, each with a message for the login page.
   */
  async finish(cookies: readonly string[], query: string): Promise<SignedInUser> {
    const begun = this.#pending.take(cookies)
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
    return { principal, page: begun.page, providerSession: { idToken, sid: typeof sid === 'string' ? sid : null } }
  }

  keep(session: string, of: ProviderSession): void {
    if (of.idToken.length <= ID_TOKEN_LENGTH_MAX) this.#providerSessions.set(session, of)
  }

  /**
   * Handles a logout that the provider reports. Returns the reported sessions or, if none is known, ends all sessions
   * of the user. Rejects with SIGN_IN_UNAVAILABLE, or with BAD_INPUT if the report is not signed by the provider or is
   * not meant for this client.
   */
  async endByProvider(logoutToken: string): Promise<string[]> {
    this.#logoutTokens ??= this.#loadVerifier()
    const verified = await (await this.#logoutTokens).verify(logoutToken, this.#clock.nowMs())
    if (verified.is === 'unknown') {
      throw new ScrapdeckError(
        'SIGN_IN_UNAVAILABLE',
        sentence('server.provider_keys_unreadable', { label: this.label })
      )
    }
    const claims = verified.is === 'valid' ? verified.claims : {}
    const { events, sub, sid } = claims
    const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, LOGOUT_EVENT)
    // An ID token has a nonce and must not pass for a logout token.
    if (!isLogout || Object.hasOwn(claims, 'nonce')) {
      throw new ScrapdeckError('BAD_INPUT', sentence('server.logout_token_invalid'))
    }
    const sessions = [...this.#providerSessions]
      .filter(([, one]) => sid !== undefined && one.sid === sid)
      .map(([id]) => id)
    if (sessions.length === 0 && sub !== undefined)
      await this.#access.endSessions(`oidc ${this.#options.issuer} ${sub}`)
    return sessions
  }

  /**
   * Returns the address where the browser ends its session at the provider, or null if there is no such address or the
   * provider does not respond.
   */
  async endUrl(session: string, returnTo: string): Promise<string | null> {
    const idToken = this.#providerSessions.get(session)?.idToken ?? null
    this.#providerSessions.delete(session)
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
      throw isBadResponse(error)
        ? failed(`The answer of ${this.label} is not accepted`)
        : new ScrapdeckError('SIGN_IN_UNAVAILABLE', sentence('server.provider_away', { label: this.label }))
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

const failed = (text: string): ScrapdeckError =>
  new ScrapdeckError('SIGN_IN_FAILED', sentence('server.sign_in_failed', { text }))

/**
 * The library's codes for errors without a response from the provider: no response arrived, or it came from a server in
 * front of the provider.
 */
const NO_RESPONSE = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'])

/**
 * Whether the provider's response is the problem. Errors without one of the library's codes occur before a response
 * arrives.
 */
function isBadResponse(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && code.startsWith('OAUTH_') && !NO_RESPONSE.has(code)
}

/** Omits the provider's text, because it can contain tokens. */
function describe(error: unknown): Error {
  const { message, cause } = error as Error
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return new Error(`${message}${reason}`.slice(0, 500))
}
