import { describe, expect } from 'vitest'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aScheduleId } from '../../shared/testing/ids.ts'
import { every, it, START_MS } from './testing/schedule-fixtures.ts'

const HOUR_MS = 3_600_000
const SHORTLY_MS = 100
const refusal = () => new ScrapdeckError('SPIDER_NOT_FOUND', 'Version 2 of shop has no spider prices')

describe('a firing that is prepared ahead of its time', () => {
  it('is written at its time, and so are its jobs', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) })
    await world.clock.advanceBy(HOUR_MS - SHORTLY_MS)
    expect(await world.rows(id)).toEqual([])
    world.refusal = refusal()
    await world.clock.advanceBy(SHORTLY_MS)
    const [row] = await world.rows(id)
    expect(row).toMatchObject({ state: 'fired', reason: 'on_time', text: 'On time', atMs: START_MS + HOUR_MS })
    const [job] = await world.store.getJobs(row!.jobIds)
    expect(job).toMatchObject({ nominalMs: START_MS + HOUR_MS, queuedAtMs: START_MS + HOUR_MS })
  })

  it('is prepared again if the schedule was changed meanwhile', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) })
    await world.clock.advanceBy(HOUR_MS - SHORTLY_MS)
    await world.change(id, (before) => {
      const jobs = before.settings.jobs.map((template) => ({ ...template, args: { page: '2' } }))
      return { ...before, settings: { ...before.settings, jobs } }
    })
    await world.clock.advanceBy(SHORTLY_MS)
    const [row] = await world.rows(id)
    expect((await world.store.getJobs(row!.jobIds)).map(({ args }) => args)).toEqual([{ page: '2' }])
  })

  it('does not fire if the schedule was paused or removed meanwhile', async ({ world }) => {
    const paused = await world.add({ rules: every(3_600) })
    const removed = await world.add({ rules: every(3_600) })
    await world.clock.advanceBy(HOUR_MS - SHORTLY_MS)
    await world.change(paused, (before) => ({ ...before, paused: true, pausedBy: 'operator' }))
    await world.store.deleteSchedules([aScheduleId(removed)])
    await world.scheduler.refresh(aScheduleId(removed))
    await world.clock.advanceBy(2 * HOUR_MS)
    expect(await world.lines(paused)).toEqual(['14:00 skipped paused ×2'])
    expect(await world.rows(removed)).toEqual([])
    expect(await world.store.listLiveJobsOf(aScheduleId(removed))).toEqual([])
  })

  it('considers a run that started meanwhile', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), overlap: 'skip' })
    await world.clock.advanceBy(HOUR_MS - SHORTLY_MS)
    await world.scheduler.runNow(aScheduleId(id))
    await world.clock.advanceBy(SHORTLY_MS)
    expect((await world.lines(id)).at(-1)).toBe('13:00 skipped overlap')
  })

  it('is tried again at its time if it could not be prepared', async ({ world }) => {
    const id = await world.add({ rules: every(3_600) })
    world.refusal = refusal()
    await world.clock.advanceBy(HOUR_MS - SHORTLY_MS)
    world.refusal = null
    await world.clock.advanceBy(SHORTLY_MS)
    expect(await world.lines(id)).toEqual(['13:00 fired on_time'])
  })

  it('is decided again if the machine slept through its time', async ({ world }) => {
    const id = await world.add({ rules: every(3_600), catchUp: 'none' })
    await world.clock.advanceBy(HOUR_MS - SHORTLY_MS)
    world.clock.jumpWallBy(3 * HOUR_MS)
    await world.clock.advanceBy(60_000)
    const missed = ['14:00 missed out_of_window ×2', '15:00 missed catch_up_none']
    expect(await world.lines(id)).toEqual([...missed, '16:00 fired on_time'])
  })
})
