import type { ProjectName } from '../../shared/contract/index.ts'
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'

/** One of Scrapyd's databases (scrapyd-protocol.md, 6.1 and 6.5). Its rows are untrusted and not validated here. */
export interface ScrapydDatabase {
  /** `spider_queue`, in Scrapyd's order. `problem`: why a row cannot be read. */
  pending: { id: number; priority: number | null; message: string; problem?: string | null | undefined }[]
  /** `finished_jobs`, oldest first. Times are local times without a zone. */
  finished: { project: ProjectName; spider: string; job: string; startTime: string; endTime: string }[]
}

export function readScrapydDatabase(path: string): ScrapydDatabase {
  return readCopy(path, (database) => {
    const read = <Rows>(table: string, sql: string) =>
      (hasTable(database, table) ? database.prepare(sql).all() : []) as Rows
    return {
      pending: read<ScrapydDatabase['pending']>(
        'spider_queue',
        `SELECT id, priority, iif(length(message) > ${LONGEST_MESSAGE}, '', CAST(message AS TEXT)) AS message,
           iif(length(message) > ${LONGEST_MESSAGE}, 'its message is too long', NULL) AS problem
         FROM spider_queue ORDER BY priority DESC, id`
      ),
      finished: read<ScrapydDatabase['finished']>(
        'finished_jobs',
        `SELECT ${short('project')}, ${short('spider')}, ${short('job')}, ${short('start_time', 'startTime')},
           ${short('end_time', 'endTime')} FROM finished_jobs ORDER BY end_time, id`
      )
    }
  })
}

const LONGEST_MESSAGE = 1_000_000
const LONGEST_NAME = 1_000
const short = (column: string, as = column) => `iif(length(${column}) > ${LONGEST_NAME}, NULL, ${column}) AS ${as}`

/** Throws for views and tables that compute their rows, because reading them could take forever. */
export function hasTable(database: Database, table: string): boolean {
  const isPlain = database
    .prepare(
      `SELECT type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
         AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(schema.name) WHERE hidden <> 0)
       FROM sqlite_schema AS schema WHERE type IN ('table', 'view') AND name = ?`
    )
    .pluck()
    .get(table)
  if (isPlain === 0) throw new Error(`${table} is not a plain table`)
  return isPlain === 1
}

/** Reads a copy: reading the original can write to it if a killed writer left a journal. */
export function readCopy<T>(path: string, read: (database: Database) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'scrapdeck-import-'))
  try {
    const copy = join(folder, basename(path))
    for (const suffix of ['', '-journal', '-wal']) {
      // Accept only regular files: reading a pipe would never end.
      if (statSync(path + suffix, { throwIfNoEntry: suffix === '' })?.isFile() === true)
        copyFileSync(path + suffix, copy + suffix)
      else if (suffix === '') throw new Error('it is not a regular file')
    }
    const database = new DatabaseConstructor(copy)
    try {
      return read(database)
    } finally {
      database.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
