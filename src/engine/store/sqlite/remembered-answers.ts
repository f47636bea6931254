import type { Database } from 'better-sqlite3'
import type { AnswerClaim, RememberedAnswer } from '../records.ts'

export const ANSWERS_SQL = {
  prune: `DELETE FROM remembered_answers WHERE (scope, key) IN
    (SELECT scope, key FROM remembered_answers WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)`
}

/** Answers to requests with an idempotency key, for retries. Runs inside the caller's transaction. */
export function createAnswers(database: Database) {
  const find = database.prepare<[string, string, number], RememberedAnswer>(
    `SELECT fingerprint, begun_by AS begunBy, answer, expires_at_ms AS expiresAtMs FROM remembered_answers
      WHERE scope = ? AND key = ? AND expires_at_ms > ?`
  )
  const put = database.prepare<[string, string, string, string, number]>(
    'INSERT OR REPLACE INTO remembered_answers (scope, key, fingerprint, begun_by, answer, expires_at_ms) VALUES (?, ?, ?, ?, NULL, ?)'
  )
  const keep = database.prepare<[string, string, string]>(
    'UPDATE remembered_answers SET answer = ? WHERE scope = ? AND key = ?'
  )
  const drop = database.prepare<[string, string]>('DELETE FROM remembered_answers WHERE scope = ? AND key = ?')
  const prune = database.prepare<[number, number]>(ANSWERS_SQL.prune)
  return {
    claim({ scope, key, fingerprint, begunBy, nowMs, expiresAtMs }: AnswerClaim): RememberedAnswer | null {
      const earlier = find.get(scope, key, nowMs)
      if (earlier !== undefined) return earlier
      put.run(scope, key, fingerprint, begunBy, expiresAtMs)
      return null
    },
    keep(scope: string, key: string, answer: RememberedAnswer['answer']): void {
      if (answer === null) drop.run(scope, key)
      else keep.run(answer, scope, key)
    },
    /** Deletes expired answers, oldest first. */
    prune: (nowMs: number, limit: number): number => prune.run(nowMs, limit).changes
  }
}
