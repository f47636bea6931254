import type { Fragments } from './fragments.ts'

/**
 * A database as the store's parts (this folder) use it: synchronously, in a transaction that their caller has begun.
 * Statements are SQL that SQLite and PostgreSQL both understand, and fragments for what differs. Parameters are `?` or
 * `:name`, also on PostgreSQL.
 */
export interface Database {
  readonly fragments: Fragments
  prepare<Values extends unknown[] | {} = unknown[], Row = unknown>(
    sql: string
  ): Statement<Values extends unknown[] ? Values : [Values], Row>
  /** `work` only reads, and sees one consistent state of the database. */
  transaction<Values extends unknown[], Result>(work: (...values: Values) => Result): (...values: Values) => Result
  /** Writes many rows: PostgreSQL with `sql` at once, SQLite row by row with `each`. */
  prepareMany(many: ManySql & { each: string | readonly string[] }): (rows: readonly Cell[][]) => void
  /**
   * One statement for many rows. The function sends it and returns a function that waits for the rows of RETURNING, as
   * lists in any order. Absent where one statement per row is faster.
   */
  prepareGiven?<Row extends unknown[] = unknown[]>(many: ManySql): Many<Row>
  /** A statement that failed may have ended it. */
  readonly inTransaction: boolean
  /** The location, for messages. */
  readonly name: string
}

export type Cell = string | number | Uint8Array | null
/** The types of SQLite. */
export type Columns = Readonly<Record<string, 'TEXT' | 'INTEGER' | 'REAL' | 'BLOB'>>

export interface ManySql {
  /** For PostgreSQL: reads the rows from the table `given`. */
  sql: string
  /** For one row, with its cells as parameters. Several statements are tried in order, until one changes a row. */
  each?: string | readonly string[]
  /** Another table that `sql` reads, as in WITH. */
  with?: string
  given: Columns
  /** The rows are alike in most columns: such values are sent only once. */
  isAlike?: boolean
}
export type Many<Row = unknown[]> = (rows: readonly Cell[][]) => () => Row[]

/** Values are strings, numbers, bytes or null; flags are 0 and 1. */
export interface Statement<Values extends unknown[] = unknown[], Row = unknown> {
  run(...values: Values): { readonly changes: number }
  get(...values: Values): Row | undefined
  all(...values: Values): Row[]
  /** Sends the query, and returns a function that waits for the row: several share one round trip. */
  ahead(...values: Values): () => Row | undefined
  /** Like `ahead`, for `all`. */
  aheadAll(...values: Values): () => Row[]
  iterate(...values: Values): IterableIterator<Row>
  /** Each row is its first column. */
  pluck(): Statement<Values, Row>
  /** Each row is a list of its columns. */
  raw(): Statement<Values, Row>
}

/** One database, opened for one store. */
export interface Driver {
  readonly database: Database
  /** Grows with every changed row: a verb that only reads must not change it. */
  changeCount(): number
  /** Turns errors that an operator can solve into a ScrapdeckError; returns others unchanged. */
  explain(error: unknown): unknown
  /** Waits until the statements of a write have taken effect. Throws the first failure. */
  settle(): void
  committed(): void
  size(): DatabaseSize
  /** Gives up to `pages` free pages back to the disk. Returns how many are left; 0: nothing to do. */
  shrink(pages: number): number
  /** Rewrites the database without free pages. Not inside a transaction. */
  compact(): void
  close(): void
}

export interface DatabaseSize {
  bytes: number
  freeBytes: number
  /** Free pages can be given back in small steps (`shrink`). */
  canShrink: boolean
}
