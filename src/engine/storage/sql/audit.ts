import type { AuditChange, AuditFilter } from '../../../shared/contract/index.ts'
import { EMPTY_CHAIN, hashOf, placeEntry } from '../audit/chain.ts'
import type { AuditChain, NewAuditEntry, StoredAuditEntry } from '../../model/records.ts'
import type { Database } from './database.ts'
import type { Fragments } from './fragments.ts'
import type { Outbox } from './outbox.ts'
import { replaceRow } from './table.ts'

const ENTRY = 'seq, at_ms AS "atMs", operation, who, project, result, record, hash'

export const auditSql = ({ like }: Fragments) => ({
  after: `SELECT ${ENTRY} FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`,
  /** Examines all entries between two positions, because only the position is indexed. */
  between: `SELECT ${ENTRY}, (SELECT earlier.hash FROM audit AS earlier WHERE earlier.seq = audit.seq - 1) AS "previousHash"
    FROM audit WHERE seq < :before AND seq >= :since
    AND (CAST(:who AS TEXT) IS NULL OR who ${like} :who ESCAPE '\\')
    AND (CAST(:operation AS TEXT) IS NULL OR operation ${like} :operation ESCAPE '\\')
    AND (CAST(:project AS TEXT) IS NULL OR project = :project)
    AND (CAST(:result AS TEXT) IS NULL OR result = :result)
    AND (CAST(:text AS TEXT) IS NULL OR record ${like} :text ESCAPE '\\')
    AND at_ms >= :fromMs AND at_ms < :untilMs
    ORDER BY seq DESC LIMIT :limit`,
  newest: 'SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1',
  timeOf: 'SELECT at_ms FROM audit WHERE seq = ?',
  prune: 'DELETE FROM audit WHERE seq <= ?'
})

const LOOKED_AT_MAX = 20_000
const EVER_MS = Number.MAX_SAFE_INTEGER

/** Each entry contains the hash of the previous one. Call every write in a transaction, one at a time. */
export function createAudit({ database, outbox }: { database: Database; outbox: Pick<Outbox, 'record'> }) {
  const statements = auditSql(database.fragments)
  const chain = database.prepare<[], ChainRow>(
    `SELECT deleted_seq AS "deletedSeq", deleted_hash AS "deletedHash", newest_seq AS "newestSeq", newest_hash AS "newestHash"
     FROM audit_chain WHERE id = 1`
  )
  const newestRow = database.prepare<[], AuditChain['newest']>(statements.newest)
  const putChain = database.prepare<[number, string, number, string]>(
    replaceRow('audit_chain', ['id'], {
      id: '1',
      deleted_seq: '?',
      deleted_hash: '?',
      newest_seq: '?',
      newest_hash: '?'
    })
  )
  const insert = database.prepare<[object]>(
    'INSERT INTO audit VALUES (:seq, :atMs, :operation, :who, :project, :result, :record, :hash)'
  )
  const after = database.prepare<[number, number], StoredAuditEntry>(statements.after)
  const between = database.prepare<[object], StoredAuditEntry & { previousHash: string | null }>(statements.between)
  const timeOf = database.prepare<[number], number>(statements.timeOf).pluck()
  const prune = database.prepare<[number]>(statements.prune)

  let known: AuditChain | null = null
  let isRecorded = true

  /** The chain's row is written at commit, so after a partial rollback, the table can have newer entries. */
  function readChain(): AuditChain {
    if (known !== null) return known
    const row = chain.get()
    const recorded = row === undefined ? EMPTY_CHAIN : toChain(row)
    const last = newestRow.get()
    isRecorded = last === undefined || last.seq <= recorded.newest.seq
    known = isRecorded ? recorded : { ...recorded, newest: last! }
    return known
  }

  function record({ deleted, newest }: AuditChain): void {
    putChain.run(deleted.seq, deleted.hash, newest.seq, newest.hash)
    isRecorded = true
  }

  /**
   * Returns the position of the first entry at or after a time. If the clock was set back, the entry can be a nearby
   * one.
   */
  function firstAt(atMs: number): number {
    const { deleted, newest } = readChain()
    let [low, high] = [deleted.seq + 1, newest.seq + 1]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if ((timeOf.get(middle) ?? 0) < atMs) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    auditChain: readChain,

    /** Call this once per transaction, before its commit. */
    recordNewest(): void {
      if (isRecorded) return
      record(readChain())
    },

    rollBack(): void {
      known = null
    },

    append(given: NewAuditEntry, changes: readonly AuditChange[] = []): void {
      const before = readChain()
      const seq = before.newest.seq + 1
      const entry = placeEntry(seq, given, changes)
      const { project, atMs, record: text } = entry
      const hash = hashOf(before.newest.hash, text)
      insert.run({ ...entry, hash })
      known = { ...before, newest: { seq, hash } }
      isRecorded = false
      outbox.record('audit.recorded', project === null ? [] : [project], atMs, () => ({
        entry: { ...JSON.parse(text), previousHash: before.newest.hash, hash }
      }))
    },

    listAuditAfter: (seq: number, limit: number): StoredAuditEntry[] => after.all(seq, limit),

    pageAudit(
      filter: AuditFilter,
      { before, limit }: { before: number | null; limit: number }
    ): { entries: (StoredAuditEntry & { previousHash: string })[]; nextBefore: number | null } {
      const { deleted, newest } = readChain()
      const { who, operation, project = null, result = null, text, fromMs = 0, untilMs = EVER_MS } = filter
      const lastSeq = untilMs === EVER_MS ? newest.seq : firstAt(untilMs) - 1
      const firstSeq = fromMs === 0 ? deleted.seq + 1 : firstAt(fromMs)
      const from = Math.min(before ?? EVER_MS, lastSeq + 1)
      const since = Math.max(from - LOOKED_AT_MAX, firstSeq)
      const found = between.all({
        before: from,
        since,
        project,
        result,
        fromMs,
        untilMs,
        limit,
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

    forgetAudit(beforeMs: number, limit: number): number {
      const { deleted, newest } = readChain()
      const old: StoredAuditEntry[] = []
      for (const entry of after.all(deleted.seq, limit)) {
        if (entry.atMs >= beforeMs || entry.seq === newest.seq) break
        old.push(entry)
      }
      const last = old.at(-1)
      if (last === undefined) return 0
      prune.run(last.seq)
      known = { deleted: { seq: last.seq, hash: last.hash }, newest }
      // Record this now: if a later part of the transaction is rolled back, nothing else records what was deleted.
      record(known)
      return old.length
    }
  }
}

interface ChainRow {
  deletedSeq: number
  deletedHash: string
  newestSeq: number
  newestHash: string
}

const toChain = ({ deletedSeq, deletedHash, newestSeq, newestHash }: ChainRow): AuditChain => ({
  deleted: { seq: deletedSeq, hash: deletedHash },
  newest: { seq: newestSeq, hash: newestHash }
})

const escape = (text: string): string => text.replace(/[\\%_]/g, '\\$&')
const likePart = (text: string | undefined): string | null => (text === undefined ? null : `%${escape(text)}%`)
