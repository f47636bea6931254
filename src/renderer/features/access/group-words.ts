import type { Group, User } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

export type Given = Pick<User, 'role' | 'projects' | 'nodeGroups'>

/** `operator`, `deployer in shop`, `admin of nodes eu` */
export function givenWords({ role, projects, nodeGroups }: Given): string[] {
  return [
    ...(role === null ? [] : [role]),
    ...Object.entries(projects).map(([project, one]) => texts.roleInProject(one, project)),
    ...Object.entries(nodeGroups).map(([tag, one]) => texts.roleOnNodes(one, tag))
  ]
}

export const groupsOf = (user: Pick<User, 'id'>, groups: readonly Group[]): Group[] =>
  groups.filter(({ members }) => members.includes(user.id))

/** The roles that a user has from groups: `operator, from Crawl team`. */
export const fromGroups = (user: Pick<User, 'id'>, groups: readonly Group[]): string[] =>
  groupsOf(user, groups).map((group) => texts.rolesFromGroup(givenWords(group).join(', ') || texts.noRole, group.name))

export interface Loss {
  /** Members who have roles only from this group. */
  lockedOut: User[]
  losing: User[]
}

export function lossOf(group: Group, users: readonly User[], groups: readonly Group[]): Loss {
  const members = users.filter(({ id }) => group.members.includes(id))
  if (givenWords(group).length === 0) return { lockedOut: [], losing: [] }
  const hasMore = (user: User) =>
    [user, ...groupsOf(user, groups).filter(({ id }) => id !== group.id)].some((one) => givenWords(one).length > 0)
  return { lockedOut: members.filter((user) => !hasMore(user)), losing: members.filter(hasMore) }
}

const SHOWN_MAX = 5

/** `anna, ben and kim`; `anna, ben, kim, lee, mia and 7 others`. */
export function namesIn(users: readonly Pick<User, 'name'>[]): string {
  const names = users.map(({ name }) => name).toSorted((one, other) => one.localeCompare(other))
  if (names.length <= SHOWN_MAX + 1) return texts.listOf(names)
  return texts.namesAndOthers(names.slice(0, SHOWN_MAX).join(', '), names.length - SHOWN_MAX)
}
