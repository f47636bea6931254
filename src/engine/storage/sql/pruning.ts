import type { Database } from './database.ts'
import type { Fragments } from './fragments.ts'
import type { Retention } from '../../model/records.ts'
import type { createAnswers } from './remembered-answers.ts'
import type { ChainEnds } from './chain-ends.ts'
import type { ChangeLog } from './change-log.ts'
import type { Outbox } from './outbox.ts'

export const pruningSql = (sql: Fragments) => ({
  oldest: 'SELECT id, schedule_id, nominal_ms, at_ms, origin, state FROM firings ORDER BY id LIMIT ?',
  oldestOf: `SELECT id, schedule_id, nominal_ms, at_ms, origin, state FROM firings
    WHERE schedule_id = :id ORDER BY id LIMIT :limit`,
  tooMany:
    'SELECT schedule_id AS id, firing_count - :newest AS excess FROM schedule_progress WHERE firing_count > :newest',
  remove: 'DELETE FROM firings WHERE id = ?',
  recordPruned: `UPDATE schedule_progress SET firing_count = firing_count - :count,
      pruned_from_ms = coalesce(${sql.least}(pruned_from_ms, :fromMs), pruned_from_ms, :fromMs),
      pruned_until_ms = coalesce(${sql.greatest}(pruned_until_ms, :untilMs), pruned_until_ms, :untilMs)
    WHERE schedule_id = :id`
})

interface OldFiring {
  id: number
  schedule_id: string
  nominal_ms: number
  at_ms: number
  origin: string
  state: string
}

export function createPruning({
  database,
  changes,
  outbox,
  answers,
  chainEnds
}: {
  database: Database
  changes: Pick<ChangeLog, 'prune'>
  outbox: Pick<Outbox, 'prune'>
  answers: Pick<ReturnType<typeof createAnswers>, 'prune'>
  chainEnds: Pick<ChainEnds, 'prune'>
}): (retention: Retention, limit: number) => number {
  const statements = pruningSql(database.fragments)
  const oldest = database.prepare<[number], OldFiring>(statements.oldest)
  const oldestOf = database.prepare<{ id: string; limit: number }, OldFiring>(statements.oldestOf)
  const tooMany = database.prepare<{ newest: number }, { id: string; excess: number }>(statements.tooMany)
  const remove = database.prepare<[number]>(statements.remove)
  const recordPruned = database.prepare<{ id: string; count: number; fromMs: number | null; untilMs: number | null }>(
    statements.recordPruned
  )

  /**
   * Deletes firings and records the range of times at which the schedule fired. Whether it fired at a given time in
   * that range is then unknown.
   */
  function forget(rows: OldFiring[]): number {
    for (const [id, those] of Map.groupBy(rows, (row) => row.schedule_id)) {
      for (const row of those) remove.run(row.id)
      const fired = those.filter(({ origin, state }) => origin !== 'manual' && state === 'fired')
      const times = fired.map((row) => row.nominal_ms)
      const [fromMs, untilMs] = times.length === 0 ? [null, null] : [Math.min(...times), Math.max(...times)]
      recordPruned.run({ id, count: those.length, fromMs, untilMs })
    }
    return rows.length
  }

  function pruneFirings({ nowMs, firings: { newest, sinceMs, except } }: Retention, limit: number): number {
    const isKept = new Set(except)
    // If the clock was set back, a moment can be in the future again. Keep its row, so that it does not fire twice.
    const mayGo = (row: OldFiring) => row.nominal_ms <= nowMs && !isKept.has(row.schedule_id)
    let left = limit - forget(oldest.all(limit).filter((row) => row.at_ms < sinceMs && mayGo(row)))
    for (const { id, excess } of tooMany.all({ newest })) {
      if (left <= 0) break
      if (!isKept.has(id)) left -= forget(oldestOf.all({ id, limit: Math.min(excess, left) }).filter(mayGo))
    }
    return limit - left
  }

  return (retention, limit) => {
    let left = limit - changes.prune(retention.changes, limit)
    left -= outbox.prune(retention.deliveries, left)
    left -= answers.prune(retention.nowMs, left)
    left -= chainEnds.prune(retention.chains, left)
    if (left > 0) left -= pruneFirings(retention, left)
    return limit - left
  }
}
