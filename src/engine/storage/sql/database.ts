import type { Fragments } from './fragments.ts'

/**
 * A synchronous database. SQLite and PostgreSQL both understand the SQL, with fragments where they differ. Parameters
 * are `?` or `:name`, also for PostgreSQL. The caller starts the transaction.
 */
export interface Database {
  readonly fragments: Fragments
  prepare<Values extends unknown[] | {} = unknown[], Row = unknown>(
    sql: string
  ): Statement<Values extends unknown[] ? Values : [Values], Row>
  /** `work` only reads, and sees one consistent state of the database. */
  transaction<Values extends unknown[], Result>(work: (...values: Values) => Result): (...values: Values) => Result
  /** Writes many rows. PostgreSQL writes all of them with `sql`, SQLite writes each row with `each`. */
  prepareMany(many: ManySql & { each: string | readonly string[] }): (rows: readonly Cell[][]) => void
  /**
   * The returned function sends the statement and returns a function that waits for the rows of RETURNING, as lists
   * in any order. Undefined if one statement per row is faster.
   */
  prepareGiven?<Row extends unknown[] = unknown[]>(many: ManySql): Many<Row>
  /** False if a failed statement has ended the transaction. */
  readonly inTransaction: boolean
  readonly name: string
}

export type Cell = string | number | Uint8Array | null
export type Columns = Readonly<Record<string, 'TEXT' | 'INTEGER' | 'REAL' | 'BLOB'>>

export interface ManySql {
  /** Reads the rows from the table `given`. Only for PostgreSQL. */
  sql: string
  /** Writes one row, whose cells are the parameters. Tries several statements in order until one changes a row. */
  each?: string | readonly string[]
  with?: string
  given: Columns
  /** Whether rows are alike in most columns. Common values are then sent only once. */
  isAlike?: boolean
}
export type Many<Row = unknown[]> = (rows: readonly Cell[][]) => () => Row[]

/** Values are strings, numbers, bytes or null; flags are 0 and 1. */
export interface Statement<Values extends unknown[] = unknown[], Row = unknown> {
  run(...values: Values): { readonly changes: number }
  get(...values: Values): Row | undefined
  all(...values: Values): Row[]
  /** Sends the query, and returns a function that waits for the row. Several queries then share a round trip. */
  ahead(...values: Values): () => Row | undefined
  aheadAll(...values: Values): () => Row[]
  iterate(...values: Values): IterableIterator<Row>
  pluck(): Statement<Values, Row>
  raw(): Statement<Values, Row>
}

export interface Driver {
  readonly database: Database
  /** The number of rows changed so far. A read must not change it. */
  changeCount(): number
  /** Turns errors that an operator can fix into a ScrapdeckError; returns others unchanged. */
  explain(error: unknown): unknown
  /** Waits until all statements of a write have taken effect. Throws the first failure. */
  settle(): void
  committed(): void
  size(): DatabaseSize
  /**
   * Returns at most `pages` free pages to the disk. The result is the number of free pages left; 0 if there is nothing
   * to do.
   */
  shrink(pages: number): number
  /** Rewrites the database without free pages. Must not be called in a transaction. */
  compact(): void
  close(): void
}

export interface DatabaseSize {
  bytes: number
  freeBytes: number
  /** Whether `shrink` can return free pages in small steps. */
  canShrink: boolean
}
