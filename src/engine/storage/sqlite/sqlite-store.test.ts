import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import DatabaseConstructor from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isLong, pickLength } from '../../../../scripts/test-length.mjs'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { branded } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewJob } from '../../testing/builders.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { describeStore } from '../testing/conformance.ts'
import { testHistories } from '../testing/history.ts'
import { testAgainstModel } from '../testing/model.ts'
import { openSqliteStore } from './open-sqlite-store.ts'
import { openSqliteStoreHere } from './sqlite-store.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

const WRITER = fileURLToPath(new URL('../testing/write-until-killed.ts', import.meta.url))

function open(directory: string) {
  return openSqliteStore({ path: join(directory, 'scrapdeck.db'), clock: systemClock, logger: silentLogger })
}

async function temporaryPath(): Promise<string> {
  const directory = await makeTemporaryDirectory()
  onTestFinished(directory.remove)
  return directory.path
}

/** Tests copy this database, because a migration takes longer than most tests. */
async function anEmptyDatabase(): Promise<Uint8Array> {
  await using directory = await makeTemporaryDirectory({ inMemory: true })
  const path = join(directory.path, 'scrapdeck.db')
  await (await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })).close()
  return readFile(path)
}
let empty: Uint8Array | null = null

for (const [name, openStore, stories] of [
  ['SqliteStore', openSqliteStore, { any: pickLength(5, 20, 2), retention: pickLength(50, 50, 15) }],
  [
    "SqliteStore in its caller's thread",
    openSqliteStoreHere,
    { any: pickLength(25, 200, 10), retention: pickLength(100, 3_000, 40) }
  ]
] as const) {
  const openOne = async () => {
    const directory = await makeTemporaryDirectory({ inMemory: true })
    const path = join(directory.path, 'scrapdeck.db')
    await writeFile(path, (empty ??= await anEmptyDatabase()))
    const options = { path, clock: systemClock, logger: silentLogger }
    let store = await openStore(options)
    return {
      store,
      async reopen() {
        await store.close()
        store = await openStore(options)
        return store
      },
      async remove() {
        await store.close()
        expectCountersToBeRight(path)
        expectChainsToKeepNothingIdle(path)
        await directory.remove()
      }
    }
  }
  // A thread per test takes ten times as long. The stories and store-thread.test.ts cover calls across threads.
  if (isLong || openStore === openSqliteStoreHere) describeStore(name, openOne, stories)
  else
    describe(`${name} against a model`, () => {
      testAgainstModel(openOne, stories.any)
      testHistories(openOne, stories.any)
    })
}

function expectCountersToBeRight(path: string): void {
  const database = new DatabaseConstructor(path, { readonly: true })
  const all = (sql: string) => database.prepare(sql).raw().all()
  const counted = [
    all('SELECT * FROM job_counts ORDER BY 1, 2, 3, 4'),
    all('SELECT * FROM ended_counts ORDER BY 1, 2, 3, 4, 5'),
    all('SELECT * FROM ended_jobs ORDER BY 1, 2'),
    all('SELECT * FROM log_sums ORDER BY 1'),
    all('SELECT * FROM queue_lanes ORDER BY 1'),
    all('SELECT state, count FROM state_counts WHERE count <> 0 ORDER BY 1'),
    all('SELECT id, waiting, delivered, dead FROM webhooks ORDER BY 1'),
    all('SELECT schedule_id, firing_count FROM schedule_progress WHERE firing_count <> 0 ORDER BY 1')
  ]
  const recounted = [
    all(
      `SELECT project, spider, status, coalesce(node_id, ''), count(*) FROM jobs GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`
    ),
    all(`SELECT substr(id, 1, 5) || iif(substr(id, 6, 1) < '8', '0', '8'), project, spider, status, coalesce(node_id, ''), count(*)
      FROM jobs WHERE state = 'ended' GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`),
    all(`SELECT project, spider, count(*) FROM jobs WHERE state = 'ended' GROUP BY 1, 2 ORDER BY 1, 2`),
    all(`SELECT project, count(*), sum(coalesce(stored_bytes, length(packed))), sum(length(packed)) FROM archived_logs
      JOIN attempts ON attempts.job_id = archived_logs.job_id AND number = attempt_number GROUP BY 1 ORDER BY 1`),
    all(`SELECT lane, count(*) FROM jobs WHERE state = 'queued' AND hold IS NULL GROUP BY 1 ORDER BY 1`),
    all('SELECT state, count(*) FROM jobs GROUP BY 1 ORDER BY 1'),
    all(`SELECT id, sum(coalesce(state = 'waiting', 0)), sum(coalesce(state = 'delivered', 0)),
        sum(coalesce(state = 'dead', 0))
      FROM webhooks LEFT JOIN deliveries ON webhook_id = id GROUP BY 1 ORDER BY 1`),
    all('SELECT schedule_id, count(*) FROM firings GROUP BY 1 ORDER BY 1')
  ]
  database.close()
  expect(counted).toEqual(recounted)
}

/** Checks that no chain records are left of jobs that cannot end again and whose ends are answered. */
function expectChainsToKeepNothingIdle(path: string): void {
  const database = new DatabaseConstructor(path, { readonly: true })
  const idle = (table: string, isDue: string) =>
    database
      .prepare(
        `SELECT job_id FROM ${table} LEFT JOIN jobs ON id = job_id
          WHERE NOT ${isDue} AND (id IS NULL OR state = 'ended' AND cancelled_while_queued = 0)`
      )
      .pluck()
      .all()
  const left = [
    ...idle('chain_ends', '(answered_at_ms IS NULL)'),
    ...idle('chain_lines', 'EXISTS (SELECT 1 FROM chain_ends WHERE job_id = id AND answered_at_ms IS NULL)')
  ]
  database.close()
  expect(left).toEqual([])
}

function startWriter(directory: string, limits = '') {
  const child = spawn(
    'sh',
    ['-c', `${limits} exec "$0" "$@"`, process.execPath, WRITER, join(directory, 'scrapdeck.db')],
    {
      stdio: ['ignore', 'pipe', 'inherit']
    }
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return { child, exited, lines: createInterface({ input: child.stdout }) }
}

describe('a store whose process is killed', () => {
  test('has every acknowledged job, complete, when it is opened again', { timeout: 60_000 }, async () => {
    const directory = await temporaryPath()
    const acknowledged: string[] = []
    for (const killAfter of [1, 60, 150]) {
      const { child, exited, lines } = startWriter(directory)
      let count = 0
      lines.on('line', (line) => {
        acknowledged.push(line)
        count += 1
        if (count === killAfter) child.kill('SIGKILL')
      })
      await exited
      expect(count).toBeGreaterThanOrEqual(killAfter)
    }
    // Opening immediately also proves that the killed engine's lock is gone.
    const store = await open(directory)
    const jobs = await store.getJobs(branded(acknowledged))
    expect(jobs.map(({ id }) => id)).toEqual(acknowledged)
    const { queued } = await store.countByState()
    const found = await store.listJobs({}, { before: null, limit: 100_000 })
    expect(found.length).toBe(queued)
    expect(found.length % 3).toBe(0)
    for (const { id } of found) expect((await store.listTimeline(id)).length).toBe(1)
    expect((await store.listLanes()).map(({ depth }) => depth)).toEqual([queued])
    await store.close()
  })
})

describe('opening', () => {
  const codeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'opened',
      (error) => (error instanceof ScrapdeckError ? error.code : error)
    )

  test('a second engine on one directory is refused until the first has closed', async () => {
    const directory = await temporaryPath()
    const first = await open(directory)
    expect(await codeOf(open(directory))).toBe('DATA_DIRECTORY_IN_USE')
    await first.close()
    const second = await open(directory)
    await second.close()
  })

  test.skipIf(isCore)('a second engine in another process is refused too', async () => {
    const directory = await temporaryPath()
    const store = await open(directory)
    const { exited, lines } = startWriter(directory)
    const said: string[] = []
    lines.on('line', (line) => said.push(line))
    await exited
    expect(said).toEqual(['DATA_DIRECTORY_IN_USE'])
    await store.close()
  })

  test.each([
    ['of a newer Scrapdeck', 9999, 'DATA_FROM_NEWER_VERSION'],
    ['from before the oldest migration', 1, 'DATA_TOO_OLD']
  ])('data %s is refused and left unchanged', async (_, version, code) => {
    const directory = await temporaryPath()
    await (await open(directory)).close()
    const database = new DatabaseConstructor(join(directory, 'scrapdeck.db'))
    database.pragma(`user_version = ${version}`)
    expect(await codeOf(open(directory))).toBe(code)
    expect(database.pragma('user_version', { simple: true })).toBe(version)
    database.close()
  })

  test('a file in place of the directory is reported with an explanation', async () => {
    const directory = await temporaryPath()
    await writeFile(join(directory, 'file'), 'not a directory')
    await expect(open(join(directory, 'file', 'data'))).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_UNUSABLE',
      message: expect.stringContaining('cannot be opened or created')
    })
  })

  test.skipIf(process.platform === 'win32')('other users cannot read the data', async () => {
    const directory = await temporaryPath()
    const store = await open(directory)
    await store.putSetting('paused', true)
    const files = (await readdir(directory)).filter((name) => name.startsWith('scrapdeck.db'))
    const modes = await Promise.all(files.map(async (name) => (await stat(join(directory, name))).mode & 0o077))
    await store.close()
    expect([files.length, modes]).toEqual([3, [0, 0, 0]])
  })

  test('a file that is not a database is refused and left unchanged', async () => {
    const directory = await temporaryPath()
    await writeFile(join(directory, 'scrapdeck.db'), 'not a database, but long enough to be taken for one'.repeat(100))
    await expect(open(directory)).rejects.toMatchObject({
      code: 'DATA_DIRECTORY_UNUSABLE',
      message: expect.stringContaining('not a Scrapdeck database')
    })
    expect(await codeOf(open(directory))).toBe('DATA_DIRECTORY_UNUSABLE')
  })

  test.each(['settings', 'sqlite_sequence'])(
    'damage of %s is reported at the start, and the lock is free',
    async (table) => {
      const path = join(await temporaryPath(), 'scrapdeck.db')
      await writeFile(path, (empty ??= await anEmptyDatabase()))
      const database = new DatabaseConstructor(path)
      const page = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').pluck().get(table) as number
      const size = database.pragma('page_size', { simple: true }) as number
      database.close()
      await writeFile(path, (await readFile(path)).fill(0xa5, (page - 1) * size, page * size))
      const again = () => openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })
      expect([await codeOf(again()), await codeOf(again())]).toEqual([
        'DATA_DIRECTORY_UNUSABLE',
        'DATA_DIRECTORY_UNUSABLE'
      ])
    }
  )

  test.skipIf(process.platform === 'win32')('a full disk is refused at the start', async () => {
    const directory = await temporaryPath()
    await (await open(directory)).close()
    // The file size limit acts like a full disk: the write itself fails.
    const { exited, lines } = startWriter(directory, 'ulimit -f 0;')
    const said: string[] = []
    lines.on('line', (line) => said.push(line))
    await exited
    expect(said).toEqual(['DATA_DIRECTORY_UNUSABLE'])
  })

  test.skipIf(process.platform === 'win32')(
    'a disk that fills up fails the writes and keeps what was acknowledged',
    async () => {
      const directory = await temporaryPath()
      await (await open(directory)).close()
      const { exited, lines } = startWriter(directory, 'ulimit -f 1000;')
      const said: string[] = []
      lines.on('line', (line) => said.push(line))
      await exited
      expect(said.at(-1)).toBe('DATA_DIRECTORY_UNUSABLE')
      const acknowledged = said.slice(0, -1)
      expect(acknowledged.length).toBeGreaterThan(0)
      const store = await open(directory)
      expect((await store.getJobs(branded(acknowledged))).length).toBe(acknowledged.length)
      await store.enqueueJobs([aNewJob()])
      await store.close()
    }
  )
})
