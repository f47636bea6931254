import type { Database } from './database.ts'
import type { Fragments } from './fragments.ts'
import { READINGS_MANY } from './readings.ts'
import type { Finding, JobId, ProjectName } from '../../../shared/contract/index.ts'
import type { FilledFields, PastRun, StoredFindings } from '../../model/records.ts'

export const findingsSql = (sql: Fragments) => ({
  successfulRuns: `SELECT id AS "jobId", pages, items, errors, started_at_ms AS "startedAtMs", ended_at_ms AS "endedAtMs",
    (SELECT ${sql.json('figures')} ->> 'filledFields' FROM run_figures WHERE job_id = jobs.id ORDER BY attempt_number DESC LIMIT 1)
      AS "filledFields"
    FROM jobs WHERE project = ? AND spider = ? AND state = 'ended' AND outcome = 'succeeded' AND id <= ?
    ORDER BY id DESC LIMIT ?`,
  // The newest attempt may have no figures.
  lastFigures: `SELECT number, figures FROM attempts LEFT JOIN run_figures
      ON run_figures.job_id = attempts.job_id AND attempt_number = number
    WHERE attempts.job_id = ? ORDER BY number DESC LIMIT 1`,
  all: `SELECT project, spider, job_id AS "jobId", ended_at_ms AS "endedAtMs", findings, dismissed FROM spider_findings
    ORDER BY project, spider`,
  // Insert nothing if the job was deleted in the meantime.
  put: `INSERT INTO spider_findings (project, spider, job_id, ended_at_ms, findings, dismissed)
    SELECT :project, :spider, :jobId, CAST(:endedAtMs AS BIGINT), :findings, CAST(:dismissed AS BIGINT)
      WHERE EXISTS (SELECT 1 FROM jobs WHERE id = :jobId)
    ON CONFLICT (project, spider) DO UPDATE SET
      dismissed = CASE WHEN spider_findings.job_id = excluded.job_id
        THEN ${sql.greatest}(spider_findings.dismissed, excluded.dismissed) ELSE excluded.dismissed END,
      job_id = excluded.job_id, ended_at_ms = excluded.ended_at_ms, findings = excluded.findings`,
  forget: 'DELETE FROM spider_findings WHERE project = ? AND spider = ?',
  dismiss: 'UPDATE spider_findings SET dismissed = 1 WHERE project = ? AND spider = ? AND job_id = ?'
})

/** Greater than every job id, because ids are hexadecimal. */
const AFTER_EVERY_ID = 'g'

interface PastRunRow extends Omit<PastRun, 'filledFields'> {
  filledFields: string | null
}

interface FindingsRow extends Omit<StoredFindings, 'findings' | 'isDismissed'> {
  findings: string
  dismissed: number
}

export function createFindings(database: Database) {
  const statements = findingsSql(database.fragments)
  const successfulRuns = database.prepare<[string, string, string, number], PastRunRow>(statements.successfulRuns)
  const lastFigures = database.prepare<[string], { number: number; figures: string | null }>(statements.lastFigures)
  const keepFigures = database.prepareMany(READINGS_MANY.keep)
  const all = database.prepare<[], FindingsRow>(statements.all)
  const put = database.prepare<[object]>(statements.put)
  const forget = database.prepare<[string, string]>(statements.forget)
  const dismiss = database.prepare<[string, string, string]>(statements.dismiss)

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
      const last = lastFigures.get(jobId)
      if (last === undefined) return
      const figures = JSON.parse(last.figures ?? '{}') as Record<string, unknown>
      keepFigures([[jobId, last.number, JSON.stringify({ ...figures, filledFields: filled })]])
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
