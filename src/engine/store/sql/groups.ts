import type { GroupId, UserId } from '../../../shared/contract/index.ts'
import type { StoredGroup } from '../records.ts'
import type { Database } from './database.ts'
import { replaceRow } from './upsert.ts'

interface GroupRow extends Omit<StoredGroup, 'role' | 'projects' | 'nodeGroups' | 'members'> {
  role: string
  projects: string
  nodeGroups: string
}

/** Groups of users and their members. Writes run inside the caller's transaction. */
export function createGroups(database: Database) {
  const groups = database.prepare<[], GroupRow>(
    `SELECT id, name, description, role, projects, node_groups AS nodeGroups, created_at_ms AS createdAtMs
       FROM user_groups ORDER BY name`
  )
  const members = database.prepare<[], { groupId: GroupId; userId: UserId }>(
    'SELECT group_id AS groupId, user_id AS userId FROM group_members ORDER BY group_id, user_id'
  )
  const putGroup = database.prepare<GroupRow>(
    replaceRow('user_groups', ['id'], {
      ...{ id: ':id', name: ':name', description: ':description', role: ':role', projects: ':projects' },
      ...{ node_groups: ':nodeGroups', created_at_ms: ':createdAtMs' }
    })
  )
  const addMember = database.prepare<[string, string]>('INSERT INTO group_members (group_id, user_id) VALUES (?, ?)')
  const deleteGroup = database.prepare<[string]>('DELETE FROM user_groups WHERE id = ?')
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
      return groups.all().map(({ role, projects, nodeGroups, ...row }) => ({
        ...row,
        role: role === 'none' ? null : role,
        projects: JSON.parse(projects),
        nodeGroups: JSON.parse(nodeGroups),
        members: byGroup.get(row.id) ?? []
      }))
    },

    putGroup({ members: wanted, role, projects, nodeGroups, ...group }: StoredGroup): void {
      const before = new Set(membersOf().get(group.id))
      putGroup.run({
        ...group,
        role: role ?? 'none',
        projects: JSON.stringify(projects),
        nodeGroups: JSON.stringify(nodeGroups)
      })
      const after = new Set(wanted)
      for (const id of before) if (!after.has(id)) deleteMember.run(group.id, id)
      for (const id of after) if (!before.has(id)) addMember.run(group.id, id)
    },

    deleteGroup(id: GroupId): boolean {
      deleteMembers.run(id)
      return deleteGroup.run(id).changes > 0
    },

    /** The user is in no group any more. */
    leaveAll(id: UserId): void {
      leaveAll.run(id)
    }
  }
}
