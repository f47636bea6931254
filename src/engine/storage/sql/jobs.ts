import type { Database } from './database.ts'
import type { JobId, JobStatus, NodeId, Outcome, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import type { FinishedRun, StoredJob, OnlyProjects } from '../../model/records.ts'
import { LIVE_JOB_STATES } from './counters.ts'
import { createJobList, jobListSql } from './job-list.ts'
import { among, type Fragments } from './fragments.ts'
import { JOB, type JobRow, toJob } from './rows.ts'

/**
 * The maximum number of jobs to list per jobid, because a client can give every run the same jobid. Live jobs are among
 * the newest.
 */
const NAMESAKES_LIMIT = 1000

export const jobsSql = (sql: Fragments) => ({
  one: `SELECT ${JOB} FROM jobs WHERE id = ?`,
  statuses: `SELECT status, count(*) AS count FROM ${sql.texts('?', 'wanted')} JOIN jobs ON jobs.id = wanted.value
    GROUP BY status`,
  byState: 'SELECT state, count FROM state_counts',
  byStatusIn: `SELECT status, sum(count) AS count FROM job_counts
    WHERE project ${among(sql, '?')} GROUP BY status`,
  endedSince: `SELECT outcome, count(*) AS count FROM jobs WHERE state = 'ended' AND ended_at_ms >= ? GROUP BY outcome`,
  endedSinceIn: `SELECT outcome, count(*) AS count FROM jobs
    WHERE state = 'ended' AND ended_at_ms >= ? AND project ${among(sql, '?')} GROUP BY outcome`,
  byJobid: `SELECT * FROM (
      SELECT ${JOB} FROM jobs WHERE id = :jobid AND jobid = :jobid
      UNION ALL SELECT ${JOB} FROM jobs WHERE jobid = :jobid AND jobid <> id
    ) AS named WHERE CAST(:project AS TEXT) IS NULL OR project = :project ORDER BY id DESC LIMIT ${NAMESAKES_LIMIT}`,
  // Excludes jobs without a process: refused, never received, or cancelled before they started.
  finishedRuns: `SELECT jobs.id, jobs.jobid, jobs.project, jobs.spider, jobs.started_at_ms AS "startedAtMs",
      jobs.ended_at_ms AS "endedAtMs", attempts.node_id AS "nodeId", attempts.jobid AS "runJobid",
      attempts.log_archived AS "logArchived",
      EXISTS (SELECT 1 FROM kept_items WHERE job_id = jobs.id AND attempt_number = attempts.number
        AND stored_bytes IS NOT NULL) AS "itemsKept"
    FROM jobs JOIN attempts ON attempts.job_id = jobs.id AND attempts.number = jobs.attempt_count
    WHERE jobs.state = 'ended' AND jobs.ended_at_ms >= 0 AND attempts.result NOT IN ('refused', 'absent')
      AND NOT (attempts.result = 'cancelled' AND attempts.started_at_ms IS NULL)
    ORDER BY jobs.ended_at_ms DESC, jobs.id DESC LIMIT ?`,
  spidersElsewhere: `SELECT DISTINCT project, spider FROM job_counts
    WHERE node_id NOT IN ('', ?) AND status NOT IN ('queued', 'starting')`,
  needingProject: `SELECT coalesce(sum(count), 0) FROM job_counts
    WHERE project = ? AND status IN ('queued', 'starting', 'running')`,
  // Jobs in lanes, held jobs and live jobs. A live job without a version needs the version that was sent with it.
  needingVersion: `SELECT
      (SELECT coalesce(sum(depth), 0) FROM queue_lanes 
        WHERE ${sql.json('lane')} ->> 0 = :project AND ${sql.json('lane')} ->> 1 = :version) +
      (SELECT count(*) FROM jobs WHERE state = 'queued' AND hold IS NOT NULL AND project = :project AND version = :version) +
      (SELECT count(*) FROM attempts JOIN jobs ON jobs.id = attempts.job_id
        WHERE attempts.state <> 'ended' AND attempts.project = :project
          AND coalesce(jobs.version, attempts.version) = :version)`
})

interface FinishedRow extends Omit<FinishedRun, 'run'> {
  nodeId: NodeId
  runJobid: string
  logArchived: number
  itemsKept: number
}

export function createJobs(database: Database) {
  const jobList = createJobList(database)
  const statements = jobsSql(database.fragments)
  const one = database.prepare<[string], JobRow>(statements.one).raw()
  const many = database.prepare<[string], JobRow>(jobListSql(database.fragments).byIds).raw()
  const statuses = database.prepare<[string], { status: JobStatus; count: number }>(statements.statuses)
  const byState = database.prepare<[], { state: StoredJob['state']; count: number }>(statements.byState)
  const endedSince = database.prepare<[number], { outcome: Outcome; count: number }>(statements.endedSince)
  const byStatusIn = database.prepare<[string], { status: JobStatus; count: number }>(statements.byStatusIn)
  const endedSinceIn = database.prepare<[number, string], { outcome: Outcome; count: number }>(statements.endedSinceIn)
  const byJobid = database.prepare<{ jobid: string; project: ProjectName | null }, JobRow>(statements.byJobid).raw()
  const finishedRuns = database.prepare<[number], FinishedRow>(statements.finishedRuns)
  const spidersElsewhere = database.prepare<[NodeId], { project: ProjectName; spider: string }>(
    statements.spidersElsewhere
  )
  const needingProject = database.prepare<[string], number>(statements.needingProject).pluck()
  const needingVersion = database
    .prepare<{ project: ProjectName; version: VersionName }, number>(statements.needingVersion)
    .pluck()

  return {
    getJob(id: JobId): StoredJob | null {
      const row = one.get(id)
      return row === undefined ? null : toJob(row)
    },

    getMany: (ids: JobId[]): JobRow[] => many.all(JSON.stringify(ids)),

    list: jobList.list,
    listLater: jobList.listLater,
    countFacets: jobList.countFacets,

    countStatuses(ids: JobId[]): Partial<Record<JobStatus, number>> {
      const rows = statuses.all(JSON.stringify([...new Set(ids)]))
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
    },

    countByState({ onlyProjects }: OnlyProjects = {}): Record<StoredJob['state'], number> {
      const counts = { queued: 0, starting: 0, running: 0, ended: 0 }
      if (onlyProjects !== undefined) {
        for (const { status, count } of byStatusIn.all(JSON.stringify(onlyProjects))) {
          counts[LIVE_JOB_STATES.has(status) ? (status as 'queued') : 'ended'] += count
        }
        return counts
      }
      for (const { state, count } of byState.all()) counts[state] = count
      return counts
    },

    countEndedSince(sinceMs: number, { onlyProjects }: OnlyProjects = {}): Record<Outcome, number> {
      const counts = { succeeded: 0, failed: 0, cancelled: 0, lost: 0, unclear: 0 }
      const rows =
        onlyProjects === undefined ? endedSince.all(sinceMs) : endedSinceIn.all(sinceMs, JSON.stringify(onlyProjects))
      for (const { outcome, count } of rows) counts[outcome] = count
      return counts
    },

    findJobsByJobid: (project: ProjectName | null, jobid: string): StoredJob[] =>
      byJobid.all({ jobid, project }).map(toJob),

    listSpidersElsewhere: (nodeId: NodeId) => spidersElsewhere.all(nodeId),

    listFinishedRuns: (limit: number): FinishedRun[] =>
      finishedRuns
        .all(Number.isFinite(limit) ? limit : Number.MAX_SAFE_INTEGER)
        .map(({ nodeId, runJobid, logArchived, itemsKept, ...job }) => ({
          ...job,
          run: { nodeId, jobid: runJobid, logArchived: logArchived === 1, itemsKept: itemsKept === 1 }
        })),

    countJobsNeeding(project: ProjectName, version: VersionName | null): number {
      const count = version === null ? needingProject.get(project) : needingVersion.get({ project, version })
      return count ?? 0
    }
  }
}
