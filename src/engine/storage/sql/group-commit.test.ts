import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { SqliteDatabase } from '../sqlite/sqlite-database.ts'
import { createGroupCommit, type GroupCommit } from './group-commit.ts'

describe('grouped commits', () => {
  let database: Database
  let commits: GroupCommit
  let committed: number
  /** `collected`: what the writes have collected. `recorded`: the size of `collected` at each record. */
  let collected: number[]
  let recorded: number[]

  beforeEach(() => {
    database = new DatabaseConstructor(':memory:')
    database.pragma('foreign_keys = ON')
    database.exec('CREATE TABLE parents (id INTEGER PRIMARY KEY)')
    database.exec(
      'CREATE TABLE things (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)'
    )
    committed = 0
    collected = []
    recorded = []
    commits = createGroupCommit({
      database: new SqliteDatabase(database),
      clock: createFakeClock(),
      record: () => {
        recorded.push(collected.length)
        return () => {}
      },
      discard: () => void (collected = []),
      scheduleFlush: setImmediate,
      onCommit: () => {
        committed += 1
      }
    })
  })

  afterEach(() => database.close())

  const insert = (id: number, parent: number | null = null) =>
    database.prepare('INSERT INTO things VALUES (?, ?)').run(id, parent)
  const ids = () => database.prepare('SELECT id FROM things ORDER BY id').pluck().all()

  test('writes of one turn share one commit, in the order of the calls', async () => {
    const order: number[] = []
    const writes = [1, 2, 3].map((id) =>
      commits.write(() => {
        insert(id)
        order.push(id)
        return id * 10
      })
    )
    expect(await Promise.all(writes)).toEqual([10, 20, 30])
    expect([order, committed]).toEqual([[1, 2, 3], 1])
  })

  test('nothing is written before its turn, and nothing is reported before the commit', async () => {
    let told = 0
    const write = commits
      .write(() => insert(1))
      .then(() => {
        told = committed
      })
    expect(ids()).toEqual([])
    await write
    expect(told).toBe(1)
  })

  test('a write that fails halfway is undone and rejected alone', async () => {
    const results = await Promise.allSettled([
      commits.write(() => insert(1)),
      commits.write(() => {
        insert(2)
        throw new Error('half way')
      }),
      commits.write(() => insert(3))
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(ids()).toEqual([1, 3])
  })

  const insertJoined = (id: number, fails = false) =>
    commits.write(
      () => {
        insert(id)
        collected.push(id)
        if (fails) throw new Error('half way')
      },
      { isJoined: true }
    )

  test('adjacent joined writes are recorded together, others alone', async () => {
    await Promise.all([insertJoined(1), insertJoined(2), commits.write(() => insert(3)), insertJoined(4)])
    expect([ids(), recorded, committed]).toEqual([[1, 2, 3, 4], [2, 0, 1], 1])
    recorded = []
    await Promise.all([insertJoined(5), insertJoined(6)])
    expect(recorded).toEqual([2])
  })

  test.each([
    ['alone in their transaction', []],
    ['beside another write', [() => commits.write(() => insert(9))]]
  ])('of joined writes %s, one that fails is undone and rejected alone', async (_where, others) => {
    const results = await Promise.allSettled([
      insertJoined(1),
      insertJoined(2, true),
      insertJoined(3),
      ...others.map((write) => write())
    ])
    expect(results.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'fulfilled'],
      ...others.map(() => 'fulfilled')
    ])
    expect([ids(), collected, committed]).toEqual([[1, 3, ...others.map(() => 9)], [], 1])
    expect(recorded).toEqual([1, 1, ...others.map(() => 0)])
  })

  test('a failed commit rejects all writes and keeps nothing', async () => {
    // The missing parent makes only the COMMIT fail, as a full disk can.
    const results = await Promise.allSettled([commits.write(() => insert(1)), commits.write(() => insert(2, 99))])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect([ids(), committed, database.inTransaction]).toEqual([[], 0, false])
    await commits.write(() => insert(3))
    expect(ids()).toEqual([3])
  })

  test('of joined writes, one that fails only at COMMIT is rejected alone', async () => {
    // The next wait or commit gets the error, as from a server that responds later.
    let failure: Error | null = null
    const settle = () => {
      if (failure === null) return
      const error = failure
      failure = null
      throw error
    }
    const commit = database.prepare('COMMIT')
    const lazy = {
      name: 'lazy',
      transaction: database.transaction.bind(database),
      prepare: (sql: string) => (sql === 'COMMIT' ? { run: () => (settle(), commit.run()) } : database.prepare(sql)),
      get inTransaction() {
        return database.inTransaction
      }
    }
    const { write } = createGroupCommit({
      database: lazy as never,
      clock: createFakeClock(),
      settle,
      scheduleFlush: setImmediate,
      record: () => () => {},
      discard: () => {},
      onCommit: () => (committed += 1)
    })
    const fail = () => {
      insert(2)
      failure = new Error('refused')
    }
    const results = await Promise.allSettled(
      [() => insert(1), fail, () => insert(3)].map((work) => write(work, { isJoined: true }))
    )
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect([ids(), committed]).toEqual([[1, 3], 1])
  })

  test('when SQLite rolls back the whole transaction, no write succeeds', async () => {
    const results = await Promise.allSettled([
      commits.write(() => insert(1)),
      commits.write(() => {
        database.exec('ROLLBACK')
        throw new Error('disk full')
      }),
      commits.write(() => insert(3))
    ])
    expect(results).toEqual(results.map(() => ({ status: 'rejected', reason: new Error('disk full') })))
    expect(ids()).toEqual([])
  })

  test('a single write is undone as a whole, too: if it fails halfway, if COMMIT fails, if SQLite rolls back', async () => {
    for (const fail of [
      () => insert(2, 99),
      () => {
        throw new Error('half way')
      },
      () => {
        database.exec('ROLLBACK')
        throw new Error('disk full')
      }
    ]) {
      const write = commits.write(() => {
        insert(1)
        fail()
      })
      await expect(write).rejects.toThrow(/FOREIGN KEY|half way|disk full/)
      expect([ids(), committed, database.inTransaction]).toEqual([[], 0, false])
    }
    await commits.write(() => insert(3))
    expect(ids()).toEqual([3])
  })

  test('draining waits for earlier calls and for nothing else', async () => {
    await commits.drain()
    const write = commits.write(() => insert(1))
    await commits.drain()
    expect(ids()).toEqual([1])
    await write
  })
})
