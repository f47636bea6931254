import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pickLength } from '../../../../scripts/test-length.mjs'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewJob } from '../../testing/builders.ts'
import { until } from '../../testing/until.ts'
import { describeStore } from '../testing/conformance.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../runtime/postgres-address.ts'
import type { Connection } from './connection.ts'
import { migrate } from './migrate.ts'
import { connectTo } from './postgres-driver.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { openPostgresStoreHere } from './postgres-store.ts'
import { emptySchema } from './testing/empty-schema.ts'
import { type PostgresServer, startPostgres, whyNoPostgres } from './testing/start-postgres.ts'

const common = { clock: systemClock, logger: silentLogger }
const ask = (connection: Connection, text: string) => connection.send({ text, values: [] }).result().rows

describe.skipIf(whyNoPostgres() !== null)('on a real PostgreSQL', () => {
  let server: PostgresServer | null = null
  let url: string
  let address: PostgresAddress
  // Shared by all tests, because connecting and starting the thread takes longer than most tests.
  let connection: Connection
  beforeAll(async () => {
    url = process.env['DATABASE_URL'] ?? (server = await startPostgres()).url
    address = parsePostgresAddress(`${url}?namespace=conformance_${process.pid}`)
    connection = connectTo(address)
    console.log(ask(connection, 'SELECT version()')[0]![0])
  })
  afterAll(async () => {
    ask(connection, `DROP SCHEMA IF EXISTS "${address.schema}" CASCADE`)
    connection.end()
    await server?.stop()
  })

  const openOne = async () => {
    emptySchema(connection, address)
    let store = await openPostgresStoreHere({ ...common, address, connection })
    return {
      store,
      async reopen() {
        await store.close()
        store = await openPostgresStoreHere({ ...common, address, connection })
        return store
      },
      remove: () => store.close()
    }
  }
  describeStore('PostgresStore', openOne, { any: pickLength(3, 20), retention: pickLength(5, 100) })

  test('a failed statement without a reader explains why the next ones in its transaction fail', () => {
    const send = (text: string, isInTransaction = true) => connection.send({ text, values: [], isInTransaction })
    send('BEGIN', false)
    send('SELECT 1 / 0')
    expect(() => send('SELECT 1').result()).toThrow('division by zero')
    send('ROLLBACK')
    connection.forget()
    send('BEGIN', false)
    const looked = send('SELECT 1')
    send('SELECT 1 / 0')
    looked.result()
    expect(() => connection.settle()).toThrow('division by zero')
    send('ROLLBACK')
    connection.forget()
    expect(send('SELECT 1', false).result().rows).toEqual([[1]])
  })

  test('a young database is analyzed once it has grown, so that no plan remains from when it was empty', async () => {
    const { store, remove } = await openOne()
    const analyzed = () =>
      ask(
        connection,
        `SELECT count(*) FROM pg_class WHERE oid = '"${address.schema}".jobs'::regclass AND reltuples >= 1000`
      )[0]![0]
    await store.enqueueJobs(Array.from({ length: 900 }, () => aNewJob()))
    expect(analyzed()).toBe(0)
    await store.enqueueJobs(Array.from({ length: 200 }, () => aNewJob()))
    expect(analyzed()).toBe(1)
    await remove()
  })

  test.each(['in a transaction', 'without one'])(
    'rows are walked in batches, %s, by several walks at once',
    (where) => {
      const database = new PostgresDatabase(connection, { name: 'test', lockSql: 'SELECT 1' })
      // Fails at the 100,000th row, which is reached if all rows are read together.
      const walk = database
        .prepare<[number], number>(
          'SELECT CAST(? AS integer) * 0 + 1 / (100000 - n) + n FROM generate_series(1, 200000) AS n'
        )
        .pluck()
      const work = () => {
        const [one, other] = [walk.iterate(5), walk.iterate(6)]
        const taken: number[] = []
        for (const value of one) {
          taken.push(value)
          if (taken.length === 5_000) break
          if (taken.length < 300) expect(other.next().value).toBe(value)
        }
        return taken
      }
      const taken = where === 'without one' ? work() : database.transaction(work)()
      expect([taken.length, taken.at(-1)]).toEqual([5_000, 5_000])
      expect(() => [...walk.iterate(5)]).toThrow('division by zero')
      expect(ask(connection, 'SELECT 1')).toEqual([[1]])
      expect(ask(connection, 'SELECT count(*) FROM pg_cursors')).toEqual([[0]])
    }
  )

  test('a connection that was lost while idle is replaced', async () => {
    const other = connectTo(parsePostgresAddress(`${url}?namespace=idle_${process.pid}`))
    const pidOf = () => ask(other, 'SELECT pg_backend_pid()')[0]![0]
    const first = pidOf()
    ask(connection, `SELECT pg_terminate_backend(${String(first)})`)
    const isGone = async () =>
      ask(connection, `SELECT 1 FROM pg_stat_activity WHERE pid = ${String(first)}`).length === 0
    await until('its end', isGone, Boolean, 5_000)
    // A query fails with the connection if it is sent before the client notices that the connection has ended.
    const isReplaced = async () => {
      try {
        return pidOf() !== first
      } catch {
        return false
      }
    }
    await until('another one', isReplaced, Boolean, 5_000)
    other.end()
  })

  test('statements of a transaction do not run on the connection after it', async () => {
    const other = connectTo(parsePostgresAddress(`${url}?namespace=lost_${process.pid}`))
    const pid = ask(other, 'SELECT pg_backend_pid()')[0]![0]
    other.send({ text: 'BEGIN', values: [] }).result()
    ask(connection, `SELECT pg_terminate_backend(${String(pid)})`)
    const inTransaction = () => other.send({ text: 'SELECT 1', values: [], isInTransaction: true }).result()
    const isLost = async () => {
      try {
        inTransaction()
        return false
      } catch {
        return true
      }
    }
    await until('the loss', isLost, Boolean, 5_000)
    expect(inTransaction).toThrow('transaction')
    expect(ask(other, 'SELECT 2')).toEqual([[2]])
    other.end()
  })

  describe('a namespace', () => {
    test('belongs to one engine, and another engine has its own', async () => {
      const [one, other] = ['one', 'other'].map((name) =>
        parsePostgresAddress(`${url}?namespace=${name}_${process.pid}`)
      )
      const first = await openPostgresStoreHere({ ...common, address: one! })
      await expect(openPostgresStoreHere({ ...common, address: one! })).rejects.toMatchObject({
        code: 'DATABASE_IN_USE'
      })
      const second = await openPostgresStoreHere({ ...common, address: other! })
      const job = aNewJob()
      await first.enqueueJobs([job])
      expect([(await first.countByState()).queued, (await second.countByState()).queued]).toEqual([1, 0])
      await first.close()
      await second.close()
      const again = await until(
        'the namespace free',
        () => openPostgresStoreHere({ ...common, address: one! }).catch(() => null),
        (store) => store !== null,
        10_000
      )
      expect((await again!.getJob(job.id))?.id).toBe(job.id)
      await again!.close()
      for (const { schema } of [one!, other!]) ask(connection, `DROP SCHEMA "${schema}" CASCADE`)
    })

    test('gets each missing step once; one from before the first step is refused and left unchanged', () => {
      const own = connectTo(parsePostgresAddress(url))
      const schema = `migrated_${process.pid}`
      ask(own, `SET search_path TO "${schema}"`)
      const go = (...steps: string[]) =>
        migrate(own, { schema, lockSql: 'SELECT 1', name: 'x' }, { baseline: 7, steps })
      const first = 'CREATE TABLE a (x bigint);\nINSERT INTO a VALUES (1)'
      const second = 'INSERT INTO a VALUES (2)'
      const state = () => [ask(own, 'SELECT version FROM schema_version'), ask(own, 'SELECT x FROM a ORDER BY x')]
      go(first)
      expect(state()).toEqual([[[7]], [[1]]])
      for (const _ of [1, 2]) go(first, second)
      expect(state()).toEqual([[[8]], [[1], [2]]])
      expect(() => go(first)).toThrow(/schema version 8.*newer Scrapdeck/)
      ask(own, 'UPDATE schema_version SET version = 6')
      expect(() => go(first, second)).toThrow(/schema version 6.*Open it once with.*another namespace/)
      expect(state()).toEqual([[[6]], [[1], [2]]])
      ask(own, `DROP SCHEMA "${schema}" CASCADE`)
      own.end()
    })
  })

  test.skipIf(process.env['DATABASE_URL'] !== undefined)(
    'a database that crashes fails the writes meanwhile, and has every acknowledged job afterwards',
    async () => {
      const own = await startPostgres()
      const store = await openPostgresStoreHere({ ...common, address: parsePostgresAddress(own.url) })
      const [before, during, after] = [aNewJob(), aNewJob(), aNewJob()]
      await store.enqueueJobs([before])
      await own.crash()
      await expect(store.enqueueJobs([during])).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE' })
      await own.start()
      await until(
        'a write',
        () =>
          store.enqueueJobs([after]).then(
            () => true,
            () => false
          ),
        Boolean,
        20_000
      )
      const found = await store.getJobs([before.id, during.id, after.id])
      expect(found.map(({ id }) => id)).toEqual([before.id, after.id])
      await store.close()
      await own.stop()
    }
  )
})
