import type { AccessRole } from '../../../shared/contract/index.ts'
import { includes, namesOf, type Permission, type Permissions, permissionsOf } from '../../../shared/permissions.ts'
import { type NodeGroupRole, PROJECT_ROLES, ROLE_PERMISSIONS, roleOf, ROLES, type Role } from '../../../shared/roles.ts'
import { texts } from '../../../shared/texts/ui/access.ts'
import { texts as words } from '../../../shared/texts/ui/permissions.ts'

/** Each role allows everything that the previous roles allow. */
const BUILT_IN: Record<Role, string> = {
  viewer: texts.viewerMay,
  operator: texts.operatorMay,
  deployer: texts.deployerMay,
  admin: texts.adminMay,
  owner: texts.ownerMay
}

export const NODE_ROLE_WORDS: Record<NodeGroupRole, string> = {
  viewer: texts.nodeViewerMay,
  operator: texts.nodeOperatorMay,
  admin: texts.nodeAdminMay
}

/** The roles to show until the engine has responded, and for engines too old to have custom roles. */
export const BUILT_IN_ROLES: readonly AccessRole[] = ROLES.map((name) => ({
  name,
  description: '',
  permissions: namesOf(ROLE_PERMISSIONS[name]),
  isBuiltIn: true,
  isForProjects: PROJECT_ROLES.some((one) => one === name)
}))

const labelOf = (name: Permission): string => words[`label.${name}`] ?? name

/** `run jobs and cancel jobs`. Names `read` only if there is nothing else. */
export function listPermissions(names: readonly Permission[]): string {
  const labels = (names.length > 1 ? names.filter((name) => name !== 'read') : names).map(labelOf)
  return texts.listOf(labels)
}

/** In lower case, to follow a role's name. */
export function describePermissions(names: readonly Permission[]): string {
  const same = roleOf(permissionsOf(names))
  return same === null ? texts.mayDo(listPermissions(names)) : BUILT_IN[same].toLowerCase()
}

export function describeRole(roles: readonly AccessRole[], name: string): string {
  if (name === 'none') return texts.onlyNamedBelow
  const role = roles.find((one) => one.name === name)
  if (role === undefined) return texts.fromGroupsElsewhere
  if (role.isBuiltIn) return BUILT_IN[name as Role]
  return role.description.replace(/\.$/, '') || texts.customRoleMay(listPermissions(role.permissions))
}

export const setOfRole = (roles: readonly AccessRole[], name: string): Permissions =>
  permissionsOf(roles.find((one) => one.name === name)?.permissions ?? [])

/** The roles that allow no more than `most`. */
export const rolesWithin = (roles: readonly AccessRole[], most: Permissions): AccessRole[] =>
  roles.filter(({ permissions }) => includes(most, permissionsOf(permissions)))
