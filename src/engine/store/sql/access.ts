import type { AccessTokenId, UserId } from '../../../shared/contract/index.ts'
import type { Role } from '../../../shared/roles.ts'
import type { StoredAccessToken, StoredUser } from '../records.ts'
import type { Database } from './database.ts'
import type { createSecondFactors } from './second-factors.ts'
import { replaceRow } from './upsert.ts'

interface UserRow extends Omit<StoredUser, 'enabled' | 'role' | 'projects'> {
  enabled: 0 | 1
  role: Role | 'none'
  projects: string
}
interface TokenRow extends Omit<StoredAccessToken, 'projects'> {
  projects: string | null
}

/** Users and the tokens of access. Writes run inside the caller's transaction. */
export function createAccess(database: Database, secondFactors: ReturnType<typeof createSecondFactors>) {
  const users = database.prepare<[], UserRow>(
    `SELECT id, name, kind, role, projects, enabled, password_hash AS passwordHash, created_at_ms AS createdAtMs,
       sessions_since_ms AS sessionsSinceMs, last_seen_at_ms AS lastSeenAtMs, subject,
       vouched_at_ms AS vouchedAtMs FROM users ORDER BY name`
  )
  const putUser = database.prepare<UserRow>(
    replaceRow('users', ['id'], {
      ...{ id: ':id', name: ':name', kind: ':kind', role: ':role', projects: ':projects', enabled: ':enabled' },
      ...{ password_hash: ':passwordHash', created_at_ms: ':createdAtMs', sessions_since_ms: ':sessionsSinceMs' },
      ...{ last_seen_at_ms: ':lastSeenAtMs', subject: ':subject', vouched_at_ms: ':vouchedAtMs' }
    })
  )
  const deleteUser = database.prepare<[string]>('DELETE FROM users WHERE id = ?')
  const seen = database.prepare<[number, string]>('UPDATE users SET last_seen_at_ms = ? WHERE id = ?')
  const tokens = database.prepare<[], TokenRow>(
    `SELECT id, user_id AS userId, name, role, hash, ending, created_at_ms AS createdAtMs,
       expires_at_ms AS expiresAtMs, last_used_at_ms AS lastUsedAtMs, projects FROM access_tokens ORDER BY created_at_ms, id`
  )
  const addToken = database.prepare<TokenRow>(
    `INSERT INTO access_tokens VALUES
       (:id, :userId, :name, :role, :hash, :ending, :createdAtMs, :expiresAtMs, :lastUsedAtMs, :projects)`
  )
  const deleteToken = database.prepare<[string]>('DELETE FROM access_tokens WHERE id = ?')
  const deleteTokensOf = database.prepare<[string]>('DELETE FROM access_tokens WHERE user_id = ?')
  const used = database.prepare<[number, string]>('UPDATE access_tokens SET last_used_at_ms = ? WHERE id = ?')

  return {
    listUsers: (): StoredUser[] => users.all().map(toUser),

    putUser(user: StoredUser): void {
      const { role, projects, enabled } = user
      putUser.run({ ...user, role: role ?? 'none', projects: JSON.stringify(projects), enabled: enabled ? 1 : 0 })
    },

    deleteUser(id: UserId): boolean {
      deleteTokensOf.run(id)
      secondFactors.deleteOf(id)
      return deleteUser.run(id).changes > 0
    },

    listTokens: (): StoredAccessToken[] =>
      tokens.all().map((row) => ({ ...row, projects: row.projects === null ? null : JSON.parse(row.projects) })),

    addToken(token: StoredAccessToken): void {
      addToken.run({ ...token, projects: token.projects === null ? null : JSON.stringify(token.projects) })
    },

    deleteToken: (id: AccessTokenId): boolean => deleteToken.run(id).changes > 0,

    recordUse(users: UserId[], tokens: AccessTokenId[], atMs: number): void {
      for (const id of users) seen.run(atMs, id)
      for (const id of tokens) used.run(atMs, id)
    }
  }
}

function toUser({ role, projects, enabled, ...row }: UserRow): StoredUser {
  return { ...row, role: role === 'none' ? null : role, projects: JSON.parse(projects), enabled: enabled === 1 }
}
