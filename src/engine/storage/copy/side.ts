import type { Cell, Columns } from '../sql/database.ts'

export type ColumnKind = Columns[string]

export interface Table {
  name: string
  columns: { name: string; kind: ColumnKind }[]
  /** The primary key, used to read in batches. Empty: the table has a single row. */
  key: string[]
}

/** A batch ends with the row that exceeds a limit, so that memory use does not depend on the amount of data. */
export interface BatchLimits {
  rows: number
  bytes: number
}

/** Counters that the copy must continue: the last position of the change log, and the last sequence numbers. */
export type Counters = Map<string, number>

export interface Side {
  /** For messages, without a password. */
  readonly name: string
  readonly kind: 'sqlite' | 'postgres'
  count(table: Table): number
  read(table: Table, after: Cell[] | null, limits: BatchLimits): Cell[][]
  lastKey(table: Table): Cell[] | null
  close(): void
}

export interface Source extends Side {
  counters(): Counters
}

/** The store being written. Until `finish`, it has a name that no engine opens. */
export interface Target extends Side {
  /** The source of the interrupted copy; null: this copy is new. */
  readonly begunFrom: string | null
  /** Deletes the rows that every new store has, and records the source. */
  begin(source: string, tables: readonly Table[]): void
  write(table: Table, rows: Cell[][]): void
  finish(counters: Counters, tables: readonly Table[]): void
}

/** The name of every unfinished store contains this. The name of a finished store never does. */
export const COPYING = 'copying'
/** In an unfinished store: the table that records the source. */
export const COPY_OF = 'store_copy'

export const quoted = (name: string): string => `"${name}"`

/** The reads whose SQL is the same for both databases. `prefix`: the schema of the tables, followed by a dot. */
export const commonReads = (ask: (sql: string) => unknown[][], prefix = ''): Pick<Side, 'count' | 'lastKey'> => ({
  count: ({ name }) => ask(`SELECT count(*) FROM ${prefix}${name}`)[0]![0] as number,
  lastKey({ name, key }) {
    const order = key.map((column) => `${quoted(column)} DESC`)
    const rows = ask(`SELECT ${key.map(quoted)} FROM ${prefix}${name} ORDER BY ${order} LIMIT 1`)
    return (rows[0] ?? null) as Cell[] | null
  }
})

export const keyOf = (table: Table, row: readonly Cell[]): Cell[] =>
  table.key.map((name) => row[table.columns.findIndex((column) => column.name === name)]!)
