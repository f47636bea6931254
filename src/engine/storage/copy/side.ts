import type { Cell, Columns } from '../sql/database.ts'

export type ColumnKind = Columns[string]

export interface Table {
  name: string
  columns: { name: string; kind: ColumnKind }[]
  /** The primary key, for reading in batches. Empty: the table has a single row. */
  key: string[]
}

/** The tables of a store, without those of only one kind of database. */
export interface Shape {
  /** From SQLite: with their keys, each after the tables that it refers to. */
  tables: Table[]
}

/** A batch ends with the row that exceeds a limit, so that memory does not depend on the data. */
export interface BatchLimits {
  rows: number
  bytes: number
}

/** Counters that must not restart: the next position of the change log, the next sequence. */
export type Counters = Map<string, number>

/** A store for exclusive use, read or newly written. */
export interface Side {
  /** For messages, without a password. */
  readonly name: string
  readonly kind: 'sqlite' | 'postgres'
  count(table: Table): number
  /** Rows after the one with this key, in the order of the key. */
  read(table: Table, after: Cell[] | null, limits: BatchLimits): Cell[][]
  lastKey(table: Table): Cell[] | null
  close(): void
}

export interface Source extends Side {
  counters(): Counters
}

/** Written under a name that no engine opens, until `finish`. */
export interface Target extends Side {
  /** The source of the interrupted copy. null: it is new. */
  readonly begunFrom: string | null
  /** Deletes the rows of every new store, and remembers the source. */
  begin(source: string): void
  write(table: Table, rows: Cell[][]): void
  /** Makes it the store. */
  finish(counters: Counters): void
}

/** The name of an unfinished store. No finished namespace or file has it. */
export const COPYING = 'copying'
/** The table of an unfinished store that names its source. */
export const COPY_OF = 'store_copy'

export const keyOf = (table: Table, row: readonly Cell[]): Cell[] =>
  table.key.map((name) => row[table.columns.findIndex((column) => column.name === name)]!)
