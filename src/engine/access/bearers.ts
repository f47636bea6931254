import { hash } from 'node:crypto'
import type { AccessTokenId, UserId } from '../../shared/contract/index.ts'
import { NONE } from '../../shared/permissions.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Principal } from './principal.ts'
import { givenRights, type SetOfRole, shownRole } from './given-roles.ts'
import type { StoredUser } from '../model/records.ts'
import { BoundedMap } from '../runtime/bounded.ts'

/** The maximum number of remembered tokens. Beyond this number, the oldest must be verified again. */
const BEARERS_MAX = 2_000
const ID_LENGTH = 32

export interface Bearer {
  /** `jwt ISSUER SUB`. */
  subject: string
  name: string
  role: string | null
  projects: StoredUser['projects']
  nodeGroups: StoredUser['nodeGroups']
  expiresAtMs: number
}

/**
 * Remembers verified tokens from another issuer until they expire. Does not store them, because a token is its own
 * proof. The user ids are hashes of the subjects, so that limits count one client per subject.
 */
export class Bearers {
  readonly #clock: Clock
  readonly #byId = new BoundedMap<AccessTokenId, { principal: Principal; bearer: Bearer }>(BEARERS_MAX)

  readonly #setOf: SetOfRole

  constructor(clock: Clock, setOf: SetOfRole) {
    this.#clock = clock
    this.#setOf = setOf
  }

  add(text: string, bearer: Bearer): Principal {
    const tokenId = idOf(text) as AccessTokenId
    const principal = this.#principalOf(tokenId, bearer)
    this.#byId.set(tokenId, { principal, bearer })
    return principal
  }

  recompute(): void {
    for (const [id, kept] of this.#byId) kept.principal = this.#principalOf(id, kept.bearer)
  }

  /** Returns null if the token was not verified here or has expired. */
  find(text: string): Principal | null {
    return this.get(idOf(text) as AccessTokenId)
  }

  get(id: AccessTokenId): Principal | null {
    const found = this.#byId.get(id)
    if (found === undefined) return null
    const { principal, bearer } = found
    if (this.#clock.nowMs() < bearer.expiresAtMs && principal.rights.anywhere !== NONE) return principal
    this.#byId.delete(id)
    return null
  }

  #principalOf(tokenId: AccessTokenId, bearer: Bearer): Principal {
    const who = { userId: idOf(bearer.subject) as UserId, name: bearer.name, tokenId, sinceMs: 0 }
    return { ...who, rights: givenRights(bearer, this.#setOf), role: shownRole([bearer], this.#setOf) }
  }
}

const idOf = (text: string): string => hash('sha256', text).slice(0, ID_LENGTH)
