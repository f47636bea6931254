import type { Group, User } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

export type Given = Pick<User, 'role' | 'projects' | 'nodeGroups'>

/** What is given, one by one: `operator`, `deployer in shop`, `admin of nodes eu`. */
export function givenWords({ role, projects, nodeGroups }: Given): string[] {
  return [
    ...(role === null ? [] : [role]),
    ...Object.entries(projects).map(([project, one]) => texts.inIt2(one, project)),
    ...Object.entries(nodeGroups).map(([tag, one]) => texts.ofNodes(one, tag))
  ]
}

export const groupsOf = (user: Pick<User, 'id'>, groups: readonly Group[]): Group[] =>
  groups.filter(({ members }) => members.includes(user.id))

/** What a user may do by groups alone: `operator, from Crawl team`. */
export const fromGroups = (user: Pick<User, 'id'>, groups: readonly Group[]): string[] =>
  groupsOf(user, groups).map((group) => `${givenWords(group).join(', ') || texts.noRole}, from ${group.name}`)

export interface Loss {
  /** Members whose only roles these are. */
  lockedOut: User[]
  /** All others, who lose them. */
  losing: User[]
}

/** Whom it concerns if the group is removed, or if it has none of these members any more. */
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
  if (names.length <= 1) return names.join('')
  if (names.length <= SHOWN_MAX + 1) return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  return texts.andOthers(names.slice(0, SHOWN_MAX).join(', '), names.length - SHOWN_MAX)
}
