import type { Database } from './database.ts'
import type { AnswerClaim, AnswerQuota, RememberedAnswer } from '../../model/records.ts'
import { replaceRow } from './table.ts'

export const ANSWERS_SQL = {
  prune: `DELETE FROM remembered_answers WHERE (scope, key) IN
    (SELECT scope, key FROM remembered_answers WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)
    RETURNING scope, octet_length(answer) AS bytes`,
  oldest: `SELECT scope, key, octet_length(answer) AS bytes FROM remembered_answers ORDER BY expires_at_ms`
}

/** The share of a quota that an eviction frees, so that not every claim has to search for the oldest responses. */
const FREED_SHARE = 0.05

interface Row {
  scope: string
  key: string
  bytes: number | null
}

export function createAnswers(database: Database) {
  const find = database.prepare<[string, string, number], RememberedAnswer>(
    `SELECT fingerprint, begun_by AS "begunBy", answer, expires_at_ms AS "expiresAtMs" FROM remembered_answers
      WHERE scope = ? AND key = ? AND expires_at_ms > ?`
  )
  const put = database.prepare<[string, string, string, string, number]>(
    replaceRow('remembered_answers', ['scope', 'key'], {
      scope: '?',
      key: '?',
      fingerprint: '?',
      begun_by: '?',
      answer: 'NULL',
      expires_at_ms: '?'
    })
  )
  const keep = database.prepare<[string, string, string]>(
    'UPDATE remembered_answers SET answer = ? WHERE scope = ? AND key = ?'
  )
  const drop = database.prepare<[string, string], Pick<Row, 'scope' | 'bytes'>>(
    'DELETE FROM remembered_answers WHERE scope = ? AND key = ? RETURNING scope, octet_length(answer) AS bytes'
  )
  const prune = database.prepare<[number, number], Pick<Row, 'scope' | 'bytes'>>(ANSWERS_SQL.prune)
  const countAll = database.prepare<[], { scope: string } & AnswerQuota>(
    'SELECT scope, COUNT(*) AS count, coalesce(SUM(octet_length(answer)), 0) AS bytes FROM remembered_answers GROUP BY scope'
  )
  const oldest = database.prepare<[], Row>(ANSWERS_SQL.oldest)
  const oldestOf = database.prepare<[string], Row>(
    `SELECT scope, key, octet_length(answer) AS bytes FROM remembered_answers WHERE scope = ? ORDER BY expires_at_ms`
  )
  /** By scope; null: not counted yet. After a rollback, the figures are inexact until the next restart. */
  let kept: Map<string, AnswerQuota> | null = null

  function counted(): Map<string, AnswerQuota> {
    return (kept ??= new Map(countAll.all().map(({ scope, count, bytes }) => [scope, { count, bytes }])))
  }

  function add(scope: string, count: number, bytes: number): void {
    const before = counted().get(scope) ?? { count: 0, bytes: 0 }
    counted().set(scope, { count: before.count + count, bytes: before.bytes + bytes })
    if (before.count + count <= 0) counted().delete(scope)
  }

  function remove(scope: string, key: string): void {
    for (const { bytes } of drop.all(scope, key)) add(scope, -1, -(bytes ?? 0))
  }

  function isOver(now: AnswerQuota, { count, bytes }: AnswerQuota, share = 1): boolean {
    return now.count > count * share || now.bytes > bytes * share
  }

  function evict(rows: Iterable<Row>, now: AnswerQuota, quota: AnswerQuota): void {
    const going: Row[] = []
    let { count, bytes } = now
    for (const row of rows) {
      if (!isOver({ count, bytes }, quota, 1 - FREED_SHARE)) break
      going.push(row)
      count -= 1
      bytes -= row.bytes ?? 0
    }
    for (const { scope, key } of going) remove(scope, key)
  }

  function makeRoom(scope: string, { ofScope, ofAll }: AnswerClaim['quota']): void {
    const own = counted().get(scope)
    if (own !== undefined && isOver({ ...own, count: own.count + 1 }, ofScope))
      evict(oldestOf.iterate(scope), own, ofScope)
    let [count, bytes] = [0, 0]
    for (const one of counted().values()) {
      count += one.count
      bytes += one.bytes
    }
    if (isOver({ count: count + 1, bytes }, ofAll)) evict(oldest.iterate(), { count, bytes }, ofAll)
  }

  return {
    claimAnswer({ scope, key, fingerprint, begunBy, nowMs, expiresAtMs, quota }: AnswerClaim): RememberedAnswer | null {
      const earlier = find.get(scope, key, nowMs)
      if (earlier !== undefined) return earlier
      makeRoom(scope, quota)
      remove(scope, key)
      put.run(scope, key, fingerprint, begunBy, expiresAtMs)
      add(scope, 1, 0)
      return null
    },
    keepAnswer(scope: string, key: string, answer: RememberedAnswer['answer']): void {
      if (answer === null) return remove(scope, key)
      const { changes } = keep.run(answer, scope, key)
      if (changes > 0) add(scope, 0, Buffer.byteLength(answer))
    },
    prune(nowMs: number, limit: number): number {
      const gone = prune.all(nowMs, limit)
      for (const { scope, bytes } of gone) add(scope, -1, -(bytes ?? 0))
      return gone.length
    }
  }
}
