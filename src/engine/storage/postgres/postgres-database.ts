import type { Cell, Database, Many, ManySql, Statement } from '../sql/database.ts'
import type { Connection, Sent } from './connection.ts'
import type { Value } from './connection-messages.ts'
import { explainCommitError } from './postgres-error.ts'
import { POSTGRES } from '../sql/fragments.ts'
import { givenValues, withGivenSql, withoutNul } from './given-rows.ts'

const ROWS_AT_FIRST = 200
const ROWS_AT_ONCE = 2_000
/** The number of written rows that triggers the first ANALYZE. Each further ANALYZE needs ten times as many. */
const COUNTED_FIRST = 1_000
/**
 * Analyzes only tables that the server believes to have fewer rows than were written, so that a restart does not
 * analyze a large database again.
 */
const countRows = (written: number) => `DO $$ BEGIN
  EXECUTE (SELECT coalesce('ANALYZE ' || string_agg(quote_ident(relname), ', '), 'SELECT 1') FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND reltuples < ${written}); END $$`
let cursors = 0

type Shape = 'object' | 'list' | 'first'

/**
 * All engines together write one transaction at a time, as with SQLite, because each transaction first locks the
 * namespace (`lockSql`). The parts of the store can therefore ignore other engines, changes are numbered in commit
 * order, and deadlocks are impossible. Group commit compensates for the lost concurrency.
 */
export class PostgresDatabase implements Database {
  readonly fragments = POSTGRES
  readonly name: string
  readonly #connection: Connection
  readonly #lockSql: string
  #inTransaction = false
  /** Whether a transaction has started, even if it has only read so far. */
  #isOpen = false
  #changes = 0

  constructor(connection: Connection, options: { name: string; lockSql: string }) {
    this.#connection = connection
    this.name = options.name
    this.#lockSql = options.lockSql
  }

  get inTransaction(): boolean {
    return this.#inTransaction
  }

  #countAt = COUNTED_FIRST
  #rowsWritten = 0

  get changeCount(): number {
    return this.#changes
  }

  prepare<Values extends unknown[] | {} = unknown[], Row = unknown>(
    sql: string
  ): Statement<Values extends unknown[] ? Values : [Values], Row> {
    const control = this.#controls[sql]
    if (control !== undefined) return new ControlStatement(control) as never
    const { text, parameters } = numberParameters(sql)
    const changed = () => this.#wrote(1)
    const isInTransaction = () => this.#isOpen
    return new PostgresStatement(this.#connection, { text, parameters, isInTransaction, changed }, 'object') as never
  }

  prepareMany(many: ManySql): (rows: readonly Cell[][]) => void {
    const write = this.prepareGiven(many)
    return (rows) => void write(rows)
  }

  prepareGiven<Row extends unknown[]>(many: ManySql): Many<Row> {
    const text = withGivenSql(many)
    return (rows) => {
      if (rows.length === 0) return () => []
      const sent = this.#connection.send({ text, values: givenValues(rows, many), isInTransaction: this.#isOpen })
      this.#wrote(rows.length)
      return () => sent.result().rows.map((row) => row.map(toCell)) as Row[]
    }
  }

  transaction<Values extends unknown[], Result>(work: (...values: Values) => Result): (...values: Values) => Result {
    return (...values) => {
      if (this.#inTransaction) return work(...values)
      this.#begin('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      try {
        return work(...values)
      } finally {
        this.#send('COMMIT')
        this.#isOpen = false
        this.#connection.forget()
      }
    }
  }

  settle(): void {
    this.#connection.settle()
  }

  readonly #controls: Record<string, () => void> = {
    'BEGIN IMMEDIATE': () => {
      this.#begin('BEGIN')
      this.#send(this.#lockSql)
      this.#inTransaction = true
    },
    // If an earlier statement failed unnoticed, COMMIT rolls back without an error, so throw its failure first.
    COMMIT: () => {
      this.#send('COMMIT')
      try {
        this.#connection.settle()
      } catch (error) {
        const explained = explainCommitError(error)
        if (explained !== error) this.#inTransaction = this.#isOpen = false
        throw explained
      }
      this.#inTransaction = false
      this.#isOpen = false
      this.#countIfGrown()
    },
    ROLLBACK: () => {
      this.#inTransaction = false
      this.#connection.forget()
      this.#send('ROLLBACK')
      this.#isOpen = false
      this.#connection.forget()
    },
    'SAVEPOINT operation': () => this.#send('SAVEPOINT operation'),
    'RELEASE operation': () => this.#send('RELEASE SAVEPOINT operation'),
    'ROLLBACK TO operation': () => {
      this.#connection.forget()
      this.#send('ROLLBACK TO SAVEPOINT operation')
    }
  }

  #wrote(rows: number): void {
    this.#changes += 1
    this.#rowsWritten += rows
  }

  /**
   * PostgreSQL plans a statement for empty tables and keeps the plan until it analyzes the tables, once a minute. In
   * that time, a new database can get a million rows, and each claim would read all of them.
   */
  #countIfGrown(): void {
    if (this.#rowsWritten < this.#countAt) return
    while (this.#countAt <= this.#rowsWritten) this.#countAt *= 10
    this.#connection.send({ text: countRows(this.#rowsWritten), values: [], isOnce: true })
    // A failure does not matter: the previous write is committed, and the next one does not depend on this.
    this.#connection.forget()
  }

  #begin(text: string): void {
    this.#connection.send({ text, values: [] })
    this.#isOpen = true
  }

  #send(text: string): void {
    this.#connection.send({ text, values: [], isInTransaction: true })
  }
}

/**
 * Numbers `?` and `:name` as `$1`, `$2` and so on. Each use of a name becomes a separate parameter, because types can
 * differ.
 */
export function numberParameters(sql: string): { text: string; parameters: Parameter[] } {
  const parameters: Parameter[] = []
  const text = sql.replace(/\?|(?<!:):([a-z]\w*)/gi, (_, name: string | undefined) => {
    parameters.push(name ?? parameters.length)
    return `$${parameters.length}`
  })
  return { text, parameters }
}

type Parameter = string | number

class ControlStatement {
  readonly #work: () => void

  constructor(work: () => void) {
    this.#work = work
  }

  run() {
    this.#work()
    return { changes: 0 }
  }
}

interface Prepared {
  text: string
  parameters: Parameter[]
  isInTransaction: () => boolean
  changed: () => void
}

class PostgresStatement implements Statement {
  readonly #connection: Connection
  readonly #prepared: Prepared
  #shape: Shape

  constructor(connection: Connection, prepared: Prepared, shape: Shape) {
    this.#connection = connection
    this.#prepared = prepared
    this.#shape = shape
  }

  run(...values: unknown[]) {
    const sent = this.#send(values)
    this.#prepared.changed()
    return {
      get changes() {
        return sent.result().changes
      }
    }
  }

  get(...values: unknown[]) {
    return this.ahead(...values)()
  }

  all(...values: unknown[]) {
    return this.aheadAll(...values)()
  }

  ahead(...values: unknown[]) {
    const sent = this.#send(values)
    return () => {
      const { rows, columns } = sent.result()
      return rows.length === 0 ? undefined : this.#rowOf(rows[0]!, columns)
    }
  }

  aheadAll(...values: unknown[]) {
    const sent = this.#send(values)
    return () => {
      const { rows, columns } = sent.result()
      return rows.map((row) => this.#rowOf(row, columns))
    }
  }

  /**
   * Reads in batches, so that reading one row does not fetch a million. A loop that stops early can leave a cursor open
   * until the end of its transaction. Outside a transaction, each batch is a separate query, so rows that another
   * engine adds between two batches can shift the next batch.
   */
  *iterate(...values: unknown[]): IterableIterator<unknown> {
    const { text, parameters, isInTransaction } = this.#prepared
    const given = this.#given(values)
    const isCursor = isInTransaction()
    const name = isCursor ? `rows_${(cursors += 1)}` : ''
    if (isCursor) this.#sendOnce(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, given)
    for (let count = ROWS_AT_FIRST, offset = 0; ; offset += count, count = ROWS_AT_ONCE) {
      const { rows, columns } = isCursor
        ? this.#sendOnce(`FETCH ${count} FROM ${name}`, []).result()
        : this.#connection
            .send({
              text: `SELECT * FROM (${text}) AS walked LIMIT ${count} OFFSET $${parameters.length + 1}`,
              values: [...given, offset]
            })
            .result()
      for (const row of rows) yield this.#rowOf(row, columns)
      if (rows.length < count) break
    }
    if (isCursor) this.#sendOnce(`CLOSE ${name}`, [])
  }

  pluck(): this {
    this.#shape = 'first'
    return this
  }

  raw(): this {
    this.#shape = 'list'
    return this
  }

  #send(values: unknown[]): Sent {
    const { text, isInTransaction } = this.#prepared
    return this.#connection.send({ text, values: this.#given(values), isInTransaction: isInTransaction() })
  }

  /** For SQL that is used only once. The server would otherwise keep its plan. */
  #sendOnce(text: string, values: Value[]): Sent {
    return this.#connection.send({ text, values, isInTransaction: true, isOnce: true })
  }

  #given(values: unknown[]): Value[] {
    const named = values[0] as Record<string, unknown>
    return this.#prepared.parameters.map((parameter) =>
      toValue(typeof parameter === 'number' ? values[parameter] : named[parameter])
    )
  }

  #rowOf(row: unknown[], columns: string[]): unknown {
    if (this.#shape === 'first') return toCell(row[0])
    const cells = row.map(toCell)
    return this.#shape === 'list' ? cells : Object.fromEntries(columns.map((name, index) => [name, cells[index]]))
  }
}

const toValue = (value: unknown): Value => (typeof value === 'string' ? withoutNul(value) : (value as Value))

/** A Buffer from another thread arrives as a Uint8Array. */
const toCell = (cell: unknown): unknown =>
  cell instanceof Uint8Array ? Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength) : cell
