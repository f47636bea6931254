import { test as base } from 'vitest'
import type { AttemptResult, ScheduleSettings } from '../../../shared/contract/index.ts'
import { aJobId, aScheduleId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { NewJob, StoredFiring, StoredSchedule } from '../../model/records.ts'
import type { Store } from '../../storage/store.ts'
import { aNewJob, anAttemptStart, aStoredSchedule, entry } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { Scheduler, type SchedulerParts } from '../scheduler.ts'

/** A Saturday. */
export const START_MS = Date.parse('2026-11-21T12:00:00Z')

export interface ScheduleWorld {
  clock: FakeClock
  store: Store
  scheduler: Scheduler
  paused: StoredSchedule[]
  cancelled: string[]
  refusal: Error | null
  /** Another scheduler on the same store, as in another engine. `over` replaces its parts. */
  another(over?: Partial<SchedulerParts>): Scheduler
  restartAfter(durationMs: number): Promise<void>
  add(settings: Partial<ScheduleSettings>, over?: Partial<Omit<StoredSchedule, 'settings'>>): Promise<string>
  change(id: string, change: (before: StoredSchedule) => StoredSchedule): Promise<void>
  rows(id: string): Promise<StoredFiring[]>
  /** `12:05 fired on_time`, oldest first. Rows that cover several times include their number. */
  lines(id: string): Promise<string[]>
  endJob(id: string, result?: AttemptResult): Promise<void>
  endAll(id: string, result?: AttemptResult): Promise<void>
}

/** A scheduler on a real store with a fake clock. A fake of prepareJobs creates the jobs. */
export const it = base.extend<{ world: ScheduleWorld }>({
  // biome-ignore lint/correctness/noEmptyPattern: the form that vitest asks for
  world: async ({}, use) => {
    const clock = createFakeClock(START_MS)
    const random = createSeededRandom(1)
    await using temporary = await openTemporaryStore({ clock, inMemory: true })
    const { store } = temporary
    const newJobId = createJobIds(clock, random)
    const schedulers: Scheduler[] = []
    const world: ScheduleWorld = {
      clock,
      store,
      scheduler: null as unknown as Scheduler,
      paused: [],
      cancelled: [],
      refusal: null,
      another(over = {}) {
        const scheduler = new Scheduler({
          store,
          clock,
          random,
          logger: silentLogger,
          openTemplate: async (template) => template,
          requireSpiders() {},
          async prepare(items, origin): Promise<NewJob[]> {
            if (world.refusal !== null) throw world.refusal
            return items.map(({ project, spider, args = {}, settings = {}, priority = 0 }) => {
              const id = newJobId()
              return aNewJob({
                id,
                project,
                spider,
                args,
                settings,
                priority,
                source: origin.source,
                ...origin.scheduled
              })
            })
          },
          async cancel(jobIds) {
            world.cancelled.push(...jobIds)
            await store.cancelQueued(jobIds, entry())
            await store.askCancel(jobIds, entry())
          },
          onJobs: () => undefined,
          onFired: () => undefined,
          onPaused: (schedule) => void world.paused.push(schedule),
          ...over
        })
        schedulers.push(scheduler)
        return scheduler
      },
      async restartAfter(durationMs) {
        await world.scheduler.stop()
        await clock.advanceBy(durationMs)
        world.scheduler = world.another()
        await world.scheduler.start()
        await clock.advanceBy(0)
      },
      async add(settings, over = {}) {
        const nowMs = clock.nowMs()
        const stored = aStoredSchedule({
          createdAtMs: nowMs,
          changedAtMs: nowMs,
          movedAtMs: 0,
          doneUntilMs: nowMs,
          ...over,
          settings: { zone: 'UTC', ...settings }
        })
        await store.putSchedule(stored)
        await world.scheduler.refresh(stored.id)
        return stored.id
      },
      async change(id, change) {
        const [before] = await store.getSchedules([aScheduleId(id)])
        await store.putSchedule({ ...change(before!), revision: before!.revision + 1, changedAtMs: clock.nowMs() })
        await world.scheduler.refresh(aScheduleId(id))
      },
      async rows(id) {
        return (await store.listFirings({ scheduleId: aScheduleId(id) }, { before: null, limit: 10_000 })).reverse()
      },
      async lines(id) {
        return (await world.rows(id)).map(({ nominalMs, state, reason, count }) => {
          const time = new Date(nominalMs).toISOString().slice(11, nominalMs % 60_000 === 0 ? 16 : 19)
          return `${time} ${state} ${reason}${count > 1 ? ` ×${count}` : ''}`
        })
      },
      async endJob(id, result = 'succeeded') {
        await store.beginAttempts([anAttemptStart({ id })])
        const from = ['sending'] as const
        await store.applyChanges([
          {
            jobId: aJobId(id),
            attemptNumber: anAttemptNumber(1),
            from: [...from],
            to: 'ended',
            result,
            kind: 'ended',
            entry: entry()
          }
        ])
      },
      async endAll(id, result) {
        for (const job of await store.listLiveJobsOf(aScheduleId(id))) await world.endJob(job.id, result)
        await clock.advanceBy(1_000)
      }
    }
    world.scheduler = world.another()
    await world.scheduler.start()
    await use(world)
    for (const scheduler of schedulers) await scheduler.stop()
  }
})

export const every = (everySeconds: number) => [{ kind: 'interval' as const, everySeconds, anchorMs: START_MS }]
