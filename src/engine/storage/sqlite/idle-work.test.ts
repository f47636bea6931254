import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import { createIdleWork } from './idle-work.ts'
import { migrate } from './migrate.ts'

let directory: TemporaryDirectory
let database: Database
let clock: FakeClock
let idle: ReturnType<typeof createIdleWork>
let warned: unknown[]

beforeEach(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
  database = new DatabaseConstructor(join(directory.path, 'scrapdeck.db'))
  database.pragma('journal_mode = WAL')
  migrate(database)
  clock = createFakeClock()
  warned = []
  idle = createIdleWork({ database, clock, logger: { ...silentLogger, warn: (facts) => warned.push(facts) } })
})

afterEach(async () => {
  database.close()
  await directory.remove()
})

const countNew = () => database.prepare('SELECT count(*) FROM firings WHERE filed = 0').pluck().get()

function fire(count: number): void {
  database.exec(`WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${count})
    INSERT INTO firings (schedule_id, nominal_ms, origin, at_ms, state, reason, text)
    SELECT 's', number, 'manual', 1, 'fired', 'run_now', '' FROM numbers`)
  idle.postpone()
}

test('a step is done when nothing was committed for a while, and the next when nobody came between', async () => {
  fire(250)
  await clock.advanceBy(15)
  idle.postpone()
  await clock.advanceBy(15)
  expect(countNew()).toBe(250)
  const left: unknown[] = []
  for (let step = 0; step < 3; step += 1) {
    await clock.advanceBy(20)
    left.push(countNew())
  }
  expect(left).toEqual([150, 50, 0])
})

test('the log is copied when all is filed; then nothing is done until somebody commits', async () => {
  fire(1_000)
  await clock.advanceBy(1_000)
  expect([countNew(), clock.timerCount()]).toEqual([0, 0])
  const [{ log, checkpointed }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }]
  expect(log).toBeGreaterThan(0)
  expect(checkpointed).toBe(log)
})

test('between two commits the log is copied only once it is long, because the next ones change the same pages', async () => {
  const write = database.prepare(
    "INSERT INTO settings VALUES ('x', ?) ON CONFLICT DO UPDATE SET value = excluded.value"
  )
  const copied = () => {
    const [{ log, checkpointed }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }]
    return log === checkpointed
  }
  const change = database.transaction((rows: number) => {
    for (let row = 0; row < rows; row += 1) write.run(String(row))
  })
  change(2_000)
  idle.postpone()
  await clock.advanceBy(400)
  expect(copied()).toBe(false)
  change(10_000)
  idle.postpone()
  await clock.advanceBy(20)
  expect(copied()).toBe(true)
})

test('what fails is said, and tried again after the next commit', async () => {
  fire(1)
  database.exec("CREATE TRIGGER broken BEFORE UPDATE ON firings BEGIN SELECT raise(ABORT, 'the disk is full'); END")
  await clock.advanceBy(1_000)
  expect(warned).toMatchObject([{ error: { message: 'the disk is full' } }])
  expect([countNew(), clock.timerCount()]).toEqual([1, 0])
  database.exec('DROP TRIGGER broken')
  idle.postpone()
  await clock.advanceBy(20)
  expect(countNew()).toBe(0)
})

test('nothing is done after it was stopped', async () => {
  fire(1)
  idle.stop()
  await clock.advanceBy(1_000)
  expect([countNew(), clock.timerCount()]).toEqual([1, 0])
})
