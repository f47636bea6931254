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
  /** Of SQLite: with their keys, and each after those that it refers to. */
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
  /** Of its last row. */
  lastKey(table: Table): Cell[] | null
  close(): void
}

export interface Source extends Side {
  counters(): Counters
}

/** Written under another name, which no engine opens, until `finish`. */
export interface Target extends Side {
  /** Of the source that an interrupted copy was from; null: it is new. */
  readonly begunFrom: string | null
  /** Deletes the rows that every new store has, and remembers the source. */
  begin(source: string): void
  /** In one transaction. */
  write(table: Table, rows: Cell[][]): void
  /** Makes it the store. */
  finish(counters: Counters): void
}

/** What a half-written store is called until it is whole: no namespace and no file of a store has such a name. */
export const COPYING = 'copying'
/** In a half-written store: what it is a copy of. */
export const COPY_OF = 'store_copy'

export const keyOf = (table: Table, row: readonly Cell[]): Cell[] =>
  table.key.map((name) => row[table.columns.findIndex((column) => column.name === name)]!)
