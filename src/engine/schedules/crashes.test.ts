import { describe, expect, vi } from 'vitest'
import { aScheduleId } from '../../shared/testing/ids.ts'
import { ScheduleCommands, type SchedulerControl } from '../api/commands/schedule-commands.ts'
import { ScheduleReads } from '../api/commands/schedule-reads.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { every, it, type ScheduleWorld, START_MS } from './testing/schedule-fixtures.ts'
import { asSealedText } from '../runtime/secret-box.ts'

const MINUTE_MS = 60_000

function commandsOf(world: ScheduleWorld, over: Partial<SchedulerControl> = {}): ScheduleCommands {
  const door: SchedulerControl = {
    refresh: (id) => world.scheduler.refresh(id),
    writePaused: (id) => world.scheduler.writePaused(id),
    nextOf: (id) => world.scheduler.nextOf(id),
    runNow: (id) => world.scheduler.runNow(id),
    backfill: (id, order) => world.scheduler.backfill(id, order),
    cancelBackfill: (id, cancelJobs) => world.scheduler.cancelBackfill(id, cancelJobs),
    ...over
  }
  const { store, clock, scheduler } = world
  return new ScheduleCommands({
    store,
    clock,
    scheduler: door,
    random: createSeededRandom(2),
    fleet: { get: () => undefined },
    secretBox: { seal: async (text) => asSealedText(text) },
    reads: new ScheduleReads({ store, clock, scheduler, slots: () => 8 }),
    onChange: () => undefined
  })
}

describe('a full disk', () => {
  it('leaves a schedule paused if its resumption cannot be recorded, and loses none of its times', async ({
    world
  }) => {
    const id = await world.add({ rules: every(600), overlap: 'allow', catchUp: 'all', catchUpWindowSeconds: 86_400 })
    const commands = commandsOf(world)
    await commands.setPaused([aScheduleId(id)], true, null)
    await world.clock.advanceBy(45 * MINUTE_MS)
    const full = new Error('The disk is full')
    vi.spyOn(world.store, 'fire').mockRejectedValueOnce(full).mockRejectedValueOnce(full)
    await expect(commands.setPaused([aScheduleId(id)], false, null)).rejects.toThrow('The disk is full')
    await expect(commands.setPaused([aScheduleId(id)], false, null)).rejects.toThrow('The disk is full')
    expect((await world.store.getSchedules([aScheduleId(id)]))[0]).toMatchObject({ paused: true })
    await commands.setPaused([aScheduleId(id)], false, null)
    await world.clock.advanceBy(5 * MINUTE_MS)
    expect(await world.lines(id)).toEqual(['12:40 skipped paused ×4', '12:50 fired on_time'])
  })
})

describe('an engine that dies', () => {
  it('while a schedule is resumed has recorded the pause, and misses or catches up nothing of it', async ({
    world
  }) => {
    const id = await world.add({ rules: every(600), overlap: 'allow', catchUp: 'all', catchUpWindowSeconds: 86_400 })
    const dying = commandsOf(world, {
      async refresh(changedId) {
        const [stored] = await world.store.getSchedules([changedId])
        if (!stored!.paused) throw new Error('killed')
        await world.scheduler.refresh(changedId)
      }
    })
    await dying.setPaused([aScheduleId(id)], true, null)
    await world.clock.advanceBy(45 * MINUTE_MS)
    await expect(dying.setPaused([aScheduleId(id)], false, null)).rejects.toThrow('killed')
    await world.restartAfter(0)
    expect(await world.lines(id)).toEqual(['12:40 skipped paused ×4'])
    await world.clock.advanceBy(5 * MINUTE_MS)
    expect(await world.lines(id)).toEqual(['12:40 skipped paused ×4', '12:50 fired on_time'])
  })

  it('while a paused schedule gets another rule has recorded the pause under the old one', async ({ world }) => {
    const id = await world.add({ rules: every(600) })
    await commandsOf(world).setPaused([aScheduleId(id)], true, null)
    await world.clock.advanceBy(45 * MINUTE_MS)
    const dying = commandsOf(world, {
      async refresh(changedId) {
        const [stored] = await world.store.getSchedules([changedId])
        if (stored!.settings.name === 'daily') throw new Error('killed')
        await world.scheduler.refresh(changedId)
      }
    })
    const [{ settings } = { settings: null }] = await world.store.getSchedules([aScheduleId(id)])
    const daily = [{ kind: 'interval' as const, everySeconds: 86_400, anchorMs: START_MS }]
    await expect(dying.update(aScheduleId(id), { ...settings!, name: 'daily', rules: daily })).rejects.toThrow('killed')
    await world.restartAfter(0)
    expect(await world.lines(id)).toEqual(['12:40 skipped paused ×4'])
  })

  it('before it could cancel the run that a newer one replaces leaves that to the next engine', async ({ world }) => {
    await world.scheduler.stop()
    world.scheduler = world.another({ cancel: async () => undefined })
    await world.scheduler.start()
    const id = await world.add({ rules: every(600), overlap: 'cancel_running' })
    await world.clock.advanceBy(20 * MINUTE_MS)
    const [first, second] = await world.rows(id)
    expect(first!.statuses).toEqual(['queued'])
    await world.restartAfter(MINUTE_MS)
    expect(world.cancelled).toEqual(first!.jobIds)
    expect((await world.store.getJob(second!.jobIds[0]!))!.status).toBe('queued')
  })
})
