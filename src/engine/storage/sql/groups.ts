import type { GroupId, UserId } from '../../../shared/contract/index.ts'
import type { StoredGroup } from '../../model/records.ts'
import type { Database } from './database.ts'
import { createTable } from './table.ts'

/** Groups of users and their members. Writes run inside the caller's transaction. */
export function createGroups(database: Database) {
  const groups = createTable<Omit<StoredGroup, 'role' | 'members'> & { role: string }>(database, {
    ...{ name: 'user_groups', order: 'name' },
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
    list(): StoredGroup[] {
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

    /** The user is in no group any more. */
    leaveAll(id: UserId): void {
      leaveAll.run(id)
    }
  }
}
