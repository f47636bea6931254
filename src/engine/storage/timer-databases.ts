import type { Database } from 'better-sqlite3'
import { hasTable, readCopy } from './scrapyd-databases.ts'

type Row = Record<string, unknown>

/** ScrapydWeb's timer tasks, from three databases in one folder. The rows are untrusted and not validated here. */
export interface ScrapydWebDatabases {
  tasks: Row[]
  /** By node number: the URL that the last task on the node was sent to. */
  nodes: Map<number, string>
  /** By task id: whether it has a next run time (`apscheduler.db`); null: unknown. */
  isSet: Map<string, boolean> | null
  /** Whether the switch above the task list disables all tasks (`metadata.db`). */
  areDisabled: boolean
}

const STATE_PAUSED = 2

/** Reads ScrapydWeb's `timer_tasks.db` and the databases beside it. Throws for other files. */
export function readScrapydWebTasks(
  path: string,
  { apscheduler, metadata }: { apscheduler: string | null; metadata: string | null }
): ScrapydWebDatabases {
  const { tasks, nodes } = readCopy(path, (database) => {
    require(database, 'task', 'timer_tasks.db of ScrapydWeb')
    const node = hasTable(database, 'task_job_result')
      ? columnsOf(database, 'task_job_result').find((name) => name === 'node' || name === 'node_name')
      : undefined
    // If a request failed before it had a node's URL, the row has ScrapydWeb's own URL.
    const isAsked = "status = 'ok' OR (status = 'error' AND status_code = -1)"
    const seen =
      node === undefined
        ? []
        : (database
            .prepare(`SELECT "${node}" AS node, server FROM task_job_result WHERE ${isAsked} ORDER BY id`)
            .all() as Row[])
    return {
      tasks: database.prepare('SELECT * FROM task ORDER BY id').all() as Row[],
      nodes: new Map(seen.map((row) => [Number(row['node']), String(row['server'])]))
    }
  })
  const areDisabled = metadata !== null && isDisabled(metadata)
  if (apscheduler === null) return { tasks, nodes, isSet: null, areDisabled }
  const isSet = readCopy(apscheduler, (database) => {
    require(database, 'apscheduler_jobs', 'apscheduler.db of ScrapydWeb')
    const jobs = database.prepare('SELECT id, next_run_time IS NOT NULL AS isSet FROM apscheduler_jobs').all() as Row[]
    return new Map(jobs.map((row) => [String(row['id']), row['isSet'] === 1]))
  })
  return { tasks, nodes, isSet, areDisabled }
}

function isDisabled(metadata: string): boolean {
  return readCopy(metadata, (database) => {
    if (!hasTable(database, 'metadata') || !columnsOf(database, 'metadata').includes('scheduler_state')) return false
    // There is a row for each ScrapydWeb version that was ever started. The last row is in use.
    const state = database.prepare('SELECT scheduler_state FROM metadata ORDER BY id DESC LIMIT 1').pluck().get()
    return state === STATE_PAUSED
  })
}

/** Data from Gerapy's `dbs/db.sqlite3`. `jobs`: the next run times by the name that Gerapy gives the job. */
export interface GerapyDatabase {
  tasks: Row[]
  clients: Row[]
  jobs: Map<string, string>
}

export function readGerapyTasks(path: string): GerapyDatabase {
  return readCopy(path, (database) => {
    require(database, 'core_task', "db.sqlite3 of Gerapy's dbs folder")
    return {
      tasks: database.prepare('SELECT * FROM core_task ORDER BY id').all() as Row[],
      clients: rowsOf(database, 'core_client', 'SELECT id, name, ip, port FROM core_client ORDER BY id'),
      jobs: new Map(
        rowsOf(
          database,
          'django_apscheduler_djangojob',
          'SELECT id, next_run_time AS at FROM django_apscheduler_djangojob WHERE next_run_time IS NOT NULL'
        ).map(({ id, at }) => [String(id), String(at)])
      )
    }
  })
}

function rowsOf(database: Database, table: string, sql: string): Row[] {
  return hasTable(database, table) ? (database.prepare(sql).all() as Row[]) : []
}

function require(database: Database, table: string, what: string): void {
  if (!hasTable(database, table)) throw new Error(`it has no table ${table}, so it is not ${what}`)
}

function columnsOf(database: Database, table: string): string[] {
  return database.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
}
