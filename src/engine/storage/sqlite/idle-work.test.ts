import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
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

function isCopied(): boolean {
  const [{ log, checkpointed }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }]
  return log > 0 && log === checkpointed
}

const change = (rows: number) => {
  const write = database.prepare(
    "INSERT INTO settings VALUES ('x', ?) ON CONFLICT DO UPDATE SET value = excluded.value"
  )
  database.transaction(() => {
    for (let row = 0; row < rows; row += 1) write.run(String(row))
  })()
  idle.postpone()
}

test('the WAL is copied when nothing was committed for a while; then nothing happens until the next commit', async () => {
  change(10_000)
  await clock.advanceBy(15)
  idle.postpone()
  await clock.advanceBy(15)
  expect(isCopied()).toBe(false)
  await clock.advanceBy(1_000)
  expect([isCopied(), clock.timerCount()]).toEqual([true, 0])
})

test('between two commits the WAL is copied only once it is long, because the next ones change the same pages', async () => {
  change(2_000)
  await clock.advanceBy(400)
  expect(isCopied()).toBe(false)
  change(10_000)
  await clock.advanceBy(20)
  expect(isCopied()).toBe(true)
})

test('a failure is logged, and tried again after the next commit', async () => {
  change(10_000)
  const failing = vi.spyOn(database, 'pragma').mockImplementationOnce(() => {
    throw new Error('the disk is full')
  })
  await clock.advanceBy(1_000)
  failing.mockRestore()
  expect(warned).toMatchObject([{ error: { message: 'the disk is full' } }])
  expect([isCopied(), clock.timerCount()]).toEqual([false, 0])
  change(1)
  await clock.advanceBy(1_000)
  expect(isCopied()).toBe(true)
})

test('nothing happens after the stop', async () => {
  change(10_000)
  idle.stop()
  await clock.advanceBy(1_000)
  expect([isCopied(), clock.timerCount()]).toEqual([false, 0])
})
