import { permissionsOfRole, type ProjectRole, type Role } from '../../shared/roles.ts'
import { givenRights } from '../access/given-roles.ts'
import type { Rights } from '../access/rights.ts'

/** Of somebody with a built-in role in all projects (null: in none but those), and these in single ones. */
export const builtInRights = (role: Role | null, projects: Readonly<Record<string, ProjectRole>> = {}): Rights =>
  givenRights({ role, projects }, permissionsOfRole)
