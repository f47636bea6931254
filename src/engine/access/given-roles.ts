import { isDeepStrictEqual } from 'node:util'
import type { ProjectName } from '../../shared/contract/index.ts'
import { includes, type Permissions } from '../../shared/permissions.ts'
import { rolesIn } from '../../shared/roles.ts'
import { type Rights, rightsOf } from './rights.ts'

/** The roles of somebody. */
export interface GivenRoles {
  /** In all projects; null: only in those named. */
  role: string | null
  projects: Readonly<Record<ProjectName, string>>
}

/** The permissions of a role; NONE: there is no such role. */
export type SetOfRole = (role: string) => Permissions

/** Whether both are the same roles, not only the same rights of today. */
export const areSameRoles = (one: GivenRoles, other: GivenRoles): boolean =>
  one.role === other.role && isDeepStrictEqual({ ...one.projects }, { ...other.projects })

/** What these roles allow. Pure, as everything here. */
export function givenRights({ role, projects }: GivenRoles, setOf: SetOfRole): Rights {
  const each = Object.entries(projects).map(([name, one]) => [name as ProjectName, setOf(one)] as const)
  return rightsOf(role === null ? null : setOf(role), each)
}

/** How these roles are called, for people: those that another one does not include. */
export function shownRole({ role, projects }: GivenRoles, setOf: SetOfRole): string {
  const texts = [...(role === null ? [] : [role]), ...Object.values<string>(projects)]
  const names = [...new Set(texts.flatMap(rolesIn))]
  const isIncluded = (name: string, at: number) =>
    names.some((other, index) => {
      if (index === at || !includes(setOf(other), setOf(name))) return false
      return setOf(other) !== setOf(name) || index < at
    })
  return names.filter((name, at) => !isIncluded(name, at)).join(' + ')
}
