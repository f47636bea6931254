import type { Database, Statement } from 'better-sqlite3'

/**
 * Makes SQLite compile each statement when it is first used: a start needs a few dozen of some three hundred, and
 * compiling all of them took as long as everything else that opening the store does. What `prepare` returns then has
 * only `get`, `all`, `run`, `iterate`, `pluck` and `raw`,
 * and `ahead` and `aheadAll` of ../sql/database.ts: there is no way to the database, so they ask at once.
 */
export function prepareLazily(database: Database): void {
  const prepare = database.prepare.bind(database) as (sql: string) => Statement
  database.prepare = ((sql: string) => new LazyStatement(() => prepare(sql))) as unknown as Database['prepare']
}

class LazyStatement implements Pick<Statement, 'get' | 'all' | 'run' | 'iterate'> {
  #prepared: Statement | null = null
  #prepare: () => Statement

  constructor(prepare: () => Statement) {
    this.#prepare = prepare
  }

  get(...values: unknown[]) {
    return this.#statement().get(...values)
  }

  all(...values: unknown[]) {
    return this.#statement().all(...values)
  }

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

  #statement(): Statement {
    return (this.#prepared ??= this.#prepare())
  }
}
