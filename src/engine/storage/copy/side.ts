import type { Cell, Columns } from '../sql/database.ts'

export type ColumnKind = Columns[string]

export interface Table {
  name: string
  columns: { name: string; kind: ColumnKind }[]
  /** Its primary key, by which it is read in batches; empty: it has a single row. */
  key: string[]
}

/** The tables of a store, without those that only one kind of database needs. */
export interface Shape {
  /** From SQLite, they have their keys, and each comes after those that it refers to. */
  tables: Table[]
}

/** A batch ends with the row that exceeds one of them, so that memory does not depend on what is copied. */
export interface BatchLimits {
  rows: number
  bytes: number
}

/** Counters of a database that must not begin anew: the next position of the change log, the next sequence. */
export type Counters = Map<string, number>

/** A store that is read, or a new one that is written, for exclusive use until it is closed. */
export interface Side {
  /** For messages: without a password. */
  readonly name: string
  readonly kind: 'sqlite' | 'postgres'
  count(table: Table): number
  /** The rows after the one with these key values, in the order of the key. */
  read(table: Table, after: Cell[] | null, limits: BatchLimits): Cell[][]
  /** The key of its last row. */
  lastKey(table: Table): Cell[] | null
  close(): void
}

export interface Source extends Side {
  counters(): Counters
}

/** Written under another name, which no engine opens, until `finish`. */
export interface Target extends Side {
  /** The source of the interrupted copy; null: it is new. */
  readonly begunFrom: string | null
  /** Deletes the rows that every new store has, and remembers the source. */
  begin(source: string): void
  /** In one transaction. */
  write(table: Table, rows: Cell[][]): void
  /** Makes it the store. */
  finish(counters: Counters): void
}

/** The name of a half-written store: no finished namespace and no file of a store has it. */
export const COPYING = 'copying'
/** The table of a half-written store that names its source. */
export const COPY_OF = 'store_copy'

export const keyOf = (table: Table, row: readonly Cell[]): Cell[] =>
  table.key.map((name) => row[table.columns.findIndex((column) => column.name === name)]!)
