import type { Group, GroupChanges, GroupId, NewGroup, UserId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredGroup } from '../model/records.ts'
import { type Directory, foldName, type InTurn } from './directory.ts'
import type { Roles } from './roles.ts'

const GROUPS_MAX = 200
const MEMBERS_MAX = 1_000

type GivenGroup = Pick<NewGroup, 'name'> & Partial<NewGroup>

export interface GroupCommandsParts {
  directory: Directory
  inTurn: InTurn
  roles: Pick<Roles, 'requireGiven'>
  clock: Clock
  random: Random
}

export class GroupCommands {
  readonly #directory: Directory
  readonly #parts: GroupCommandsParts

  constructor(parts: GroupCommandsParts) {
    this.#directory = parts.directory
    this.#parts = parts
  }

  list(): Group[] {
    return [...this.#directory.groups]
  }

  namesOf(userId: UserId): string[] {
    return this.#directory.groupsOf(userId).map(({ name }) => name)
  }

  /** Rejects with GROUP_NAME_TAKEN, USER_NOT_FOUND or BAD_INPUT. */
  create({
    name,
    description = '',
    role = null,
    projects = {},
    nodeGroups = {},
    members = []
  }: GivenGroup): Promise<Group> {
    return this.#parts.inTurn(async () => {
      this.#refuseNamesake(name)
      if (this.#directory.groups.length >= GROUPS_MAX) {
        throw new ScrapdeckError('BAD_INPUT', sentence('access.too_many_groups', { groupsMax: GROUPS_MAX }))
      }
      const { roles, clock, random } = this.#parts
      roles.requireGiven({ role, projects })
      const id = random.hex(16) as GroupId
      const createdAtMs = clock.nowMs()
      const rights = { role, projects, nodeGroups }
      return this.#put({ id, name, description, ...rights, members: this.#checked(members), createdAtMs })
    })
  }

  /** Rejects with GROUP_NOT_FOUND, GROUP_NAME_TAKEN, USER_NOT_FOUND, BAD_INPUT. */
  update(id: GroupId, { members, addMembers = [], removeMembers = [], ...changes }: GroupChanges): Promise<Group> {
    return this.#parts.inTurn(async () => {
      const before = requireGroup(this.#directory, id)
      if (changes.name !== undefined) this.#refuseNamesake(changes.name, id)
      const gone = new Set(removeMembers)
      const wanted = [...(members ?? before.members), ...addMembers].filter((member) => !gone.has(member))
      const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
      const after = { ...before, ...given }
      if (changes.role !== undefined || changes.projects !== undefined) this.#parts.roles.requireGiven(after)
      return this.#put({ ...after, members: this.#checked(wanted) })
    })
  }

  remove(id: GroupId): Promise<boolean> {
    return this.#parts.inTurn(async () => {
      requireGroup(this.#directory, id)
      return this.#directory.deleteGroup(id)
    })
  }

  async #put(group: StoredGroup): Promise<Group> {
    await this.#directory.putGroup(group)
    return group
  }

  #checked(members: readonly UserId[]): UserId[] {
    const each = [...new Set(members)].toSorted()
    for (const id of each) this.#directory.requireUser(id)
    refuseTooManyMembers(each.length)
    return each
  }

  #refuseNamesake(name: string, of?: GroupId): void {
    const other = this.#directory.groups.find((group) => foldName(group.name) === foldName(name))
    if (other === undefined || other.id === of) return
    throw new ScrapdeckError('GROUP_NAME_TAKEN', sentence('access.group_name_taken', { name: other.name }))
  }
}

export function requireGroup(directory: Directory, id: GroupId): StoredGroup {
  const group = directory.group(id)
  if (group !== undefined) return group
  throw new ScrapdeckError('GROUP_NOT_FOUND', sentence('access.no_group', { id }))
}

export function refuseTooManyMembers(count: number): void {
  if (count <= MEMBERS_MAX) return
  throw new ScrapdeckError('BAD_INPUT', sentence('access.too_many_members', { most: MEMBERS_MAX, wanted: count }))
}
