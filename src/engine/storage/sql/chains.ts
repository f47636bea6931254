import type { ChainId, JobId } from '../../../shared/contract/index.ts'
import { decode, encode } from '../../../shared/texts/message.ts'
import type { Database } from './database.ts'
import type { ChainAnswer, DueChain, StoredChain } from '../../model/records.ts'
import { chainEndsSql, type ChainEnds } from './chain-ends.ts'
import type { createEnqueue } from './enqueue.ts'
import type { NamedRow } from './rows.ts'

export function createChains({
  database,
  enqueue,
  chainEnds
}: {
  database: Database
  enqueue: ReturnType<typeof createEnqueue>
  chainEnds: ChainEnds
}) {
  const all = database.prepare<[], NamedRow<StoredChain, 'settings' | 'problem'>>(
    `SELECT id, settings, created_at_ms AS "createdAtMs", fired_count AS "firedCount", last_fired_at_ms AS "lastFiredAtMs",
       problem FROM chains ORDER BY created_at_ms, id`
  )
  const put = database.prepare(
    `INSERT INTO chains (id, settings, enabled, project, spider, condition, created_at_ms)
     VALUES (:id, :settings, :enabled, :project, :spider, :condition, :createdAtMs)
     ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, enabled = excluded.enabled, project = excluded.project,
       spider = excluded.spider, condition = excluded.condition, problem = NULL`
  )
  const { dueOfChain: ofChain, listDue: allDue } = chainEndsSql(database.fragments)
  const remove = database.prepare<[string]>('DELETE FROM chains WHERE id = ?')
  const dueOfChain = database.prepare<[string], JobId>(ofChain).pluck()
  const listDue = database.prepare<[number], DueChain>(allDue)
  const answer = database.prepare<[number, string, string]>(
    'UPDATE chain_ends SET answered_at_ms = ? WHERE chain_id = ? AND job_id = ? AND answered_at_ms IS NULL'
  )
  const fired = database.prepare<{ id: ChainId; atMs: number }>(
    'UPDATE chains SET fired_count = fired_count + 1, last_fired_at_ms = :atMs, problem = NULL WHERE id = :id'
  )
  const failed = database.prepare<[string, string]>('UPDATE chains SET problem = ? WHERE id = ?')

  return {
    listChains: (): StoredChain[] =>
      all.all().map(({ settings, problem, ...row }) => ({
        ...row,
        settings: JSON.parse(settings),
        problem: problem === null ? null : decode(problem)
      })),

    putChain({ id, settings, createdAtMs }: Pick<StoredChain, 'id' | 'settings' | 'createdAtMs'>): void {
      const { enabled, project, spider, on } = settings
      const columns = { project, spider, condition: on, enabled: Number(enabled), createdAtMs }
      put.run({ id, settings: JSON.stringify(settings), ...columns })
    },

    deleteChain(id: ChainId): boolean {
      const jobIds = dueOfChain.all(id)
      const isThere = remove.run(id).changes > 0
      for (const jobId of jobIds) chainEnds.forgetUnneeded([jobId])
      return isThere
    },

    listDueChains: (limit: number): DueChain[] => listDue.all(limit),

    answerChains(answers: ChainAnswer[]): boolean[] {
      return answers.map(({ chainId, jobId, atMs, jobs, problem }) => {
        // Ensures that an end is answered only once: a second answer finds no unanswered end.
        if (answer.run(atMs, chainId, jobId).changes === 0) return false
        if (jobs.length > 0) {
          for (const { id } of jobs) chainEnds.inherit(id, chainId, jobId)
          const ids = enqueue.enqueueJobs(jobs)
          // If a job was deduplicated, the existing job keeps its own line.
          jobs.forEach(({ id }, index) => ids[index] !== id && chainEnds.forgetUnneeded([id]))
          fired.run({ id: chainId, atMs })
        }
        if (problem !== null) failed.run(encode(problem), chainId)
        chainEnds.forgetUnneeded([jobId])
        return true
      })
    }
  }
}
