import { hash } from 'node:crypto'
import type { AccessTokenId, UserId } from '../../shared/contract/index.ts'
import { permissionsOfRole, type Role } from '../../shared/roles.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Principal } from './principal.ts'
import { givenRights, shownRole } from './given-roles.ts'
import type { StoredUser } from '../store/records.ts'

/** More than an issuer's programs use at once; with more, the oldest are verified again. */
const BEARERS_MAX = 2_000
/** Characters of an id of ours. */
const ID_LENGTH = 32

/** Who sent a signed token of another issuer, as its signature says. */
export interface Bearer {
  /** `jwt ISSUER SUB`. */
  subject: string
  name: string
  role: Role | null
  projects: StoredUser['projects']
  expiresAtMs: number
}

/**
 * Signed tokens of another issuer that were verified, until they expire. None is stored, nor are their users: a token
 * is its own proof. Their ids are hashes, so that one subject is one client for limits, and one token one receiver.
 */
export class Bearers {
  readonly #clock: Clock
  readonly #byId = new Map<AccessTokenId, { principal: Principal; expiresAtMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(text: string, { subject, name, role, projects, expiresAtMs }: Bearer): Principal {
    const tokenId = idOf(text) as AccessTokenId
    const given = { role, projects }
    const rights = givenRights(given, permissionsOfRole)
    const who = { userId: idOf(subject) as UserId, name, tokenId, sinceMs: 0 }
    const principal: Principal = { ...who, rights, role: shownRole([given], permissionsOfRole) }
    this.#byId.delete(tokenId)
    const oldest = this.#byId.keys().next().value
    if (this.#byId.size >= BEARERS_MAX && oldest !== undefined) this.#byId.delete(oldest)
    this.#byId.set(tokenId, { principal, expiresAtMs })
    return principal
  }

  /** null: it was not verified here, or has expired. */
  find(text: string): Principal | null {
    return this.get(idOf(text) as AccessTokenId)
  }

  get(id: AccessTokenId): Principal | null {
    const found = this.#byId.get(id)
    if (found === undefined) return null
    if (this.#clock.nowMs() < found.expiresAtMs) return found.principal
    this.#byId.delete(id)
    return null
  }
}

const idOf = (text: string): string => hash('sha256', text).slice(0, ID_LENGTH)
