import { isDeepStrictEqual } from 'node:util'
import type { ProjectName } from '../../shared/contract/index.ts'
import { includes, type Permissions } from '../../shared/permissions.ts'
import { NODE_GROUP_PERMISSIONS, NODE_GROUP_ROLES, type NodeGroupRole, rolesIn } from '../../shared/roles.ts'
import { type Rights, rightsOf } from './rights.ts'

export interface GivenRoles {
  /** The role in all projects, if any. */
  role: string | null
  projects: Readonly<Record<ProjectName, string>>
  /** Roles by node tag. */
  nodeGroups?: Readonly<Record<string, NodeGroupRole>>
}

export type SetOfRole = (role: string) => Permissions

/** Compares the roles, not the rights that they currently give. */
export const areSameRoles = (one: GivenRoles, other: GivenRoles): boolean =>
  one.role === other.role &&
  isDeepStrictEqual({ ...one.projects }, { ...other.projects }) &&
  isDeepStrictEqual({ ...one.nodeGroups }, { ...other.nodeGroups })

export function givenRights({ role, projects, nodeGroups = {} }: GivenRoles, setOf: SetOfRole): Rights {
  const each = Object.entries(projects).map(([name, one]) => [name as ProjectName, setOf(one)] as const)
  const ofNodes = Object.entries(nodeGroups).map(([tag, one]) => [tag, NODE_GROUP_PERMISSIONS[one]] as const)
  return rightsOf(role === null ? null : setOf(role), each, ofNodes)
}

export const hasRole = ({ role, projects, nodeGroups = {} }: GivenRoles): boolean =>
  role !== null || Object.keys(projects).length + Object.keys(nodeGroups).length > 0

/** Describes the roles for display. Omits roles that another role includes. */
export function shownRole(given: readonly GivenRoles[], setOf: SetOfRole): string {
  const texts = given.flatMap(({ role, projects }) => [...(role === null ? [] : [role]), ...Object.values(projects)])
  const names = [...new Set(texts.flatMap(rolesIn))]
  if (names.length === 0) {
    const held = new Set(given.flatMap(({ nodeGroups = {} }) => Object.values(nodeGroups)))
    return `${NODE_GROUP_ROLES.findLast((role) => held.has(role)) ?? 'none'} of nodes`
  }
  const isIncluded = (name: string, at: number) =>
    names.some((other, index) => {
      if (index === at || !includes(setOf(other), setOf(name))) return false
      return setOf(other) !== setOf(name) || index < at
    })
  return names.filter((name, at) => !isIncluded(name, at)).join(' + ')
}
