import type { Database } from 'better-sqlite3'
import { readCopy } from './scrapyd-databases.ts'

type Row = Record<string, unknown>

/** What ScrapydWeb keeps of its timer tasks, in two databases of one folder. Its rows are text of others: nothing is checked yet. */
export interface ScrapydWebDatabases {
  tasks: Row[]
  /** By number: the address that a node had when a task last ran there. */
  nodes: Map<number, string>
  /** By the task's id: whether its next run is set (`apscheduler.db`); null where that is not known. */
  isSet: Map<string, boolean> | null
}

/** `timer_tasks.db` of ScrapydWeb's data/database folder, and `apscheduler.db` beside it where there is one. Throws where it is none. */
export function readScrapydWebTasks(path: string, apscheduler: string | null): ScrapydWebDatabases {
  const { tasks, nodes } = readCopy(path, (database) => {
    require(database, 'task', 'timer_tasks.db of ScrapydWeb')
    const node = has(database, 'task_job_result')
      ? columnsOf(database, 'task_job_result').find((name) => name === 'node' || name === 'node_name')
      : undefined
    const seen =
      node === undefined
        ? []
        : (database.prepare(`SELECT "${node}" AS node, server FROM task_job_result ORDER BY id`).all() as Row[])
    return {
      tasks: database.prepare('SELECT * FROM task ORDER BY id').all() as Row[],
      nodes: new Map(seen.map((row) => [Number(row['node']), String(row['server'])]))
    }
  })
  if (apscheduler === null) return { tasks, nodes, isSet: null }
  const isSet = readCopy(apscheduler, (database) => {
    require(database, 'apscheduler_jobs', 'apscheduler.db of ScrapydWeb')
    const jobs = database.prepare('SELECT id, next_run_time IS NOT NULL AS isSet FROM apscheduler_jobs').all() as Row[]
    return new Map(jobs.map((row) => [String(row['id']), row['isSet'] === 1]))
  })
  return { tasks, nodes, isSet }
}

/** The tasks and clients of Gerapy's `dbs/db.sqlite3`. Throws where it is none. */
export function readGerapyTasks(path: string): { tasks: Row[]; clients: Row[] } {
  return readCopy(path, (database) => {
    require(database, 'core_task', "db.sqlite3 of Gerapy's dbs folder")
    return {
      tasks: database.prepare('SELECT * FROM core_task ORDER BY id').all() as Row[],
      clients: has(database, 'core_client')
        ? (database.prepare('SELECT id, name, ip, port FROM core_client ORDER BY id').all() as Row[])
        : []
    }
  })
}

function has(database: Database, table: string): boolean {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== undefined
}

function require(database: Database, table: string, what: string): void {
  if (!has(database, table)) throw new Error(`it has no table ${table}, so it is not ${what}`)
}

function columnsOf(database: Database, table: string): string[] {
  return database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
}
