import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parsePostgresAddress, type PostgresAddress } from '../../runtime/postgres-address.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewJob } from '../../testing/builders.ts'
import { until } from '../../testing/until.ts'
import type { LeaseTable } from '../lease-table.ts'
import type { Connection } from './connection.ts'
import { openLeaseTable } from './lease-table.ts'
import { connectTo, prepareDatabase } from './postgres-driver.ts'
import { openPostgresStoreHere } from './postgres-store.ts'
import { type PostgresServer, startPostgres, whyNoPostgres } from './testing/start-postgres.ts'

const LEASE_MS = 5_000
const rowsOf = (connection: Connection, text: string) => connection.send({ text, values: [] }).result().rows

describe.skipIf(whyNoPostgres() !== null)('the lease, on a real PostgreSQL', () => {
  let server: PostgresServer | null = null
  let address: PostgresAddress
  let connection: Connection
  const tables: LeaseTable[] = []
  beforeAll(async () => {
    const url = process.env['DATABASE_URL'] ?? (server = await startPostgres()).url
    address = parsePostgresAddress(`${url}?namespace=lease_${process.pid}`)
    prepareDatabase(address, silentLogger)
    connection = connectTo({ ...address, lease: { holder: '', epoch: 0 } })
  })
  afterEach(async () => {
    await Promise.all(tables.splice(0).map((table) => table.close()))
    rowsOf(
      connection,
      `UPDATE engine_lease SET epoch = 0, holder = NULL, has_lock = false, expires_at = 'epoch', next = NULL`
    )
    rowsOf(connection, 'DELETE FROM engine_terms')
    rowsOf(connection, 'DELETE FROM engines')
  })
  afterAll(async () => {
    rowsOf(connection, `DROP SCHEMA IF EXISTS "${address.schema}" CASCADE`)
    connection.end()
    await server?.stop()
  })

  const open = (onLost = () => {}) => {
    const table = openLeaseTable(address, { onLost })
    tables.push(table)
    return table
  }
  const take = async (table: LeaseTable, holder: string, wantsLock = true) => {
    const { epoch, renewal, gotLock } = await table.look({ wantsLock })
    const claim = { holder, name: holder, hasLock: gotLock, epoch, renewal, leaseMs: LEASE_MS, reason: 'a test' }
    return { epoch: await table.take(claim), hasLock: gotLock }
  }

  test('is taken by one of two engines that saw it in the same state', async () => {
    const [north, south] = [open(), open()]
    const seen = [await north.look({ wantsLock: true }), await south.look({ wantsLock: true })]
    expect(seen.map(({ gotLock }) => gotLock)).toEqual([true, false])
    const taken = await Promise.all(
      [north, south].map((table, index) => {
        const claim = {
          holder: `${index}`,
          name: `${index}`,
          hasLock: index === 0,
          leaseMs: LEASE_MS,
          reason: 'a test'
        }
        // If south claims first, it ends the connection of north, which has the lock, and north's claim fails.
        return table.take({ ...seen[index]!, ...claim }).catch(() => null)
      })
    )
    expect(taken.toSorted()).toEqual([1, null])
    const winner = taken[0] === null ? south : north
    expect((await winner.terms(5)).map(({ epoch }) => epoch)).toEqual([1])
  })

  test('is not taken if it was renewed after it was read, and its leader keeps its connection', async () => {
    let lost = 0
    const [north, south] = [open(() => (lost += 1)), open()]
    await take(north, 'north')
    const seen = await south.look({ wantsLock: true })
    expect(await north.renew({ holder: 'north', epoch: 1, hasLock: true, leaseMs: LEASE_MS })).toBe(true)
    const claim = { holder: 'south', name: 'south', hasLock: false, leaseMs: LEASE_MS, reason: 'a test' }
    expect(await south.take({ ...claim, epoch: seen.epoch, renewal: seen.renewal })).toBeNull()
    expect(await north.renew({ holder: 'north', epoch: 1, hasLock: true, leaseMs: LEASE_MS })).toBe(true)
    expect(lost).toBe(0)
  })

  test('ends the connection that holds the lock if it is taken without the lock, and the former leader cannot renew it', async () => {
    let lost = 0
    const [north, south] = [open(() => (lost += 1)), open()]
    await take(north, 'north')
    expect(await take(south, 'south', false)).toMatchObject({ epoch: 2 })
    await until(
      'the end of its connection',
      async () => lost,
      (count) => count > 0,
      5_000
    )
    expect((await south.look({ wantsLock: true })).gotLock).toBe(true)
    const isRenewed = () => north.renew({ holder: 'north', epoch: 1, hasLock: false, leaseMs: LEASE_MS })
    expect(await isRenewed().catch(isRenewed)).toBe(false)
    expect((await north.look({ wantsLock: true })).gotLock).toBe(false)
  })

  test('is renewed by its holder in its term, and released by no other', async () => {
    const north = open()
    await take(north, 'north')
    const lease = { holder: 'north', epoch: 1, hasLock: true, leaseMs: LEASE_MS }
    expect(await north.renew({ ...lease, epoch: 0 })).toBe(false)
    expect(await north.renew({ ...lease, holder: 'south' })).toBe(false)
    await north.release({ holder: 'north', epoch: 0, next: null, graceMs: 0 })
    expect(await north.look({ wantsLock: false })).toMatchObject({ holder: 'north', isExpired: false, hasLock: true })
    const before = (await north.look({ wantsLock: false })).renewal
    await north.release({ holder: 'north', epoch: 1, next: 'south', graceMs: 200 })
    const released = await north.look({ wantsLock: false })
    expect(released).toMatchObject({ holder: null, hasLock: false, next: 'south', epoch: 1 })
    expect(released.renewal).not.toBe(before)
    await until(
      'the end of the grace',
      () => north.look({ wantsLock: false }),
      ({ next }) => next === null,
      2_000
    )
  })

  test('expires if it is not renewed, and not otherwise', async () => {
    const north = open()
    const { epoch, renewal } = await north.look({ wantsLock: false })
    await north.take({ holder: 'n', name: 'n', hasLock: false, epoch, renewal, leaseMs: 30, reason: 'a test' })
    await until(
      'its end',
      () => north.look({ wantsLock: false }),
      ({ isExpired }) => isExpired,
      2_000
    )
    await north.renew({ holder: 'n', epoch: 1, hasLock: false, leaseMs: LEASE_MS })
    expect((await north.look({ wantsLock: false })).isExpired).toBe(false)
  })

  test('gets a new connection without the lock if the old one was given up', async () => {
    let lost = 0
    const [north, south] = [open(() => (lost += 1)), open()]
    await take(north, 'north')
    const never = north.look({ wantsLock: false }).catch((error: Error) => error)
    north.reset()
    expect(await never).toBeDefined()
    expect(lost).toBe(1)
    await until(
      'the lock',
      () => south.look({ wantsLock: true }),
      ({ gotLock }) => gotLock,
      5_000
    )
    expect((await north.look({ wantsLock: true })).gotLock).toBe(false)
    expect(lost).toBe(1)
  })

  test('refuses a write with the lease of a former term, which changes nothing', async () => {
    const [north, south] = [open(), open()]
    await take(north, 'north')
    const common = { clock: systemClock, logger: silentLogger }
    const store = await openPostgresStoreHere({
      ...common,
      address: { ...address, lease: { holder: 'north', epoch: 1 } }
    })
    try {
      const [first, second] = [aNewJob(), aNewJob()]
      await store.enqueueJobs([first])
      await take(south, 'south', false)
      await expect(store.enqueueJobs([second])).rejects.toMatchObject({ code: 'NOT_LEADER' })
      expect(rowsOf(connection, 'SELECT id FROM jobs')).toEqual([[first.id]])
      // A holder with the wrong name is rejected even in the same term.
      const strange = await openPostgresStoreHere({
        ...common,
        address: { ...address, lease: { holder: 'north', epoch: 2 } }
      })
      await expect(strange.enqueueJobs([second])).rejects.toMatchObject({ code: 'NOT_LEADER' })
      await strange.close()
      expect(rowsOf(connection, 'SELECT count(*) FROM jobs')).toEqual([[1]])
    } finally {
      await store.close()
    }
  })

  test('can be taken from a leader that hangs in a transaction', async () => {
    const [north, south] = [open(), open()]
    await take(north, 'north')
    const writer = connectTo({ ...address, lease: { holder: 'north', epoch: 1 } })
    const send = (text: string, isInTransaction = true) => writer.send({ text, values: [], isInTransaction })
    send('BEGIN', false)
    send(`SELECT begin_write(20261126, hashtext('${address.schema}'), 'north', 1)`).result()
    expect(await take(south, 'south', false)).toMatchObject({ epoch: 2 })
    expect(() => send('COMMIT').result()).toThrow()
    writer.end()
  })
})
