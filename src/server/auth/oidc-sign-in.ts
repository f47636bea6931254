import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { groupsIn, nameIn, noRoleText, roleOf } from './group-roles.ts'
import type { Expected, OidcClient } from './oidc-client.ts'
import { createToken, hashToken } from './secrets.ts'
import type { OidcOptions } from './sign-in-options.ts'

/** Where a browser begins. */
export const SIGN_IN_PATH = '/ui/login/oidc'
/** Where the provider sends it back to. */
export const CALLBACK_PATH = '/ui/login/oidc/callback'

/** Until when a browser must be back. */
export const LOGIN_MS = 10 * 60_000
/** Logins that have begun, of one client and in all: strangers must not displace those of others. */
const BEGUN_OF_CLIENT_MAX = 20
const BEGUN_MAX = 5_000
/** Of sessions that may be ended at the provider, too. */
const ID_TOKENS_MAX = 1_000
const ID_TOKEN_LENGTH_MAX = 16_384
const QUERY_LENGTH_MAX = 8_192
/** A page of the UI, which is behind `#`: never another place. */
const PAGE = /^#\/[\u0021-\u007e]{0,2000}$/

interface Begun extends Expected {
  /** Whose it is, for the limit. */
  client: string
  page: string
  untilMs: number
}

export interface SignedInUser {
  principal: Principal
  /** The fragment of the page that was wanted; empty: none. */
  page: string
  idToken: string
}

/**
 * People who sign in at an OpenID Connect provider. What a login must come back with is kept here, for ten minutes and
 * one use, and found by a cookie of the browser that began it, so that nobody is logged in with somebody else's answer.
 */
export class OidcSignIn {
  readonly #options: OidcOptions
  readonly #access: Engine['access']
  readonly #clock: Clock
  readonly #logger: Logger
  /** By the hash of the browser's cookie, in the order in which they began. */
  readonly #begun = new Map<string, Begun>()
  /** By session. They are lost with the process: then the provider asks whether to log out. */
  readonly #idTokens = new Map<string, string>()
  #client: Promise<OidcClient> | null = null

  constructor(options: OidcOptions, parts: { access: Engine['access']; clock: Clock; logger: Logger }) {
    this.#options = options
    this.#access = parts.access
    this.#clock = parts.clock
    this.#logger = parts.logger
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
    const nowMs = this.#clock.monotonicMs()
    for (const [hash, { untilMs }] of this.#begun) if (untilMs <= nowMs) this.#begun.delete(hash)
    const own = [...this.#begun].filter(([, { client }]) => client === at.client)
    if (own.length >= BEGUN_OF_CLIENT_MAX) this.#begun.delete(own[0]![0])
    const oldest = this.#begun.keys().next().value
    if (this.#begun.size >= BEGUN_MAX && oldest !== undefined) this.#begun.delete(oldest)
    const cookie = createToken()
    const page = PAGE.test(at.page) ? at.page : ''
    this.#begun.set(hashToken(cookie), { ...expected, client: at.client, page, untilMs: nowMs + LOGIN_MS })
    return { url: url.href, cookie }
  }

  /**
   * `query`: what the browser brought back from the provider, without `?`. Rejects with the words for the login page:
   * SIGN_IN_FAILED, ROLE_REQUIRED, SIGN_IN_UNAVAILABLE, UNAUTHORIZED.
   */
  async finish(cookies: readonly string[], query: string): Promise<SignedInUser> {
    const begun = this.#take(cookies)
    const parameters = new URLSearchParams(query.slice(0, QUERY_LENGTH_MAX))
    if (begun === null || parameters.get('state') !== begun.state) {
      throw failed('This login was not begun in this browser, was already used, or took more than ten minutes')
    }
    const error = parameters.get('error')
    if (error !== null) throw failed(`${this.label} refused the login (${error.slice(0, 100)})`)
    const { subject, claims, idToken } = await this.#ask((client) => client.finish(query, begun))
    const name = nameIn(claims, this.#options.nameClaim)
    const role = roleOf(groupsIn(claims, this.#options.groupsClaim), this.#options.roles)
    const identity = `oidc ${this.#options.issuer} ${subject}`
    if (role === null) {
      await this.#access.disown(identity)
      this.#logger.warn({ name }, 'A login was refused: no group has a role (oidc_roles)')
      throw new ScrapdeckError('ROLE_REQUIRED', noRoleText(name, 'oidc_roles'))
    }
    const principal = await this.#access.signIn({ subject: identity, name, role })
    this.#logger.info({ name: principal.name, role }, 'Signed in with OIDC')
    return { principal, page: begun.page, idToken }
  }

  /** For the logout of this session. */
  keepIdToken(session: string, idToken: string): void {
    const oldest = this.#idTokens.keys().next().value
    if (this.#idTokens.size >= ID_TOKENS_MAX && oldest !== undefined) this.#idTokens.delete(oldest)
    if (idToken.length <= ID_TOKEN_LENGTH_MAX) this.#idTokens.set(session, idToken)
  }

  /** Where the browser ends its session at the provider, too; null: nowhere, or it does not respond. */
  async endUrl(session: string, returnTo: string): Promise<string | null> {
    const idToken = this.#idTokens.get(session) ?? null
    this.#idTokens.delete(session)
    const url = await this.#ask((client) => client.endUrl(idToken, returnTo)).catch(() => null)
    return url?.href ?? null
  }

  /** It can be used once. */
  #take(cookies: readonly string[]): Begun | null {
    for (const cookie of cookies) {
      const hash = hashToken(cookie)
      const begun = this.#begun.get(hash)
      if (begun === undefined) continue
      this.#begun.delete(hash)
      if (this.#clock.monotonicMs() < begun.untilMs) return begun
    }
    return null
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
            `${this.label} does not respond, so nobody can sign in with it. Try again later; users with a password here can still log in.`
          )
    }
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
