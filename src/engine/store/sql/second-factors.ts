import type { PasskeyId, UserId } from '../../../shared/contract/index.ts'
import type { StoredAuthenticator, StoredPasskey } from '../records.ts'
import type { Database } from './database.ts'
import { replaceRow } from './upsert.ts'

type AuthenticatorRow = Omit<StoredAuthenticator, 'recoveryHashes'>

/** Authenticator apps, their recovery codes, and passkeys. Writes run inside the caller's transaction. */
export function createSecondFactors(database: Database) {
  const authenticators = database.prepare<[], AuthenticatorRow>(
    `SELECT user_id AS userId, sealed_secret AS sealedSecret, created_at_ms AS createdAtMs, used_step AS usedStep
     FROM authenticators ORDER BY user_id`
  )
  const recoveryCodes = database.prepare<[], { userId: UserId; hash: string }>(
    'SELECT user_id AS userId, hash FROM recovery_codes ORDER BY user_id, hash'
  )
  const putAuthenticator = database.prepare<AuthenticatorRow>(
    replaceRow('authenticators', ['user_id'], {
      ...{ user_id: ':userId', sealed_secret: ':sealedSecret' },
      ...{ created_at_ms: ':createdAtMs', used_step: ':usedStep' }
    })
  )
  const useStep = database.prepare<[number, string, number]>(
    'UPDATE authenticators SET used_step = ? WHERE user_id = ? AND used_step < ?'
  )
  const deleteAuthenticator = database.prepare<[string]>('DELETE FROM authenticators WHERE user_id = ?')
  const addCode = database.prepare<[string, string]>('INSERT INTO recovery_codes VALUES (?, ?)')
  const useCode = database.prepare<[string, string]>('DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?')
  const deleteCodes = database.prepare<[string]>('DELETE FROM recovery_codes WHERE user_id = ?')
  const passkeys = database.prepare<[], StoredPasskey>(
    `SELECT id, user_id AS userId, credential_id AS credentialId, name, host, public_key AS publicKey,
       sign_count AS signCount, created_at_ms AS createdAtMs, last_used_at_ms AS lastUsedAtMs
     FROM passkeys ORDER BY created_at_ms, id`
  )
  const addPasskey = database.prepare<StoredPasskey>(
    `INSERT INTO passkeys VALUES
       (:id, :userId, :credentialId, :name, :host, :publicKey, :signCount, :createdAtMs, :lastUsedAtMs)`
  )
  const usePasskey = database.prepare<{ id: string; signCount: number; atMs: number }>(
    `UPDATE passkeys SET sign_count = :signCount, last_used_at_ms = :atMs
     WHERE id = :id AND (sign_count < :signCount OR (sign_count = 0 AND :signCount = 0))`
  )
  const deletePasskey = database.prepare<[string, string]>('DELETE FROM passkeys WHERE user_id = ? AND id = ?')
  const deletePasskeys = database.prepare<[string]>('DELETE FROM passkeys WHERE user_id = ?')
  const facts = database.prepare<[string], { id: string; name: string; hasAuthenticator: number; codeCount: number }>(
    `SELECT id, name, (SELECT count(*) FROM authenticators WHERE user_id = users.id) AS hasAuthenticator,
       (SELECT count(*) FROM recovery_codes WHERE user_id = users.id) AS codeCount FROM users WHERE id = ?`
  )

  function putRecoveryCodes(userId: UserId, hashes: readonly string[]): void {
    deleteCodes.run(userId)
    for (const hash of hashes) addCode.run(userId, hash)
  }

  function removeAuthenticator(userId: UserId): boolean {
    deleteCodes.run(userId)
    return deleteAuthenticator.run(userId).changes > 0
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
      putAuthenticator.run(row)
      putRecoveryCodes(row.userId, recoveryHashes)
    },

    useAuthenticatorStep: (userId: UserId, step: number): boolean => useStep.run(step, userId, step).changes > 0,

    useRecoveryCode: (userId: UserId, hash: string): boolean => useCode.run(userId, hash).changes > 0,

    listPasskeys: (): StoredPasskey[] => passkeys.all(),

    addPasskey(passkey: StoredPasskey): void {
      addPasskey.run(passkey)
    },

    usePasskey: (id: PasskeyId, signCount: number, atMs: number): boolean =>
      usePasskey.run({ id, signCount, atMs }).changes > 0,

    deletePasskey: (userId: UserId, id: PasskeyId): boolean => deletePasskey.run(userId, id).changes > 0,

    deleteSecondFactors(userId: UserId): boolean {
      const had = removeAuthenticator(userId)
      return deletePasskeys.run(userId).changes > 0 || had
    },

    /** For the audit log: what a user has, without anything that could be used. */
    factsOf: (userId: UserId) =>
      facts.all(userId).map(({ hasAuthenticator, codeCount, ...user }) => ({
        ...user,
        authenticator: hasAuthenticator > 0,
        recoveryCodes: codeCount,
        passkeys: passkeys.all().flatMap((one) => (one.userId === userId ? [one.name] : []))
      }))
  }
}
