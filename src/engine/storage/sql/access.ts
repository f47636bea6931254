import type { AccessTokenId, UserId, GroupId } from '../../../shared/contract/index.ts'
import type { StoredAccessToken, StoredRole, StoredUser, StoredGroup } from '../../model/records.ts'
import type { Database } from './database.ts'
import type { createSecondFactors } from './second-factors.ts'
import { createTable } from './table.ts'

export function createAccess({
  database,
  secondFactors,
  groups
}: {
  database: Database
  secondFactors: Pick<ReturnType<typeof createSecondFactors>, 'deleteSecondFactors'>
  groups: Pick<ReturnType<typeof createGroups>, 'leaveAll'>
}) {
  const users = createTable<Omit<StoredUser, 'role'> & { role: string }>(database, {
    name: 'users',
    order: 'name',
    fields: `id name kind passwordHash createdAtMs sessionsSinceMs lastSeenAtMs subject vouchedAtMs role enabled:flag
      projects:json nodeGroups:json`
  })
  const seen = database.prepare<[number, string]>('UPDATE users SET last_seen_at_ms = ? WHERE id = ?')
  const tokens = createTable<StoredAccessToken>(database, {
    name: 'access_tokens',
    order: 'created_at_ms, id',
    fields: `id userId name role hash ending createdAtMs expiresAtMs lastUsedAtMs projects:json nodeGroups:json`
  })
  const deleteTokensOf = database.prepare<[string]>('DELETE FROM access_tokens WHERE user_id = ?')
  const roles = createTable<StoredRole>(database, {
    name: 'custom_roles',
    key: 'name',
    order: 'name',
    fields: 'name description permissions:json createdAtMs'
  })
  const used = database.prepare<[number, string]>('UPDATE access_tokens SET last_used_at_ms = ? WHERE id = ?')

  return {
    listUsers: (): StoredUser[] =>
      users.all().map((user) => ({ ...user, role: user.role === 'none' ? null : user.role })),

    putUser: (user: StoredUser): void => users.put({ ...user, role: user.role ?? 'none' }),

    deleteUser(id: UserId): boolean {
      groups.leaveAll(id)
      deleteTokensOf.run(id)
      secondFactors.deleteSecondFactors(id)
      return users.remove(id)
    },

    listAccessTokens: tokens.all,
    addAccessToken: tokens.put,
    deleteAccessToken: (id: AccessTokenId): boolean => tokens.remove(id),
    listRoles: roles.all,
    putRole: roles.put,
    deleteRole: roles.remove,

    recordAccess(users: UserId[], tokens: AccessTokenId[], atMs: number): void {
      for (const id of users) seen.run(atMs, id)
      for (const id of tokens) used.run(atMs, id)
    }
  }
}

export function createGroups(database: Database) {
  const groups = createTable<Omit<StoredGroup, 'role' | 'members'> & { role: string }>(database, {
    name: 'user_groups',
    order: 'name',
    fields: 'id name description createdAtMs role projects:json nodeGroups:json'
  })
  const members = database.prepare<[], { groupId: GroupId; userId: UserId }>(
    'SELECT group_id AS "groupId", user_id AS "userId" FROM group_members ORDER BY group_id, user_id'
  )
  const addMember = database.prepare<[string, string]>('INSERT INTO group_members (group_id, user_id) VALUES (?, ?)')
  const deleteMembers = database.prepare<[string]>('DELETE FROM group_members WHERE group_id = ?')
  const deleteMember = database.prepare<[string, string]>(
    'DELETE FROM group_members WHERE group_id = ? AND user_id = ?'
  )
  const leaveAll = database.prepare<[string]>('DELETE FROM group_members WHERE user_id = ?')

  function membersOf(): Map<GroupId, UserId[]> {
    const byGroup = Map.groupBy(members.all(), ({ groupId }) => groupId)
    return new Map([...byGroup].map(([id, rows]) => [id, rows.map(({ userId }) => userId)]))
  }

  return {
    listGroups(): StoredGroup[] {
      const byGroup = membersOf()
      return groups.all().map((group) => ({
        ...group,
        role: group.role === 'none' ? null : group.role,
        members: byGroup.get(group.id) ?? []
      }))
    },

    putGroup({ members: wanted, ...group }: StoredGroup): void {
      const before = new Set(membersOf().get(group.id))
      groups.put({ ...group, role: group.role ?? 'none' })
      const after = new Set(wanted)
      for (const id of before) if (!after.has(id)) deleteMember.run(group.id, id)
      for (const id of after) if (!before.has(id)) addMember.run(group.id, id)
    },

    deleteGroup(id: GroupId): boolean {
      deleteMembers.run(id)
      return groups.remove(id)
    },

    leaveAll(id: UserId): void {
      leaveAll.run(id)
    }
  }
}
