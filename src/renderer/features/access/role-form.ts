import { z } from 'zod'
import { type AccessRole, NewRole } from '../../../shared/contract/index.ts'
import {
  namesOf,
  OWNER_PERMISSIONS,
  type Permission,
  PERMISSION_TEXTS,
  type PermissionGroup,
  PERMISSIONS,
  permissionsOf,
  PROJECT_PERMISSIONS,
  subtract
} from '../../../shared/permissions.ts'

export const RoleForm = z.object({
  name: z.string().trim().min(1, 'Required').pipe(NewRole.shape.name),
  description: z.string().trim().max(500),
  permissions: NewRole.shape.permissions
})
export type RoleTexts = z.input<typeof RoleForm>

/** `of`: a role to begin with, changed under its own name or copied under another. */
export function startRole(of: AccessRole | null, isCopy: boolean): RoleTexts {
  if (of === null) return { name: '', description: '', permissions: ['read'] }
  const permissions = namesOf(subtract(permissionsOf(of.permissions), OWNER_PERMISSIONS))
  return { name: isCopy ? '' : of.name, description: of.description, permissions }
}

/** Why a permission cannot be chosen or left out; null: it can. */
export function fixedBecause(name: Permission): string | null {
  if (name === 'read') return 'Every role has it'
  return namesOf(OWNER_PERMISSIONS).includes(name) ? 'Only the built-in role owner has it' : null
}

export const GROUPS: { group: PermissionGroup; permissions: Permission[] }[] = (
  ['Jobs', 'Projects', 'Nodes', 'Service'] as const
).map((group) => ({ group, permissions: PERMISSIONS.filter((name) => PERMISSION_TEXTS[name].group === group) }))

/** Those because of which a role can only be given in all projects. */
export const ofWholeService = (permissions: readonly Permission[]): Permission[] =>
  namesOf(subtract(permissionsOf(permissions), PROJECT_PERMISSIONS))
