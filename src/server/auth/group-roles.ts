import { includes } from '../../shared/permissions.ts'
import { type ProjectRole, type Role, ROLE_PERMISSIONS } from '../../shared/roles.ts'
import type { GroupRights, GroupRoles } from './sign-in-options.ts'

const GROUPS_MAX = 2_000
const GROUP_LENGTH_MAX = 1_000

/** The highest role that one of these groups has, in all projects and in each; null: none has any. */
export function rightsIn(groups: readonly string[], roles: GroupRoles): GroupRights | null {
  const having = groups.flatMap((group) => roles.get(group) ?? [])
  if (having.length === 0) return null
  const projects = new Map<string, ProjectRole>()
  for (const [name, role] of having.flatMap((one) => Object.entries(one.projects))) {
    projects.set(name, higher(projects.get(name) ?? role, role))
  }
  const role = having.reduce<Role | null>((highest, one) => {
    if (highest === null || one.role === null) return highest ?? one.role
    return higher(highest, one.role)
  }, null)
  return { role, projects: Object.fromEntries(projects) }
}

const higher = <One extends Role>(one: One, other: One): One =>
  includes(ROLE_PERMISSIONS[one], ROLE_PERMISSIONS[other]) ? one : other

/**
 * The groups in a claim: a list of texts, or one text. `name`: of a claim, or the path of one inside others, as in
 * Keycloak's `realm_access.roles`. Never an address of mail that the provider has not verified: anybody can enter any.
 */
export function groupsIn(claims: Readonly<Record<string, unknown>>, name: string): string[] {
  if (name === 'email' && claims['email_verified'] !== true) return []
  const value = claimIn(claims, name)
  const list = Array.isArray(value) ? value.slice(0, GROUPS_MAX) : [value]
  return list.filter((group): group is string => typeof group === 'string' && group.length <= GROUP_LENGTH_MAX)
}

/** `undefined`: there is none of this name. */
export function claimIn(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

/** What a person is called; the first of these that is a text. */
export function nameIn(claims: Readonly<Record<string, unknown>>, nameClaim: string): string {
  const candidates = [claimIn(claims, nameClaim), claims['preferred_username'], claims['email'], claims['sub']]
  return candidates.find((value): value is string => typeof value === 'string' && value.trim() !== '') ?? ''
}

/** Read by whoever was refused: what was looked for, and whom to ask. */
export const noRoleText = (name: string, option: string): string =>
  `None of the groups of ${name} has a role in this Scrapdeck. Ask its owner to add one of them to ${option}, or the administrator of your organization to add you to a group.`
