import type { ScheduleId } from '../../../shared/contract/index.ts'
import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewFiring, aRetention, aStoredSchedule } from '../../testing/builders.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import type { NewFiring } from '../../model/records.ts'
import type { Store } from '../store.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

const SCHEDULES = [aStoredSchedule(), aStoredSchedule()]
const IDS = SCHEDULES.map(({ id }) => id)
const STATES: NewFiring['state'][] = ['fired', 'skipped', 'missed', 'failed']

let directory: TemporaryDirectory
let store: Store
let database: Database

beforeEach(async () => {
  directory = await makeTemporaryDirectory({ inMemory: true })
  const path = join(directory.path, 'scrapdeck.db')
  store = await openSqliteStore({ path, clock: systemClock, logger: silentLogger })
  database = new DatabaseConstructor(path, { readonly: true })
  for (const schedule of SCHEDULES) await store.putSchedule(schedule)
})

afterEach(async () => {
  database.close()
  await store.close()
  await directory.remove()
})

const count = (where: string) => database.prepare(`SELECT count(*) FROM firings WHERE ${where}`).pluck().get()
const areFiled = () => vi.waitFor(() => expect(count('filed = 0')).toBe(0), { timeout: 5_000 })

/** A moment of each state, of each schedule. */
const fire = (nominalMs: number) =>
  store.fire(IDS.flatMap((scheduleId) => STATES.map((state) => aNewFiring({ scheduleId, nominalMs, state }))))

async function views() {
  const page = { before: null, limit: 5 }
  const [scheduleId] = IDS as [ScheduleId]
  return {
    ids: (await store.listFirings({ scheduleId }, { before: null, limit: 100 })).map(({ id }) => id),
    page: await store.listFirings({ scheduleId }, page),
    next: await store.listFirings({ scheduleId }, { before: 12, limit: 5 }),
    missed: await store.listFirings({ scheduleId, states: ['missed'] }, page),
    two: await store.listFirings({ scheduleId, states: ['missed', 'fired'] }, page),
    recent: await store.listRecentFirings(IDS, 3)
  }
}

test('firings are filed when nothing is asked, and told as before', async () => {
  for (const moment of [1, 2, 3]) await fire(moment)
  const before = await views()
  await areFiled()
  expect(await views()).toEqual(before)
  expect(before.ids).toHaveLength(12)
})

test('those that are filed and those that are not are told as one list', async () => {
  for (const moment of [1, 2]) await fire(moment)
  await areFiled()
  await fire(3)
  const mixed = await views()
  expect(mixed.ids).toEqual([...mixed.ids].sort((one, other) => other - one))
  expect(mixed.ids).toHaveLength(12)
  expect(mixed.missed.map(({ nominalMs }) => nominalMs)).toEqual([3, 2, 1])
  await areFiled()
  expect(await views()).toEqual(mixed)
})

test('the oldest are forgotten first, filed or not; and with their schedule all of them', async () => {
  await fire(1)
  await areFiled()
  await fire(2)
  const { ids } = await views()
  await store.prune(aRetention({ firings: { ...aRetention().firings, newest: 3 } }), 100)
  expect((await views()).ids).toEqual(ids.slice(0, 3))
  await fire(3)
  await store.deleteSchedules([IDS[0]!])
  expect([count(`schedule_id = '${IDS[0]}'`), count(`schedule_id = '${IDS[1]}'`)]).toEqual([0, 7])
})

test('whichever of them are filed, every page is as if there were one list', async () => {
  const backfillId = 'b'.repeat(32)
  for (const nominalMs of [1, 2, 3, 4]) {
    await fire(nominalMs)
    await store.fire([aNewFiring({ scheduleId: IDS[0]!, nominalMs: 10 + nominalMs, origin: 'backfill', backfillId })])
  }
  await areFiled()
  const all = await store.listFirings({}, { before: null, limit: 100 })
  const asked = fc.record({
    filed: fc.subarray(all.map(({ id }) => id)),
    scheduleId: fc.constantFrom(undefined, ...IDS),
    backfillId: fc.constantFrom(undefined, undefined, backfillId),
    states: fc.subarray(STATES),
    before: fc.option(fc.integer({ min: 1, max: all.length + 2 })),
    limit: fc.integer({ min: 1, max: 12 })
  })
  const writer = new DatabaseConstructor(database.name)
  const setFiled = writer.prepare('UPDATE firings SET filed = id IN (SELECT value FROM json_each(?))')
  const isAsked = <T>(wanted: T | undefined, value: T | null) => wanted === undefined || wanted === value
  await fc.assert(
    fc.asyncProperty(asked, async ({ filed, before, limit, ...filter }) => {
      setFiled.run(JSON.stringify(filed))
      const wanted = all.filter(
        ({ id, scheduleId, backfillId, state }) =>
          isAsked(filter.scheduleId, scheduleId) &&
          isAsked(filter.backfillId, backfillId) &&
          (filter.states.length === 0 || filter.states.includes(state)) &&
          id < (before ?? Number.POSITIVE_INFINITY)
      )
      expect(await store.listFirings(filter, { before, limit })).toEqual(wanted.slice(0, limit))
    })
  )
  writer.close()
})
