import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import {
  ALL_PERMISSIONS,
  includes,
  NONE,
  type Permission,
  PERMISSION_TEXTS,
  type Permissions,
  namesOf,
  subtract
} from '../../shared/permissions.ts'
import { leastRoleWith, roleOf } from '../../shared/roles.ts'
import type { AccessTokenId, ProjectName, UserId } from '../../shared/contract/index.ts'
import { permissionsIn, permissionsOnNode, type Rights, rightsOf } from './rights.ts'

export interface Principal {
  /**
   * null: the owner of this machine's data directory (the service's own password, its socket, the desktop's window).
   */
  userId: UserId | null
  name: string
  /** The names of the principal's roles, for display only. Checks use `rights`. */
  role: string
  rights: Rights
  /** The token that the request was made with. null: other credentials. */
  tokenId: AccessTokenId | null
  /**
   * When the password was checked or the session started. A later change of the user's password makes this principal
   * invalid.
   */
  sinceMs: number
}

/** The owner of this machine's data directory, whose files give full access anyway. Has all permissions. */
export const OWNER: Principal = {
  userId: null,
  name: 'owner',
  role: 'owner',
  rights: rightsOf(ALL_PERMISSIONS),
  tokenId: null,
  sinceMs: 0
}

/** Throws ROLE_REQUIRED unless the principal has the permissions in at least one project. */
export function requirePermission(principal: Principal, needed: Permissions, what: string): void {
  const held = principal.rights.anywhere
  if (!includes(held, needed)) throw lacking(principal, held, needed, what, '')
}

export function requirePermissionEverywhere(principal: Principal, needed: Permissions, what: string): void {
  const held = principal.rights.everywhere ?? NONE
  if (!includes(held, needed)) throw lacking(principal, held, needed, what, ' in all projects')
}

/** Throws ROLE_REQUIRED unless the principal has the permissions in this project, which must be visible to it. */
export function requirePermissionIn(
  principal: Principal,
  project: ProjectName,
  needed: Permissions,
  what: string
): void {
  const held = permissionsIn(principal.rights, project) ?? NONE
  if (!includes(held, needed)) throw lacking(principal, held, needed, what, ` in the project ${project}`)
}

/**
 * Throws ROLE_REQUIRED unless the principal has the permissions on a node with these tags. Expects a new node, or one
 * that the principal can see.
 */
export function requirePermissionOnNode(
  principal: Principal,
  tags: readonly string[],
  needed: Permissions,
  what: string
): void {
  const held = permissionsOnNode(principal.rights, tags) ?? NONE
  if (includes(held, needed)) return
  const { inNodeGroups } = principal.rights
  const own = [...inNodeGroups].filter(([, one]) => includes(one, needed)).map(([tag]) => tag)
  const where = own.length === 0 ? ' for this node' : ` for nodes without one of the tags ${listed(own)}`
  throw lacking(principal, held, needed, what, where)
}

const TAGS_MAX = 10
const listed = (tags: readonly string[]): string =>
  `${tags.slice(0, TAGS_MAX).join(', ')}${tags.length > TAGS_MAX ? ' …' : ''}`

function lacking(
  principal: Principal,
  held: Permissions,
  needed: Permissions,
  what: string,
  where: string
): ScrapdeckError {
  const missing = subtract(needed, held)
  const role = leastRoleWith(missing)
  const has = `${ownerOf(principal)} has ${describeHeld(held)}${where}`
  return new ScrapdeckError(
    'ROLE_REQUIRED',
    sentence('access.needs_permission', { what, missing: quoted(namesOf(missing)), where, role, holder: has }),
    { data: { needed: namesOf(missing) } }
  )
}

const ownerOf = ({ name, tokenId }: Principal): string => (tokenId === null ? name : `The token of ${name}`)

const quoted = (names: readonly Permission[]): string =>
  names.map((name) => `"${PERMISSION_TEXTS[name].label}"`).join(' and ')

const NAMED_MAX = 6

function describeHeld(held: Permissions): string {
  if (held === NONE) return 'none'
  const same = roleOf(held)
  if (same !== null) return `the role ${same}`
  const names = namesOf(held).map((name) => PERMISSION_TEXTS[name].label)
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `only the permissions ${names.slice(0, NAMED_MAX).join(', ')}${more}`
}
