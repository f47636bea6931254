import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '../../engine/runtime/clock.ts'
import { createBoundedFetch } from './bounded-fetch.ts'
import type { JwtOptions } from './sign-in-options.ts'

/** `requires` has the claims that a token must have in addition to its expiry. */
type Expected = Pick<JwtOptions, 'issuer' | 'audience' | 'jwksUrl'> & { requires: readonly string[] }

/**
 * The accepted algorithms. Never `none`, and no symmetric algorithm, because the public key would then serve as the
 * secret.
 */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
]
/** For a token with an unknown key, the issuer's keys are fetched again, but only once in this time for all clients. */
const KEYS_COOLDOWN_MS = 60_000
const KEYS_MAX_AGE_MS = 10 * 60_000
const CLOCK_TOLERANCE_SECONDS = 5

export type VerifiedJwt = { is: 'valid'; claims: JWTPayload } | { is: 'invalid'; why: string } | { is: 'unknown' }

/** Verifies signed tokens of one issuer. Only this file loads jose, at the first token that looks like a JWT. */
export class JwtVerifier {
  readonly #options: Expected
  readonly #fetch: ReturnType<typeof createBoundedFetch>
  #keys: Promise<ReturnType<typeof createRemoteJWKSet>> | null = null

  constructor(options: Expected, clock: Clock) {
    this.#options = options
    this.#fetch = createBoundedFetch(clock)
  }

  /** Returns `unknown` if the issuer's keys cannot be read. Compares the expiry to `nowMs`. */
  async verify(token: string, nowMs: number): Promise<VerifiedJwt> {
    const { issuer, audience, requires } = this.#options
    let keys: ReturnType<typeof createRemoteJWKSet>
    try {
      keys = await this.#findKeys()
    } catch {
      return { is: 'unknown' }
    }
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', ...requires],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(nowMs)
      })
      return { is: 'valid', claims: payload }
    } catch (error) {
      // jose's error messages never quote the token. Other errors come from fetching the keys.
      if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError)) return { is: 'unknown' }
      return { is: 'invalid', why: error.message }
    }
  }

  #findKeys(): Promise<ReturnType<typeof createRemoteJWKSet>> {
    this.#keys ??= this.#openKeys().catch((error: unknown) => {
      this.#keys = null
      throw error
    })
    return this.#keys
  }

  async #openKeys(): Promise<ReturnType<typeof createRemoteJWKSet>> {
    const url = this.#options.jwksUrl ?? (await this.#discover())
    return createRemoteJWKSet(new URL(url), {
      cooldownDuration: KEYS_COOLDOWN_MS,
      cacheMaxAge: KEYS_MAX_AGE_MS,
      [customFetch]: this.#fetch
    })
  }

  /** The document must name this issuer (OpenID Connect Discovery 1.0, section 4). */
  async #discover(): Promise<string> {
    const { issuer } = this.#options
    const response = await this.#fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {})
    const described = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown }
    const { jwks_uri: url } = described
    if (described.issuer !== issuer || typeof url !== 'string' || new URL(url).protocol !== new URL(issuer).protocol) {
      throw new Error(`${issuer} does not describe itself`)
    }
    return url
  }
}
