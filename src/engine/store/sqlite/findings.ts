import type { Database } from 'better-sqlite3'
import type { Finding, JobId, ProjectName } from '../../../shared/contract/index.ts'
import type { FilledFields, PastRun, StoredFindings } from '../records.ts'

export const FINDINGS_SQL = {
  successfulRuns: `SELECT id AS jobId, pages, items, errors, started_at_ms AS startedAtMs, ended_at_ms AS endedAtMs,
    (SELECT figures ->> '$.filledFields' FROM run_figures WHERE job_id = jobs.id ORDER BY attempt_number DESC LIMIT 1)
      AS filledFields
    FROM jobs WHERE project = ? AND spider = ? AND state = 'ended' AND outcome = 'succeeded' AND id <= ?
    ORDER BY id DESC LIMIT ?`,
  // The log of the run may have said nothing.
  recordFilled: `INSERT INTO run_figures (job_id, attempt_number, figures)
    SELECT job_id, number, json_object('filledFields', json(:filled)) FROM attempts WHERE job_id = :jobId
      ORDER BY number DESC LIMIT 1
    ON CONFLICT DO UPDATE SET figures = json_set(figures, '$.filledFields', json(:filled))`,
  all: `SELECT project, spider, job_id AS jobId, ended_at_ms AS endedAtMs, findings, dismissed FROM spider_findings
    ORDER BY project, spider`,
  // The job may have been deleted meanwhile.
  put: `INSERT INTO spider_findings (project, spider, job_id, ended_at_ms, findings, dismissed)
    SELECT :project, :spider, :jobId, :endedAtMs, :findings, :dismissed
      WHERE EXISTS (SELECT 1 FROM jobs WHERE id = :jobId)
    ON CONFLICT (project, spider) DO UPDATE SET
      dismissed = iif(job_id = excluded.job_id, max(dismissed, excluded.dismissed), excluded.dismissed),
      job_id = excluded.job_id, ended_at_ms = excluded.ended_at_ms, findings = excluded.findings`,
  forget: 'DELETE FROM spider_findings WHERE project = ? AND spider = ?',
  dismiss: 'UPDATE spider_findings SET dismissed = 1 WHERE project = ? AND spider = ? AND job_id = ?'
}

/** Greater than every job id, all of which are hexadecimal. */
const AFTER_EVERY_ID = 'g'

interface PastRunRow extends Omit<PastRun, 'filledFields'> {
  filledFields: string | null
}

interface FindingsRow extends Omit<StoredFindings, 'findings' | 'isDismissed'> {
  findings: string
  dismissed: number
}

/** Past runs of spiders, and what is unusual about their newest. Writes run inside the caller's transaction. */
export function createFindings(database: Database) {
  const successfulRuns = database.prepare<[string, string, string, number], PastRunRow>(FINDINGS_SQL.successfulRuns)
  const recordFilled = database.prepare<[{ jobId: JobId; filled: string }]>(FINDINGS_SQL.recordFilled)
  const all = database.prepare<[], FindingsRow>(FINDINGS_SQL.all)
  const put = database.prepare<[object]>(FINDINGS_SQL.put)
  const forget = database.prepare<[string, string]>(FINDINGS_SQL.forget)
  const dismiss = database.prepare<[string, string, string]>(FINDINGS_SQL.dismiss)

  return {
    listSuccessfulRuns: (
      project: ProjectName,
      spider: string,
      { upTo, limit }: { upTo: JobId | null; limit: number }
    ): PastRun[] =>
      successfulRuns.all(project, spider, upTo ?? AFTER_EVERY_ID, limit).map(({ filledFields, ...run }) => ({
        ...run,
        filledFields: filledFields === null ? null : (JSON.parse(filledFields) as FilledFields)
      })),

    recordFilledFields(jobId: JobId, filled: FilledFields): void {
      recordFilled.run({ jobId, filled: JSON.stringify(filled) })
    },

    listFindings: (): StoredFindings[] =>
      all.all().map(({ findings, dismissed, ...row }) => ({
        ...row,
        findings: JSON.parse(findings) as Finding[],
        isDismissed: dismissed === 1
      })),

    putFindings({ findings, isDismissed, ...row }: StoredFindings): void {
      if (findings.length === 0) forget.run(row.project, row.spider)
      else put.run({ ...row, findings: JSON.stringify(findings), dismissed: Number(isDismissed) })
    },

    dismissFindings: (project: ProjectName, spider: string, jobId: JobId): boolean =>
      dismiss.run(project, spider, jobId).changes > 0
  }
}
