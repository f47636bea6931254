import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pickLength } from '../../../../scripts/test-length.mjs'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../runtime/postgres-address.ts'
import { ATTEMPT_UPDATES_MANY } from '../sql/attempt-updates.ts'
import { attemptsSql, LOGS_MANY } from '../sql/attempts.ts'
import { CHAIN_ENDS_MANY, chainEndsSql } from '../sql/chain-ends.ts'
import { countersMany } from '../sql/counters.ts'
import { ENQUEUE_SQL } from '../sql/enqueue.ts'
import { holdsSql } from '../sql/holds.ts'
import { keptLogsMany, keptLogsSql } from '../sql/kept-logs.ts'
import { outboxSql } from '../sql/outbox.ts'
import { QUEUE_MANY, queueSql } from '../sql/queue.ts'
import { READINGS_MANY, readingsSql } from '../sql/readings.ts'
import type { Connection } from './connection.ts'
import { numberParameters } from './postgres-database.ts'
import { POSTGRES } from '../sql/fragments.ts'
import { withGivenSql } from './given-rows.ts'
import { connectTo } from './postgres-driver.ts'
import { openPostgresStoreHere } from './postgres-store.ts'
import { type PostgresServer, startPostgres, whyNoPostgres } from './testing/start-postgres.ts'

/** The number of jobs that `npm run bench -- pg-dispatch` queues. */
const ROWS = pickLength(20_000, 1_000_000)
/** The size of a young database when its rows are first counted (postgres-database.ts). */
const YOUNG_ROWS = 1_000
/** Tables whose full scan takes longer than a claim. */
const LARGE = [
  ...['jobs', 'attempts', 'transitions', 'changes', 'deliveries', 'job_dependencies', 'dedupe_keys'],
  ...['archived_logs', 'log_blocks', 'run_figures', 'queue_lanes', 'job_counts', 'ended_counts']
]

const HOT = Object.entries({
  QUEUE_SQL: queueSql(POSTGRES),
  ATTEMPTS_SQL: attemptsSql(POSTGRES),
  HOLDS_SQL: holdsSql(POSTGRES),
  CHAIN_ENDS_SQL: chainEndsSql(POSTGRES),
  OUTBOX_SQL: outboxSql(POSTGRES),
  ENQUEUE_SQL,
  READINGS_SQL: readingsSql(POSTGRES),
  KEPT_LOGS_SQL: keptLogsSql(POSTGRES)
})
  .flatMap(([group, queries]) =>
    Object.entries(queries).flatMap(([name, sql]) =>
      typeof sql === 'string' ? [[`${group}.${name}`, sql] as const] : []
    )
  )
  .filter(([name]) => name !== 'QUEUE_SQL.lanes')
const HOT_MANY = Object.entries({
  QUEUE_MANY,
  ATTEMPT_UPDATES_MANY,
  COUNTERS_MANY: countersMany(POSTGRES),
  CHAIN_ENDS_MANY,
  LOGS_MANY,
  KEPT_LOGS_MANY: keptLogsMany(POSTGRES),
  READINGS_MANY
}).flatMap(([group, queries]) => Object.entries(queries).map(([name, many]) => [`${group}.${name}`, many] as const))

let server: PostgresServer | null = null
beforeAll(async () => {
  if (whyNoPostgres() === null && process.env['DATABASE_URL'] === undefined) server = await startPostgres()
}, 60_000)
afterAll(async () => server?.stop())

// A young database's plans are used until it is ten times as large.
describe.skipIf(whyNoPostgres() !== null).each([YOUNG_ROWS, ROWS])('planned on tables of %i rows', (size) => {
  let address: PostgresAddress
  let connection: Connection
  const ask = (text: string) => connection.send({ text, values: [] }).result().rows

  beforeAll(
    async () => {
      const url = process.env['DATABASE_URL'] ?? server!.url
      address = parsePostgresAddress(`${url}?namespace=plans_${process.pid}_${size}`)
      connection = connectTo(address)
      await openPostgresStoreHere({ clock: systemClock, logger: silentLogger, address, connection })
      for (const text of fill(size)) ask(text)
      ask('ANALYZE')
    },
    pickLength(120_000, 900_000)
  )
  afterAll(async () => {
    ask(`DROP SCHEMA IF EXISTS "${address.schema}" CASCADE`)
    connection.end()
  })

  test.each(HOT)('%s reads no large table from end to end', (_name, sql) => {
    const { text, parameters } = numberParameters(sql)
    expectNoLargeScan(text, parameters.length)
  })
  test.each(HOT_MANY)('%s, for many rows at once, reads no large table from end to end', (_name, many) => {
    expectNoLargeScan(withGivenSql(many), 1)
  })

  function expectNoLargeScan(text: string, parameters: number): void {
    ask('DEALLOCATE ALL')
    ask(`PREPARE planned AS ${text}`)
    const nothing = parameters === 0 ? '' : `(${Array.from({ length: parameters }, () => 'NULL').join(', ')})`
    // Because of plan_cache_mode, the store's statement has this plan for all values.
    const plan = ask(`EXPLAIN (FORMAT TEXT) EXECUTE planned${nothing}`).map(([line]) => String(line))
    expect(wholeReads(plan), plan.join('\n')).toEqual([])
  }
})

/** Partial indexes that contain only the relevant rows: live attempts; held jobs, by time and by key. */
const OF_FEW = ['attempts_live', 'jobs_held', 'jobs_not_before', 'jobs_expiring']

/** Large tables that this plan reads entirely: by a scan, an index without a condition, or a hash or merge join. */
function wholeReads(plan: string[]): string[] {
  return plan.flatMap((line, index) => {
    if (/(Hash|Merge) .*Join/.test(line)) return [line.trim()]
    const table = /(?:Seq|Index|Index Only|Bitmap Heap) Scan .*?on (?:\w+\.)?(\w+)/.exec(line)?.[1]
    if (table === undefined || !LARGE.includes(table)) return []
    const indent = line.search(/\S/)
    const further = plan.slice(index + 1)
    const end = further.findIndex((other) => other.search(/\S/) <= indent)
    const own = further.slice(0, end === -1 ? undefined : end)
    const isPart =
      own.some((other) => /Index Cond|Recheck Cond/.test(other)) || OF_FEW.some((one) => line.includes(one))
    return isPart ? [] : [line.trim()]
  })
}

function fill(rows: number): string[] {
  const id = "lpad(to_hex(1800000000000 + n), 12, '0') || repeat('0', 20)"
  const lane = `'["shop","1",null,[],"s' || n % 500 || '"]'`
  return [
    'BEGIN',
    'SET LOCAL enable_hashjoin TO on',
    `INSERT INTO jobs (id, jobid, project, version, spider, settings, args, rank, priority, placement_tags, lane, source,
       state, outcome, ended_at_ms, node_id, attempt_count, queued_at_ms)
     SELECT ${id}, ${id}, 'shop', '1', 's' || n % 500, '{}', '{}', n, 0, '[]', ${lane}, 'api',
       CASE WHEN n % 2 = 0 THEN 'queued' ELSE 'ended' END, CASE WHEN n % 2 = 1 THEN 'succeeded' END,
       CASE WHEN n % 2 = 1 THEN 1800000000000 + n END, CASE WHEN n % 2 = 1 THEN 'n-' || n % 100 END, n % 2, n
     FROM generate_series(1, ${rows}) AS n`,
    `INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, result, sent_at_ms)
     SELECT id, 1, id, node_id, project, '1', spider, 'ended', 'succeeded', 1 FROM jobs WHERE state = 'ended'`,
    `INSERT INTO transitions (job_id, attempt_number, at_ms, kind, text, evidence)
     SELECT id, 1, 1, 'sending', 'sent', '{}' FROM jobs WHERE state = 'ended'
     UNION ALL SELECT id, 1, 2, 'ended', 'ended', '{}' FROM jobs WHERE state = 'ended'`,
    `INSERT INTO archived_logs (job_id, attempt_number, packed) SELECT id, 1, 'x' FROM jobs WHERE state = 'ended'`,
    `INSERT INTO log_blocks SELECT id, 1, 1, rank, 1, rank FROM jobs WHERE state = 'ended'`,
    `INSERT INTO run_figures (job_id, attempt_number, figures) SELECT id, 1, '{}' FROM jobs WHERE state = 'ended'`,
    `INSERT INTO changes (noun, id) SELECT 'job', id FROM jobs`,
    `INSERT INTO job_counts SELECT 'shop', 's' || n % 500, 'queued', 'n-' || n, 1 FROM generate_series(1, ${rows}) AS n`,
    `INSERT INTO ended_counts SELECT '0', 'shop', 's' || n % 500, 'lost', 'n-' || n, 1 FROM generate_series(1, ${rows}) AS n`,
    `INSERT INTO queue_lanes SELECT lane, count(*) FROM jobs WHERE state = 'queued' GROUP BY lane`,
    `INSERT INTO webhooks (id, kind, name, url, events, enabled, created_at_ms) VALUES ('w', 'webhook', 'w', 'u', '[]', 1, 1)`,
    `INSERT INTO deliveries (webhook_id, event, body, state, tries, made_at_ms, next_try_at_ms, ended_at_ms)
     SELECT 'w', 'job.ended', '{}', CASE WHEN n % 10 = 0 THEN 'waiting' ELSE 'delivered' END, 1, n,
       CASE WHEN n % 10 = 0 THEN n END, CASE WHEN n % 10 > 0 THEN n END FROM generate_series(1, ${rows}) AS n`,
    `INSERT INTO dedupe_keys SELECT 'k' || n, 'j', n FROM generate_series(1, ${rows}) AS n`,
    `INSERT INTO job_dependencies SELECT a.id, b.id, 'ended' FROM jobs AS a JOIN jobs AS b ON b.rank = a.rank - 1
       WHERE a.rank > 1`,
    'COMMIT'
  ]
}
