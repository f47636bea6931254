import { hash } from 'node:crypto'
import type { AuditChange, AuditCheck, AuditRecord } from '../../../shared/contract/index.ts'
import type { AuditChain, NewAuditEntry, NewAuditRecord, StoredAuditEntry } from '../../model/records.ts'

export const NO_HASH = '0'.repeat(64)
/** The maximum size of an entry, so that large entries cannot fill the disk. */
export const RECORD_MAX_BYTES = 4_096

export const hashOf = (previousHash: string, record: string): string => hash('sha256', `${previousHash}\n${record}`)

export function prepareEntry(record: NewAuditRecord): NewAuditEntry {
  // PostgreSQL rejects NUL in a text column.
  const project = record.project?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null
  const { record: whole, text } = shorten({ ...record, project, seq: 0, changes: [] })
  const { seq: _, ...columns } = columnsOf(whole)
  return { columns, text }
}

/**
 * Returns the entry at its position, with the text that is hashed (`record`). The text's fields have a fixed order,
 * so that an exported entry has the same text. If the text is too long, details are removed: first those of the
 * changes, then the request, the changes and the targets.
 */
export function placeEntry(
  seq: number,
  { columns, text }: NewAuditEntry,
  changes: readonly AuditChange[] = []
): Omit<StoredAuditEntry, 'hash'> {
  if (changes.length === 0) return { ...columns, seq, record: `${PLACE}${seq}${text.slice(PLACE.length + 1)}` }
  const record = JSON.parse(text) as AuditRecord
  const isCut = record.isCut || changes.length > CHANGES_MAX
  const { record: whole, text: written } = shorten({ ...record, seq, changes: changes.slice(0, CHANGES_MAX), isCut })
  return { ...columnsOf(whole), record: written }
}

const PLACE = '{"seq":'

function shorten(record: AuditRecord): { record: AuditRecord; text: string } {
  let whole = record
  let text = inOrder(whole)
  for (const cut of SHORTER) {
    if (isShort(text)) break
    whole = { ...cut(whole), isCut: true }
    text = inOrder(whole)
  }
  return { record: whole, text }
}

const CHANGES_MAX = 20
/**
 * The maximum number of digits of a position. `shorten` reserves them, because it runs before the position is known.
 */
const PLACE_MAX_DIGITS = 16
const isShort = (text: string): boolean => Buffer.byteLength(text) <= RECORD_MAX_BYTES - PLACE_MAX_DIGITS

const SHORTER: ((record: AuditRecord) => AuditRecord)[] = [
  (record) => ({ ...record, changes: record.changes.map((one) => ({ ...one, fields: one.fields.slice(0, 5) })) }),
  (record) => ({ ...record, changes: record.changes.slice(0, 3) }),
  (record) => ({ ...record, input: '"…"' }),
  (record) => ({ ...record, changes: [] }),
  (record) => ({
    ...record,
    targets: record.targets.slice(0, 3),
    moreTargets: record.moreTargets + Math.max(0, record.targets.length - 3)
  }),
  (record) => ({ ...record, targets: [], moreTargets: record.moreTargets + record.targets.length, project: null })
]

export function inOrder(record: AuditRecord): string {
  const { seq, atMs, who, address, door, requestId, operation, project } = record
  const { userId, name, role, tokenId, tokenName, session } = who
  return JSON.stringify({
    seq,
    atMs,
    who: { userId, name, role, tokenId, tokenName, session },
    address,
    door,
    requestId,
    operation,
    project,
    targets: record.targets.map((one) => ({ noun: one.noun, name: one.name })),
    moreTargets: record.moreTargets,
    input: record.input,
    changes: record.changes.map((change) => ({
      noun: change.noun,
      name: change.name,
      fields: change.fields.map(({ field, before, after }) => ({ field, before, after }))
    })),
    result: record.result,
    code: record.code,
    count: record.count,
    isCut: record.isCut
  })
}

export const columnsOf = ({ seq, atMs, operation, who, project, result }: AuditRecord) => ({
  seq,
  atMs,
  operation,
  project,
  result,
  who: who.tokenName === null ? who.name : `${who.name} ${who.tokenName}`
})

export class ChainCheck {
  #last: { seq: number; hash: string }
  readonly #expected: string | null
  #hasExpected: boolean
  #checked = 0
  #broken: AuditCheck['broken'] = null

  /** `start`: null for an exported file, whose first entry contains the hash of the entry before it. */
  constructor(start: { seq: number; hash: string } | null, expected: string | null = null) {
    this.#last = start ?? { seq: -1, hash: '' }
    this.#expected = expected
    this.#hasExpected = start !== null && start.hash === expected
  }

  get lastSeq(): number {
    return this.#last.seq
  }

  /** Returns false if the chain is broken at or before this entry. Nothing after the break can be verified. */
  add({ hash, ...entry }: Pick<StoredAuditEntry, 'seq' | 'record' | 'hash'> & Partial<StoredAuditEntry>): boolean {
    if (this.#broken !== null) return false
    const { seq } = entry
    const problem = this.#problemOf({ ...entry, hash })
    if (problem !== null) {
      this.#broken = { seq, problem }
      return false
    }
    this.#checked += 1
    this.#last = { seq, hash }
    if (hash === this.#expected) this.#hasExpected = true
    return true
  }

  startAfter(seq: number, hash: string): void {
    this.#last = { seq, hash }
    if (hash === this.#expected) this.#hasExpected = true
  }

  /** `newest`: where the chain should end; null: unknown. */
  end(newest: { seq: number; hash: string } | null): Pick<AuditCheck, 'checked' | 'broken' | 'hasExpected'> {
    const { seq, hash } = this.#last
    if (this.#broken === null && newest !== null && newest.seq !== seq) {
      const problem = `The log ends with entry ${seq}, but entry ${newest.seq} was written: the newest are missing`
      this.#broken = { seq: seq + 1, problem }
    } else if (this.#broken === null && newest !== null && newest.hash !== hash) {
      this.#broken = { seq, problem: 'It is the newest entry, but not the one that was written: it was changed' }
    }
    const hasExpected = this.#expected === null ? null : this.#hasExpected
    return { checked: this.#checked, broken: this.#broken, hasExpected }
  }

  #problemOf(entry: Pick<StoredAuditEntry, 'seq' | 'record' | 'hash'> & Partial<StoredAuditEntry>): string | null {
    const { seq, hash } = this.#last
    if (entry.seq !== seq + 1) return `It follows entry ${seq}: what was between them is missing`
    if (hashOf(hash, entry.record) !== entry.hash) {
      return 'Its hash is not that of its content: this entry, or the hash of the one before it, was changed'
    }
    const columns: Record<string, unknown> = columnsOf(JSON.parse(entry.record) as AuditRecord)
    const given: Record<string, unknown> = { ...entry }
    for (const [name, value] of Object.entries(columns)) {
      if (given[name] !== undefined && given[name] !== value) return `What lists are filtered by (${name}) was changed`
    }
    return null
  }
}

export const EMPTY_CHAIN: AuditChain = { deleted: { seq: 0, hash: NO_HASH }, newest: { seq: 0, hash: NO_HASH } }
