import { ScrapdeckError } from '../../shared/errors.ts'
import { includesRole, type Role } from '../../shared/roles.ts'
import type { AccessTokenId, ProjectName, UserId } from '../../shared/contract/index.ts'
import { everywhere, type Rights, roleIn } from './rights.ts'

/** Who a request is from, as far as rights go. */
export interface Principal {
  /** null: the owner of this machine's data directory: the service's own password, its socket, the desktop's window. */
  userId: UserId | null
  /** For people: in messages and records. */
  name: string
  /** The highest that it has anywhere. */
  role: Role
  rights: Rights
  /** The token that was sent; null: something else. */
  tokenId: AccessTokenId | null
  /** When the password was checked, or the session began: a later password of the user ends it. */
  sinceMs: number
}

/** Whoever can read the data directory may do everything anyway. */
export const OWNER: Principal = {
  ...{ userId: null, name: 'owner', role: 'owner', rights: everywhere('owner'), tokenId: null, sinceMs: 0 }
}

/** `what`: `jobs.run`, or the path that was requested. Throws ROLE_REQUIRED unless the role holds in some project. */
export function requireRole(principal: Principal, needed: Role, what: string): void {
  if (!includesRole(principal.role, needed)) throw lacking(principal, principal.role, needed, what, '')
}

/** Throws ROLE_REQUIRED unless the role holds in all projects. */
export function requireRoleEverywhere(principal: Principal, needed: Role, what: string): void {
  const { everywhere: held } = principal.rights
  if (held === null || !includesRole(held, needed)) throw lacking(principal, held, needed, what, ' in all projects')
}

/** For a project that may be seen. Throws ROLE_REQUIRED. */
export function requireRoleIn(principal: Principal, project: ProjectName, needed: Role, what: string): void {
  const held = roleIn(principal.rights, project)
  if (held === null || !includesRole(held, needed)) {
    throw lacking(principal, held, needed, what, ` in the project ${project}`)
  }
}

function lacking(
  { name, tokenId }: Principal,
  role: Role | null,
  needed: Role,
  what: string,
  where: string
): ScrapdeckError {
  const whose = tokenId === null ? name : `The token of ${name}`
  const has = `${whose} has ${role === null ? 'none' : `the role ${role}`}${where}`
  return new ScrapdeckError('ROLE_REQUIRED', `${what} needs the role ${needed}${where}. ${has}: ask an owner for it.`, {
    data: { ...(role !== null && { role }), needed }
  })
}
