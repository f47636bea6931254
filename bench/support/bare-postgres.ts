import { connectTo } from '../../src/engine/storage/postgres/postgres-driver.ts'
import type { PostgresAddress } from '../../src/engine/runtime/postgres-address.ts'

const GROUP = 64

/**
 * Queues jobs with the least possible work: one statement per call, in its own transaction, copies queued jobs within
 * the server into the store's table and indexes. Returns jobs per second.
 */
export function insertBare(load: { address: PostgresAddress; calls: number; jobsPerCall: number }): number {
  const { address, calls, jobsPerCall } = load
  const connection = connectTo({ ...address, schema: `${address.schema}_bare` })
  const schema = `"${address.schema}"`
  const ask = (text: string) => connection.send({ text, values: [] }).result().rows
  try {
    const columns = ask(
      `SELECT attname FROM pg_attribute WHERE attrelid = '${schema}.jobs'::regclass AND attnum > 0
         AND NOT attisdropped AND attgenerated = '' AND attname NOT IN ('id', 'jobid', 'rank') ORDER BY attnum`
    ).map(([name]) => `"${String(name)}"`)
    const startedMs = performance.now()
    for (let call = 0; call < calls; call += 1) {
      ask(
        `INSERT INTO ${schema}.jobs (id, jobid, rank, ${columns.join(', ')})
           SELECT new_id, new_id, 1e9 + n, ${columns.join(', ')}
           FROM (SELECT n, 'f' || lpad(to_hex(n), 31, '0') AS new_id
               FROM generate_series(${call * jobsPerCall}, ${(call + 1) * jobsPerCall - 1}) AS n) AS numbered,
             (SELECT * FROM ${schema}.jobs WHERE state = 'queued' ORDER BY id LIMIT 1) AS copied`
      )
    }
    return (calls * jobsPerCall * 1_000) / (performance.now() - startedMs)
  } finally {
    connection.end()
  }
}

/**
 * Does the least work that a queue needs: claims jobs in batches, inserts their attempts and records their
 * acceptance, in two transactions per batch, on the store's rows and indexes. Returns jobs per second.
 */
export function claimBare({ address, jobs }: { address: PostgresAddress; jobs: number }): number {
  const connection = connectTo({ ...address, schema: `${address.schema}_bare` })
  const schema = `"${address.schema}"`
  const ask = (text: string, values: (string | number)[] = []) =>
    connection.send({ text, values, isInTransaction: false }).result().rows
  try {
    const startedMs = performance.now()
    let claimed = 0
    while (claimed < jobs) {
      ask('BEGIN')
      const ids = ask(
        `UPDATE ${schema}.jobs SET state = 'starting', node_id = 'n-0', attempt_count = 1 WHERE id IN (
           SELECT id FROM ${schema}.jobs WHERE state = 'queued' AND hold IS NULL
             AND hashtextextended(lane, 0) = (SELECT hashtextextended(lane, 0) FROM ${schema}.queue_lanes
               OFFSET $1::bigint % (SELECT greatest(count(*), 1) FROM ${schema}.queue_lanes) LIMIT 1)
           ORDER BY priority DESC, rank, id LIMIT ${GROUP} FOR UPDATE SKIP LOCKED) RETURNING id`,
        [Math.floor(claimed / GROUP)]
      ).map(([id]) => String(id))
      if (ids.length === 0) throw new Error('The bare queue is empty')
      const list = JSON.stringify(ids)
      ask(
        `INSERT INTO ${schema}.attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
           SELECT id, 1, id, 'n-0', project, '1', spider, 'sending', 1 FROM ${schema}.jobs
           WHERE id IN (SELECT json_array_elements_text($1::json))`,
        [list]
      )
      transition('sending', list)
      ask('COMMIT')
      ask('BEGIN')
      ask(
        `UPDATE ${schema}.attempts SET state = 'accepted', accepted_at_ms = 2
           WHERE number = 1 AND job_id IN (SELECT json_array_elements_text($1::json))`,
        [list]
      )
      transition('accepted', list)
      ask('COMMIT')
      claimed += ids.length
    }
    return (claimed * 1_000) / (performance.now() - startedMs)
  } finally {
    connection.end()
  }

  function transition(kind: string, list: string): void {
    ask(
      `INSERT INTO ${schema}.transitions (job_id, attempt_number, at_ms, kind, text, evidence)
         SELECT value, 1, 1, '${kind}', '${kind}', '{}' FROM json_array_elements_text($1::json) AS value`,
      [list]
    )
  }
}
