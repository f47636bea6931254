import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState
} from 'openid-client'
import type { Clock } from '../../engine/runtime/clock.ts'
import { createBoundedFetch } from './bounded-fetch.ts'
import { claimIn } from './group-roles.ts'
import type { OidcOptions } from './sign-in-options.ts'

/**
 * The accepted algorithms: signatures with the provider's private key. Never `none`, and no algorithm with a secret
 * that the client knows.
 */
const ASYMMETRIC = /^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$|^Ed25519$/
/** How long to cache the provider's discovery document. Its addresses and algorithms rarely change. */
const DESCRIPTION_MAX_AGE_MS = 3_600_000

export interface Expected {
  state: string
  nonce: string
  verifier: string
  redirectUri: string
}

export interface SignedIn {
  subject: string
  claims: Record<string, unknown>
  /** Needed to log out at the provider. */
  idToken: string
}

/** Implements the protocol with one provider. Only this file loads openid-client, at the first login. */
export class OidcClient {
  readonly #options: OidcOptions
  readonly #clock: Clock
  readonly #fetch: ReturnType<typeof createBoundedFetch>
  #described: { configuration: Promise<Configuration>; atMs: number } | null = null

  constructor(options: OidcOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
    this.#fetch = createBoundedFetch(clock)
  }

  /** Returns the address where the browser signs in, and what to expect when the browser returns. */
  async begin(redirectUri: string): Promise<{ url: URL; expected: Expected }> {
    const configuration = await this.#discover()
    const expected = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier(), redirectUri }
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#options.scopes,
      response_type: 'code',
      state: expected.state,
      nonce: expected.nonce,
      code_challenge: await calculatePKCECodeChallenge(expected.verifier),
      code_challenge_method: 'S256'
    })
    return { url, expected }
  }

  /** `query` is from the returning browser. Rejects unless the whole response is signed and as expected. */
  async finish(query: string, { state, nonce, verifier, redirectUri }: Expected): Promise<SignedIn> {
    const configuration = await this.#discover()
    const tokens = await authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true
    })
    const { sub, ...claims } = tokens.claims()!
    const needsMore = claimIn(claims, this.#options.groupsClaim) === undefined
    const more =
      needsMore && configuration.serverMetadata().userinfo_endpoint !== undefined
        ? await fetchUserInfo(configuration, tokens.access_token, sub)
        : {}
    return { subject: sub, claims: { ...more, ...claims, sub }, idToken: tokens.id_token! }
  }

  /** Returns the address where the browser ends its session at the provider, or null if there is no such address. */
  async endUrl(idToken: string | null, returnTo: string): Promise<URL | null> {
    const configuration = await this.#discover()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null
    return buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: returnTo,
      ...(idToken === null ? {} : { id_token_hint: idToken })
    })
  }

  /** Failures are not cached. The next login retries, subject to the pauses of bounded-fetch.ts. */
  #discover(): Promise<Configuration> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#described !== null && nowMs - this.#described.atMs < DESCRIPTION_MAX_AGE_MS)
      return this.#described.configuration
    const described = { configuration: this.#ask(), atMs: nowMs }
    this.#described = described
    described.configuration.catch(() => {
      if (this.#described === described) this.#described = null
    })
    return described.configuration
  }

  async #ask(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options
    const server = new URL(issuer)
    const secret = clientSecret ?? ''
    // If the provider does not list its methods, a client uses Basic authentication (OpenID Connect Discovery 1.0,
    // section 3).
    const authenticate: typeof None = () => (as, client, body, headers) => {
      const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const byHeader = methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
      ;(byHeader ? ClientSecretBasic(secret) : ClientSecretPost(secret))(as, client, body, headers)
    }
    const configuration = await discovery(
      server,
      clientId,
      clientSecret === null ? undefined : { client_secret: clientSecret },
      clientSecret === null ? None() : authenticate(),
      {
        [customFetch]: this.#fetch,
        // read-sign-in-options.ts allows http only if the provider runs on this machine.
        execute: [enableNonRepudiationChecks, ...(server.protocol === 'http:' ? [allowInsecureRequests] : [])]
      }
    )
    configuration[customFetch] = this.#fetch
    const offered = configuration.serverMetadata().id_token_signing_alg_values_supported
    if (offered !== undefined && !offered.some((algorithm) => ASYMMETRIC.test(algorithm))) {
      throw new Error(`${issuer} signs its tokens with none of the algorithms that Scrapdeck accepts (RS256, ES256, …)`)
    }
    return configuration
  }
}
