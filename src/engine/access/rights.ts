import type { ProjectName } from '../../shared/contract/index.ts'
import {
  includes,
  intersect,
  NONE,
  type Permissions,
  permissionsOf,
  PROJECT_PERMISSIONS,
  READ,
  unite
} from '../../shared/permissions.ts'
import { NODE_GROUP_PERMISSIONS, nodePermissionsIn } from '../../shared/roles.ts'

/** The permissions of a user or token, computed in advance so that each check is a single bit operation. */
export interface Rights {
  /**
   * Permissions in all projects, and therefore for the whole service. null: the rights are limited to single projects
   * or node groups.
   */
  readonly everywhere: Permissions | null
  /** All permissions in these projects, including those that are given everywhere. */
  readonly inProjects: ReadonlyMap<ProjectName, Permissions>
  /** Permissions on nodes with these tags, in addition to those given everywhere. */
  readonly inNodeGroups: ReadonlyMap<string, Permissions>
  /** All permissions that are given everywhere, in any project or in any node group. */
  readonly anywhere: Permissions
}

const NO_NODE_GROUPS: ReadonlyMap<string, Permissions> = new Map()

export function rightsOf(
  everywhere: Permissions | null,
  given: Iterable<readonly [ProjectName, Permissions]> = [],
  givenNodeGroups: Iterable<readonly [string, Permissions]> = []
): Rights {
  const base = everywhere ?? NONE
  const inProjects = new Map<ProjectName, Permissions>()
  let anywhere = base
  for (const [project, more] of given) {
    const all = unite(inProjects.get(project) ?? base, intersect(more, PROJECT_PERMISSIONS))
    if (all !== base) inProjects.set(project, all)
    anywhere = unite(anywhere, all)
  }
  const inNodeGroups = new Map<string, Permissions>()
  for (const [tag, more] of givenNodeGroups) {
    const all = unite(inNodeGroups.get(tag) ?? NONE, intersect(more, NODE_GROUP_PERMISSIONS.admin))
    if (all !== NONE) inNodeGroups.set(tag, all)
    anywhere = unite(anywhere, all)
  }
  return {
    everywhere: base === NONE ? null : base,
    inProjects,
    anywhere,
    inNodeGroups: inNodeGroups.size === 0 ? NO_NODE_GROUPS : inNodeGroups
  }
}

export const NO_RIGHTS = rightsOf(null)

export function uniteRights(one: Rights, other: Rights): Rights {
  if (other.anywhere === NONE) return one
  if (one.anywhere === NONE) return other
  const everywhere = unite(one.everywhere ?? NONE, other.everywhere ?? NONE)
  const nodeGroups = [...one.inNodeGroups, ...other.inNodeGroups]
  return rightsOf(everywhere, [...one.inProjects, ...other.inProjects], nodeGroups)
}

/**
 * The scope of a token. If both are null, the token is not restricted. If only one is null, it counts as an empty list.
 */
export interface TokenScope {
  projects: readonly ProjectName[] | null
  nodeGroups: readonly string[] | null
}

export function narrowRights(rights: Rights, permissions: Permissions, { projects, nodeGroups }: TokenScope): Rights {
  const { everywhere, inProjects, inNodeGroups } = rights
  const ofNodes = nodePermissionsIn(permissions)
  if (projects === null && nodeGroups === null) {
    const each = [...inProjects].map(([name, held]) => [name, intersect(held, permissions)] as const)
    const eachGroup = [...inNodeGroups].map(([tag, held]) => [tag, intersect(held, ofNodes)] as const)
    return rightsOf(everywhere === null ? null : intersect(everywhere, permissions), each, eachGroup)
  }
  const each = (projects ?? []).map(
    (name) => [name, intersect(permissionsIn(rights, name) ?? NONE, permissions)] as const
  )
  const eachGroup = (nodeGroups ?? []).map(
    (tag) => [tag, intersect(permissionsOnNode(rights, [tag]) ?? NONE, ofNodes)] as const
  )
  return rightsOf(null, each, eachGroup)
}

/** null: no permissions, so the project must appear not to exist. */
export function permissionsIn({ everywhere, inProjects }: Rights, project: ProjectName): Permissions | null {
  return inProjects.get(project) ?? everywhere
}

export function areSeen(projects: readonly ProjectName[], rights: Rights): boolean {
  return projects.every((project) => permissionsIn(rights, project) !== null)
}

export function seenProjects({ everywhere, inProjects }: Rights): ReadonlySet<ProjectName> | null {
  return everywhere === null ? new Set(inProjects.keys()) : null
}

/** null: no permissions, so the node must appear not to exist. */
export function permissionsOnNode(rights: Rights, tags: readonly string[]): Permissions | null {
  const { everywhere, inNodeGroups } = rights
  const inGroups = tags.reduce((set, tag) => unite(set, inNodeGroups.get(tag) ?? NONE), everywhere ?? NONE)
  if (inGroups !== NONE) return inGroups
  // Users may know where the jobs of their visible projects run.
  return seenNodeGroups(rights) === null ? READ : null
}

export function seenNodeGroups({ everywhere, inProjects, inNodeGroups }: Rights): ReadonlySet<string> | null {
  return everywhere === null && inProjects.size === 0 ? new Set(inNodeGroups.keys()) : null
}

export function areSameRights(one: Rights, other: Rights): boolean {
  if (one === other) return true
  return (
    one.everywhere === other.everywhere &&
    isSameMap(one.inProjects, other.inProjects) &&
    isSameMap(one.inNodeGroups, other.inNodeGroups)
  )
}

const isSameMap = (one: ReadonlyMap<string, Permissions>, other: ReadonlyMap<string, Permissions>): boolean =>
  one === other || (one.size === other.size && [...one].every(([name, held]) => other.get(name) === held))

export function keyOfRights({ everywhere, inProjects, inNodeGroups }: Rights): string {
  if (inProjects.size + inNodeGroups.size === 0) return `${everywhere}`
  const sorted = (map: ReadonlyMap<string, Permissions>) => [...map].sort(([one], [other]) => (one < other ? -1 : 1))
  return `${everywhere} ${JSON.stringify([sorted(inProjects), sorted(inNodeGroups)])}`
}

/** This permission is given only for the whole service, because its holder can change all rights. */
const MANAGES_USERS = permissionsOf(['users.change'])
export const managesUsers = ({ everywhere }: Rights): boolean =>
  everywhere !== null && includes(everywhere, MANAGES_USERS)
