import type { AccessTokenId, UserId } from '../../../shared/contract/index.ts'
import type { StoredAccessToken, StoredRole, StoredUser } from '../../model/records.ts'
import type { Database } from './database.ts'
import type { createSecondFactors } from './second-factors.ts'
import { createTable } from './table.ts'

/** Users and the tokens of access. Writes run inside the caller's transaction. */
export function createAccess(database: Database, secondFactors: ReturnType<typeof createSecondFactors>) {
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
    ...{ name: 'custom_roles', key: 'name', order: 'name' },
    fields: 'name description permissions:json createdAtMs'
  })
  const used = database.prepare<[number, string]>('UPDATE access_tokens SET last_used_at_ms = ? WHERE id = ?')

  return {
    listUsers: (): StoredUser[] =>
      users.all().map((user) => ({ ...user, role: user.role === 'none' ? null : user.role })),

    putUser: (user: StoredUser): void => users.put({ ...user, role: user.role ?? 'none' }),

    deleteUser(id: UserId): boolean {
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
