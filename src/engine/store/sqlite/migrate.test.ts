import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, ProjectSettings } from '../../../shared/contract/index.ts'
import { aJobId } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { parseLane } from '../lane.ts'
import { MIGRATIONS, migrate } from './migrate.ts'
import { openSqliteStoreHere } from './sqlite-store.ts'

let database: Database

beforeEach(() => {
  database = new DatabaseConstructor(':memory:')
})

afterEach(() => database.close())

const form = () => database.pragma('user_version', { simple: true })
const tables = () => database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all()

const first = 'CREATE TABLE a (x); INSERT INTO a VALUES (1)'
const second = 'CREATE TABLE b (x)'

test('steps run once, in order, from where the data stands', () => {
  migrate(database, [first])
  migrate(database, [first, second])
  migrate(database, [first, second])
  expect([form(), tables()]).toEqual([2, ['a', 'b']])
  expect(database.prepare('SELECT count(*) FROM a').pluck().get()).toBe(1)
})

test('an upgrade that fails half way leaves everything as it was, and can be tried again', () => {
  expect(() => migrate(database, [first, `${second}; INSERT INTO missing VALUES (1)`])).toThrow('missing')
  expect([form(), tables()]).toEqual([0, []])
  migrate(database, [first, second])
  expect([form(), tables()]).toEqual([2, ['a', 'b']])
})

test('data of a newer form is refused', () => {
  migrate(database, [first, second])
  expect(() => migrate(database, [first])).toThrow(/newer Scrapdeck/)
})

test('all tables of ours are strict', () => {
  migrate(database, MIGRATIONS)
  const lax = database
    .prepare("SELECT name FROM pragma_table_list WHERE strict = 0 AND name NOT LIKE 'sqlite_%'")
    .pluck()
  expect(lax.all()).toEqual([])
})

test('tags from before tag terms go on matching the jobs that ask for them, without the characters that terms are made of', () => {
  migrate(database, MIGRATIONS.slice(0, 2))
  const tags = JSON.stringify(['eu west', 'a|b!', 'fast', '\u2003', ''])
  database
    .prepare("INSERT INTO nodes VALUES ('n1', 'n1', 'scrapyd', 'u', NULL, NULL, NULL, 2, ?, 'active', NULL, 1)")
    .run(tags)
  database
    .prepare(
      "INSERT INTO jobs (id, jobid, project, spider, settings, args, priority, placement_tags, lane, source, state, queued_at_ms) VALUES ('1', '1', 'p', 's', '{}', '{}', 0, ?, 'l', 'ui', 'queued', 1)"
    )
    .run(tags)
  migrate(database, MIGRATIONS)
  const dashed = ['eu-west', 'a-b-', 'fast', '-']
  const read = (what: string) => JSON.parse(database.prepare(`SELECT ${what}`).pluck().get() as string) as unknown
  expect(read('tags FROM nodes')).toEqual(dashed)
  expect(read('placement_tags FROM jobs')).toEqual(dashed)
  expect(read('lane FROM queue_lanes')).toEqual(['p', null, null, dashed, 's'])
})

test('jobs queued before lanes of spiders, ranks and counters keep their order, and their first entry', async () => {
  await using directory = await makeTemporaryDirectory()
  const path = join(directory.path, 'scrapdeck.sqlite')
  const old = new DatabaseConstructor(path)
  migrate(old, MIGRATIONS.slice(0, 2))
  const insert = old.prepare(
    `INSERT INTO jobs (id, jobid, project, spider, settings, args, priority, placement_tags, lane, source, state, queued_at_ms)
     VALUES (?, ?, 'p', ?, '{}', '{}', 0, '[]', 'old', 'ui', 'queued', 1)`
  )
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(32))
  for (const id of ids) {
    insert.run(id, id, id === ids[1] ? 'other' : 's')
    old
      .prepare("INSERT INTO transitions (job_id, at_ms, kind, text, evidence) VALUES (?, 1, 'queued', 'asked', '{}')")
      .run(id)
  }
  old.close()
  const store = await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })
  const lanes = await store.listLanes()
  const heads = await store.readHeads(lanes.map(({ lane }) => ({ lane, limit: 9 })))
  expect(
    lanes.map(({ lane, depth }, index) => [parseLane(lane).spider, depth, heads[index]!.map(({ id }) => id)])
  ).toEqual([
    ['other', 1, [ids[1]]],
    ['s', 2, [ids[0], ids[2]]]
  ])
  expect((await store.countFacets({ project: 'p' })).status).toEqual([{ value: 'queued', count: 3 }])
  expect((await store.listTimeline(aJobId(ids[0]!))).map(({ kind, text }) => [kind, text])).toEqual([
    ['queued', 'asked']
  ])
  await store.close()
})

test('jobs and attempts from before may end as unclear, and as nothing else that is new', () => {
  migrate(database, MIGRATIONS.slice(0, 35))
  database.exec(`
    INSERT INTO jobs (id, jobid, project, spider, settings, args, priority, placement_tags, lane, source, state, queued_at_ms)
      VALUES ('1', '1', 'p', 's', '{}', '{}', 0, '[]', 'l', 'ui', 'running', 1);
    INSERT INTO attempts (job_id, number, jobid, node_id, project, version, spider, state, sent_at_ms)
      VALUES ('1', 1, '1', 'n', 'p', 'v', 's', 'running', 1)`)
  const end = (word: string) =>
    database.exec(`UPDATE jobs SET state = 'ended', outcome = '${word}', ended_at_ms = 2;
      UPDATE attempts SET state = 'ended', result = '${word}'`)
  expect(() => end('unclear')).toThrow(/CHECK constraint failed/)
  migrate(database)
  expect(() => end('unknown')).toThrow(/CHECK constraint failed: outcome/)
  end('unclear')
  const read = (what: string) => database.prepare(`SELECT ${what}`).pluck().get()
  expect([read('status FROM jobs'), read('result FROM attempts')]).toEqual(['unclear', 'unclear'])
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(() => database.exec('DELETE FROM sqlite_schema')).toThrow(/may not be modified/)
})

test('projects from before the rule "no response at all" keep the rules that they have, new ones have it', async () => {
  await using directory = await makeTemporaryDirectory()
  const path = join(directory.path, 'scrapdeck.sqlite')
  const old = new DatabaseConstructor(path)
  migrate(old, MIGRATIONS.slice(0, 35))
  old.exec(`
    INSERT INTO versions (project, version, created_at_ms) VALUES ('plain', '1', 1), ('ruled', '1', 1);
    INSERT INTO job_counts (project, spider, status, node_id, count) VALUES ('only-jobs', 's', 'failed', '', 1);
    INSERT INTO project_settings VALUES ('ruled', '{"python":{"kind":"default"},"limits":null,"outcome":{"minItems":1}}')`)
  old.close()
  const store = await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })
  const settings = await store.listProjectSettings()
  const rules = [...settings].map(([project, one]) => [project, ProjectSettings.parse(one).outcome])
  expect(Object.fromEntries(rules)).toEqual({ plain: null, ruled: { minItems: 1 }, 'only-jobs': null })
  expect(DEFAULT_PROJECT_SETTINGS.outcome).toEqual({ requireResponse: true })
  await store.close()
})

test('schedules from before their progress had rows of its own are as far as they were, what is kept of them is counted, and what was before their last change is not held against them', () => {
  migrate(database, MIGRATIONS.slice(0, 6))
  database.exec(`
    INSERT INTO schedules VALUES ('s1', 1, 'nightly', '{}', 0, NULL, NULL, 1, 1, 500, 7, 2), ('s2', 1, 'new', '{}', 0, NULL, NULL, 1, 1, 9, 0, 0);
    INSERT INTO firings (schedule_id, nominal_ms, origin, at_ms, state, reason, text) VALUES
      ('s1', 400, 'tick', 400, 'fired', 'on_time', ''), ('s1', 500, 'tick', 500, 'skipped', 'overlap', '');
    UPDATE schedules SET changed_at_ms = 450;
    INSERT INTO webhooks (id, kind, name, url, events, enabled, created_at_ms) VALUES ('w', 'webhook', 'w', 'u', '[]', 1, 1);
    INSERT INTO deliveries (webhook_id, event, body, state, tries, made_at_ms) VALUES
      ('w', 'deploy', '{}', 'delivered', 1, 1), ('w', 'deploy', '{}', 'dead', 1, 1)`)
  migrate(database, MIGRATIONS)
  const all = (sql: string) => database.prepare(sql).raw().all()
  expect(all('SELECT * FROM schedule_progress ORDER BY 1')).toEqual([
    ['s1', 500, 7, 2, 2, null, null, 1],
    ['s2', 9, 0, 0, 0, null, null, 0]
  ])
  expect(all('SELECT delivered FROM webhooks')).toEqual([[1]])
})

test('of the chains of jobs that are there, what an answer or another end may need is taken over, and nothing else', () => {
  migrate(database, MIGRATIONS.slice(0, 9))
  const job = database.prepare(
    `INSERT INTO jobs (id, jobid, project, spider, settings, args, priority, placement_tags, lane, source, state, outcome, queued_at_ms,
       ended_at_ms, cancelled_while_queued)
     VALUES (:id, :id, 'p', 's', '{}', '{}', 0, '[]', 'l', 'ui', :state, :outcome, 1, iif(:outcome IS NULL, NULL, 2), :cancelled)`
  )
  const ended = { state: 'ended', outcome: 'succeeded', cancelled: 0 }
  for (const id of ['first', 'middle', 'last', 'answered']) job.run({ id, ...ended })
  job.run({ id: 'cancelled', ...ended, outcome: 'cancelled', cancelled: 1 })
  job.run({ id: 'runs', state: 'running', outcome: null, cancelled: 0 })
  database.exec(`
    INSERT INTO chains (id, settings, enabled, project, spider, condition, created_at_ms)
      SELECT value, '{}', 1, '*', '*', 'ended', 1 FROM json_each('["a", "b", "c"]');
    INSERT INTO chain_ends VALUES ('a', 'first', 1, 2), ('b', 'middle', 3, 4), ('c', 'last', 5, NULL), ('a', 'answered', 1, 2),
      ('a', 'cancelled', 6, 7);
    INSERT INTO chain_jobs VALUES ('middle', 'a', 'first'), ('last', 'b', 'middle'), ('answered', 'b', 'first'), ('runs', 'c', 'answered')`)
  migrate(database, MIGRATIONS)
  const all = (sql: string) => database.prepare(sql).raw().all()
  expect(all('SELECT job_id, chain_id, ended_at_ms, answered_at_ms FROM chain_ends ORDER BY 1')).toEqual([
    ['cancelled', 'a', 6, 7],
    ['last', 'c', 5, null]
  ])
  expect(all('SELECT job_id, chain_id FROM chain_lines ORDER BY 1, 2')).toEqual([
    ['last', 'a'],
    ['last', 'b'],
    ['runs', 'b'],
    ['runs', 'c']
  ])
})

test('repeated crawl orders from before are found by the key in their name; other schedules are none', () => {
  migrate(database, MIGRATIONS.slice(0, 11))
  const insert = database.prepare("INSERT INTO schedules VALUES (?, 1, ?, '{}', 0, NULL, NULL, 1, 1)")
  insert.run('s1', 'Crawl prices (0123456789abcdef)')
  insert.run('s2', 'Crawl prices (each morning at six)')
  migrate(database, MIGRATIONS)
  expect(database.prepare('SELECT crawl_key FROM schedules ORDER BY id').pluck().all()).toEqual([
    '0123456789abcdef',
    null
  ])
})

test('ended jobs of before are counted by the stretches of time that their ids are in', () => {
  migrate(database, MIGRATIONS.slice(0, 15))
  const job = database.prepare(
    `INSERT INTO jobs (id, jobid, project, spider, settings, args, priority, placement_tags, lane, source, state, outcome, node_id,
       queued_at_ms, ended_at_ms)
     VALUES (:id, :id, 'p', 's', '{}', '{}', 0, '[]', 'l', 'ui', :state, :outcome, :nodeId, 1, iif(:outcome IS NULL, NULL, 2))`
  )
  const prefixes = ['0190a7ffffff', '0190a8000000', '0190afffffff', '0190b0000000']
  for (const [index, prefix] of prefixes.entries()) {
    const outcome = index === 3 ? 'failed' : 'succeeded'
    job.run({ id: prefix.padEnd(32, '0'), state: 'ended', outcome, nodeId: index === 3 ? null : 'n' })
  }
  job.run({ id: 'f'.repeat(32), state: 'running', outcome: null, nodeId: 'n' })
  migrate(database, MIGRATIONS)
  expect(database.prepare('SELECT * FROM ended_counts').raw().all()).toEqual([
    ['0190a0', 'p', 's', 'succeeded', 'n', 1],
    ['0190a8', 'p', 's', 'succeeded', 'n', 2],
    ['0190b0', 'p', 's', 'failed', '', 1]
  ])
})
