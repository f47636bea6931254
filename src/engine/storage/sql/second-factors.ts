import type { PasskeyId, UserId } from '../../../shared/contract/index.ts'
import type { StoredAuthenticator, StoredPasskey } from '../../model/records.ts'
import type { Database } from './database.ts'
import { createTable } from './table.ts'

export function createSecondFactors(database: Database) {
  const authenticators = createTable<Omit<StoredAuthenticator, 'recoveryHashes'>>(database, {
    name: 'authenticators',
    key: 'user_id',
    order: 'user_id',
    fields: 'userId sealedSecret createdAtMs usedStep'
  })
  const recoveryCodes = database.prepare<[], { userId: UserId; hash: string }>(
    'SELECT user_id AS "userId", hash FROM recovery_codes ORDER BY user_id, hash'
  )
  const useStep = database.prepare<[number, string, number]>(
    'UPDATE authenticators SET used_step = ? WHERE user_id = ? AND used_step < ?'
  )
  const addCode = database.prepare<[string, string]>('INSERT INTO recovery_codes VALUES (?, ?)')
  const useCode = database.prepare<[string, string]>('DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?')
  const deleteCodes = database.prepare<[string]>('DELETE FROM recovery_codes WHERE user_id = ?')
  const passkeys = createTable<StoredPasskey>(database, {
    name: 'passkeys',
    order: 'created_at_ms, id',
    fields: 'id userId credentialId name host publicKey signCount createdAtMs lastUsedAtMs'
  })
  const usePasskey = database.prepare<{ id: string; signCount: number; atMs: number }>(
    `UPDATE passkeys SET sign_count = :signCount, last_used_at_ms = :atMs
     WHERE id = :id AND (sign_count < :signCount OR (sign_count = 0 AND :signCount = 0))`
  )
  const deletePasskey = database.prepare<[string, string]>('DELETE FROM passkeys WHERE user_id = ? AND id = ?')
  const deletePasskeys = database.prepare<[string]>('DELETE FROM passkeys WHERE user_id = ?')
  const facts = database.prepare<[string], { id: string; name: string; hasAuthenticator: number; codeCount: number }>(
    `SELECT id, name, (SELECT count(*) FROM authenticators WHERE user_id = users.id) AS "hasAuthenticator",
       (SELECT count(*) FROM recovery_codes WHERE user_id = users.id) AS "codeCount" FROM users WHERE id = ?`
  )

  function putRecoveryCodes(userId: UserId, hashes: readonly string[]): void {
    deleteCodes.run(userId)
    for (const hash of hashes) addCode.run(userId, hash)
  }

  function removeAuthenticator(userId: UserId): boolean {
    deleteCodes.run(userId)
    return authenticators.remove(userId)
  }

  return {
    putRecoveryCodes,
    deleteAuthenticator: removeAuthenticator,

    listAuthenticators(): StoredAuthenticator[] {
      const codes = Map.groupBy(recoveryCodes.all(), ({ userId }) => userId)
      return authenticators
        .all()
        .map((row) => ({ ...row, recoveryHashes: (codes.get(row.userId) ?? []).map(({ hash }) => hash) }))
    },

    putAuthenticator({ recoveryHashes, ...row }: StoredAuthenticator): void {
      authenticators.put(row)
      putRecoveryCodes(row.userId, recoveryHashes)
    },

    useAuthenticatorStep: (userId: UserId, step: number): boolean => useStep.run(step, userId, step).changes > 0,

    useRecoveryCode: (userId: UserId, hash: string): boolean => useCode.run(userId, hash).changes > 0,

    listPasskeys: passkeys.all,
    addPasskey: passkeys.put,

    usePasskey: (id: PasskeyId, signCount: number, atMs: number): boolean =>
      usePasskey.run({ id, signCount, atMs }).changes > 0,

    deletePasskey: (userId: UserId, id: PasskeyId): boolean => deletePasskey.run(userId, id).changes > 0,

    deleteSecondFactors(userId: UserId): boolean {
      const had = removeAuthenticator(userId)
      return deletePasskeys.run(userId).changes > 0 || had
    },

    /** For the audit log: what a user has, without anything that could be used to log in. */
    factsOf: (userId: UserId) =>
      facts.all(userId).map(({ hasAuthenticator, codeCount, ...user }) => ({
        ...user,
        authenticator: hasAuthenticator > 0,
        recoveryCodes: codeCount,
        passkeys: passkeys.all().flatMap((one) => (one.userId === userId ? [one.name] : []))
      }))
  }
}
