import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { parsePostgresAddress } from '../../runtime/postgres-address.ts'
import type { Connection } from '../../storage/postgres/connection.ts'
import { connectTo } from '../../storage/postgres/postgres-driver.ts'
import { type PostgresServer, startPostgres, whyNoPostgres } from '../../storage/postgres/testing/start-postgres.ts'
import { openSqliteStoreHere } from '../../storage/sqlite/sqlite-store.ts'
import { anEgg } from '../../testing/archives.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { importScrapyd } from './import-scrapyd.ts'

const pickled = (expression: string, protocol: number) =>
  execFileSync('python3', ['-c', `import os, pickle; print(pickle.dumps(${expression}, ${protocol}).hex())`], {
    encoding: 'utf8'
  }).trim()

const GOOD_LOG = `2026-11-21 01:02:03 [scrapy.statscollectors] INFO: Dumping Scrapy stats:
{'finish_reason': 'finished', 'item_scraped_count': 5}
2026-11-21 01:02:03 [scrapy.core.engine] INFO: Spider closed (finished)
`

describe.skipIf(whyNoPostgres() !== null)('the table spider_job of a shared queue', () => {
  let server: PostgresServer | null = null
  let url: string
  let database: Connection
  beforeAll(async () => {
    url = process.env['DATABASE_URL'] ?? (server = await startPostgres()).url
    database = connectTo(parsePostgresAddress(`${url}?namespace=shared_${process.pid}`))
  }, 60_000)
  afterAll(async () => {
    database.end()
    await server?.stop()
  })
  const ask = (text: string) => database.send({ text, values: [] }).result().rows
  const schema = `queue_${process.pid}`
  beforeEach(() => {
    ask(`CREATE SCHEMA ${schema}`)
    onTestFinished(() => void ask(`DROP SCHEMA ${schema} CASCADE`))
  })

  const makeTable = (message: string, time = 'timestamp') =>
    ask(`CREATE TABLE ${schema}.spider_job (id serial, execution_ref text, priority float, message ${message},
      project text, spider text, job text, status text, start_time ${time}, end_time ${time})`)
  const add = (values: string) =>
    ask(`INSERT INTO ${schema}.spider_job (execution_ref, priority, message, project,
      spider, job, status, start_time, end_time) VALUES ${values}`)

  async function take(directory: string, executionRef: string | null = null) {
    const at = (...parts: string[]) => join(directory, ...parts)
    await mkdir(at('eggs', 'shop'), { recursive: true })
    await writeFile(at('eggs', 'shop', '1.egg'), await anEgg())
    const lines: string[] = []
    const sharedQueue = { address: parsePostgresAddress(url), executionRef }
    const counts = await importScrapyd({
      source: { eggs: at('eggs'), logs: at('logs'), items: null, databases: null, settingsProjects: [], sharedQueue },
      dataDirectory: at('data'),
      dryRun: false,
      report: (line) => lines.push(line)
    })
    const options = { clock: systemClock, logger: silentLogger }
    const store = await openSqliteStoreHere({ ...options, path: at('data', 'scrapdeck.sqlite') })
    const find = async (jobid: string) => (await store.findJobsByJobid(null, jobid))[0]
    return { counts, find, close: () => store.close(), skipped: lines.filter((line) => line.startsWith('skipped ')) }
  }

  test('is imported with its pending, ongoing and terminated jobs; no pickle runs anything', async () => {
    await using directory = await makeTemporaryDirectory()
    const trace = join(directory.path, 'ran')
    makeTable('bytea')
    const plain = `{'name': 'prices', '_job': 'p1', '_version': '1', 'settings': {'A': 'b'}, 'page': '3'}`
    const hostile = `type('E', (), {'__reduce__': lambda self: (os.system, ('touch ${trace}',))})()`
    add(`('blue', 2, '\\x${pickled(plain, 2)}', 'shop', 'prices', 'p1', 'pending', NULL, NULL),
      ('blue', 7, '\\x${pickled(`{'name': 'news', '_job': 'p2'}`, 5)}', 'shop', 'news', 'p2', 'pending', NULL, NULL),
      ('blue', 0, '\\x${pickled(hostile, 4)}', 'shop', 'prices', 'p3', 'pending', NULL, NULL),
      ('blue', 0, NULL, 'shop', 'prices', 't1', 'terminated', '2026-11-21 01:02:03.5', '2026-11-21 01:05:00'),
      ('blue', 0, NULL, 'shop', 'prices', 't2', 'terminated', '2026-11-21 02:02:03', '2026-11-21 02:05:00'),
      ('blue', 0, NULL, 'shop', 'prices', 'o1', 'ongoing', '2026-11-22 01:02:03', NULL),
      ('blue', 1, NULL, 'shop', 'prices', 'x1', 'odd', NULL, NULL)`)
    await mkdir(join(directory.path, 'logs', 'shop', 'prices'), { recursive: true })
    await writeFile(join(directory.path, 'logs', 'shop', 'prices', 't1.log'), GOOD_LOG)
    const { counts, find, skipped, close } = await take(directory.path)
    expect(counts).toMatchObject({ pending: { taken: 2, skipped: 2 }, finished: { taken: 3, skipped: 0 } })
    expect(skipped).toEqual([
      'skipped the pending job in row 7 of shop: its status is none of pending, ongoing and terminated',
      'skipped the pending job in row 3 of shop: its message cannot be read: it contains more than plain data (0x93)'
    ])
    expect(await find('p1')).toMatchObject({
      project: 'shop',
      spider: 'prices',
      version: '1',
      settings: { A: 'b' },
      args: { page: '3' },
      priority: 2,
      state: 'queued',
      source: 'scrapyd'
    })
    expect(await find('p2')).toMatchObject({ spider: 'news', priority: 7, args: {} })
    expect(await find('p3')).toBeUndefined()
    expect(await find('t1')).toMatchObject({
      state: 'ended',
      outcome: 'succeeded',
      startedAtMs: new Date(2026, 10, 21, 1, 2, 3, 500).getTime()
    })
    expect(await find('t2')).toMatchObject({ outcome: 'lost' })
    expect(await find('o1')).toMatchObject({ outcome: 'lost', startedAtMs: new Date(2026, 10, 22, 1, 2, 3).getTime() })
    expect(() => execFileSync('ls', [trace], { stdio: 'ignore' })).toThrow()
    await close()
    const again = await take(directory.path)
    expect(again.counts).toMatchObject({ pending: { taken: 0, known: 2 }, finished: { taken: 0, known: 3 } })
    await again.close()
    expect(ask(`SELECT count(*) FROM ${schema}.spider_job`)).toEqual([[7]])
  })

  test.each(['text', 'jsonb'])('is imported with messages in %s, and with times that have a zone', async (type) => {
    await using directory = await makeTemporaryDirectory()
    makeTable(type, 'timestamptz')
    add(`(NULL, 0, '{"name": "prices", "_job": "p1", "page": "3"}', 'shop', 'prices', 'p1', 'pending', NULL, NULL),
      (NULL, 0, NULL, 'shop', 'prices', 't1', 'terminated', '2026-11-21 01:02:03+02', '2026-11-21 01:05:00+02')`)
    const { counts, find, close } = await take(directory.path)
    expect(counts).toMatchObject({ pending: { taken: 1 }, finished: { taken: 1 } })
    expect(await find('p1')).toMatchObject({ args: { page: '3' } })
    expect(await find('t1')).toMatchObject({ startedAtMs: Date.UTC(2026, 10, 20, 23, 2, 3) })
    await close()
  })

  test('of several deployments needs the name of one, and only the jobs of that one are imported', async () => {
    await using directory = await makeTemporaryDirectory()
    makeTable('text')
    add(`('blue', 0, '{}', 'shop', 'prices', 'p1', 'pending', NULL, NULL),
      ('green', 0, '{}', 'shop', 'prices', 'p2', 'pending', NULL, NULL)`)
    await expect(take(directory.path)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringMatching(/with --execution-ref: blue, green$/)
    })
    const { find, close } = await take(directory.path, 'green')
    expect([await find('p1'), (await find('p2'))?.spider]).toEqual([undefined, 'prices'])
    await close()
  })

  test.each(['is a view, which may run code of another user', 'does not exist'])(
    'is refused with the reason if it %s',
    async (what) => {
      await using directory = await makeTemporaryDirectory()
      if (what.includes('view')) ask(`CREATE VIEW ${schema}.spider_job AS SELECT 'pending' AS status`)
      await expect(take(directory.path)).rejects.toMatchObject({
        code: 'BAD_INPUT',
        message: expect.stringContaining('has no table spider_job')
      })
    }
  )
})
