import type { Database } from 'better-sqlite3'

/**
 * Makes SQLite plan each prepared statement once. Where a parameter is compared with a column that has partial indexes,
 * or limits the rows, it would plan the statement anew for each value (https://sqlite.org/c3ref/prepare.html), which
 * costs several times what most of ours do. Plans must not depend on values anyway: query-plans.test.ts checks them.
 */
export function planOnce(database: Database): void {
  const prepare = database.prepare.bind(database)
  database.prepare = ((sql: string) => prepare(withHiddenParameters(sql))) as Database['prepare']
}

/** The same statement, with parameters that the planner does not look into: it does not see through a unary plus. */
export function withHiddenParameters(sql: string): string {
  return sql.replace(/'[^']*'|\?|:[A-Za-z]\w*/g, (part) => (part.startsWith("'") ? part : `+${part}`))
}
