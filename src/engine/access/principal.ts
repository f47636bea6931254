import { ScrapdeckError } from '../../shared/errors.ts'
import { includesRole, type Role } from '../../shared/roles.ts'
import type { AccessTokenId, UserId } from '../../shared/contract/index.ts'

/** Who a request is from, as far as rights go. */
export interface Principal {
  /** null: the owner of this machine's data directory: the service's own password, its socket, the desktop's window. */
  userId: UserId | null
  /** For people: in messages and records. */
  name: string
  role: Role
  /** The token that was sent; null: something else. */
  tokenId: AccessTokenId | null
  /** When the password was checked, or the session began: a later password of the user ends it. */
  sinceMs: number
}

/** Whoever can read the data directory may do everything anyway. */
export const OWNER: Principal = { userId: null, name: 'owner', role: 'owner', tokenId: null, sinceMs: 0 }

/** `what`: `jobs.run`, or the path that was requested. Throws ROLE_REQUIRED. */
export function requireRole({ name, role, tokenId }: Principal, needed: Role, what: string): void {
  if (includesRole(role, needed)) return
  const whose = tokenId === null ? `${name} has the role ${role}` : `The token of ${name} has the role ${role}`
  throw new ScrapdeckError('ROLE_REQUIRED', `${what} needs the role ${needed}. ${whose}: ask an owner for another.`, {
    data: { role, needed }
  })
}
