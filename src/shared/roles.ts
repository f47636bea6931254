import {
  ALL_PERMISSIONS,
  includes,
  intersect,
  NONE,
  type Permission,
  type Permissions,
  permissionsOf,
  unite
} from './permissions.ts'

/**
 * The built-in roles, each with all permissions of the roles before it. Owners can add other roles (contract/roles.ts).
 */
export const ROLES = ['viewer', 'operator', 'deployer', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

const ADDED: Record<Exclude<Role, 'owner'>, readonly Permission[]> = {
  viewer: ['read'],
  operator: [
    'jobs.run',
    'jobs.cancel',
    'queue.order',
    'queue.pause',
    'schedules.change',
    'results.review',
    'alerts.answer',
    'alerts.change'
  ],
  deployer: ['code.choose', 'eggs.deploy', 'projects.change', 'projects.delete', 'environments.change'],
  admin: [
    ...(['nodes.operate', 'nodes.change', 'limits.change', 'storage.change', 'webhooks.change'] as const),
    ...(['engines.operate', 'fleet.apply', 'audit.read'] as const)
  ]
}

const setOf = (role: Role): Permissions =>
  role === 'owner'
    ? ALL_PERMISSIONS
    : ROLES.slice(0, ROLES.indexOf(role) + 1).reduce(
        (set, one) => (one === 'owner' ? set : unite(set, permissionsOf(ADDED[one]))),
        NONE
      )

export const ROLE_PERMISSIONS = Object.fromEntries(ROLES.map((role) => [role, setOf(role)])) as Record<
  Role,
  Permissions
>

export const roleOf = (set: Permissions): Role | null => ROLES.find((role) => ROLE_PERMISSIONS[role] === set) ?? null

export const isBuiltInRole = (name: string): name is Role => ROLES.some((one) => one === name)
export const isProjectRole = (name: string): name is ProjectRole => PROJECT_ROLES.some((one) => one === name)

export const permissionsOfRole = (name: string): Permissions =>
  Object.hasOwn(ROLE_PERMISSIONS, name) ? ROLE_PERMISSIONS[name as Role] : NONE

/**
 * Roles that can be given in single projects. They exclude admin, because its permissions apply to the whole service.
 */
export const PROJECT_ROLES = ['viewer', 'operator', 'deployer'] as const
export type ProjectRole = (typeof PROJECT_ROLES)[number]

const AND = ' + '

/** A user can have the roles of several external groups: `operator + shop keeper`. Role names do not contain `+`. */
export const rolesIn = (text: string): string[] => text.split(AND)

/** The inverse of rolesIn: in a fixed order, without built-in roles that another role includes. */
export function joinRoles(names: Iterable<string>): string {
  const all = new Set(names)
  const highest = ROLES.findLast((role) => all.has(role))
  const others = [...all].filter((name) => permissionsOfRole(name) === NONE).sort()
  return [...(highest === undefined ? [] : [highest]), ...others].join(AND)
}

/** The highest of these built-in roles whose permissions are all in the set. */
export const mostRoleIn = <One extends Role>(set: Permissions, roles: readonly One[]): One =>
  roles.findLast((role) => includes(set, ROLE_PERMISSIONS[role])) ?? roles[0]!

export const leastRoleWith = (needed: Permissions): Role =>
  ROLES.find((role) => includes(ROLE_PERMISSIONS[role], needed)) ?? 'owner'

/**
 * The roles in a node group (the nodes with one tag). An operator of the group can cordon and drain its nodes.
 * Elsewhere, only an admin can do this.
 */
export const NODE_GROUP_ROLES = ['viewer', 'operator', 'admin'] as const
export type NodeGroupRole = (typeof NODE_GROUP_ROLES)[number]

export const NODE_GROUP_PERMISSIONS: Record<NodeGroupRole, Permissions> = {
  viewer: permissionsOf(['read']),
  operator: permissionsOf(['read', 'nodes.operate']),
  admin: permissionsOf(['read', 'nodes.operate', 'nodes.change'])
}

export const nodeRoleOf = (set: Permissions): NodeGroupRole =>
  NODE_GROUP_ROLES.findLast((role) => includes(set, NODE_GROUP_PERMISSIONS[role])) ?? 'viewer'

const RUNS_JOBS = permissionsOf(['jobs.run'])

/** The part of a project role's permissions that applies in node groups. */
export function nodePermissionsIn(set: Permissions): Permissions {
  const own = intersect(set, NODE_GROUP_PERMISSIONS.admin)
  return includes(set, RUNS_JOBS) ? unite(own, NODE_GROUP_PERMISSIONS.operator) : own
}
