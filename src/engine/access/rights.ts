import type { ProjectName } from '../../shared/contract/index.ts'
import { includesRole, isProjectRole, lesserRole, type ProjectRole, type Role } from '../../shared/roles.ts'

/** The roles that somebody has. */
export interface Rights {
  /** In all projects, and so for the service as a whole; null: only in those named. */
  everywhere: Role | null
  /** In these projects, more than everywhere. */
  inProjects: ReadonlyMap<ProjectName, ProjectRole>
}

const NOWHERE: ReadonlyMap<ProjectName, ProjectRole> = new Map()

export const everywhere = (role: Role): Rights => ({ everywhere: role, inProjects: NOWHERE })

/** As a user has them. Pure. */
export function rightsOf(role: Role | null, projects: Readonly<Record<string, ProjectRole>>): Rights {
  const more = Object.entries(projects).filter(([, one]) => role === null || !includesRole(role, one))
  const inProjects = more.length === 0 ? NOWHERE : new Map(more as [ProjectName, ProjectRole][])
  return { everywhere: role, inProjects }
}

/** What a token of this role may do, by itself in all projects, or only in these. Pure. */
export function narrowRights(rights: Rights, role: Role, projects: readonly ProjectName[] | null): Rights {
  if (projects === null) {
    const { everywhere: all, inProjects } = rights
    const least = all === null ? null : lesserRole(all, role)
    return rightsOf(least, Object.fromEntries([...inProjects].map(([name, one]) => [name, atMost(one, role)])))
  }
  const each = projects.flatMap((name) => {
    const one = roleIn(rights, name)
    return one === null ? [] : [[name, atMost(one, role)] as const]
  })
  return rightsOf(null, Object.fromEntries(each))
}

/** null: none, so that the project is as if it were not there. */
export function roleIn({ everywhere: all, inProjects }: Rights, project: ProjectName): Role | null {
  return inProjects.get(project) ?? all
}

/** What is of no project is everybody's. */
export function areSeen(projects: readonly ProjectName[], rights: Rights): boolean {
  return projects.every((project) => roleIn(rights, project) !== null)
}

/** The highest role that they have anywhere; null: none. */
export function highestRole({ everywhere: all, inProjects }: Rights): Role | null {
  return [...inProjects.values()].reduce<Role | null>(
    (highest, one) => (highest === null || includesRole(one, highest) ? one : highest),
    all
  )
}

/** The only projects that may be seen; null: all. */
export function seenProjects({ everywhere: all, inProjects }: Rights): ReadonlySet<ProjectName> | null {
  return all === null ? new Set(inProjects.keys()) : null
}

export function areSameRights(one: Rights, other: Rights): boolean {
  if (one === other) return true
  if (one.everywhere !== other.everywhere || one.inProjects.size !== other.inProjects.size) return false
  return [...one.inProjects].every(([name, role]) => other.inProjects.get(name) === role)
}

/** A key that differs with the roles in single projects; empty without any. */
export const keyOfProjects = ({ inProjects }: Rights): string =>
  inProjects.size === 0 ? '' : JSON.stringify([...inProjects].sort(([one], [other]) => (one < other ? -1 : 1)))

function atMost(one: Role, other: Role): ProjectRole {
  const least = lesserRole(one, other)
  return isProjectRole(least) ? least : 'deployer'
}
