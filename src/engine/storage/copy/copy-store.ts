import { createHash, type Hash } from 'node:crypto'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { withoutNul } from '../postgres/given-rows.ts'
import { openPostgresSource, openPostgresTarget } from './postgres-side.ts'
import { type BatchLimits, keyOf, type Source, type Table, type Target } from './side.ts'
import type { Cell } from '../sql/database.ts'
import { openSqliteSource, openSqliteTarget, sharedTables } from './sqlite-side.ts'

export type StorePlace =
  | { directory: string }
  /** `whileInUse`: reads a snapshot, so engines can use the source during the copy. Otherwise, no engine can use it. */
  | { postgres: PostgresAddress; whileInUse?: boolean }

export interface CopyProgress {
  step: 'copying' | 'comparing'
  table: string
  rows: number
  total: number
}

export interface CopiedTable {
  table: string
  rows: number
  /** The hash of all rows in key order. It is the same on both sides. */
  sha256: string
}

export interface CopyResult {
  tables: CopiedTable[]
  resumed: boolean
  /** The number of strings with a NUL character, which PostgreSQL cannot store: U+FFFD replaces it. */
  replacedTexts: number
}

export interface CopyOptions {
  from: StorePlace
  to: StorePlace
  logger: Logger
  restart?: boolean
  limits?: BatchLimits
  report(progress: CopyProgress): void
}

/** The limits of a batch. Larger batches are no faster but use more memory. */
const LIMITS: BatchLimits = { rows: 2_000, bytes: 4_000_000 }

/**
 * Copies a store to the other kind of database and compares every row. An interrupted copy continues after its last
 * batch. Blocks its thread. Throws DATA_DIRECTORY_IN_USE or DATABASE_IN_USE while an engine uses either side,
 * STORE_NOT_EMPTY, COPY_DIFFERS, and the errors from opening a store.
 */
export function copyStore({ from, to, logger, restart = false, limits = LIMITS, report }: CopyOptions): CopyResult {
  if ('postgres' in from === 'postgres' in to) throw refusalOfSameKind('postgres' in from)
  const tables = sharedTables()
  const source =
    'postgres' in from ? openPostgresSource(from.postgres, from.whileInUse) : openSqliteSource(from.directory)
  try {
    const target =
      'postgres' in to
        ? openPostgresTarget(to.postgres, { logger, isRestarted: restart })
        : openSqliteTarget(to.directory, restart)
    try {
      const resumed = target.begunFrom !== null
      if (target.begunFrom !== null && target.begunFrom !== source.name) throw refusalOfOther(target, source)
      if (!resumed) target.begin(source.name, tables)
      for (const table of tables) copyTable(table, { source, target, limits, report })
      const compared = { source, target, limits, report, replacedTexts: 0 }
      const copied = tables.map((table) => compareTable(table, compared))
      target.finish(source.counters(), tables)
      return { tables: copied, resumed, replacedTexts: compared.replacedTexts }
    } finally {
      target.close()
    }
  } finally {
    source.close()
  }
}

interface Copying {
  source: Source
  target: Target
  limits: BatchLimits
  report(progress: CopyProgress): void
}

/** Rows are written in key order and in whole batches, so the copy continues after the last batch. */
function copyTable(table: Table, { source, target, limits, report }: Copying): void {
  const total = source.count(table)
  let rows = target.count(table)
  if (table.key.length === 0 && rows > 0) return
  let after = rows === 0 ? null : target.lastKey(table)
  for (;;) {
    const batch = source.read(table, after, limits)
    if (batch.length > 0) target.write(table, batch)
    rows += batch.length
    report({ step: 'copying', table: table.name, rows, total })
    if (batch.length === 0 || table.key.length === 0) return
    after = keyOf(table, batch.at(-1)!)
  }
}

/** Reads both sides from the start, because rows copied before an interruption may have changed since. */
function compareTable(table: Table, compared: Copying & { replacedTexts: number }): CopiedTable {
  const { source, target, limits, report } = compared
  const total = source.count(table)
  const hash = createHash('sha256')
  const theirs = rowsOf(target, table, limits)
  let rows = 0
  for (const row of rowsOf(source, table, limits)) {
    const other = theirs.next()
    const given = target.kind === 'postgres' ? row.map((cell) => withoutNulOf(cell, compared)) : row
    if (other.done === true || !isSame(given, other.value)) throw difference(table, { row: given, source, target })
    addRow(hash, given)
    rows += 1
    if (rows % limits.rows === 0) report({ step: 'comparing', table: table.name, rows, total })
  }
  const left = theirs.next()
  if (left.done !== true) throw difference(table, { row: left.value, source, target })
  report({ step: 'comparing', table: table.name, rows, total })
  return { table: table.name, rows, sha256: hash.digest('hex') }
}

function* rowsOf(side: Source | Target, table: Table, limits: BatchLimits): Generator<Cell[]> {
  let after: Cell[] | null = null
  for (;;) {
    const batch = side.read(table, after, limits)
    yield* batch
    if (batch.length === 0 || table.key.length === 0) return
    after = keyOf(table, batch.at(-1)!)
  }
}

function withoutNulOf(cell: Cell, counted: { replacedTexts: number }): Cell {
  if (typeof cell !== 'string') return cell
  const text = withoutNul(cell)
  if (text !== cell) counted.replacedTexts += 1
  return text
}

function isSame(one: Cell[], other: Cell[]): boolean {
  return one.every((cell, index) => {
    const there = other[index]!
    if (!(cell instanceof Uint8Array)) return cell === there
    return there instanceof Uint8Array && Buffer.compare(cell, there) === 0
  })
}

/**
 * Adds each value with its type and its length or a terminator, so that two different rows never have the same bytes.
 */
function addRow(hash: Hash, row: Cell[]): void {
  for (const cell of row) {
    if (cell instanceof Uint8Array) hash.update(`b${cell.length}:`).update(cell)
    else if (typeof cell === 'string') hash.update(`t${cell.length}:${cell}`)
    else hash.update(cell === null ? 'n' : `i${cell};`)
  }
  hash.update('\n')
}

function refusalOfSameKind(isPostgres: boolean): ScrapdeckError {
  const instead = isPostgres ? 'Use pg_dump and pg_restore' : 'Copy the files of the data directory'
  return new ScrapdeckError('BAD_INPUT', sentence('storage.stores_of_same_kind', { instead }))
}

function refusalOfOther(target: Target, source: Source): ScrapdeckError {
  const text = `${target.name} has an unfinished copy of ${target.begunFrom}, not of ${source.name}.`
  return new ScrapdeckError('STORE_NOT_EMPTY', sentence('storage.copy_begun_elsewhere', { text }))
}

function difference(
  table: Table,
  { row, source, target }: { row: Cell[]; source: Source; target: Target }
): ScrapdeckError {
  const key = keyOf(table, row).join(', ')
  const text = `${target.name} differs from ${source.name} in the table ${table.name}${key === '' ? '' : `, at ${key}`}.`
  const next = 'If an engine has used the source since the copy began, copy again with --restart.'
  return new ScrapdeckError('COPY_DIFFERS', sentence('storage.copy_differs', { text, next }))
}
