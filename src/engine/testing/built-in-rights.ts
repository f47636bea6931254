import { permissionsOfRole, type ProjectRole, type Role } from '../../shared/roles.ts'
import { givenRights } from '../access/given-roles.ts'
import type { Rights } from '../access/rights.ts'

/** The rights of a built-in role in all projects (null: none), plus these roles in single projects. */
export const builtInRights = (role: Role | null, projects: Readonly<Record<string, ProjectRole>> = {}): Rights =>
  givenRights({ role, projects }, permissionsOfRole)
