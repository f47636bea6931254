import type { Database } from 'better-sqlite3'
import { type Expression, type ExpressionBuilder, Kysely, type SqlBool, SqliteDialect, sql } from 'kysely'
import type { JobFacets, JobFilter, JobStatus, Outcome } from '../../../shared/contract/index.ts'
import type { FinishedRun, StoredJob } from '../store.ts'
import { type JobRow, toJob } from './rows.ts'

/** Facets are for choosing from: nobody chooses from more than these. */
const FACET_LIMIT = 500

/** A client may give every run the same jobid: its live ones are among the newest. */
const NAMESAKES_LIMIT = 1000

/** A job gets its id before it is recorded as queued: by less than this. */
const ID_TIME_MARGIN_MS = 60_000

/** Above every job id, all of which are hexadecimal: the page before it is the newest. */
const AFTER_EVERY_ID = 'g'

export const JOBS_SQL = {
  one: 'SELECT * FROM jobs WHERE id = ?',
  many: 'SELECT jobs.* FROM json_each(?) AS wanted JOIN jobs ON jobs.id = wanted.value ORDER BY wanted.key',
  statuses: `SELECT status, count(*) AS count FROM json_each(?) AS wanted JOIN jobs ON jobs.id = wanted.value GROUP BY status`,
  byState: 'SELECT state, count FROM state_counts',
  endedSince: `SELECT outcome, count(*) AS count FROM jobs WHERE state = 'ended' AND ended_at_ms >= ? GROUP BY outcome`,
  byJobid: `SELECT * FROM (
      SELECT * FROM jobs WHERE id = :jobid AND jobid = :jobid
      UNION ALL SELECT * FROM jobs WHERE jobid = :jobid AND jobid <> id
    ) WHERE :project IS NULL OR project = :project ORDER BY id DESC LIMIT ${NAMESAKES_LIMIT}`,
  // Refused, never arrived, or cancelled before it started: no process ever ran.
  finishedRuns: `SELECT jobs.id, jobs.jobid, jobs.project, jobs.spider, jobs.started_at_ms, jobs.ended_at_ms,
      attempts.node_id, attempts.jobid AS run_jobid, attempts.log_archived
    FROM jobs JOIN attempts ON attempts.job_id = jobs.id AND attempts.number = jobs.attempt_count
    WHERE jobs.state = 'ended' AND jobs.ended_at_ms >= 0 AND attempts.result NOT IN ('refused', 'absent')
      AND NOT (attempts.result = 'cancelled' AND attempts.started_at_ms IS NULL)
    ORDER BY jobs.ended_at_ms DESC, jobs.id DESC LIMIT ?`,
  needingProject: "SELECT count(*) FROM jobs WHERE state <> 'ended' AND project = ?",
  // A live job that asked for the latest version needs the one it was sent with.
  needingVersion: `SELECT
      (SELECT count(*) FROM jobs WHERE state <> 'ended' AND project = :project AND version = :version) +
      (SELECT count(*) FROM jobs JOIN attempts ON attempts.job_id = jobs.id AND attempts.state <> 'ended'
        WHERE jobs.state <> 'ended' AND jobs.project = :project AND jobs.version IS NULL AND attempts.version = :version)`
}

interface FinishedRow {
  id: string
  jobid: string
  project: string
  spider: string
  started_at_ms: number | null
  ended_at_ms: number
  node_id: string
  run_jobid: string
  log_archived: number
}

export interface Tables {
  jobs: JobRow
  facet_counts: { status: string; project: string; node_id: string; count: number }
}

/** Everything that is read of jobs. */
export function createJobs(database: Database) {
  const queries = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })
  const one = database.prepare<[string], JobRow>(JOBS_SQL.one)
  const many = database.prepare<[string], JobRow>(JOBS_SQL.many)
  const statuses = database.prepare<[string], { status: JobStatus; count: number }>(JOBS_SQL.statuses)
  const byState = database.prepare<[], { state: StoredJob['state']; count: number }>(JOBS_SQL.byState)
  const endedSince = database.prepare<[number], { outcome: Outcome; count: number }>(JOBS_SQL.endedSince)
  const byJobid = database.prepare<{ jobid: string; project: string | null }, JobRow>(JOBS_SQL.byJobid)
  const finishedRuns = database.prepare<[number], FinishedRow>(JOBS_SQL.finishedRuns)
  const needingProject = database.prepare<[string], number>(JOBS_SQL.needingProject).pluck()
  const needingVersion = database.prepare<{ project: string; version: string }, number>(JOBS_SQL.needingVersion).pluck()

  return {
    get(id: string): StoredJob | null {
      const row = one.get(id)
      return row === undefined ? null : toJob(row)
    },

    getMany: (ids: string[]): StoredJob[] => many.all(JSON.stringify(ids)).map(toJob),

    async list(filter: JobFilter, page: { before: string | null; limit: number }): Promise<StoredJob[]> {
      const pages = await Promise.all(listPageQueries(queries, filter, page).map((query) => query.execute()))
      const rows = pages.flat().sort((a, b) => (a.id < b.id ? 1 : -1))
      return rows.slice(0, page.limit).map(toJob)
    },

    async countFacets(filter: JobFilter): Promise<JobFacets> {
      const facets: JobFacets = { status: [], project: [], nodeId: [] }
      const rows = await facetsQuery(queries, filter).execute()
      for (const { facet, value, count } of rows) facets[facet].push({ value, count })
      return facets
    },

    countStatuses(ids: string[]): Partial<Record<JobStatus, number>> {
      const rows = statuses.all(JSON.stringify([...new Set(ids)]))
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
    },

    countByState(): Record<StoredJob['state'], number> {
      const counts = { queued: 0, starting: 0, running: 0, ended: 0 }
      for (const { state, count } of byState.all()) counts[state] = count
      return counts
    },

    countEndedSince(sinceMs: number): Record<Outcome, number> {
      const counts = { succeeded: 0, failed: 0, cancelled: 0, lost: 0 }
      for (const { outcome, count } of endedSince.all(sinceMs)) counts[outcome] = count
      return counts
    },

    findByJobid: (jobid: string, project: string | null): StoredJob[] => byJobid.all({ jobid, project }).map(toJob),

    listFinishedRuns: (limit: number): FinishedRun[] =>
      finishedRuns.all(Number.isFinite(limit) ? limit : -1).map((row) => ({
        id: row.id,
        jobid: row.jobid,
        project: row.project,
        spider: row.spider,
        startedAtMs: row.started_at_ms,
        endedAtMs: row.ended_at_ms,
        run: { nodeId: row.node_id, jobid: row.run_jobid, logArchived: row.log_archived === 1 }
      })),

    countNeeding(project: string, version: string | null): number {
      const count = version === null ? needingProject.get(project) : needingVersion.get({ project, version })
      return count ?? 0
    }
  }
}

/**
 * One query per status asked for, each of them a walk down one index that stops at the page's length; the caller
 * merges. One query over several statuses would have to sort everything, or walk through a million ended jobs to
 * find the few that run.
 */
export function listPageQueries(
  queries: Kysely<Tables>,
  filter: JobFilter,
  page: { before: string | null; limit: number }
) {
  const newestFirst = queries
    .selectFrom('jobs')
    .selectAll()
    .where('id', '<', page.before ?? AFTER_EVERY_ID)
    .where((where) => where.and(conditions(where, filter)))
    .orderBy('id', 'desc')
    .limit(page.limit)
  if (filter.status === undefined || filter.status.length === 0) return [newestFirst]
  return [...new Set(filter.status)].map((status) => newestFirst.where('status', '=', status))
}

/** Each facet counts what the other filters leave, so that it shows what choosing another of its values would give. */
function facetsQuery(queries: Kysely<Tables>, filter: JobFilter) {
  const { project, spider, nodeId, status, text, sinceMs } = filter
  const counted = spider === undefined && text === undefined && sinceMs === undefined
  const facets = facet('status', 'status').unionAll(facet('project', 'project')).unionAll(facet('nodeId', 'node_id'))
  return queries
    .with('cube', () => (counted ? queries.selectFrom('facet_counts').selectAll() : scanJobs()))
    .selectFrom(facets.as('facets'))
    .selectAll()

  /** The same cube, for filters that the counters know nothing of. */
  function scanJobs() {
    return queries
      .selectFrom('jobs')
      .select([
        'status',
        'project',
        sql<string>`coalesce(node_id, '')`.as('node_id'),
        sql<number>`count(*)`.as('count')
      ])
      .where((where) => where.and(conditions(where, { spider, text, sinceMs })))
      .groupBy(['status', 'project', 'node_id'])
  }

  function facet(name: keyof JobFacets, column: 'status' | 'project' | 'node_id') {
    let query = queries.withTables<{ cube: Tables['facet_counts'] }>().selectFrom('cube').where(column, '<>', '')
    if (column !== 'status' && status !== undefined && status.length > 0) query = query.where('status', 'in', status)
    if (column !== 'project' && project !== undefined) query = query.where(matches(sql.ref('project'), project))
    if (column !== 'node_id' && nodeId !== undefined) query = query.where('node_id', '=', nodeId)
    const counts = query
      .select([sql.lit(name).as('facet'), sql.ref<string>(column).as('value'), sql<number>`sum(count)`.as('count')])
      .groupBy(column)
      .having(sql<number>`sum(count)`, '>', 0)
      .orderBy(sql`3`, 'desc')
      .orderBy('value')
      .limit(FACET_LIMIT)
    return queries.selectFrom(counts.as('counts')).selectAll()
  }
}

function conditions(where: ExpressionBuilder<Tables, 'jobs'>, filter: JobFilter): Expression<SqlBool>[] {
  const { project, spider, nodeId, text, sinceMs } = filter
  const list: Expression<SqlBool>[] = []
  if (project !== undefined) list.push(matches(sql.ref('project'), project))
  if (spider !== undefined) list.push(matches(sql.ref('spider'), spider))
  if (nodeId !== undefined) list.push(where('node_id', '=', nodeId))
  // The time decides; the id, which begins with nearly the same time, keeps an index from walking through all of history.
  if (sinceMs !== undefined) list.push(where('queued_at_ms', '>=', sinceMs), where('id', '>=', lowestIdSince(sinceMs)))
  if (text !== undefined && text !== '') {
    const like = `%${text.replace(/[\\%_]/g, '\\$&')}%`
    list.push(sql<SqlBool>`(project LIKE ${like} ESCAPE '\\' OR spider LIKE ${like} ESCAPE '\\'
      OR jobid LIKE ${like} ESCAPE '\\' OR id LIKE ${like} ESCAPE '\\')`)
  }
  return list
}

function lowestIdSince(sinceMs: number): string {
  const timeMs = Math.min(Math.max(0, Math.floor(sinceMs) - ID_TIME_MARGIN_MS), 2 ** 48 - 1)
  return timeMs.toString(16).padStart(12, '0')
}

/** `*` stands for anything; every other character for itself. */
function matches(column: Expression<unknown>, pattern: string): Expression<SqlBool> {
  if (!pattern.includes('*')) return sql<SqlBool>`${column} = ${pattern}`
  return sql<SqlBool>`${column} GLOB ${pattern.replace(/[[?]/g, '[$&]')}`
}
