import type { Fragments } from './fragments.ts'

/**
 * A database as the parts of a store (this folder) use it: synchronously, in a transaction that their caller has begun.
 * Statements are SQL that SQLite and PostgreSQL both understand, and for what differs, the fragments of this database.
 * Parameters are `?` or `:name`, also on PostgreSQL.
 */
export interface Database {
  readonly fragments: Fragments
  prepare<Values extends unknown[] | {} = unknown[], Row = unknown>(
    sql: string
  ): Statement<Values extends unknown[] ? Values : [Values], Row>
  /** `work` sees one state of the database, however many statements it makes; it only reads. */
  transaction<Values extends unknown[], Result>(work: (...values: Values) => Result): (...values: Values) => Result
  /** Writes many rows: PostgreSQL all of them with `sql`, SQLite each with `each`. */
  prepareMany(many: ManySql & { each: string | readonly string[] }): (rows: readonly Cell[][]) => void
  /**
   * One statement for many rows. The function sends it, and returns a function that waits for the rows of RETURNING, as
   * lists in any order. Absent where a statement for each row is faster.
   */
  prepareGiven?<Row extends unknown[] = unknown[]>(many: ManySql): Many<Row>
  /** A statement that failed may have ended it. */
  readonly inTransaction: boolean
  /** For messages: where it is. */
  readonly name: string
}

export type Cell = string | number | Uint8Array | null
/** Each with its type, as SQLite has it. */
export type Columns = Readonly<Record<string, 'TEXT' | 'INTEGER' | 'REAL' | 'BLOB'>>

export interface ManySql {
  /** For PostgreSQL: reads the rows from the table `given`. */
  sql: string
  /** For one row, with its cells as parameters. Several statements are tried in order, until one changes a row. */
  each?: string | readonly string[]
  /** Another table that `sql` reads, as in WITH. */
  with?: string
  given: Columns
  /** Most cells are the same in all rows: those are given once. */
  isAlike?: boolean
}
export type Many<Row = unknown[]> = (rows: readonly Cell[][]) => () => Row[]

/** A prepared statement. Values are strings, numbers, bytes or null; flags are 0 and 1. */
export interface Statement<Values extends unknown[] = unknown[], Row = unknown> {
  run(...values: Values): { readonly changes: number }
  get(...values: Values): Row | undefined
  all(...values: Values): Row[]
  /** Sends the query, and returns a function that waits for the row: several take one round trip to a server. */
  ahead(...values: Values): () => Row | undefined
  /** The same for `all`. */
  aheadAll(...values: Values): () => Row[]
  iterate(...values: Values): IterableIterator<Row>
  /** Each row is its first column. */
  pluck(): Statement<Values, Row>
  /** Each row is a list, in the order of its columns. */
  raw(): Statement<Values, Row>
}

/** One database, opened for one store, with what each kind does in its own way. */
export interface Driver {
  readonly database: Database
  /** Grows with every row that is changed: a verb that only reads must leave it as it is. */
  changeCount(): number
  /** Turns errors that an operator can mend into a ScrapdeckError; returns others unchanged. */
  explain(error: unknown): unknown
  /** Waits until the statements of a write have taken effect. Throws the first failure. */
  settle(): void
  /** Called after each commit. */
  committed(): void
  size(): DatabaseSize
  /** Gives at most so many free pages back to the disk; returns how many are left, 0 if there is nothing to do. */
  shrink(pages: number): number
  /** Rewrites the database without free pages; not in a transaction. */
  compact(): void
  close(): void
}

export interface DatabaseSize {
  bytes: number
  freeBytes: number
  /** Free pages can be given back in small steps (`shrink`). */
  canShrink: boolean
}
