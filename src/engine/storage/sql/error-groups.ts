import type { Database } from './database.ts'
import type { AttemptNumber, ErrorGroupId, ErrorState, JobId, ProjectName } from '../../../shared/contract/index.ts'
import type {
  ErrorSpreadRow,
  RunErrorRow,
  StoredErrorGroup,
  StoredErrorGroupDetail,
  StoredOccurrence
} from '../../model/records.ts'
import { among, type Fragments } from './fragments.ts'
import type { ErrorGroupFilter, ErrorGroupPage } from '../store.ts'

const COLUMNS = `id, project, title, culprit, exception_type AS "exceptionType", because, state, state_at_ms AS "stateAtMs",
    reopened_at_ms AS "reopenedAtMs", first_seen_ms AS "firstSeenMs", last_seen_ms AS "lastSeenMs",
    first_version AS "firstVersion", count, job_count AS "jobCount"`
const OCCURRENCE = `job_id AS "jobId", attempt_number AS "attemptNumber", spider, version, node_id AS "nodeId", count,
    first_seen_ms AS "firstSeenMs", last_seen_ms AS "lastSeenMs", line, "offset", message`

const seenIn = (kind: string, name: string) => `(CAST(:${name} AS TEXT) IS NULL OR EXISTS (
      SELECT 1 FROM error_spread WHERE group_id = error_groups.id AND kind = '${kind}' AND value = :${name}))`
/** Reads in the order of an index, and skips rows that do not match the filter. */
const pageOf = ({ like }: Fragments, project: string) => `SELECT ${COLUMNS} FROM error_groups
    WHERE ${project} (last_seen_ms, id) < (:beforeMs, :beforeId)
      AND (CAST(:state AS TEXT) IS NULL OR state = :state) AND (CAST(:firstVersion AS TEXT) IS NULL OR first_version = :firstVersion)
      AND (CAST(:like AS TEXT) IS NULL OR title ${like} :like ESCAPE '\\' OR culprit ${like} :like ESCAPE '\\')
      AND ${seenIn('spider', 'spider')} AND ${seenIn('version', 'version')} AND ${seenIn('node', 'nodeId')}
    ORDER BY last_seen_ms DESC, id DESC LIMIT :limit`

const IS_BACK = `error_groups.state = 'resolved' AND excluded.last_seen_ms > error_groups.state_at_ms`

export const errorGroupsSql = (sql: Fragments) => ({
  page: pageOf(sql, ''),
  pageOfProject: pageOf(sql, 'project = :project AND'),
  pageOfProjects: pageOf(sql, `project ${among(sql, ':onlyProjects')} AND`),
  projects: `SELECT error_groups.id, project FROM ${sql.texts('?', 'wanted')}
    ${sql.thenJoin} error_groups ON error_groups.id = CAST(wanted.value AS BIGINT) ${sql.inOrderOf('wanted')}`,
  get: `SELECT ${COLUMNS} FROM error_groups WHERE id = ?`,
  spreadCounts: 'SELECT kind, count(*) AS count FROM error_spread WHERE group_id = ? GROUP BY kind',
  spread: `SELECT value, count, run_count AS "runCount", first_seen_ms AS "firstSeenMs", last_seen_ms AS "lastSeenMs"
    FROM error_spread WHERE group_id = ? AND kind = ? ORDER BY count DESC, value LIMIT ?`,
  hours: 'SELECT hour, count FROM error_hours WHERE group_id = ? AND hour >= ?',
  newest: `SELECT ${OCCURRENCE} FROM error_occurrences WHERE group_id = ? ORDER BY last_seen_ms DESC LIMIT ?`,
  ofJob: `SELECT group_id AS "groupId", ${OCCURRENCE} FROM error_occurrences
    WHERE job_id = :jobId AND attempt_number BETWEEN :from AND :to ORDER BY last_seen_ms DESC LIMIT :limit`,
  setState: `UPDATE error_groups SET state = :state, state_at_ms = :atMs, reopened_at_ms = NULL
    WHERE id = :id AND state <> :state`,

  find: 'SELECT id FROM error_groups WHERE project = ? AND fingerprint = ?',
  countOfProject: 'SELECT count(*) FROM error_groups WHERE project = ?',
  oldestOfProject: `SELECT id FROM error_groups WHERE project = ? AND state <> 'ignored' ORDER BY last_seen_ms LIMIT 1`,
  remove: 'DELETE FROM error_groups WHERE id = ?',
  countedBefore: 'SELECT count FROM error_occurrences WHERE group_id = ? AND job_id = ? AND attempt_number = ?',
  jobCountedBefore: 'SELECT 1 FROM error_occurrences WHERE group_id = ? AND job_id = ? LIMIT 1',
  // When a log is read again from its start, the first figures are lower. They must not reduce the stored figures.
  occurrence: `INSERT INTO error_occurrences (group_id, job_id, attempt_number, spider, version, node_id, count,
      first_seen_ms, last_seen_ms, line, "offset", message)
    VALUES (:groupId, :jobId, :attemptNumber, :spider, :version, :nodeId, :count, :firstSeenMs, :lastSeenMs, :line,
      :offset, :message)
    ON CONFLICT (group_id, job_id, attempt_number) DO UPDATE SET
      count = ${sql.greatest}(error_occurrences.count, excluded.count),
      last_seen_ms = ${sql.greatest}(error_occurrences.last_seen_ms, excluded.last_seen_ms)`,
  group: `INSERT INTO error_groups (project, fingerprint, title, culprit, exception_type, because, state,
      first_seen_ms, last_seen_ms, first_version, count, job_count)
    VALUES (:project, :fingerprint, :title, :culprit, :exceptionType, :because, 'open', :firstSeenMs,
      :lastSeenMs, :version, :more, :isNewJob)
    ON CONFLICT (project, fingerprint) DO UPDATE SET
      reopened_at_ms = CASE WHEN ${IS_BACK} THEN excluded.last_seen_ms ELSE error_groups.reopened_at_ms END,
      state = CASE WHEN ${IS_BACK} THEN 'open' ELSE error_groups.state END,
      first_version = CASE WHEN excluded.first_seen_ms < error_groups.first_seen_ms THEN excluded.first_version
        ELSE error_groups.first_version END,
      first_seen_ms = ${sql.least}(error_groups.first_seen_ms, excluded.first_seen_ms),
      last_seen_ms = ${sql.greatest}(error_groups.last_seen_ms, excluded.last_seen_ms),
      count = error_groups.count + excluded.count, job_count = error_groups.job_count + excluded.job_count
    RETURNING id`,
  countSpread: `INSERT INTO error_spread (group_id, kind, value, count, run_count, first_seen_ms, last_seen_ms)
    VALUES (:groupId, :kind, :value, :more, :isNewRun, :firstSeenMs, :lastSeenMs)
    ON CONFLICT (group_id, kind, value) DO UPDATE SET count = error_spread.count + excluded.count,
      run_count = error_spread.run_count + excluded.run_count,
      first_seen_ms = ${sql.least}(error_spread.first_seen_ms, excluded.first_seen_ms),
      last_seen_ms = ${sql.greatest}(error_spread.last_seen_ms, excluded.last_seen_ms)`,
  countHour: `INSERT INTO error_hours (group_id, hour, count) VALUES (?, ?, ?)
    ON CONFLICT (group_id, hour) DO UPDATE SET count = error_hours.count + excluded.count`,
  forgetHours: 'DELETE FROM error_hours WHERE group_id = ? AND hour < ?'
})

/**
 * The maximum number of groups per project. Only logs in which every line differs cause more groups. The least recently
 * seen group is then dropped.
 */
export const MOST_GROUPS_OF_PROJECT = 1_000
const HOUR_MS = 3_600_000
const HOURS_KEPT = 24 * 60
const TOP_SPIDERS = 3
const MOST_OF_EACH = 50
const MOST_OF_JOB = 200

type GroupRow = Omit<StoredErrorGroup, 'spiderCount' | 'versionCount' | 'nodeCount' | 'spiders' | 'hours'>

export interface RunRow {
  project: string
  spider: string
  version: string
  nodeId: string
}

export function createErrorGroups({ database }: { database: Database }) {
  const sql = errorGroupsSql(database.fragments)
  const page = database.prepare<Record<string, unknown>, GroupRow>(sql.page)
  const pageOfProject = database.prepare<Record<string, unknown>, GroupRow>(sql.pageOfProject)
  const pageOfProjects = database.prepare<Record<string, unknown>, GroupRow>(sql.pageOfProjects)
  const projects = database.prepare<[string], { id: ErrorGroupId; project: ProjectName }>(sql.projects)
  const get = database.prepare<[number], GroupRow>(sql.get)
  const spreadCounts = database.prepare<[number], { kind: string; count: number }>(sql.spreadCounts)
  const spread = database.prepare<[number, string, number], ErrorSpreadRow>(sql.spread)
  const hours = database.prepare<[number, number], { hour: number; count: number }>(sql.hours)
  const newest = database.prepare<[number, number], StoredOccurrence>(sql.newest)
  const ofJob = database.prepare<Record<string, unknown>, StoredOccurrence & { groupId: number }>(sql.ofJob)
  const setState = database.prepare<Record<string, unknown>>(sql.setState)
  const find = database.prepare<[string, string], number>(sql.find).pluck()
  const countOfProject = database.prepare<[string], number>(sql.countOfProject).pluck()
  const oldestOfProject = database.prepare<[string], number>(sql.oldestOfProject).pluck()
  const remove = database.prepare<[number]>(sql.remove)
  const countedBefore = database.prepare<[number, string, number], number>(sql.countedBefore).pluck()
  const jobCountedBefore = database.prepare<[number, string], number>(sql.jobCountedBefore).pluck()
  const occurrence = database.prepare<[object]>(sql.occurrence)
  const group = database.prepare<[object], number>(sql.group).pluck()
  const countSpread = database.prepare<[object]>(sql.countSpread)
  const countHour = database.prepare<[number, number, number]>(sql.countHour)
  const forgetHours = database.prepare<[number, number]>(sql.forgetHours)

  function makeRoom(project: string): void {
    if (countOfProject.get(project)! < MOST_GROUPS_OF_PROJECT) return
    const oldest = oldestOfProject.get(project)
    if (oldest !== undefined) remove.run(oldest)
  }

  /** Counts a run only once, however often it is recorded. */
  function record(jobId: JobId, attemptNumber: AttemptNumber, of: RunRow, error: RunErrorRow): void {
    const { project, spider, version, nodeId } = of
    const { fingerprint, title, culprit, exceptionType, because, count, firstSeenMs, lastSeenMs } = error
    const known = find.get(project, fingerprint)
    if (known === undefined) makeRoom(project)
    const before = known === undefined ? undefined : countedBefore.get(known, jobId, attemptNumber)
    const isNewRun = before === undefined ? 1 : 0
    const isNewJob = known === undefined || (isNewRun === 1 && jobCountedBefore.get(known, jobId) === undefined) ? 1 : 0
    const more = Math.max(0, count - (before ?? 0))
    const groupId = group.get({
      project,
      fingerprint,
      title,
      culprit,
      exceptionType,
      because,
      firstSeenMs,
      lastSeenMs,
      version,
      more,
      isNewJob
    })!
    const { line, offset, message } = error
    occurrence.run({
      groupId,
      jobId,
      attemptNumber,
      spider,
      version,
      nodeId,
      count,
      firstSeenMs,
      lastSeenMs,
      line,
      offset,
      message
    })
    if (more === 0) return
    for (const [kind, value] of Object.entries({ spider, version, node: nodeId })) {
      countSpread.run({ groupId, kind, value, more, isNewRun, firstSeenMs, lastSeenMs })
    }
    const hour = Math.floor(lastSeenMs / HOUR_MS)
    countHour.run(groupId, hour, more)
    forgetHours.run(groupId, hour - HOURS_KEPT)
  }

  function describe(row: GroupRow, sinceMs: number): StoredErrorGroup {
    const counts = Object.fromEntries(spreadCounts.all(row.id).map(({ kind, count }) => [kind, count]))
    return {
      ...row,
      spiderCount: counts['spider'] ?? 0,
      versionCount: counts['version'] ?? 0,
      nodeCount: counts['node'] ?? 0,
      spiders: spread.all(row.id, 'spider', TOP_SPIDERS).map(({ value }) => value),
      hours: hours.all(row.id, Math.floor(sinceMs / HOUR_MS))
    }
  }

  return {
    record,

    listErrorGroups(filter: ErrorGroupFilter, { before, limit, sinceMs }: ErrorGroupPage): StoredErrorGroup[] {
      const { project = null, spider = null, version = null, nodeId = null } = filter
      const { state = null, firstVersion = null, text } = filter
      const like = text === undefined || text === '' ? null : `%${text.replace(/[\\%_]/g, '\\$&')}%`
      const { lastSeenMs: beforeMs, id: beforeId } = before ?? { lastSeenMs: Number.MAX_SAFE_INTEGER, id: 0 }
      const wanted = { spider, version, nodeId, state, firstVersion, like, beforeMs, beforeId, limit }
      const { onlyProjects } = filter
      const hidden = project !== null && onlyProjects?.includes(project as ProjectName) === false
      return (hidden ? [] : rows()).map((row) => describe(row, sinceMs))

      function rows(): GroupRow[] {
        if (project !== null) return pageOfProject.all({ ...wanted, project })
        if (onlyProjects === undefined) return page.all(wanted)
        return pageOfProjects.all({ ...wanted, onlyProjects: JSON.stringify(onlyProjects) })
      }
    },

    projectsOfErrorGroups: (ids: ErrorGroupId[]) => projects.all(JSON.stringify(ids)),

    getErrorGroup(id: ErrorGroupId, sinceMs: number): StoredErrorGroupDetail | null {
      const row = get.get(id)
      if (row === undefined) return null
      return {
        group: describe(row, sinceMs),
        occurrences: newest.all(id, MOST_OF_EACH),
        spiders: spread.all(id, 'spider', MOST_OF_EACH),
        versions: spread.all(id, 'version', MOST_OF_EACH),
        nodes: spread.all(id, 'node', MOST_OF_EACH)
      }
    },

    listErrorsOfJob(jobId: JobId, attemptNumber: AttemptNumber | null, sinceMs: number) {
      const [from, to] = attemptNumber === null ? [0, Number.MAX_SAFE_INTEGER] : [attemptNumber, attemptNumber]
      return ofJob.all({ jobId, from, to, limit: MOST_OF_JOB }).map(({ groupId, ...row }) => ({
        group: describe(get.get(groupId)!, sinceMs),
        occurrence: row
      }))
    },

    setErrorState: (ids: ErrorGroupId[], state: ErrorState, atMs: number): ErrorGroupId[] =>
      ids.filter((id) => setState.run({ id, state, atMs }).changes > 0)
  }
}
