import type { AlertChannelId } from '../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../shared/alert-watches.ts'
import type { StoredAlertFact, StoredDigest } from '../../model/records.ts'
import type { Database } from './database.ts'
import type { Fragments } from './fragments.ts'
import type { Outbox } from './outbox.ts'
import type { NamedRow } from './rows.ts'
import { createTable } from './table.ts'

const FACT = 'id, watch, key, value, since_ms AS "sinceMs", at_ms AS "atMs", subject, text, labels'

export const alertFactsSql = (sql: Fragments) => ({
  page: `SELECT ${FACT} FROM alert_facts
    WHERE watch = :watch AND at_ms >= :atMs AND (at_ms > :atMs OR id > :id)
    ORDER BY at_ms, id LIMIT :limit`,
  newest: `SELECT ${FACT} FROM alert_facts
    WHERE value IS NOT NULL AND id IN (SELECT max(id) FROM alert_facts GROUP BY watch, key) ORDER BY id`,
  prune: `DELETE FROM alert_facts
    WHERE id ${sql.oneOf('SELECT id FROM alert_facts WHERE at_ms < :beforeMs ORDER BY at_ms LIMIT :limit')}`,
  pruneOldest: `DELETE FROM alert_facts
    WHERE id ${sql.oneOf('SELECT id FROM alert_facts ORDER BY at_ms LIMIT ?')}`
})

const EVENT = 'digest'

type Row = NamedRow<StoredAlertFact & { id: number }, 'labels'>

export function createAlertFacts({ database, outbox }: { database: Database; outbox: Outbox }) {
  const statements = alertFactsSql(database.fragments)
  const insert = database.prepare<Omit<Row, 'id'>>(
    `INSERT INTO alert_facts (watch, key, value, since_ms, at_ms, subject, text, labels)
     VALUES (:watch, :key, :value, :sinceMs, :atMs, :subject, :text, :labels)`
  )
  const newest = database.prepare<[], Row>(statements.newest)
  const page = database.prepare<Record<string, string | number>, Row>(statements.page)
  const count = database.prepare<[], number>('SELECT count(*) FROM alert_facts').pluck()
  const prune = database.prepare<{ beforeMs: number; limit: number }>(statements.prune)
  const pruneOldest = database.prepare<[number]>(statements.pruneOldest)
  const digests = createTable<StoredDigest>(database, {
    name: 'alert_digests',
    key: 'channel_id',
    order: 'channel_id',
    fields: 'channelId settings toldMs'
  })
  const digest = database.prepare<[string], Omit<StoredDigest, 'channelId'>>(
    'SELECT settings, told_ms AS "toldMs" FROM alert_digests WHERE channel_id = ?'
  )

  return {
    recordAlertFacts(facts: readonly StoredAlertFact[]): void {
      for (const fact of facts) insert.run({ ...fact, labels: JSON.stringify(fact.labels) })
    },

    listNewestAlertFacts: (): StoredAlertFact[] => newest.all().map(toFact),

    listAlertFacts(
      watch: AlertWatch,
      { fromMs, after, limit }: { fromMs: number; after: { atMs: number; id: number } | null; limit: number }
    ): (StoredAlertFact & { id: number })[] {
      const { atMs, id } = after ?? { atMs: fromMs, id: 0 }
      return page.all({ watch, atMs, id, limit }).map((row) => ({ ...toFact(row), id: row.id }))
    },

    pruneAlertFacts(beforeMs: number, most: number, limit: number): number {
      const old = prune.run({ beforeMs, limit }).changes
      const excess = Math.min(limit - old, (count.get() ?? 0) - most)
      return excess > 0 ? old + pruneOldest.run(excess).changes : old
    },

    listDigests: digests.all,

    sendDigest(sent: StoredDigest, message: { atMs: number; data: unknown } | null): boolean {
      const before = digest.get(sent.channelId)
      if (before?.settings === sent.settings && before.toldMs >= sent.toldMs) return false
      digests.put(sent)
      if (message !== null) outbox.tell(sent.channelId, EVENT, message.atMs, message.data)
      return true
    },

    deleteDigests: (ids: readonly AlertChannelId[]): void => ids.forEach(digests.remove)
  }
}

function toFact({ id: _id, labels, ...row }: Row): StoredAlertFact {
  return { ...row, labels: JSON.parse(labels) as StoredAlertFact['labels'] }
}
