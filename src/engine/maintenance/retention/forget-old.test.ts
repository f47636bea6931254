import { expect, it, vi } from 'vitest'
import { FIRINGS_KEPT, Forgetting } from './forget-old.ts'
import { Housekeeping } from '../housekeeping.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewFiring, aStoredBackfill, aStoredSchedule } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'

const START_MS = Date.parse('2026-11-21T12:00:00Z')
const DAY_MS = 86_400_000

async function openWorld() {
  const clock = createFakeClock(START_MS)
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  const { store } = temporary
  const schedule = aStoredSchedule()
  await store.putSchedule(schedule)
  const fire = (firstMs: number, count: number) =>
    store.fire(
      Array.from({ length: count }, (_, index) => {
        const atMs = firstMs + index
        return aNewFiring({ scheduleId: schedule.id, nominalMs: atMs, atMs })
      })
    )
  const count = async () =>
    (await store.listFirings({ scheduleId: schedule.id }, { before: null, limit: 100_000 })).length
  const forgetting = new Forgetting({ store, clock, logger: silentLogger, auditDays: 400 })
  return { clock, store, schedule, fire, count, forgetting, [Symbol.asyncDispose]: () => temporary.remove() }
}

it('deletes firings older than 400 days, and all but the newest 10,000 of a schedule, in small steps', async () => {
  await using world = await openWorld()
  const { clock, store, fire, count, forgetting } = world
  await fire(START_MS - 401 * DAY_MS, 700)
  await fire(START_MS - DAY_MS, FIRINGS_KEPT + 600)
  const steps = vi.spyOn(store, 'prune')
  const done = forgetting.run()
  expect(forgetting.run()).toBe(done)
  await vi.waitFor(async () => {
    await clock.advanceBy(50)
    expect(await count()).toBe(FIRINGS_KEPT)
  }, 10_000)
  await done
  const removed = await Promise.all(steps.mock.results.map(({ value }) => value as Promise<number>))
  expect(removed).toEqual([250, 250, 250, 250, 250, 50])
})

it('keeps the rows of a schedule while a backfill of it is under way', async () => {
  await using world = await openWorld()
  const { store, schedule, fire, count, forgetting } = world
  await fire(START_MS - 401 * DAY_MS, 20)
  const backfill = aStoredBackfill({ scheduleId: schedule.id })
  await store.putBackfill(backfill)
  await forgetting.run()
  expect(await count()).toBe(20)
  await store.putBackfill({ ...backfill, revision: 2, state: 'done' })
  await forgetting.run()
  expect(await count()).toBe(0)
})

it('starts no further step once it is stopped', async () => {
  await using world = await openWorld()
  const { clock, fire, count, forgetting } = world
  await fire(START_MS - 401 * DAY_MS, 1_200)
  void forgetting.run()
  await vi.waitFor(async () => expect(await count()).toBe(950))
  forgetting.stop()
  await clock.advanceBy(60_000)
  expect(await count()).toBe(950)
})

it('runs every ten minutes, on the clock alone', async () => {
  await using world = await openWorld()
  const { clock, store, fire, count } = world
  const house = new Housekeeping({
    store,
    clock,
    logger: silentLogger,
    fleet: { list: () => [] },
    checkProblems: () => undefined,
    sweeps: [],
    auditDays: 400,
    inventories: { read: async () => undefined }
  })
  house.start()
  for (let round = 0; round < 2; round += 1) {
    await fire(START_MS - 401 * DAY_MS, 5)
    expect(await count()).toBe(5)
    await clock.advanceBy(600_000)
    await vi.waitFor(async () => expect(await count()).toBe(0))
  }
  house.stop()
  await fire(START_MS - 401 * DAY_MS, 5)
  await clock.advanceBy(1_200_000)
  expect(await count()).toBe(5)
})
