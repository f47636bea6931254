import { describe, expect } from 'vitest'
import { RunTemplate } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aProjectName, aScheduleId } from '../../shared/testing/ids.ts'
import { every, it, START_MS } from './testing/schedule-fixtures.ts'
import { isCore } from '../../../scripts/test-length.mjs'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const bound = (target: object, value: unknown): unknown => (typeof value === 'function' ? value.bind(target) : value)

describe('a schedule whose time comes', () => {
  it('fires at its time, with the nominal time in its job, and again at the next', async ({ world }) => {
    const id = await world.add({ rules: [{ kind: 'cron', expression: '5 * * * *' }], overlap: 'allow' })
    expect(world.scheduler.nextOf(aScheduleId(id))).toEqual({
      nextAtMs: START_MS + 5 * MINUTE_MS,
      nextNominalMs: START_MS + 5 * MINUTE_MS
    })
    await world.clock.advanceBy(5 * MINUTE_MS - 1)
    expect(await world.rows(id)).toEqual([])
    await world.clock.advanceBy(1)
    const [row] = await world.rows(id)
    expect(row).toMatchObject({
      state: 'fired',
      reason: 'on_time',
      atMs: START_MS + 5 * MINUTE_MS,
      statuses: ['queued']
    })
    expect(await world.store.getJob(row!.jobIds[0]!)).toMatchObject({
      project: 'shop',
      spider: 'prices',
      source: 'schedule',
      scheduleId: id,
      nominalMs: START_MS + 5 * MINUTE_MS
    })
    await world.clock.advanceBy(HOUR_MS)
    expect(await world.lines(id)).toEqual(['12:05 fired on_time', '13:05 fired on_time'])
  })

  it('fires later by its jitter, the same every time', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), jitterSeconds: 600, overlap: 'allow' })
    await world.clock.advanceBy(3.5 * HOUR_MS)
    const rows = await world.rows(id)
    const delays = new Set(rows.map(({ atMs, nominalMs }) => atMs - nominalMs))
    expect(rows).toHaveLength(3)
    expect(delays.size).toBe(1)
    const [delayMs] = [...delays]
    expect(delayMs).toBeGreaterThan(0)
    expect(delayMs).toBeLessThanOrEqual(600_000)
  })

  it('creates a job for each spider, set and combination, with expanded placeholders', async ({ world }) => {
    const id = await world.add({
      name: 'nightly',
      rules: every(3_600),
      jobs: [
        {
          project: aProjectName('shop'),
          version: null,
          secretNames: ['token'],
          limits: null,
          priority: 0,
          nodeId: null,
          tags: [],
          retry: null,
          userId: null,
          spiders: ['prices', 'stock'],
          settings: { NAME: '{schedule}' },
          args: { day: '{nominal:yyyy-MM-dd}', from: '{previous:HH}', token: '{nominal}', page: '1' },
          argSets: [{ shop: 'a' }, { shop: 'b', page: '2' }],
          matrix: { size: ['s', 'm'] }
        }
      ]
    })
    await world.clock.advanceBy(2 * HOUR_MS)
    const [row] = await world.rows(id)
    const jobs = await world.store.getJobs(row!.jobIds)
    expect(jobs).toHaveLength(8)
    expect(jobs.map(({ spider, args }) => `${spider} ${args.shop} ${args.page} ${args.size}`)).toEqual([
      ...['prices a 1 s', 'prices a 1 m', 'prices b 2 s', 'prices b 2 m'],
      ...['stock a 1 s', 'stock a 1 m', 'stock b 2 s', 'stock b 2 m']
    ])
    const { args, settings } = jobs[0]!
    expect({ args, settings }).toMatchObject({
      args: { day: '2026-11-21', from: '12', token: '{nominal}' },
      settings: { NAME: 'nightly' }
    })
  })

  it('is paused, with the reason, if its next time takes too long to find', async ({ world }) => {
    const rules = [{ kind: 'interval' as const, everySeconds: 60, anchorMs: 30_000 }]
    // Only the 21st of a month has run times.
    const id = await world.add({
      rules,
      excludedCrons: ['1-59 * * 1-20,22-31 * *'],
      overlap: 'allow',
      startMs: START_MS + 11.9 * HOUR_MS
    })
    await world.clock.advanceBy(13 * HOUR_MS)
    expect(await world.lines(id)).toHaveLength(6)
    expect(world.paused).toEqual([
      expect.objectContaining({ pausedBy: 'invalid', pauseNote: expect.stringContaining('"1-59 * * 1-20,22-31 * *"') })
    ])
    expect(world.scheduler.nextOf(aScheduleId(id))).toBeNull()
  })

  it('finds the previous time at once, however often it fired', async ({ world }) => {
    const id = await world.add(
      {
        rules: [{ kind: 'interval', everySeconds: 1, anchorMs: 0 }],
        endMs: START_MS - 10 * 24 * HOUR_MS,
        jobs: [RunTemplate.parse({ project: 'shop', spiders: ['prices'], args: { since: '{previous:unix}' } })]
      },
      { paused: true }
    )
    const startedAtMs = performance.now()
    const { jobIds } = await world.scheduler.runNow(aScheduleId(id))
    expect(performance.now() - startedAtMs).toBeLessThan(500)
    const job = await world.store.getJob(jobIds[0]!)
    expect(job!.args['since']).toBe(String(START_MS / 1_000 - 10 * 24 * 3_600))
  })

  it('that cannot create a job records the reason, and continues', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) })
    world.refusal = new ScrapdeckError('SPIDER_NOT_FOUND', 'Version 2 of shop has no spider prices')
    await world.clock.advanceBy(HOUR_MS)
    world.refusal = null
    await world.clock.advanceBy(HOUR_MS)
    expect(await world.lines(id)).toEqual(['13:00 failed refused', '14:00 fired on_time'])
    expect((await world.rows(id))[0]!.text).toBe('No job was created: Version 2 of shop has no spider prices')
  })

  it('whose project is missing computes nothing for its jobs', async ({ world }) => {
    await world.scheduler.stop()
    const refuse = () => {
      throw new ScrapdeckError('PROJECT_NOT_FOUND', 'There is no project shop')
    }
    const neverCalled = () => Promise.reject(new Error('called'))
    world.scheduler = world.another({ requireSpiders: refuse, openTemplate: neverCalled, prepare: neverCalled })
    await world.scheduler.start()
    const id = await world.add({ rules: every(3_600) })
    await expect(world.scheduler.runNow(aScheduleId(id))).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    await world.clock.advanceBy(HOUR_MS)
    expect(await world.lines(id)).toEqual(['13:00 failed refused'])
  })

  it.skipIf(isCore)(
    'writes 16 MB of jobs at a time, however many times are due or in a backfill',
    async ({ world }) => {
      await world.scheduler.stop()
      const written: number[] = []
      const fire: typeof world.store.fire = (firings) => {
        written.push(firings.length)
        return world.store.fire(firings)
      }
      const store = new Proxy(world.store, {
        get: (target, name) => (name === 'fire' ? fire : bound(target, Reflect.get(target, name)))
      })
      world.scheduler = world.another({ store, requireSpiders() {} })
      await world.scheduler.start()
      const args = { urls: 'x'.repeat(5_000_000) }
      const jobs = [RunTemplate.parse({ project: 'shop', spiders: ['prices'], args })]
      const rules = [{ kind: 'cron' as const, expression: '0 * * * *' }]
      const id = await world.add(
        { rules, catchUp: 'all', catchUpWindowSeconds: 864_000, overlap: 'allow', jobs },
        { doneUntilMs: START_MS - 8 * HOUR_MS - 1 }
      )
      await world.clock.advanceBy(1_000)
      expect(written).toEqual([4, 4, 1])
      written.length = 0
      const span = { fromMs: START_MS - 20 * HOUR_MS, untilMs: START_MS - 9 * HOUR_MS }
      await world.scheduler.backfill(aScheduleId(id), { ...span, order: 'oldest_first', concurrency: 1_000 })
      expect(written).toEqual([4])
      await world.clock.advanceBy(1_000)
      expect(written).toEqual([4, 4, 4])
    }
  )

  it('waits for the lists of nodes right after the start of the engine', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), catchUp: 'last' })
    world.refusal = new ScrapdeckError('PROJECT_NOT_FOUND', 'There is no project shop')
    await world.restartAfter(1.5 * HOUR_MS)
    await world.clock.advanceBy(10_000)
    expect(await world.rows(id)).toEqual([])
    world.refusal = null
    await world.clock.advanceBy(1_000)
    expect(await world.lines(id)).toEqual(['13:00 fired caught_up'])
    world.refusal = new ScrapdeckError('PROJECT_NOT_FOUND', 'There is no project shop')
    await world.endAll(id)
    await world.restartAfter(HOUR_MS)
    await world.clock.advanceBy(60_000)
    expect((await world.lines(id)).at(-1)).toBe('14:00 failed refused')
  })

  it('is written a second later, once, if the disk refused it', async ({ world }) => {
    let isBroken = true
    const id = await world.add({ rules: every(3_600) })
    await world.scheduler.stop()
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
    await world.clock.advanceBy(HOUR_MS + 10_000)
    expect(await world.rows(id)).toEqual([])
    isBroken = false
    await world.clock.advanceBy(1_000)
    expect(await world.lines(id)).toEqual(['13:00 fired on_time'])
    expect((await world.rows(id))[0]!.text).toMatch(/^1[01] s late/)
  })

  it('fires once for each time, however many engines there are', async ({ world }) => {
    const second = world.another()
    await second.start()
    const id = await world.add({ rules: every(60), overlap: 'allow' })
    await second.refresh(aScheduleId(id))
    await world.clock.advanceBy(10 * MINUTE_MS)
    expect(await world.lines(id)).toHaveLength(10)
    expect(await world.store.listLiveJobsOf(aScheduleId(id))).toHaveLength(10)
    expect((await world.store.getSchedules([aScheduleId(id)]))[0]!.runCount).toBe(10)
  })
})

describe('a missed time', () => {
  it('of a stopped engine is caught up as the schedule says, and recorded in the history', async ({ world }) => {
    const rules = every(1_800)
    const add = (catchUp: 'none' | 'last' | 'all') =>
      world.add({ rules, catchUp, catchUpWindowSeconds: 2 * 3_600, overlap: 'allow' })
    const none = await add('none')
    const last = await add('last')
    const all = await add('all')
    await world.restartAfter(3.25 * HOUR_MS)
    expect(await world.lines(none)).toEqual(['13:00 missed out_of_window ×2', '15:00 missed catch_up_none ×4'])
    expect(await world.lines(last)).toEqual([
      ...['13:00 missed out_of_window ×2', '14:30 missed superseded ×3', '15:00 fired caught_up']
    ])
    expect(await world.lines(all)).toEqual([
      ...['13:00 missed out_of_window ×2', '13:30 fired caught_up', '14:00 fired caught_up'],
      ...['14:30 fired caught_up', '15:00 fired caught_up']
    ])
    expect((await world.rows(last)).at(-1)!.text).toBe('Caught up, 15 min late: Scrapdeck was not running')
    await world.restartAfter(0)
    expect(await world.lines(last)).toHaveLength(3)
  })

  it('that is noticed within a minute counts as on time, and supersedes older ones', async ({ world }) => {
    const id = await world.add({ rules: every(1_800), catchUp: 'last', overlap: 'allow' })
    await world.restartAfter(HOUR_MS + 40_000)
    expect(await world.lines(id)).toEqual(['12:30 missed superseded', '13:00 fired on_time'])
  })

  it('while the machine slept or its clock was set ahead is noticed within half a minute', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), catchUp: 'last' })
    await world.clock.advanceBy(MINUTE_MS)
    world.clock.jumpWallBy(1.5 * HOUR_MS)
    await world.clock.advanceBy(30_000)
    expect(await world.lines(id)).toEqual(['13:00 fired caught_up'])
    expect((await world.rows(id))[0]!.text).toMatch(/the machine slept or its clock was set ahead$/)
  })

  it('does not fire again when a clock is set back', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'allow' })
    await world.clock.advanceBy(2 * HOUR_MS)
    world.clock.jumpWallBy(-1.5 * HOUR_MS)
    await world.clock.advanceBy(3 * HOUR_MS)
    expect(await world.lines(id)).toEqual(['13:00 fired on_time', '14:00 fired on_time', '15:00 fired on_time'])
  })

  it('from years of a wrong clock blocks nothing once the clock is right', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), catchUp: 'none', overlap: 'allow' })
    world.clock.jumpWallBy(400 * 24 * HOUR_MS)
    await world.clock.advanceBy(MINUTE_MS)
    world.clock.jumpWallBy(-400 * 24 * HOUR_MS)
    await world.clock.advanceBy(HOUR_MS)
    expect((await world.lines(id)).at(-1)).toBe('13:00 fired on_time')
    await world.restartAfter(HOUR_MS)
    await world.clock.advanceBy(HOUR_MS)
    expect((await world.lines(id)).at(-1)).toBe('15:00 fired on_time')
  })

  it('is counted up to a limit: a year of seconds is a few entries', async ({ world }) => {
    const id = await world.add({ rules: every(1), catchUp: 'last', overlap: 'allow' })
    await world.restartAfter(365 * 24 * HOUR_MS)
    const rows = await world.rows(id)
    expect(rows[0]).toMatchObject({ state: 'missed', reason: 'out_of_window', count: 500 })
    expect(rows[0]!.text).toMatch(/were not counted$/)
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBeLessThan(5_000)
    expect(rows.at(-1)).toMatchObject({ state: 'fired', reason: 'on_time' })
  })
})

describe('a time that comes while an earlier run is live', () => {
  it('is skipped and recorded', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'skip' })
    await world.clock.advanceBy(2 * HOUR_MS)
    await world.endAll(id)
    await world.clock.advanceBy(HOUR_MS)
    expect(await world.lines(id)).toEqual(['13:00 fired on_time', '14:00 skipped overlap', '15:00 fired on_time'])
    expect((await world.rows(id))[1]!.text).toBe('The run of 2026-11-21 13:00 UTC had not ended')
  })

  it('waits until the run is over, but only one of them; later ones are skipped', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'queue_one' })
    await world.clock.advanceBy(3 * HOUR_MS)
    expect(await world.lines(id)).toEqual(['13:00 fired on_time', '14:00 fired buffered', '15:00 skipped overlap'])
    const [first, second] = await world.store.listLiveJobsOf(aScheduleId(id))
    expect([first!.hold, second!.hold]).toEqual([null, 'dependency'])
    await world.endJob(first!.id)
    expect((await world.store.getJob(second!.id))!.hold).toBe(null)
    await world.clock.advanceBy(HOUR_MS)
    expect((await world.lines(id)).at(-1)).toBe('16:00 fired buffered')
  })

  it('waits behind all others, even over a restart', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'queue_all' })
    await world.clock.advanceBy(2 * HOUR_MS)
    await world.restartAfter(0)
    await world.clock.advanceBy(HOUR_MS)
    const holds = async () => (await world.store.listLiveJobsOf(aScheduleId(id))).map(({ hold }) => hold)
    expect(await holds()).toEqual([null, 'dependency', 'dependency'])
    const [first] = await world.store.listLiveJobsOf(aScheduleId(id))
    await world.endJob(first!.id, 'failed')
    expect(await holds()).toEqual([null, 'dependency'])
  })

  it('cancels it and starts when it is over', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'cancel_running' })
    await world.clock.advanceBy(HOUR_MS)
    const [first] = await world.store.listLiveJobsOf(aScheduleId(id))
    await world.clock.advanceBy(HOUR_MS)
    expect(world.cancelled).toEqual([first!.id])
    expect(await world.lines(id)).toEqual(['13:00 fired on_time', '14:00 fired on_time'])
    const live = await world.store.listLiveJobsOf(aScheduleId(id))
    expect(live.map(({ nominalMs, hold }) => [nominalMs, hold])).toEqual([[START_MS + 2 * HOUR_MS, null]])
  })

  it('ignores runs of a backfill', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'skip' })
    await world.scheduler.backfill(aScheduleId(id), {
      fromMs: START_MS,
      untilMs: START_MS,
      order: 'oldest_first',
      concurrency: 1
    })
    expect(await world.store.listLiveJobsOf(aScheduleId(id))).toHaveLength(1)
    await world.restartAfter(0)
    await world.clock.advanceBy(HOUR_MS)
    expect((await world.lines(id)).at(-1)).toBe('13:00 fired on_time')
  })
})

describe('a schedule that ends', () => {
  it('is over after its runs', async ({ world }) => {
    const id = await world.add({ rules: every(60), maxRuns: 2, overlap: 'allow' })
    await world.clock.advanceBy(10 * MINUTE_MS)
    expect(await world.lines(id)).toEqual(['12:01 fired on_time', '12:02 fired on_time'])
    const [stored] = await world.store.getSchedules([aScheduleId(id)])
    expect(stored).toMatchObject({ paused: true, pausedBy: 'max_runs', runCount: 2, revision: 2 })
    expect(world.scheduler.nextOf(aScheduleId(id))).toBe(null)
  })

  it('catches up no more runs than it has left', async ({ world }) => {
    const id = await world.add({ rules: every(600), maxRuns: 2, catchUp: 'all', overlap: 'allow' })
    await world.restartAfter(35 * MINUTE_MS)
    expect(await world.lines(id)).toEqual(['12:10 fired caught_up', '12:20 fired caught_up', '12:30 skipped max_runs'])
    expect(world.paused.map(({ pausedBy }) => pausedBy)).toEqual(['max_runs'])
  })

  it('is over when it has no future times', async ({ world }) => {
    const id = await world.add({ rules: [{ kind: 'once', atMs: START_MS + MINUTE_MS }] })
    await world.clock.advanceBy(2 * MINUTE_MS)
    expect(await world.lines(id)).toEqual(['12:01 fired on_time'])
    expect((await world.store.getSchedules([aScheduleId(id)]))[0]).toMatchObject({ paused: true, pausedBy: 'end' })
  })

  it('is paused after a number of failures in a row, and starts again when it is resumed', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), pauseAfterFailures: 2 })
    const runs = async (...results: ('succeeded' | 'failed')[]) => {
      for (const result of results) {
        await world.clock.advanceBy(HOUR_MS - 1_000)
        await world.endAll(id, result)
      }
    }
    const stored = async () => (await world.store.getSchedules([aScheduleId(id)]))[0]!
    await world.clock.advanceBy(1_000)
    await runs('failed', 'succeeded', 'failed')
    expect(await stored()).toMatchObject({ paused: false, failuresInARow: 1, revision: 1 })
    await runs('failed')
    expect(await stored()).toMatchObject({ paused: true, pausedBy: 'failures', failuresInARow: 2 })
    expect(await stored()).toMatchObject({
      pauseNote: 'Its last 2 runs failed',
      pauseNoteCode: 'pause.failures',
      pauseNoteParams: { runs: 2 }
    })
    await world.change(id, (before) => ({ ...before, paused: false, pausedBy: null, failuresInARow: 0 }))
    await runs('failed')
    expect(await stored()).toMatchObject({ paused: false, failuresInARow: 1 })
  })

  it('is not paused again for failures from before it was resumed, even if its clock was set back before them', async ({
    world
  }) => {
    const id = await world.add({ rules: every(3_600), pauseAfterFailures: 2 })
    for (let run = 0; run < 2; run += 1) {
      await world.clock.advanceBy(HOUR_MS)
      await world.endAll(id, 'failed')
    }
    const stored = async () => (await world.store.getSchedules([aScheduleId(id)]))[0]!
    expect(await stored()).toMatchObject({ paused: true, pausedBy: 'failures', failuresInARow: 2 })
    world.clock.jumpWallBy(-3 * HOUR_MS)
    await world.change(id, (before) => ({ ...before, paused: false, pausedBy: null, failuresInARow: 0 }))
    await world.scheduler.runNow(aScheduleId(id))
    await world.endAll(id, 'failed')
    expect(await stored()).toMatchObject({ paused: false, failuresInARow: 1 })
    await world.scheduler.runNow(aScheduleId(id))
    await world.endAll(id, 'failed')
    expect(await stored()).toMatchObject({ paused: true, pausedBy: 'failures', failuresInARow: 2 })
  })

  it('that is paused for its failures says how many there were, whatever ends or starts later', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), pauseAfterFailures: 1 })
    await world.clock.advanceBy(HOUR_MS)
    await world.endAll(id, 'failed')
    const stored = async () => (await world.store.getSchedules([aScheduleId(id)]))[0]!
    expect(await stored()).toMatchObject({ paused: true, failuresInARow: 1 })
    await world.restartAfter(0)
    expect(await stored()).toMatchObject({ paused: true, failuresInARow: 1 })
    await world.scheduler.runNow(aScheduleId(id))
    await world.endAll(id, 'succeeded')
    expect(await stored()).toMatchObject({ paused: true, failuresInARow: 1 })
  })

  it('is paused for a failure that happened while no engine was running', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), pauseAfterFailures: 1 })
    await world.clock.advanceBy(HOUR_MS)
    await world.scheduler.stop()
    await world.endAll(id, 'failed')
    await world.restartAfter(0)
    expect((await world.store.getSchedules([aScheduleId(id)]))[0]).toMatchObject({ paused: true, pausedBy: 'failures' })
  })

  it('counts a time for which no job could be created as failed', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), pauseAfterFailures: 2 })
    world.refusal = new ScrapdeckError('SPIDER_NOT_FOUND', 'There is no spider prices')
    await world.clock.advanceBy(4 * HOUR_MS)
    expect(await world.lines(id)).toEqual([
      ...['13:00 failed refused', '14:00 failed refused', '16:00 skipped paused ×2']
    ])
    expect((await world.store.getSchedules([aScheduleId(id)]))[0]).toMatchObject({ paused: true, pausedBy: 'failures' })
  })
})

describe('a schedule that a user changes', () => {
  it('records the times that passed while it was paused, and catches up none of them', async ({ world }) => {
    const id = await world.add({ rules: every(1_200), catchUp: 'all', overlap: 'allow' })
    await world.change(id, (before) => ({ ...before, paused: true, pausedBy: 'operator' }))
    await world.clock.advanceBy(90 * MINUTE_MS)
    await world.change(id, (before) => ({ ...before, paused: false, pausedBy: null }))
    await world.clock.advanceBy(30 * MINUTE_MS)
    expect(await world.lines(id)).toEqual([
      ...['13:20 skipped paused ×4', '13:40 fired on_time', '14:00 fired on_time']
    ])
  })

  it('forgets the old rule when it gets another one', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) })
    await world.change(id, (before) => ({
      ...before,
      settings: { ...before.settings, rules: every(60 * 90) },
      doneUntilMs: world.clock.nowMs()
    }))
    await world.clock.advanceBy(2 * HOUR_MS)
    expect(await world.lines(id)).toEqual(['13:30 fired on_time'])
  })

  it('fires no more once it is removed', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) })
    await world.store.deleteSchedules([aScheduleId(id)])
    await world.scheduler.refresh(aScheduleId(id))
    await world.clock.advanceBy(2 * HOUR_MS)
    expect(await world.store.listLiveJobsOf(aScheduleId(id))).toEqual([])
    await expect(world.scheduler.runNow(aScheduleId(id))).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
  })

  it('can run now, even while it is paused or running, and keeps its times', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) }, { paused: true, pausedBy: 'operator' })
    const firing = await world.scheduler.runNow(aScheduleId(id))
    expect(firing).toMatchObject({ origin: 'manual', state: 'fired', reason: 'run_now', nominalMs: START_MS })
    await world.scheduler.runNow(aScheduleId(id))
    expect(await world.store.listLiveJobsOf(aScheduleId(id))).toHaveLength(2)
    world.refusal = new ScrapdeckError('SPIDER_NOT_FOUND', 'There is no spider prices')
    await expect(world.scheduler.runNow(aScheduleId(id))).rejects.toMatchObject({ code: 'SPIDER_NOT_FOUND' })
  })

  it('leaves no timer behind when it stops', async ({ world }) => {
    await world.add({ rules: every(3_600) })
    await world.clock.advanceBy(HOUR_MS)
    await world.scheduler.stop()
    expect(world.clock.timerCount()).toBe(0)
  })

  it('records a time of day that the clocks skip if its rule skips it', async ({ world }) => {
    // In Berlin, 02:00 to 03:00 does not exist on the next day.
    world.clock.jumpWallBy(Date.parse('2027-03-27T12:00:00Z') - START_MS)
    await world.clock.advanceBy(MINUTE_MS)
    const rules = [{ kind: 'cron' as const, expression: '30 2 * * *' }]
    const id = await world.add({ zone: 'Europe/Berlin', rules, gap: 'skip', overlap: 'allow' })
    expect(world.scheduler.nextOf(aScheduleId(id))!.nextNominalMs).toBe(Date.parse('2027-03-29T00:30:00Z'))
    await world.clock.advanceBy(48 * HOUR_MS)
    expect(await world.lines(id)).toEqual(['01:00 skipped gap', '00:30 fired on_time'])
  })
})
