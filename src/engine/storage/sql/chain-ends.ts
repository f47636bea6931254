import type { Cell, Columns, Database, ManySql } from './database.ts'
import type { Fragments } from './fragments.ts'
import type { ChainId, JobId, Outcome, ProjectName } from '../../../shared/contract/index.ts'
import { chainConditionMetBy } from '../../model/chain-answers.ts'
import type { Retention } from '../../model/records.ts'

const oldOf = (sql: Fragments, table: string, and = '') =>
  `SELECT DISTINCT job_id FROM ${table} ${sql.thenJoin} jobs ON jobs.id = job_id
    WHERE job_id < :beforeId AND state = 'ended' AND jobs.ended_at_ms < :sinceMs ${and} ORDER BY job_id LIMIT :limit`

/** Whether the job can still end, or end again. */
const mayEnd = (jobId: string) =>
  `EXISTS (SELECT 1 FROM jobs WHERE id = ${jobId} AND (state <> 'ended' OR cancelled_while_queued <> 0))`
/** Whether a chain must react to the end in `given`. Excludes chains in the job's own line. */
const IS_ANSWER = `enabled = 1 AND chains.project IN (given.project, '*') AND chains.spider IN (given.spider, '*')
    AND created_at_ms <= given.at_ms AND (condition = 'ended' OR condition = given.outcome)
    AND NOT EXISTS (SELECT 1 FROM chain_lines WHERE job_id = given.ended_id AND chain_id = chains.id)`
const ENDED: Columns = { ended_id: 'TEXT', project: 'TEXT', spider: 'TEXT', at_ms: 'INTEGER', outcome: 'TEXT' }
const recordDue = (given: string) => `INSERT INTO chain_ends (chain_id, job_id, ended_at_ms)
  SELECT chains.id, given.ended_id, given.at_ms FROM ${given} JOIN chains ON ${IS_ANSWER} ON CONFLICT DO NOTHING`
const forget = (table: string, and: string) => ({
  sql: `DELETE FROM ${table} USING given WHERE job_id = given.ended_id AND ${and} AND NOT ${mayEnd(`${table}.job_id`)}`,
  each: `DELETE FROM ${table} WHERE job_id = ? AND ${and} AND NOT ${mayEnd(`${table}.job_id`)}`,
  given: { ended_id: 'TEXT' } as const
})

export const CHAIN_ENDS_MANY = {
  due: {
    sql: recordDue('given'),
    each: recordDue('(SELECT ? AS ended_id, ? AS project, ? AS spider, ? AS at_ms, ? AS outcome) AS given'),
    given: ENDED
  },
  forgetAnswered: forget('chain_ends', 'answered_at_ms IS NOT NULL'),
  forgetLines: forget(
    'chain_lines',
    'NOT EXISTS (SELECT 1 FROM chain_ends WHERE chain_ends.job_id = chain_lines.job_id)'
  )
} satisfies Record<string, ManySql>

export const chainEndsSql = (sql: Fragments) => ({
  dueOfChain: 'SELECT job_id FROM chain_ends WHERE chain_id = ? AND answered_at_ms IS NULL',
  withdraw: 'DELETE FROM chain_ends WHERE job_id = ? AND answered_at_ms IS NULL',
  listDue: `SELECT chain_id AS "chainId", job_id AS "jobId" FROM chain_ends
    WHERE answered_at_ms IS NULL ORDER BY ended_at_ms, chain_id, job_id LIMIT ?`,
  inherit: `INSERT INTO chain_lines SELECT :jobId, chain_id FROM chain_lines WHERE job_id = :afterJobId
    UNION SELECT :jobId, :chainId`,
  oldEnds: oldOf(sql, 'chain_ends', 'AND answered_at_ms IS NOT NULL'),
  oldLines: oldOf(sql, 'chain_lines', 'AND NOT EXISTS (SELECT 1 FROM chain_ends WHERE job_id = jobs.id)'),
  stayCancelled: 'UPDATE jobs SET cancelled_while_queued = 0 WHERE id = ? AND cancelled_while_queued <> 0'
})

/** The number of leading digits of a job id that encode its creation time (shared/ids.ts). */
const TIME_DIGITS = 12

export type ChainEnds = ReturnType<typeof createChainEnds>

/**
 * Records the ends that chains must answer, in the transactions that end the jobs, and the chains that led to a job
 * (its line). These records are needed in three cases:
 *
 *   - A due end is needed until it is answered.
 *   - An answered end is needed while undoing a cancellation could make the job end again. It prevents a second answer.
 *   - A line is needed until the job has ended for good and has no due end. Jobs of an answer inherit and extend it.
 *
 * `forgetUnneeded` deletes them after the last answer to a run's end, or with the end itself if no chain answers it.
 * The remaining records belong to jobs whose cancellation can be undone, until `prune` rules that out.
 */
export function createChainEnds(database: Database) {
  const statements = chainEndsSql(database.fragments)
  const withdraw = database.prepare<[string]>(statements.withdraw)
  const inherit = database.prepare<{ jobId: JobId; chainId: ChainId; afterJobId: JobId }>(statements.inherit)
  type Old = { beforeId: string; sinceMs: number; limit: number }
  const oldEnds = database.prepare<Old, JobId>(statements.oldEnds).pluck()
  const oldLines = database.prepare<Old, JobId>(statements.oldLines).pluck()
  const stayCancelled = database.prepare<[string]>(statements.stayCancelled)

  const recordDue = database.prepareMany(CHAIN_ENDS_MANY.due)
  const forgetAnswered = database.prepareMany(CHAIN_ENDS_MANY.forgetAnswered)
  const forgetLines = database.prepareMany(CHAIN_ENDS_MANY.forgetLines)

  let ended: Cell[][] = []

  function forgetUnneeded(jobIds: readonly JobId[]): void {
    const ids = jobIds.map((id) => [id])
    forgetAnswered(ids)
    forgetLines(ids)
  }

  return {
    recordEnd(job: { id: JobId; project: ProjectName; spider: string; outcome: Outcome; atMs: number }): void {
      const { id, project, spider, atMs } = job
      ended.push([id, project, spider, atMs, chainConditionMetBy(job.outcome)])
    },

    flush(): void {
      recordDue(ended)
      forgetUnneeded(ended.map(([id]) => id as JobId))
      ended = []
    },

    discard(): void {
      ended = []
    },

    /** Call this after a cancellation has been undone. Does not affect ends that have already been answered. */
    withdrawEnd(jobId: JobId): void {
      withdraw.run(jobId)
    },

    /** Records that a chain creates this job. Call this before the insert, because the job can end immediately. */
    inherit(jobId: JobId, chainId: ChainId, afterJobId: JobId): void {
      inherit.run({ jobId, chainId, afterJobId })
    },

    forgetUnneeded,

    /**
     * Rules out restoring jobs that were cancelled before `sinceMs`. Returns the number of these jobs, at most
     * `limit`.
     */
    prune({ cancelledSinceMs: sinceMs }: Retention['chains'], limit: number): number {
      const beforeId = Math.max(0, sinceMs).toString(16).padStart(TIME_DIGITS, '0')
      let left = limit
      for (const old of [oldEnds, oldLines]) {
        const jobIds = left > 0 ? old.all({ beforeId, sinceMs, limit: left }) : []
        for (const jobId of jobIds) stayCancelled.run(jobId)
        forgetUnneeded(jobIds)
        left -= jobIds.length
      }
      return limit - left
    }
  }
}
