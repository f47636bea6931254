import { describe, expect, vi } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aScheduleId } from '../../shared/testing/ids.ts'
import { aRetention, aStoredSchedule, entry } from '../testing/builders.ts'
import { listBackfilled } from './backfills.ts'
import { it, START_MS, type ScheduleWorld } from './testing/schedule-fixtures.ts'

const HOUR_MS = 3_600_000
const DAY = { fromMs: START_MS - 24 * HOUR_MS, untilMs: START_MS - 19 * HOUR_MS }
const ORDER = { ...DAY, order: 'oldest_first' as const, concurrency: 2 }

const addHourly = (world: ScheduleWorld) =>
  world.add({ rules: [{ kind: 'interval', everySeconds: 3_600, anchorMs: 0 }], overlap: 'skip' })
const liveTimes = async (world: ScheduleWorld, id: string) =>
  (await world.store.listLiveJobsOf(aScheduleId(id))).map(({ nominalMs }) =>
    new Date(nominalMs!).toISOString().slice(11, 16)
  )

describe('a backfill', () => {
  it('is planned without creating anything', async ({ world }) => {
    const id = await addHourly(world)
    const plan = await world.scheduler.planBackfill(aScheduleId(id), DAY)
    expect(plan).toMatchObject({ count: 6, jobs: 6, alreadyRun: 0 })
    expect(plan.first[0]!.nominalMs).toBe(DAY.fromMs)
    expect(plan.last.at(-1)!.nominalMs).toBe(DAY.untilMs)
    expect(await world.rows(id)).toEqual([])
    expect(world.scheduler.backfillOf(aScheduleId(id))).toBe(null)
  })

  it('fires a limited number at a time, in order, and reports its progress', async ({ world }) => {
    const id = await addHourly(world)
    const begun = await world.scheduler.backfill(aScheduleId(id), ORDER)
    expect(begun).toMatchObject({ state: 'running', total: 6, fired: 2, ended: 0, failed: 0 })
    expect(await liveTimes(world, id)).toEqual(['12:00', '13:00'])
    await expect(world.scheduler.backfill(aScheduleId(id), ORDER)).rejects.toMatchObject({ code: 'BACKFILL_RUNNING' })
    const [first] = await world.store.listLiveJobsOf(aScheduleId(id))
    await world.endJob(first!.id, 'failed')
    await world.clock.advanceBy(1_000)
    expect(await liveTimes(world, id)).toEqual(['13:00', '14:00'])
    await world.clock.advanceBy(6_000)
    for (let round = 0; round < 3; round += 1) await world.endAll(id)
    expect(world.scheduler.backfillOf(aScheduleId(id))).toMatchObject({
      state: 'done',
      total: 6,
      fired: 6,
      ended: 6,
      failed: 1
    })
    expect((await world.rows(id)).map(({ origin, reason }) => `${origin} ${reason}`)).toEqual(
      Array.from({ length: 6 }, () => 'backfill backfill')
    )
  })

  // The store's thread can report the end of a job before it returns a result that it read before that end.
  it.for([1, 2, 3, 4])('notices the end of a job that read number %s just missed', async (missed, { world }) => {
    const id = await addHourly(world)
    await world.scheduler.stop()
    let reads = Number.NaN
    world.scheduler = world.another({
      store: new Proxy(world.store, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          if (name !== 'changeCursor' && name !== 'listChanges' && name !== 'getJobs') return value.bind(target)
          return async (...asked: unknown[]) => {
            const read: unknown = await value.apply(target, asked)
            reads += 1
            if (reads === missed)
              for (const job of await target.listLiveJobsOf(aScheduleId(id))) await world.endJob(job.id)
            return read
          }
        }
      })
    })
    await world.scheduler.start()
    reads = 0
    await world.scheduler.backfill(aScheduleId(id), { ...ORDER, concurrency: 1 })
    await world.clock.advanceBy(2_000)
    if (reads < missed) {
      const [first] = await world.store.listLiveJobsOf(aScheduleId(id))
      await world.store.setPriority([first!.id], 1, entry())
      await world.clock.advanceBy(2_000)
    }
    expect(world.scheduler.backfillOf(aScheduleId(id))).toMatchObject({ fired: 2, ended: 1 })
  })

  it('reports that it is done only after its last end is counted', async ({ world }) => {
    const id = await addHourly(world)
    await world.scheduler.backfill(aScheduleId(id), { ...ORDER, concurrency: 6 })
    const told: unknown[] = []
    const { setFailuresInARow } = world.store
    vi.spyOn(world.store, 'setFailuresInARow').mockImplementation(async (...change) => {
      told.push(world.scheduler.backfillOf(aScheduleId(id))?.state)
      await setFailuresInARow.apply(world.store, change)
    })
    await world.endAll(id)
    expect(told.at(-1)).toBe('done')
  })

  it('runs from newest to oldest on request', async ({ world }) => {
    const id = await addHourly(world)
    await world.scheduler.backfill(aScheduleId(id), { ...ORDER, order: 'newest_first' })
    expect(await liveTimes(world, id)).toEqual(['17:00', '16:00'])
  })

  it('continues after a crash where it was, and repeats nothing', async ({ world }) => {
    const id = await addHourly(world)
    await world.scheduler.backfill(aScheduleId(id), ORDER)
    await world.restartAfter(60_000)
    expect(world.scheduler.backfillOf(aScheduleId(id))).toMatchObject({ state: 'running', total: 6, fired: 2 })
    for (let round = 0; round < 3; round += 1) await world.endAll(id)
    expect(world.scheduler.backfillOf(aScheduleId(id))).toMatchObject({ state: 'done', fired: 6, ended: 6 })
    const times = (await world.rows(id)).map(({ nominalMs }) => nominalMs)
    expect(new Set(times).size).toBe(6)
    const plan = await world.scheduler.planBackfill(aScheduleId(id), DAY)
    expect(plan).toMatchObject({ count: 0, alreadyRun: 6, first: [] })
    await expect(world.scheduler.backfill(aScheduleId(id), ORDER)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  it.for([
    [true, 7],
    [false, 0]
  ] as const)(
    'may run before other jobs: %s, even jobs that it creates long after the request',
    async ([mayGoFirst, priority], { world }) => {
      const jobs = [{ ...aStoredSchedule().settings.jobs[0]!, priority: 7 }]
      const id = await world.add({ rules: [{ kind: 'interval', everySeconds: 3_600, anchorMs: 0 }], jobs })
      await world.scheduler.backfill(aScheduleId(id), ORDER, { mayGoFirst })
      const priorities = async () => (await world.store.listLiveJobsOf(aScheduleId(id))).map((job) => job.priority)
      expect(await priorities()).toEqual([priority, priority])
      await world.endAll(id)
      expect(await priorities()).toEqual([priority, priority])
      await world.restartAfter(60_000)
      await world.endAll(id)
      expect(await priorities()).toEqual([priority, priority])
    }
  )

  it('leaves out past times that already ran, and future times', async ({ world }) => {
    const id = await addHourly(world)
    await world.clock.advanceBy(2 * HOUR_MS)
    await world.endAll(id)
    const plan = await world.scheduler.planBackfill(aScheduleId(id), {
      fromMs: START_MS - HOUR_MS,
      untilMs: START_MS + 9 * HOUR_MS
    })
    // 11:00, 12:00 and 14:00, which was skipped. 13:00 ran.
    expect(plan).toMatchObject({ count: 3, alreadyRun: 1 })
  })

  it('leaves out times that may have run and whose history was pruned, and says so', async ({ world }) => {
    const id = await addHourly(world)
    for (let hour = 0; hour < 5; hour += 1) {
      await world.clock.advanceBy(HOUR_MS)
      await world.endAll(id)
    }
    await world.clock.advanceBy(HOUR_MS)
    const { firings } = aRetention()
    await world.store.prune(aRetention({ firings: { ...firings, newest: 2 } }), 100)
    expect(await world.lines(id)).toHaveLength(2)
    const plan = await world.scheduler.planBackfill(aScheduleId(id), {
      fromMs: START_MS - HOUR_MS,
      untilMs: START_MS + 9 * HOUR_MS
    })
    // 11:00 and 12:00 precede its creation. 13:00 to 16:00 ran and were pruned. 17:00 and 18:00 ran.
    expect(plan).toMatchObject({ count: 2, forgotten: 4, alreadyRun: 2 })
    const forgotten = { ...ORDER, fromMs: START_MS + HOUR_MS, untilMs: START_MS + 4 * HOUR_MS }
    await expect(world.scheduler.backfill(aScheduleId(id), forgotten)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('the history of 4 was pruned')
    })
  })

  it('reports its progress even after its history was pruned and the engine restarted', async ({ world }) => {
    const id = await addHourly(world)
    const begun = await world.scheduler.backfill(aScheduleId(id), { ...ORDER, concurrency: 6 })
    expect(await listBackfilled(world.store)).toEqual([id])
    await world.endAll(id, 'failed')
    await world.clock.advanceBy(6_000)
    expect(await listBackfilled(world.store)).toEqual([])
    const { firings } = aRetention()
    await world.store.prune(aRetention({ firings: { ...firings, newest: 1 } }), 100)
    await world.restartAfter(60_000)
    expect(world.scheduler.backfillOf(aScheduleId(id))).toEqual({
      ...begun,
      state: 'done',
      fired: 6,
      ended: 6,
      failed: 6
    })
  })

  it('can be cancelled, with its jobs on request', async ({ world }) => {
    const id = await addHourly(world)
    await world.scheduler.backfill(aScheduleId(id), ORDER)
    const live = (await world.store.listLiveJobsOf(aScheduleId(id))).map((job) => job.id)
    expect(await world.scheduler.cancelBackfill(aScheduleId(id), true)).toMatchObject({ state: 'cancelled', fired: 2 })
    expect(world.cancelled).toEqual(live)
    await world.clock.advanceBy(60_000)
    await world.restartAfter(60_000)
    expect(world.scheduler.backfillOf(aScheduleId(id))).toMatchObject({ state: 'cancelled', fired: 2, ended: 2 })
    expect(await world.store.listLiveJobsOf(aScheduleId(id))).toEqual([])
    await expect(world.scheduler.cancelBackfill(aScheduleId(id), false)).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  it('records each time for which no job can be created, and still finishes', async ({ world }) => {
    const id = await addHourly(world)
    world.refusal = new ScrapdeckError('SPIDER_NOT_FOUND', 'There is no spider prices')
    await world.scheduler.backfill(aScheduleId(id), { ...ORDER, fromMs: START_MS - 200 * HOUR_MS, concurrency: 1 })
    await vi.waitFor(async () => {
      await world.clock.advanceBy(1)
      expect(world.scheduler.backfillOf(aScheduleId(id))).toMatchObject({
        state: 'done',
        total: 182,
        fired: 182,
        failed: 182
      })
    }, 10_000)
  })

  it('continues a second later if the disk refused a write', async ({ world }) => {
    const id = await addHourly(world)
    await world.scheduler.stop()
    let isBroken = true
    world.scheduler = world.another({
      store: new Proxy(world.store, {
        get: (target, name) => {
          if (name === 'fire' && isBroken) return () => Promise.reject(new Error('the disk is full'))
          const value: unknown = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        }
      })
    })
    await world.scheduler.start()
    await world.scheduler.backfill(aScheduleId(id), ORDER)
    expect(await liveTimes(world, id)).toEqual([])
    isBroken = false
    await world.clock.advanceBy(1_000)
    expect(await liveTimes(world, id)).toEqual(['12:00', '13:00'])
  })
})
