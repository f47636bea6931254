import { aScheduleId } from '../../src/shared/testing/ids.ts'
import type { SchedulerParts } from '../../src/engine/schedules/scheduler.ts'
import type { StoredSchedule } from '../../src/engine/model/records.ts'
import { type Mutation, mutation, overridden } from '../world/mutations.ts'

/** A bug that must be found within `stories`, by default STORIES_MAX. */
export interface ScheduleMutant {
  name: string
  mutations: Mutation[]
  stories?: number
}

export const STORIES_MAX = 40
/** The size of a story. Stories are small so that many different ones can run. */
export const STORY_SIZE = { schedules: 60, days: 1 }

type TickerStore = SchedulerParts['store']

const fates = () => import('../../src/engine/schedules/fates.ts')
const failures = () => import('../../src/engine/schedules/failures.ts')
const clockWatch = () => import('../../src/engine/schedules/clock-watch.ts')

/** Replaces the ticker's parts. `isStarting`: whether the ticker is taking over from an earlier engine. */
function ticker(change: (parts: SchedulerParts, life: { isStarting(): boolean }) => Partial<SchedulerParts>): Mutation {
  return mutation(() => import('../../src/engine/schedules/scheduler.ts'), {
    Scheduler: (Original) =>
      class extends Original {
        readonly #life: { isStarting: boolean }

        constructor(parts: SchedulerParts) {
          const life = { isStarting: false }
          super({ ...parts, ...change(parts, { isStarting: () => life.isStarting }) })
          this.#life = life
        }

        override async start() {
          this.#life.isStarting = true
          await super.start()
          this.#life.isStarting = false
        }
      }
  })
}

function tickerStore(change: (store: TickerStore, parts: SchedulerParts) => Partial<TickerStore>): Mutation {
  return ticker((parts) => ({ store: overridden(parts.store, change(parts.store, parts)) }))
}

/**
 * Changes the number of runs that the ticker reads. The ticker never writes back a lower number than the stored
 * one.
 */
function runsBelieved(runsOf: (runCount: number) => number): Mutation {
  const believed = (stored: StoredSchedule) => ({ ...stored, runCount: runsOf(stored.runCount) })
  return tickerStore((store) => ({
    listSchedules: async () => (await store.listSchedules()).map(believed),
    getSchedules: async (ids) => (await store.getSchedules(ids)).map(believed)
  }))
}

function firingsCounted(change: (store: Pick<TickerStore, 'listFirings'>, of: StoredSchedule) => Partial<TickerStore>) {
  return mutation(failures, {
    readFailures: (read) => (store, stored) => read(overridden(store, change(store, stored)), stored)
  })
}

const isFailure = (status: string) => status === 'failed' || status === 'lost'
const schedulesOf = (firings: readonly { scheduleId: string }[]) => new Set(firings.map(({ scheduleId }) => scheduleId))

/** Does not write a pause's rows when an operator ends the pause. */
function withoutPausedRows(): Mutation {
  return mutation(() => import('../../src/engine/schedules/scheduler.ts'), {
    Scheduler: (Original) =>
      class extends Original {
        override async writePaused() {}
      }
  })
}

/** Never writes a pause's rows. With `isFromThenOn: false`, the end of the pause does not restart counting either. */
function withoutPausedRowsEver({ isFromThenOn }: { isFromThenOn: boolean }): Mutation[] {
  const changing = new Set<string>()
  return [
    mutation(() => import('../../src/engine/schedules/scheduler.ts'), {
      Scheduler: (Original) =>
        class extends Original {
          constructor(parts: SchedulerParts) {
            const { store } = parts
            const getSchedules: TickerStore['getSchedules'] = async (ids) => {
              const found = await store.getSchedules(ids)
              return isFromThenOn ? found : found.map((stored) => ({ ...stored, changedAtMs: 0 }))
            }
            super({ ...parts, store: overridden(store, { getSchedules }) })
            changing.clear()
          }

          override async writePaused() {}

          override async refresh(scheduleId: string) {
            changing.add(scheduleId)
            await super.refresh(aScheduleId(scheduleId))
            changing.delete(scheduleId)
          }
        }
    }),
    mutation(() => import('../../src/engine/schedules/decide-firings.ts'), {
      decideFirings: (decideFirings) => async (state, around) =>
        changing.has(state.stored.id)
          ? { state, firings: [], cancels: [], doneUntilMs: state.doneUntilMs, weight: 0 }
          : decideFirings(state, around)
    })
  ]
}

export const MUTANTS: ScheduleMutant[] = [
  {
    name: 'what should have been cancelled when the engine died runs on',
    mutations: [
      ticker(({ cancel }, life) => ({ cancel: async (jobIds) => (life.isStarting() ? undefined : cancel(jobIds)) }))
    ]
  },
  {
    name: 'failures that ended while no engine was there are not counted',
    mutations: [
      ticker(({ store }, life) => ({
        store: overridden(store, {
          listFirings: async (filter, page) => (life.isStarting() ? [] : store.listFirings(filter, page)),
          setFailuresInARow: async (id, count) => {
            if (!life.isStarting()) await store.setFailuresInARow(id, count)
          }
        })
      }))
    ]
  },
  {
    name: 'what ran when the engine died is forgotten',
    mutations: [
      mutation(() => import('../../src/engine/schedules/live-jobs.ts'), {
        LiveJobs: (Original) =>
          class extends Original {
            override load() {
              return super.load([], new Map())
            }
          }
      })
    ]
  },
  {
    name: 'a moment that clocks leave out fires although it is to be skipped',
    mutations: [
      mutation(fates, {
        judgeMoments:
          (judge) =>
          (moments, ...rest) =>
            judge(
              moments.map((moment) => ({ ...moment, isLeftOut: false })),
              ...rest
            )
      })
    ]
  },
  {
    name: 'a moment that clocks leave out has no row',
    mutations: [
      mutation(() => import('../../src/engine/schedules/moments.ts'), {
        FireTimes: (Original) =>
          class extends Original {
            override next(afterMs: number) {
              const nominalMs = this.nextRun(afterMs)
              return nominalMs === null ? null : { nominalMs, isLeftOut: false }
            }

            override between(afterMs: number, untilMs: number, limit: number) {
              return super.between(afterMs, untilMs, limit).filter(({ isLeftOut }) => !isLeftOut)
            }
          }
      })
    ]
  },
  {
    name: 'a resumed schedule goes on from where it was paused',
    mutations: withoutPausedRowsEver({ isFromThenOn: false })
  },
  { name: 'what passed in a pause is not written before it ends', mutations: [withoutPausedRows()] },
  {
    name: 'what passed in a pause is left out when it ends',
    mutations: withoutPausedRowsEver({ isFromThenOn: true })
  },
  {
    name: 'how far a schedule is is not stored with its rows',
    mutations: [
      tickerStore((store) => ({
        fire: (firings) => store.fire(firings.map((firing) => ({ ...firing, doneUntilMs: null })))
      }))
    ]
  },
  { name: 'how often a schedule has run is not stored with its rows', mutations: [runsBelieved(() => 0)] },
  {
    name: 'a moment is late after half a minute',
    mutations: [
      mutation(fates, {
        judgeMoments: (judge) => (moments, settings, around) => {
          const isBetween = moments.some(({ nominalMs }) => {
            const lateMs = around.nowMs - nominalMs - around.offsetMs
            return lateMs > 30_000 && lateMs <= 60_000
          })
          if (!isBetween) return judge(moments, settings, around)
          // Judges all nominal times half a minute late, and extends the catch-up window by the same amount.
          const catchUpWindowSeconds = settings.catchUpWindowSeconds + 30
          return judge(moments, { ...settings, catchUpWindowSeconds }, { ...around, nowMs: around.nowMs + 30_000 })
        }
      })
    ]
  },
  {
    name: 'the window of what is caught up is a tenth longer',
    mutations: [
      mutation(fates, {
        judgeMoments:
          (judge) =>
          (moments, settings, ...rest) =>
            judge(moments, { ...settings, catchUpWindowSeconds: settings.catchUpWindowSeconds * 1.1 }, ...rest)
      })
    ]
  },
  {
    name: 'of what was missed each is the last',
    mutations: [
      mutation(fates, {
        judgeMoments: (judge) => (moments, settings, around) =>
          around.hasMore
            ? judge(moments, settings, around)
            : moments.flatMap((moment) => judge([moment], settings, around))
      })
    ]
  },
  {
    name: 'two runs wait where one may',
    mutations: [
      mutation(fates, {
        decideOverlap: (decide) => (policy, live) =>
          policy === 'queue_one' && live.length === 2
            ? { kind: 'fire', after: live.flatMap(({ jobIds }) => jobIds), cancel: [] }
            : decide(policy, live)
      })
    ]
  },
  {
    name: 'who waits in line waits for the first, not for the last',
    mutations: [
      mutation(fates, {
        decideOverlap: (decide) => (policy, live) => decide(policy, policy === 'queue_all' ? live.slice(0, 1) : live)
      })
    ]
  },
  {
    name: 'the run that a newer one takes the place of is not cancelled',
    mutations: [
      ticker(({ cancel }, life) => ({ cancel: async (jobIds) => (life.isStarting() ? cancel(jobIds) : undefined) }))
    ]
  },
  { name: 'a schedule runs once more than it may', mutations: [runsBelieved((runCount) => runCount - 1)] },
  {
    name: 'it takes an hour to see that the clock was set',
    mutations: [mutation(clockWatch, { SLEEP_MAX_MS: () => 3_600_000 })]
  },
  {
    name: 'a clock that is set back by an hour makes a schedule begin anew',
    mutations: [mutation(clockWatch, { CLOCK_SET_BACK_MAX_MS: () => 3_600_000 })]
  },
  {
    name: 'a moment has failed only if all of its jobs did',
    mutations: [
      firingsCounted((store) => ({
        async listFirings(...asked) {
          const firings = await store.listFirings(...asked)
          return firings.map((firing) => ({
            ...firing,
            statuses: firing.statuses.every(isFailure)
              ? firing.statuses
              : firing.statuses.filter((status) => !isFailure(status))
          }))
        }
      }))
    ]
  },
  {
    name: 'failures from before a resume count',
    mutations: [
      firingsCounted((store) => ({
        listFirings: (filter, page) => store.listFirings({ ...filter, sinceChange: false }, page)
      }))
    ]
  },
  {
    name: 'which failures were before a resume is told by clocks',
    mutations: [
      firingsCounted((store, { changedAtMs }) => ({
        async listFirings(filter, page) {
          const firings = await store.listFirings({ ...filter, sinceChange: false }, page)
          const before = firings.findIndex(({ atMs }) => atMs < changedAtMs)
          return before < 0 ? firings : firings.slice(0, before)
        }
      }))
    ]
  },
  {
    name: 'rows that could not be written are believed to be there',
    mutations: [
      tickerStore((store) => ({
        fire: (firings) =>
          store.fire(firings).catch((error: unknown) => {
            if (schedulesOf(firings).size > 1) throw error
            return firings.map(() => null)
          })
      }))
    ]
  },
  {
    name: 'rows that could not be written together are written twice',
    mutations: [
      tickerStore((store) => {
        const failedTogether = new Set<string>()
        return {
          async fire(firings) {
            const schedules = schedulesOf(firings)
            const [first] = schedules
            const isAgain = schedules.size === 1 && failedTogether.delete(first!)
            const written = await store.fire(firings).catch((error: unknown) => {
              if (schedules.size > 1) for (const id of schedules) failedTogether.add(id)
              throw error
            })
            if (isAgain) await store.fire(firings)
            return written
          }
        }
      })
    ]
  },
  {
    name: 'of rows that could not be written together, one keeps the others from being written',
    mutations: [
      tickerStore((store, { clock }) => {
        const failed = new Map<string, { atMs: number; error: unknown }>()
        return {
          async fire(firings) {
            const schedules = schedulesOf(firings)
            const [first] = schedules
            const together = failed.get(first!)
            if (together?.atMs === clock.monotonicMs()) throw together.error
            return store.fire(firings).catch((error: unknown) => {
              if (schedules.size > 1) for (const id of schedules) failed.set(id, { atMs: clock.monotonicMs(), error })
              throw error
            })
          }
        }
      })
    ]
  },
  {
    name: 'rows that could not be written are not tried again before the next moment',
    mutations: [
      mutation(() => import('../../src/engine/schedules/due-places.ts'), { AGAIN_AFTER_FAILURE_MS: () => 60_000 })
    ]
  },
  {
    name: 'a moment that could make no job is no failure',
    mutations: [
      tickerStore((store) => ({
        async fire(firings) {
          const written = await store.fire(firings)
          return written.map((row) => (row?.state === 'failed' ? { ...row, state: 'missed' } : row))
        }
      }))
    ]
  },
  {
    name: 'chains follow failures as well as successes',
    mutations: [
      mutation(() => import('../../src/engine/model/chain-answers.ts'), {
        chainConditionMetBy: () => () => 'succeeded'
      })
    ]
  },
  {
    name: 'a chain answers ends that came from itself',
    mutations: [
      mutation(() => import('../../src/engine/storage/sql/chain-ends.ts'), {
        createChainEnds: (create) => (database) => ({ ...create(database), inherit: () => undefined })
      })
    ]
  }
]
