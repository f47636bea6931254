import { join } from 'node:path'
import DatabaseConstructor from 'better-sqlite3'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { openSqliteStoreInThread } from '../../src/engine/store/sqlite/sqlite-store.ts'

/** How many jobs of what kind a database is to have. `live`: sent, and nobody knows yet what became of them. */
export interface Seed {
  finished: number
  queued: number
  live: number
}

export const SEED_PROJECTS = 20
export const SEED_SPIDERS = 10
export const SEED_NODES = 50

/**
 * Writes jobs straight into an engine's database: what a million jobs took days to leave. They are spread over 30 days, 20 projects
 * of 10 spiders each, 50 nodes and all outcomes; the counters are counted from them.
 */
export async function seedDatabase(dataDirectory: string, seed: Seed): Promise<void> {
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  await (await openSqliteStoreInThread({ path, clock: systemClock, logger: silentLogger })).close()
  const database = new DatabaseConstructor(path)
  const total = seed.finished + seed.live + seed.queued
  database.pragma('synchronous = OFF')
  database.exec(`BEGIN;
    CREATE TEMP TABLE seed AS WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${total})
      SELECT n, ${Date.now()} - 2592000000 + n * 2592000000 / ${total} AS at,
        'p' || ((n * 7) % ${SEED_PROJECTS}) AS project, 's' || ((n * 7 / ${SEED_PROJECTS}) % ${SEED_SPIDERS}) AS spider,
        'n' || printf('%031x', (n * 13) % ${SEED_NODES}) AS node,
        CASE WHEN n < ${seed.finished} THEN 'ended' WHEN n < ${seed.finished + seed.live} THEN 'starting' ELSE 'queued' END AS state
      FROM numbers WHERE ${total} > 0;
    INSERT INTO jobs (id, jobid, project, spider, settings, args, priority, placement_tags, lane, source, state, outcome, node_id,
        attempt_count, queued_at_ms, started_at_ms, ended_at_ms, rank, asked_text, reason)
      SELECT id, id, project, spider, '{}', json_object('url', 'https://example.com/' || n), 0, '[]',
        json_array(project, NULL, NULL, json('[]'), spider), 'api', state,
        CASE WHEN state = 'ended' THEN CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 97 = 0 THEN 'lost' ELSE 'succeeded' END END,
        CASE WHEN state <> 'queued' THEN node END, state <> 'queued', at,
        CASE WHEN state = 'ended' THEN at + 1000 END, CASE WHEN state = 'ended' THEN at + 60000 END, n, 'Asked through the API',
        CASE WHEN state = 'ended' THEN 'finished' END
      FROM (SELECT *, printf('%012x%06x%014x', at, n % 65536, n) AS id FROM seed);
    INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, result, sent_at_ms, started_at_ms, ended_at_ms)
      SELECT id, 1, id, node_id, project, '1', spider, CASE state WHEN 'ended' THEN 'ended' ELSE 'sending' END, outcome, queued_at_ms,
        started_at_ms, ended_at_ms FROM jobs WHERE state <> 'queued';
    UPDATE queue_ends SET back = ${total};
    INSERT INTO job_counts SELECT project, spider, status, coalesce(node_id, ''), count(*) FROM jobs GROUP BY 1, 2, 3, 4;
    INSERT INTO queue_lanes SELECT lane, count(*) FROM jobs WHERE state = 'queued' GROUP BY lane;
    UPDATE state_counts SET count = (SELECT count(*) FROM jobs WHERE jobs.state = state_counts.state);
    DROP TABLE seed;
    COMMIT`)
  database.close()
}
