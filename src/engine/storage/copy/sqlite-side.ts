import { closeSync, existsSync, fsyncSync, openSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { lockDirectory } from '../sqlite/directory-lock.ts'
import { migrate, MIGRATIONS } from '../sqlite/migrate.ts'
import { openDatabase } from '../sqlite/open-database.ts'
import { explainSqliteError } from '../sqlite/sqlite-error.ts'
import type { ColumnKind, Counters, Side, Source, Table, Target } from './side.ts'
import type { Cell } from '../sql/database.ts'
import { commonReads, COPY_OF, COPYING, quoted } from './side.ts'
import { requireNewestSchema } from '../schema-versions.ts'

const FILE = 'scrapdeck.sqlite'

/** Throws DATA_DIRECTORY_IN_USE while an engine uses the directory. */
export function openSqliteSource(directory: string): Source {
  const path = join(directory, FILE)
  if (!existsSync(path))
    throw new ScrapdeckError('BAD_INPUT', sentence('storage.directory_without_store', { directory, file: FILE }))
  const lock = lockDirectory(directory)
  let database: Database | undefined
  const close = () => {
    database?.close()
    lock.release()
  }
  try {
    const opened = new DatabaseConstructor(path, { fileMustExist: true })
    database = opened
    requireNewestSchema(directory, opened.pragma('user_version', { simple: true }) as number, MIGRATIONS)
    return { ...sideOf(opened, directory, close), counters: () => countersOf(opened) }
  } catch (error) {
    close()
    throw explainSqliteError(error, path)
  }
}

/** Creates a store in a file next to the final one. Throws STORE_NOT_EMPTY if the directory already has a store. */
export function openSqliteTarget(directory: string, isRestarted: boolean): Target {
  const [whole, path] = [join(directory, FILE), join(directory, `${FILE}.${COPYING}`)]
  if (existsSync(whole)) {
    const what = `${directory} already has a store (${FILE}).`
    throw new ScrapdeckError('STORE_NOT_EMPTY', sentence('storage.database_exists', { what }))
  }
  if (isRestarted) for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
  const { database, lock } = openDatabase(path)
  let isOpen = true
  const closeDatabase = () => {
    if (isOpen) database.close()
    isOpen = false
  }
  const close = () => {
    closeDatabase()
    lock.release()
  }
  try {
    // Do not check the references of each row: `finish` checks all of them together.
    database.pragma('foreign_keys = OFF')
    const begun = database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(COPY_OF) !== undefined
    if (begun) database.exec('DELETE FROM settings')
    const inserts = new Map<string, (rows: Cell[][]) => void>()
    return {
      ...sideOf(database, directory, close),
      begunFrom: begun ? (database.prepare(`SELECT source FROM ${COPY_OF}`).pluck().get() as string) : null,
      begin(source, tables) {
        database.transaction(() => {
          for (const { name } of tables) database.exec(`DELETE FROM ${name}`)
          database.exec(`CREATE TABLE ${COPY_OF} (source TEXT NOT NULL) STRICT`)
          database.prepare(`INSERT INTO ${COPY_OF} VALUES (?)`).run(source)
        })()
      },
      write(table, rows) {
        let insert = inserts.get(table.name)
        if (insert === undefined) inserts.set(table.name, (insert = insertInto(database, table)))
        insert(rows)
      },
      finish(counters) {
        const wrong = database.pragma('foreign_key_check') as { table: string }[]
        if (wrong.length > 0) throw new Error(`Rows of ${wrong[0]!.table} refer to rows that are not there`)
        database.transaction(() => {
          database.exec('DELETE FROM sqlite_sequence')
          const set = database.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)')
          for (const [name, value] of counters) if (isCounted(database, name)) set.run(name, value)
          database.exec(`DROP TABLE ${COPY_OF}`)
        })()
        // Move everything from the write-ahead log into the main file. The directory remains locked.
        database.pragma('wal_checkpoint(TRUNCATE)')
        closeDatabase()
        syncFile(path)
        renameSync(path, whole)
        syncFile(directory)
      }
    }
  } catch (error) {
    close()
    throw explainSqliteError(error, path)
  }
}

function sideOf(database: Database, directory: string, close: () => void): Side {
  return {
    name: realpathSync(directory),
    kind: 'sqlite',
    close,
    ...commonReads((sql) => database.prepare(sql).raw().all() as unknown[][]),
    read(table, after, limits) {
      const { name, columns, key } = table
      const from = after === null ? '' : `WHERE (${key.map(quoted)}) > (${key.map(() => '?')})`
      const order = key.length === 0 ? '' : `ORDER BY ${key.map(quoted)}`
      const sql = `SELECT ${columns.map((column) => quoted(column.name))} FROM ${name} ${from} ${order} LIMIT ${limits.rows}`
      const rows: Cell[][] = []
      let bytes = 0
      for (const row of database
        .prepare(sql)
        .raw()
        .iterate(...(after ?? [])) as Iterable<Cell[]>) {
        rows.push(row)
        for (const cell of row) bytes += cell === null || typeof cell === 'number' ? 8 : cell.length
        if (bytes >= limits.bytes) break
      }
      return rows
    }
  }
}

function insertInto(database: Database, { name, columns }: Table): (rows: Cell[][]) => void {
  const names = columns.map((column) => quoted(column.name))
  const insert = database.prepare(`INSERT INTO ${name} (${names}) VALUES (${names.map(() => '?')})`)
  return database.transaction((rows: Cell[][]) => {
    for (const row of rows) insert.run(...row)
  })
}

const isCounted = (database: Database, table: string): boolean =>
  /\bAUTOINCREMENT\b/.test(
    String(database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(table) ?? '')
  )

const countersOf = (database: Database): Counters =>
  new Map(database.prepare('SELECT name, seq FROM sqlite_sequence').raw().all() as [string, number][])

/** The tables that both databases have, each after the tables that it refers to. */
export function sharedTables(): Table[] {
  const database = new DatabaseConstructor(':memory:')
  migrate(database)
  const names = database
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name"
    )
    .pluck()
    .all()
  const info = database.prepare('SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid')
  const parents = database.prepare('SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)').pluck()
  const tables = names.map((name): Table => {
    const columns = info.all(name) as { name: string; type: ColumnKind; pk: number }[]
    const key = columns.filter(({ pk }) => pk > 0).sort((one, other) => one.pk - other.pk)
    return {
      name,
      columns: columns.map((column) => ({ name: column.name, kind: column.type })),
      key: key.map((column) => column.name)
    }
  })
  const ordered: Table[] = []
  const visit = (table: Table): void => {
    if (ordered.includes(table)) return
    for (const parent of parents.all(table.name)) {
      if (parent !== table.name) visit(tables.find(({ name }) => name === parent)!)
    }
    ordered.push(table)
  }
  tables.forEach(visit)
  database.close()
  return ordered
}

function syncFile(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
