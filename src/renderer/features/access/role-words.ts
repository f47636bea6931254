import type { AccessRole } from '../../../shared/contract/index.ts'
import {
  includes,
  namesOf,
  PERMISSION_TEXTS,
  type Permission,
  type Permissions,
  permissionsOf
} from '../../../shared/permissions.ts'
import { type NodeGroupRole, PROJECT_ROLES, ROLE_PERMISSIONS, roleOf, ROLES, type Role } from '../../../shared/roles.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

/** What each built-in role may do; all but the first also may do what the roles before it may. */
const BUILT_IN: Record<Role, string> = {
  viewer: texts.readsEverythingChangesNothing,
  operator: texts.alsoRunsCancelsRetriesAndSchedules,
  deployer: texts.alsoUploadsEggsWhichRunCode,
  admin: texts.alsoManagesNodesWebhooksStorage,
  owner: texts.alsoManagesUsersAndTheTokens
}

/** What each role in a node group may do there. */
export const NODE_ROLE_WORDS: Record<NodeGroupRole, string> = {
  viewer: texts.seesTheNodes,
  operator: texts.alsoCordonsAndDrainsThem,
  admin: texts.alsoChangesAddsAndRemovesThem
}

/** Until the engine has answered, and for one that is too old to have others. */
export const BUILT_IN_ROLES: readonly AccessRole[] = ROLES.map((name) => ({
  ...{ name, description: '', permissions: namesOf(ROLE_PERMISSIONS[name]), isBuiltIn: true },
  isForProjects: PROJECT_ROLES.some((one) => one === name)
}))

const labelOf = (name: Permission): string => PERMISSION_TEXTS[name]?.label ?? name

/** `run jobs and cancel jobs`: that it may read is said only of a role that may nothing else. */
export function listPermissions(names: readonly Permission[]): string {
  const labels = (names.length > 1 ? names.filter((name) => name !== 'read') : names).map(labelOf)
  return labels.length < 2 ? labels.join('') : `${labels.slice(0, -1).join(', ')} and ${labels.at(-1)}`
}

/** In small letters: what these permissions are together. */
export function describePermissions(names: readonly Permission[]): string {
  const same = roleOf(permissionsOf(names))
  return same === null ? texts.may(listPermissions(names)) : BUILT_IN[same].toLowerCase()
}

/** What a role is for, without a full stop. `none`: nothing but what is named. */
export function describeRole(roles: readonly AccessRole[], name: string): string {
  if (name === 'none') return texts.onlyWhatIsNamedBelow
  const role = roles.find((one) => one.name === name)
  if (role === undefined) return texts.fromGroupsElsewhere
  if (role.isBuiltIn) return BUILT_IN[name as Role]
  return role.description.replace(/\.$/, '') || texts.may2(listPermissions(role.permissions))
}

export const setOfRole = (roles: readonly AccessRole[], name: string): Permissions =>
  permissionsOf(roles.find((one) => one.name === name)?.permissions ?? [])

/** Those that allow nothing more than this. */
export const rolesWithin = (roles: readonly AccessRole[], most: Permissions): AccessRole[] =>
  roles.filter(({ permissions }) => includes(most, permissionsOf(permissions)))
