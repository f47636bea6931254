import type { ProjectName } from '../../shared/contract/index.ts'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'

/** One of Scrapyd's databases (scrapyd-protocol.md, 6.1 and 6.5). Rows are external input and not validated here. */
export interface ScrapydDatabase {
  /** `spider_queue`, in the order in which Scrapyd would start them. `problem`: why one cannot be read. */
  pending: { id: number; priority: number | null; message: string; problem?: string | undefined }[]
  /** `finished_jobs`, oldest first. Times are naive local text. */
  finished: { project: ProjectName; spider: string; job: string; startTime: string; endTime: string }[]
}

/** Reads a Scrapyd database. Throws if the file is not a database. */
export function readScrapydDatabase(path: string): ScrapydDatabase {
  return readCopy(path, (database) => {
    const read = <Rows>(table: string, sql: string) =>
      (hasTable(database, table) ? database.prepare(sql).all() : []) as Rows
    return {
      pending: read<ScrapydDatabase['pending']>(
        'spider_queue',
        'SELECT id, priority, CAST(message AS TEXT) AS message FROM spider_queue ORDER BY priority DESC, id'
      ),
      finished: read<ScrapydDatabase['finished']>(
        'finished_jobs',
        `SELECT project, spider, job, start_time AS startTime, end_time AS endTime FROM finished_jobs
         ORDER BY end_time, id`
      )
    }
  })
}

export function hasTable(database: Database, table: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== undefined
}

/**
 * Reads a copy of another program's database, so that the original is never touched: even a reader may write, if a
 * killed writer left a journal.
 */
export function readCopy<T>(path: string, read: (database: Database) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'scrapdeck-import-'))
  try {
    const copy = join(folder, basename(path))
    for (const suffix of ['', '-journal', '-wal']) {
      if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
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
