import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { groupsIn, nameIn, noRoleText, rightsIn } from './group-roles.ts'
import type { JwtVerifier } from './jwt-verifier.ts'
import type { JwtOptions } from './sign-in-options.ts'

const MAX_LENGTH = 16_384
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/

export class BearerJwts {
  readonly #options: JwtOptions
  readonly #access: Engine['access']
  readonly #clock: Clock
  #verifier: Promise<JwtVerifier> | null = null

  constructor(options: JwtOptions, { access, clock }: { access: Engine['access']; clock: Clock }) {
    this.#options = options
    this.#access = access
    this.#clock = clock
  }

  /** Whether the issuer may have signed this token: it is well-formed and not one of our tokens. */
  isFor(token: string): boolean {
    return token.length <= MAX_LENGTH && FORM.test(token) && !this.#access.looksLikeToken(token)
  }

  /**
   * Returns the principal immediately if the token was verified before. Rejects with UNAUTHORIZED, ROLE_REQUIRED or
   * SIGN_IN_UNAVAILABLE.
   */
  find(token: string): Principal | Promise<Principal> {
    return this.#access.findByBearer(token) ?? this.#verify(token)
  }

  async #verify(token: string): Promise<Principal> {
    const { issuer, nameClaim, groupsClaim, roles } = this.#options
    this.#verifier ??= this.#load()
    const verified = await (await this.#verifier).verify(token, this.#clock.nowMs())
    if (verified.is === 'unknown') {
      throw new ScrapdeckError('SIGN_IN_UNAVAILABLE', sentence('server.token_keys_unreadable', { issuer }))
    }
    if (verified.is === 'invalid') {
      throw new ScrapdeckError('UNAUTHORIZED', sentence('server.token_not_accepted', { issuer, why: verified.why }), {
        data: { credentials: 'wrong' }
      })
    }
    const { claims } = verified
    const name = nameIn(claims, nameClaim)
    const rights = rightsIn(groupsIn(claims, groupsClaim), roles)
    if (rights === null) throw new ScrapdeckError('ROLE_REQUIRED', noRoleText(name, 'jwt_roles'))
    const expiresAtMs = claims.exp! * 1_000
    return this.#access.admitBearer(token, { subject: `jwt ${issuer} ${claims.sub}`, name, ...rights, expiresAtMs })
  }

  async #load(): Promise<JwtVerifier> {
    const { JwtVerifier: Verifier } = await import('./jwt-verifier.ts')
    return new Verifier({ ...this.#options, requires: ['sub'] }, this.#clock)
  }
}
