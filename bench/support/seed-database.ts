import { copyFile, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import DatabaseConstructor from 'better-sqlite3'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { stretchOf } from '../../src/engine/storage/sql/counters.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'

export interface Seed {
  finished: number
  queued: number
  live: number
}

export const SEED_PROJECTS = 20
export const SEED_SPIDERS = 10
export const SEED_NODES = 50
const FILE = 'scrapdeck.sqlite'
const SLOTS_OF_NODE = 400
const SHA256 = '0'.repeat(64)

/**
 * Writes jobs directly to an engine's database, because running a million would take days. The nodes of live jobs are
 * in the fleet, but their addresses refuse connections. Resolves when everything is on disk, so that the next
 * measurement does not include these writes.
 */
export async function seedDatabase(dataDirectory: string, seed: Seed): Promise<void> {
  const path = join(dataDirectory, FILE)
  await (await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })).close()
  const database = new DatabaseConstructor(path)
  database.function('stretch_of', { deterministic: true }, (id) => stretchOf(id as string))
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
    INSERT INTO nodes (id, name, kind, url, slots, tags, mode, added_at_ms) SELECT node_id, node_id, 'scrapyd',
      'http://127.0.0.1:9/' || node_id || '/', ${SLOTS_OF_NODE}, '[]', 'active', sent_at_ms FROM attempts WHERE state <> 'ended' GROUP BY 1;
    INSERT INTO versions (project, version, sha256, size_bytes, spiders, created_at_ms) SELECT DISTINCT project, '1', '${SHA256}', 1000,
      (SELECT json_group_array(DISTINCT 's' || n) FROM seed WHERE n < ${SEED_SPIDERS}), 0 FROM attempts WHERE state <> 'ended';
    INSERT INTO deployments (project, version, node_id, state, changed_at_ms, sha256)
      SELECT project, version, nodes.id, 'present', 0, sha256 FROM versions, nodes;
    UPDATE queue_ends SET back = ${total};
    INSERT INTO job_counts SELECT project, spider, status, coalesce(node_id, ''), count(*) FROM jobs GROUP BY 1, 2, 3, 4;
    INSERT INTO ended_counts SELECT stretch_of(id), project, spider, status, node_id, count(*)
      FROM jobs WHERE state = 'ended' GROUP BY 1, 2, 3, 4, 5;
    INSERT INTO queue_lanes SELECT lane, count(*) FROM jobs WHERE state = 'queued' GROUP BY lane;
    UPDATE state_counts SET count = (SELECT count(*) FROM jobs WHERE jobs.state = state_counts.state);
    DROP TABLE seed;
    COMMIT`)
  database.close()
  await syncFile(path)
}

export async function copyDatabase(from: string, to: string): Promise<void> {
  await mkdir(to)
  await copyFile(join(from, FILE), join(to, FILE))
  await syncFile(join(to, FILE))
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.sync()
  await file.close()
}
