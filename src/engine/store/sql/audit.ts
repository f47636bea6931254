import type { AuditChange, AuditFilter } from '../../../shared/contract/index.ts'
import { columnsOf, EMPTY_CHAIN, hashOf, writeRecord } from '../audit/chain.ts'
import type { AuditChain, NewAuditRecord, StoredAuditEntry } from '../records.ts'
import type { Database } from './database.ts'
import type { Outbox } from './outbox.ts'
import { replaceRow } from './upsert.ts'

const ENTRY = 'seq, at_ms AS atMs, operation, who, project, result, record, hash'

export const AUDIT_SQL = {
  after: `SELECT ${ENTRY} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`,
  /** Looks at all between two places: only the place is in an index. */
  between: `SELECT ${ENTRY}, (SELECT earlier.hash FROM audit AS earlier WHERE earlier.seq = audit.seq - 1) AS previousHash
    FROM audit WHERE seq < :before AND seq >= :since
    AND (CAST(:who AS TEXT) IS NULL OR who LIKE :who ESCAPE '\\')
    AND (CAST(:operation AS TEXT) IS NULL OR operation LIKE :operation ESCAPE '\\')
    AND (CAST(:project AS TEXT) IS NULL OR project = :project)
    AND (CAST(:result AS TEXT) IS NULL OR result = :result)
    AND (CAST(:text AS TEXT) IS NULL OR record LIKE :text ESCAPE '\\')
    AND at_ms >= :fromMs AND at_ms < :untilMs
    ORDER BY seq DESC LIMIT :limit`,
  /** Where a clock was set back, a few entries are not where their time would have them, and are missed by these two. */
  lastUntil: 'SELECT seq FROM audit WHERE at_ms < ? ORDER BY at_ms DESC, seq DESC LIMIT 1',
  firstFrom: 'SELECT seq FROM audit WHERE at_ms >= ? ORDER BY at_ms, seq LIMIT 1',
  prune: 'DELETE FROM audit WHERE seq <= ?'
}

/** Entries that one page looks at. */
const LOOKED_AT_MAX = 20_000
const EVER_MS = Number.MAX_SAFE_INTEGER

export type Audit = ReturnType<typeof createAudit>

/**
 * Who did or tried what, each entry chained to the one before it by its hash. Nothing is kept in memory: a write that
 * is rolled back leaves the chain as it was. Writes run inside the caller's transaction; no two are at the same time.
 */
export function createAudit({ database, outbox }: { database: Database; outbox: Pick<Outbox, 'record'> }) {
  const chain = database.prepare<
    [],
    { deletedSeq: number; deletedHash: string; newestSeq: number; newestHash: string }
  >(
    `SELECT deleted_seq AS deletedSeq, deleted_hash AS deletedHash, newest_seq AS newestSeq, newest_hash AS newestHash
     FROM audit_chain WHERE id = 1`
  )
  const putChain = database.prepare<[number, string, number, string]>(
    replaceRow('audit_chain', ['id'], {
      ...{ id: '1', deleted_seq: '?', deleted_hash: '?', newest_seq: '?', newest_hash: '?' }
    })
  )
  const insert = database.prepare<[object]>(
    'INSERT INTO audit VALUES (:seq, :atMs, :operation, :who, :project, :result, :record, :hash)'
  )
  const after = database.prepare<[number, number], StoredAuditEntry>(AUDIT_SQL.after)
  const between = database.prepare<[object], StoredAuditEntry & { previousHash: string | null }>(AUDIT_SQL.between)
  const lastUntil = database.prepare<[number], number>(AUDIT_SQL.lastUntil).pluck()
  const firstFrom = database.prepare<[number], number>(AUDIT_SQL.firstFrom).pluck()
  const prune = database.prepare<[number]>(AUDIT_SQL.prune)

  function readChain(): AuditChain {
    const row = chain.get()
    if (row === undefined) return EMPTY_CHAIN
    return {
      deleted: { seq: row.deletedSeq, hash: row.deletedHash },
      newest: { seq: row.newestSeq, hash: row.newestHash }
    }
  }

  const writeChain = ({ deleted, newest }: AuditChain) =>
    putChain.run(deleted.seq, deleted.hash, newest.seq, newest.hash)

  return {
    chain: readChain,

    append(record: NewAuditRecord, changes: readonly AuditChange[] = []): void {
      const before = readChain()
      const seq = before.newest.seq + 1
      const { record: written, text } = writeRecord(seq, record, changes)
      const hash = hashOf(before.newest.hash, text)
      const { project } = written
      insert.run({ ...columnsOf(written), record: text, hash })
      writeChain({ ...before, newest: { seq, hash } })
      outbox.record('audit.recorded', project === null ? [] : [project], record.atMs, () => ({
        entry: { ...written, previousHash: before.newest.hash, hash }
      }))
    },

    after: (seq: number, limit: number): StoredAuditEntry[] => after.all(seq, limit),

    /** Newest first. `nextBefore`: where to go on; null: that was all. */
    page(
      filter: AuditFilter,
      { before, limit }: { before: number | null; limit: number }
    ): { entries: (StoredAuditEntry & { previousHash: string })[]; nextBefore: number | null } {
      const { deleted, newest } = readChain()
      const { who, operation, project = null, result = null, text, fromMs = 0, untilMs = EVER_MS } = filter
      const lastSeq = untilMs === EVER_MS ? newest.seq : (lastUntil.get(untilMs) ?? 0)
      const firstSeq = fromMs === 0 ? deleted.seq + 1 : (firstFrom.get(fromMs) ?? newest.seq + 1)
      const from = Math.min(before ?? EVER_MS, lastSeq + 1)
      const since = Math.max(from - LOOKED_AT_MAX, firstSeq)
      const found = between.all({
        ...{ before: from, since, project, result, fromMs, untilMs, limit },
        who: likePart(who),
        operation:
          operation === undefined ? null : operation.includes('.') ? escape(operation) : `${escape(operation)}%`,
        text: likePart(text)
      })
      const nextBefore = found.length === limit ? found.at(-1)!.seq : since
      return {
        entries: found.map((entry) => ({ ...entry, previousHash: entry.previousHash ?? deleted.hash })),
        nextBefore: nextBefore > firstSeq ? nextBefore : null
      }
    },

    /** Deletes the oldest entries, those before this time, but never the newest one. Returns how many. */
    forget(beforeMs: number, limit: number): number {
      const { deleted, newest } = readChain()
      const old: StoredAuditEntry[] = []
      for (const entry of after.all(deleted.seq, limit)) {
        if (entry.atMs >= beforeMs || entry.seq === newest.seq) break
        old.push(entry)
      }
      const last = old.at(-1)
      if (last === undefined) return 0
      prune.run(last.seq)
      writeChain({ deleted: { seq: last.seq, hash: last.hash }, newest })
      return old.length
    }
  }
}

const escape = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
const likePart = (text: string | undefined): string | null => (text === undefined ? null : `%${escape(text)}%`)
