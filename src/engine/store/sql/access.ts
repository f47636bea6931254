import type { AccessTokenId, UserId } from '../../../shared/contract/index.ts'
import type { StoredAccessToken, StoredRole, StoredUser } from '../records.ts'
import type { Database } from './database.ts'
import type { createSecondFactors } from './second-factors.ts'
import { replaceRow } from './upsert.ts'

interface UserRow extends Omit<StoredUser, 'enabled' | 'role' | 'projects' | 'nodeGroups'> {
  enabled: 0 | 1
  role: string
  projects: string
  nodeGroups: string
}
interface RoleRow extends Omit<StoredRole, 'permissions'> {
  permissions: string
}
interface TokenRow extends Omit<StoredAccessToken, 'projects' | 'nodeGroups'> {
  projects: string | null
  nodeGroups: string | null
}

/** Users and the tokens of access. Writes run inside the caller's transaction. */
export function createAccess(database: Database, secondFactors: ReturnType<typeof createSecondFactors>) {
  const users = database.prepare<[], UserRow>(
    `SELECT id, name, kind, role, projects, node_groups AS nodeGroups, enabled, password_hash AS passwordHash, created_at_ms AS createdAtMs,
       sessions_since_ms AS sessionsSinceMs, last_seen_at_ms AS lastSeenAtMs, subject,
       vouched_at_ms AS vouchedAtMs FROM users ORDER BY name`
  )
  const putUser = database.prepare<UserRow>(
    replaceRow('users', ['id'], {
      ...{ id: ':id', name: ':name', kind: ':kind', role: ':role', projects: ':projects', enabled: ':enabled' },
      node_groups: ':nodeGroups',
      ...{ password_hash: ':passwordHash', created_at_ms: ':createdAtMs', sessions_since_ms: ':sessionsSinceMs' },
      ...{ last_seen_at_ms: ':lastSeenAtMs', subject: ':subject', vouched_at_ms: ':vouchedAtMs' }
    })
  )
  const deleteUser = database.prepare<[string]>('DELETE FROM users WHERE id = ?')
  const seen = database.prepare<[number, string]>('UPDATE users SET last_seen_at_ms = ? WHERE id = ?')
  const tokens = database.prepare<[], TokenRow>(
    `SELECT id, user_id AS userId, name, role, hash, ending, created_at_ms AS createdAtMs,
       expires_at_ms AS expiresAtMs, last_used_at_ms AS lastUsedAtMs, projects, node_groups AS nodeGroups
       FROM access_tokens ORDER BY created_at_ms, id`
  )
  const addToken = database.prepare<TokenRow>(
    `INSERT INTO access_tokens VALUES
       (:id, :userId, :name, :role, :hash, :ending, :createdAtMs, :expiresAtMs, :lastUsedAtMs, :projects,
        :nodeGroups)`
  )
  const deleteToken = database.prepare<[string]>('DELETE FROM access_tokens WHERE id = ?')
  const deleteTokensOf = database.prepare<[string]>('DELETE FROM access_tokens WHERE user_id = ?')
  const roles = database.prepare<[], RoleRow>(
    'SELECT name, description, permissions, created_at_ms AS createdAtMs FROM custom_roles ORDER BY name'
  )
  const putRole = database.prepare<RoleRow>(
    replaceRow('custom_roles', ['name'], {
      ...{ name: ':name', description: ':description', permissions: ':permissions', created_at_ms: ':createdAtMs' }
    })
  )
  const deleteRole = database.prepare<[string]>('DELETE FROM custom_roles WHERE name = ?')
  const used = database.prepare<[number, string]>('UPDATE access_tokens SET last_used_at_ms = ? WHERE id = ?')

  return {
    listUsers: (): StoredUser[] => users.all().map(toUser),

    putUser(user: StoredUser): void {
      const { role, projects, nodeGroups, enabled } = user
      putUser.run({
        ...{ ...user, role: role ?? 'none', enabled: enabled ? 1 : 0 },
        ...{ projects: JSON.stringify(projects), nodeGroups: JSON.stringify(nodeGroups) }
      })
    },

    deleteUser(id: UserId): boolean {
      deleteTokensOf.run(id)
      secondFactors.deleteSecondFactors(id)
      return deleteUser.run(id).changes > 0
    },

    listAccessTokens: (): StoredAccessToken[] =>
      tokens.all().map((row) => ({
        ...row,
        projects: row.projects === null ? null : JSON.parse(row.projects),
        nodeGroups: row.nodeGroups === null ? null : JSON.parse(row.nodeGroups)
      })),

    addAccessToken(token: StoredAccessToken): void {
      const { projects, nodeGroups } = token
      addToken.run({
        ...token,
        projects: projects === null ? null : JSON.stringify(projects),
        nodeGroups: nodeGroups === null ? null : JSON.stringify(nodeGroups)
      })
    },

    deleteAccessToken: (id: AccessTokenId): boolean => deleteToken.run(id).changes > 0,

    listRoles: (): StoredRole[] =>
      roles.all().map((row) => ({ ...row, permissions: JSON.parse(row.permissions) as string[] })),

    putRole(role: StoredRole): void {
      putRole.run({ ...role, permissions: JSON.stringify(role.permissions) })
    },

    deleteRole: (name: string): boolean => deleteRole.run(name).changes > 0,

    recordAccess(users: UserId[], tokens: AccessTokenId[], atMs: number): void {
      for (const id of users) seen.run(atMs, id)
      for (const id of tokens) used.run(atMs, id)
    }
  }
}

function toUser({ role, projects, nodeGroups, enabled, ...row }: UserRow): StoredUser {
  return {
    ...{ ...row, role: role === 'none' ? null : role, enabled: enabled === 1 },
    ...{ projects: JSON.parse(projects), nodeGroups: JSON.parse(nodeGroups) }
  }
}
