import type { Database as Connection, Statement as SqliteStatement } from 'better-sqlite3'
import type { Cell, Database, ManySql, Statement } from '../sql/database.ts'
import { SQLITE } from '../sql/fragments.ts'

/** Compiles statements on first use. Compiling all of them takes half of the time needed to open a store. */
export class SqliteDatabase implements Database {
  readonly fragments = SQLITE
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  get name(): string {
    return this.#connection.name
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  prepare<Values extends unknown[] | {} = unknown[], Row = unknown>(
    sql: string
  ): Statement<Values extends unknown[] ? Values : [Values], Row> {
    return new LazyStatement(() => this.#connection.prepare(withHiddenParameters(sql))) as never
  }

  prepareMany({ each }: ManySql & { each: string | readonly string[] }): (rows: readonly Cell[][]) => void {
    const statements = [each].flat().map((sql) => this.prepare(sql))
    return (rows) => {
      for (const row of rows) statements.some((statement) => statement.run(...row).changes > 0)
    }
  }

  transaction<Values extends unknown[], Result>(work: (...values: Values) => Result): (...values: Values) => Result {
    return this.#connection.transaction(work)
  }
}

/**
 * Puts a unary plus before each parameter to hide it from the planner. Otherwise, if a parameter is compared with a
 * column that has partial indexes, or limits the rows, SQLite plans the statement again for each value
 * (https://sqlite.org/c3ref/prepare.html), which takes several times as long as the statement. Plans must not depend
 * on values anyway: query-plans.test.ts checks them.
 */
export function withHiddenParameters(sql: string): string {
  return sql.replace(/'[^']*'|\?|:[A-Za-z]\w*/g, (part) => (part.startsWith("'") ? part : `+${part}`))
}

class LazyStatement implements Statement {
  #prepared: SqliteStatement | null = null
  #prepare: () => SqliteStatement

  constructor(prepare: () => SqliteStatement) {
    this.#prepare = prepare
  }

  get(...values: unknown[]) {
    return this.#statement().get(...values)
  }

  all(...values: unknown[]) {
    return this.#statement().all(...values)
  }

  /** Runs the query immediately, because SQLite has no round trips that queries could share. */
  ahead(...values: unknown[]) {
    const row = this.#statement().get(...values)
    return () => row
  }

  aheadAll(...values: unknown[]) {
    const rows = this.#statement().all(...values)
    return () => rows
  }

  run(...values: unknown[]) {
    return this.#statement().run(...values)
  }

  iterate(...values: unknown[]) {
    return this.#statement().iterate(...values)
  }

  pluck(): this {
    const prepare = this.#prepare
    this.#prepare = () => prepare().pluck()
    return this
  }

  raw(): this {
    const prepare = this.#prepare
    this.#prepare = () => prepare().raw()
    return this
  }

  #statement(): SqliteStatement {
    return (this.#prepared ??= this.#prepare())
  }
}
