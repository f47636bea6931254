import type { Database, Columns, ManySql } from './database.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'

/** Returns SQL that inserts or replaces a whole row. `values`: SQL, such as a parameter, for each column. */
export function replaceRow(table: string, key: readonly string[], values: Readonly<Record<string, string>>): string {
  const columns = Object.keys(values)
  const others = columns.filter((column) => !key.includes(column))
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${Object.values(values).join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}`
}

export const PUT_DEDUPE_KEY = replaceRow('dedupe_keys', ['key'], { key: '?', job_id: '?', expires_at_ms: '?' })

/** `table`: qualified if necessary. `conflict`: the ON CONFLICT clause for existing rows. */
export function insertMany(table: string, given: Columns, conflict = '') {
  const names = Object.keys(given).map((name) => `"${name}"`)
  const places = names.map(() => '?')
  return {
    sql: `INSERT INTO ${table} (${names.join(', ')}) SELECT ${names.join(', ')} FROM given ${conflict}`,
    each: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places.join(', ')}) ${conflict}`,
    given
  } satisfies ManySql
}

export interface Table<Thing> {
  all(): Thing[]
  put(thing: Thing): void
  /** For tables with a single-column key. Returns false if there was no such row. */
  remove(key: string): boolean
}

interface TableOptions {
  name: string
  key?: string
  order: string
  /** Field names in the order of the thing's fields. `:json` and `:flag` mark fields stored as JSON and as 0 or 1. */
  fields: string
  /** The columns whose names differ from the names of their fields. */
  columns?: Readonly<Record<string, string>>
}

/**
 * A small table that is always read as a whole. Each row is a thing, whose field `createdAtMs` is stored in
 * `created_at_ms`.
 */
export function createTable<Thing extends object>(database: Database, options: TableOptions): Table<Thing> {
  const { name, key = 'id', order, columns = {} } = options
  const fields = options.fields.split(/\s+/).map((field) => field.split(':') as [name: string, kind?: string])
  const columnOf = (field: string) => columns[field] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const selected = fields.map(([field]) => `${columnOf(field)} AS "${field}"`).join(', ')
  const select = database.prepare<[], Record<string, unknown>>(`SELECT ${selected} FROM ${name} ORDER BY ${order}`)
  const values = Object.fromEntries(fields.map(([field]) => [columnOf(field), `:${field}`]))
  const replace = database.prepare<Record<string, unknown>>(replaceRow(name, key.split(' '), values))
  const remove = database.prepare<[string]>(`DELETE FROM ${name} WHERE ${key.split(' ')[0]} = ?`)

  function read(kind: string | undefined, value: unknown): unknown {
    if (kind === 'flag') return value === 1
    return kind === 'json' && value !== null ? JSON.parse(value as string) : value
  }

  function write(kind: string | undefined, value: unknown): unknown {
    if (kind === 'flag') return value === true ? 1 : 0
    return kind === 'json' && value !== null ? JSON.stringify(value) : value
  }

  return {
    all: () =>
      select
        .all()
        .map((row) => Object.fromEntries(fields.map(([field, kind]) => [field, read(kind, row[field])])) as Thing),
    put(thing) {
      const given = thing as Record<string, unknown>
      replace.run(Object.fromEntries(fields.map(([field, kind]) => [field, write(kind, given[field])])))
    },
    remove: (id) => remove.run(id).changes > 0
  }
}

/** Throws if the new revision does not follow the stored one, which means that there was a concurrent change. */
export function requireNextRevision(next: number, present: number | undefined, noun: string): void {
  if (next === (present ?? 0) + 1) return
  throw new ScrapdeckError('CHANGED_MEANWHILE', sentence('storage.changed_meanwhile', { noun, next, present }))
}
