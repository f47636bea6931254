import type { Database } from 'better-sqlite3'
import type { Outcome } from '../../../shared/contract/index.ts'

export const CHAIN_ENDS_SQL = {
  // The chains that a job came from must not answer its end: `line` is it, and what it came from, up to the first.
  due: `INSERT OR IGNORE INTO chain_ends (chain_id, job_id, ended_at_ms)
    SELECT id, :jobId, :atMs FROM chains
    WHERE enabled = 1 AND project IN (:project, '*') AND spider IN (:spider, '*') AND created_at_ms <= :atMs
      AND (condition = 'ended' OR condition = :outcome)
      AND NOT EXISTS (
        WITH RECURSIVE line (job_id, chain_id) AS (
          SELECT after_job_id, chain_id FROM chain_jobs WHERE job_id = :jobId
          UNION ALL
          SELECT after_job_id, chain_jobs.chain_id FROM line JOIN chain_jobs USING (job_id)
        )
        SELECT 1 FROM line WHERE line.chain_id = chains.id
      )`,
  takeBack: 'DELETE FROM chain_ends WHERE job_id = ? AND answered_at_ms IS NULL',
  listDue: `SELECT chain_id AS chainId, job_id AS jobId FROM chain_ends
    WHERE answered_at_ms IS NULL ORDER BY ended_at_ms, chain_id, job_id LIMIT ?`
}

export type ChainEnds = ReturnType<typeof createChainEnds>

/** Notes the ends that chains are to answer, in the transactions in which jobs end. */
export function createChainEnds(database: Database) {
  const due = database.prepare<{ jobId: string; project: string; spider: string; outcome: string; atMs: number }>(
    CHAIN_ENDS_SQL.due
  )
  const takeBack = database.prepare<[string]>(CHAIN_ENDS_SQL.takeBack)

  return {
    note(job: { id: string; project: string; spider: string; outcome: Outcome; atMs: number }): void {
      const { id, project, spider, atMs } = job
      due.run({ jobId: id, project, spider, atMs, outcome: job.outcome === 'lost' ? 'failed' : job.outcome })
    },

    /** It has not ended after all: a cancel was undone. What was answered stays answered. */
    takeBack(jobId: string): void {
      takeBack.run(jobId)
    }
  }
}
