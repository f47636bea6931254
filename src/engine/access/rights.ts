import type { ProjectName } from '../../shared/contract/index.ts'
import {
  includes,
  intersect,
  NONE,
  type Permissions,
  permissionsOf,
  PROJECT_PERMISSIONS,
  unite
} from '../../shared/permissions.ts'

/** What somebody may do: computed once, then each check is one operation on bits. */
export interface Rights {
  /** In all projects, and so for the service as a whole; null: nothing is given but in those named. */
  readonly everywhere: Permissions | null
  /** In these projects, all of it: more than everywhere. */
  readonly inProjects: ReadonlyMap<ProjectName, Permissions>
  /** Everywhere or in any project. */
  readonly anywhere: Permissions
}

/** Makes rights of what is given. Pure, as everything here. */
export function rightsOf(
  everywhere: Permissions | null,
  given: Iterable<readonly [ProjectName, Permissions]> = []
): Rights {
  const base = everywhere ?? NONE
  const inProjects = new Map<ProjectName, Permissions>()
  let anywhere = base
  for (const [project, more] of given) {
    const all = unite(inProjects.get(project) ?? base, intersect(more, PROJECT_PERMISSIONS))
    if (all !== base) inProjects.set(project, all)
    anywhere = unite(anywhere, all)
  }
  return { everywhere: base === NONE ? null : base, inProjects, anywhere }
}

export const NO_RIGHTS = rightsOf(null)

/** What either of the two gives: of a user and of its groups. */
export function uniteRights(one: Rights, other: Rights): Rights {
  if (other.anywhere === NONE) return one
  if (one.anywhere === NONE) return other
  const everywhere = unite(one.everywhere ?? NONE, other.everywhere ?? NONE)
  return rightsOf(everywhere, [...one.inProjects, ...other.inProjects])
}

/** What both allow: of a user and of a token with these permissions, in all projects or only in some. */
export function narrowRights(
  rights: Rights,
  permissions: Permissions,
  projects: readonly ProjectName[] | null
): Rights {
  const { everywhere, inProjects } = rights
  if (projects === null) {
    const each = [...inProjects].map(([name, held]) => [name, intersect(held, permissions)] as const)
    return rightsOf(everywhere === null ? null : intersect(everywhere, permissions), each)
  }
  const each = projects.map((name) => [name, intersect(permissionsIn(rights, name) ?? NONE, permissions)] as const)
  return rightsOf(null, each)
}

/** null: none, so that the project is as if it were not there. */
export function permissionsIn({ everywhere, inProjects }: Rights, project: ProjectName): Permissions | null {
  return inProjects.get(project) ?? everywhere
}

/** What is of no project is everybody's. */
export function areSeen(projects: readonly ProjectName[], rights: Rights): boolean {
  return projects.every((project) => permissionsIn(rights, project) !== null)
}

/** The only projects that may be seen; null: all. */
export function seenProjects({ everywhere, inProjects }: Rights): ReadonlySet<ProjectName> | null {
  return everywhere === null ? new Set(inProjects.keys()) : null
}

export function areSameRights(one: Rights, other: Rights): boolean {
  if (one === other) return true
  if (one.everywhere !== other.everywhere || one.inProjects.size !== other.inProjects.size) return false
  return [...one.inProjects].every(([name, held]) => other.inProjects.get(name) === held)
}

/** Differs with what may be done, and where. */
export function keyOfRights({ everywhere, inProjects }: Rights): string {
  const each = [...inProjects].sort(([one], [other]) => (one < other ? -1 : 1))
  return each.length === 0 ? `${everywhere}` : `${everywhere} ${JSON.stringify(each)}`
}

/** Of the whole service: who has it can change who has what. */
const MANAGES_USERS = permissionsOf(['users.change'])
export const managesUsers = ({ everywhere }: Rights): boolean =>
  everywhere !== null && includes(everywhere, MANAGES_USERS)
