import type { Columns, ManySql } from './database.ts'

/**
 * SQL that writes a whole row, whether or not there is one with this key. `values`: what each column gets, as SQL (a
 * parameter); `key`: its primary key.
 */
export function replaceRow(table: string, key: readonly string[], values: Readonly<Record<string, string>>): string {
  const columns = Object.keys(values)
  const others = columns.filter((column) => !key.includes(column))
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${Object.values(values).join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`
}

export const PUT_DEDUPE_KEY = replaceRow('dedupe_keys', ['key'], { key: '?', job_id: '?', expires_at_ms: '?' })

/** Inserts the given rows, which have these columns. `table`: qualified, if it must be. */
export function insertGiven(table: string, given: Columns): ManySql {
  const names = Object.keys(given).map((name) => `"${name}"`)
  return { sql: `INSERT INTO ${table} (${names.join(', ')}) SELECT ${names.join(', ')} FROM given`, given }
}
