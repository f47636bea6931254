import { sentence } from '../../shared/texts/errors/storage.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { PostgresAddress } from '../runtime/postgres-address.ts'
import { connectTo } from './postgres/postgres-driver.ts'
import { explainPostgresError } from './postgres/postgres-error.ts'

/** Columns by name, with unknown types: external input. A bytea is text such as `\x8004`. */
export type SharedQueueRow = Record<string, unknown>

const ROWS_MAX = 100_000

/**
 * Reads `spider_job` of Scrapyds that share a queue, in Scrapyd's order. Throws BAD_INPUT unless there is exactly
 * one such table, or if it has jobs of several deployments and the caller names none.
 */
export function readSharedQueueTable(
  address: PostgresAddress,
  executionRef: string | null
): { rows: SharedQueueRow[]; isCut: boolean } {
  const connection = connectTo({ ...address, lease: { holder: '', epoch: 0 } })
  const ask = (text: string, values: string[] = []) => connection.send({ text, values }).result().rows
  const { name } = address
  const refuse = (text: Sentence) => new ScrapdeckError('BAD_INPUT', text)
  try {
    ask('SET default_transaction_read_only TO on')
    // Accept only tables: a view could run its owner's code with our rights.
    const tables =
      ask(`SELECT format('%I.spider_job', nspname) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
      WHERE relname = 'spider_job' AND relkind IN ('r', 'p')`)
    if (tables.length !== 1) throw refuse(sentence('storage.shared_queue_tables', { name, tables: tables.length }))
    const table = `(SELECT to_jsonb(t) AS job FROM ${String(tables[0]![0])} t) AS jobs`
    const refs = ask(`SELECT DISTINCT coalesce(job->>'execution_ref', '') FROM ${table} LIMIT 20`).map(String)
    if (executionRef === null && refs.length > 1)
      throw refuse(sentence('storage.shared_queue_deployments', { name, refs }))
    const read = ask(
      `SELECT job::text FROM ${table} WHERE $1::text IS NULL OR job->>'execution_ref' = $1::text
        ORDER BY job->>'status' = 'terminated', (job->>'priority')::float8 DESC, job->>'end_time' DESC,
          length(job->>'id'), job->>'id' LIMIT ${ROWS_MAX + 1}`,
      [executionRef as string]
    )
    const rows = read.slice(0, ROWS_MAX).map(([job]) => JSON.parse(String(job)) as SharedQueueRow)
    return { rows, isCut: read.length > ROWS_MAX }
  } catch (error) {
    throw explainPostgresError(error, address.name)
  } finally {
    connection.end()
  }
}
