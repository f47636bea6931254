import { sentence } from '../../shared/texts/errors/server.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { joinRoles, NODE_GROUP_ROLES, type NodeGroupRole } from '../../shared/roles.ts'
import type { GroupRights, GroupRoles, SignInOptions } from './sign-in-options.ts'

const GROUPS_MAX = 2_000
const GROUP_LENGTH_MAX = 1_000

/**
 * Combines the groups' roles in all projects, single projects and node groups. Returns null if the groups have none.
 */
export function rightsIn(groups: readonly string[], roles: GroupRoles): GroupRights | null {
  const having = groups.flatMap((group) => roles.get(group) ?? [])
  if (having.length === 0) return null
  const everywhere = having.flatMap(({ role }) => role ?? [])
  const projects = new Map<string, string[]>()
  for (const [name, role] of having.flatMap((one) => Object.entries<string>(one.projects))) {
    projects.set(name, [...(projects.get(name) ?? []), role])
  }
  const nodeGroups = new Map<string, NodeGroupRole>()
  for (const [tag, role] of having.flatMap((one) => Object.entries(one.nodeGroups))) {
    nodeGroups.set(tag, higherOf(role, nodeGroups.get(tag)))
  }
  return {
    role: everywhere.length === 0 ? null : joinRoles(everywhere),
    projects: Object.fromEntries([...projects].map(([name, all]) => [name, joinRoles(all)])),
    nodeGroups: Object.fromEntries(nodeGroups)
  }
}

/** Roles in node groups are ordered. Each role includes the permissions of all lower roles. */
const higherOf = (role: NodeGroupRole, other: NodeGroupRole = role): NodeGroupRole =>
  NODE_GROUP_ROLES.indexOf(role) < NODE_GROUP_ROLES.indexOf(other) ? other : role

/** All roles in the sign-in options, each with the names of the options that use it. */
export function configuredRoles({ oidc, jwt, proxy, pluginRoles }: SignInOptions): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const ways = { oidc_roles: oidc, jwt_roles: jwt, proxy_roles: proxy, plugin_roles: { roles: pluginRoles } }
  for (const [option, way] of Object.entries(ways)) {
    const given = [...(way?.roles.values() ?? [])].flatMap(({ role, projects }) => [role, ...Object.values(projects)])
    for (const role of new Set(given)) if (role !== null) found.set(role, [...(found.get(role) ?? []), option])
  }
  return found
}

/**
 * Returns the groups in a claim, which is a string or a list of strings. `name` can be a path such as Keycloak's
 * `realm_access.roles`. Ignores an unverified email address, because users can enter any address.
 */
export function groupsIn(claims: Readonly<Record<string, unknown>>, name: string): string[] {
  if (name === 'email' && claims['email_verified'] !== true) return []
  const value = claimIn(claims, name)
  const list = Array.isArray(value) ? value.slice(0, GROUPS_MAX) : [value]
  return list.filter((group): group is string => typeof group === 'string' && group.length <= GROUP_LENGTH_MAX)
}

export function claimIn(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

export function nameIn(claims: Readonly<Record<string, unknown>>, nameClaim: string): string {
  const candidates = [claimIn(claims, nameClaim), claims['preferred_username'], claims['email'], claims['sub']]
  return candidates.find((value): value is string => typeof value === 'string' && value.trim() !== '') ?? ''
}

export const noRoleText = (name: string, option: string): Sentence => sentence('server.no_role', { name, option })
