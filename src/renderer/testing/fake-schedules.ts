import { aScheduleId } from '../../shared/testing/ids.ts'
import { implement } from '@orpc/server'
import { nextOccurrence, occurrencesOf, problemOfTiming } from '../../shared/calendar/index.ts'
import { contract, type Firing, RunTemplate, type Schedule, ScheduleSettings } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aSchedule } from '../../shared/testing/builders.ts'
import type { FakeWorld } from './fake-world.ts'
import { say, written } from '../../shared/texts/message.ts'

const RECENT = 30
const DAY_MS = 86_400_000
/** The number up to which the engine counts the runs of a backfill. */
const BACKFILL_MAX = 10_000

/** Schedules in memory with a realistic history. Only `step()` and `runNow` create jobs. */
export function createFakeSchedules(world: FakeWorld) {
  const os = implement(contract)
  const firings: Firing[] = []
  const schedules = new Map<string, Schedule>()
  let nextFiringId = 1

  const firingsOf = (id: string) => firings.filter(({ scheduleId }) => scheduleId === id).reverse()
  const scheduleOf = (id: string): Schedule => {
    const schedule = schedules.get(id)
    if (schedule === undefined)
      throw new ScrapdeckError('SCHEDULE_NOT_FOUND', `There is no schedule ${id}. It may have been removed.`)
    return schedule
  }
  const save = (schedule: Schedule, change: Partial<Schedule> = {}): Schedule => {
    const changed = { ...schedule, ...change, revision: schedule.revision + 1, changedAtMs: Date.now() }
    const next = changed.paused ? null : nextOccurrence(changed, Date.now())
    const saved: Schedule = {
      ...changed,
      nextNominalMs: next?.nominalMs ?? null,
      nextAtMs: next === null ? null : next.nominalMs + jitterOf(changed),
      recent: firingsOf(schedule.id).slice(0, RECENT)
    }
    schedules.set(saved.id, saved)
    world.emit({ kind: 'schedule', schedule: saved })
    return saved
  }
  const record = (firing: Omit<Firing, 'id'>): Firing => {
    const recorded = { ...firing, id: nextFiringId++ }
    firings.push(recorded)
    return recorded
  }
  const add = (settings: ScheduleSettings, over: Partial<Schedule> = {}): Schedule =>
    aSchedule({
      ...settings,
      id: aScheduleId(idOf(world.nextNumber())),
      createdAtMs: Date.now(),
      changedAtMs: Date.now(),
      ...over
    })
  const checked = (input: ScheduleSettings) => {
    const problem = problemOfTiming(input)
    if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
    return ScheduleSettings.parse(input)
  }
  function fire(schedule: Schedule, nominalMs: number, origin: Firing['origin']): Firing {
    const jobs = schedule.jobs.flatMap(({ project, spiders, args }) =>
      spiders.map((spider) =>
        world.queueJob({ project, spider, args, source: 'schedule', scheduleId: schedule.id, nominalMs })
      )
    )
    return record({
      scheduleId: schedule.id,
      nominalMs,
      origin,
      atMs: Date.now(),
      state: 'fired',
      reason: origin === 'manual' ? 'run_now' : origin === 'backfill' ? 'backfill' : 'on_time',
      text: '',
      count: 1,
      jobIds: jobs.map(({ id }) => id),
      outcome: 'live',
      durationMs: null
    })
  }
  const toBackfill = ({ id, fromMs, untilMs }: { id: string; fromMs: number; untilMs: number }) => {
    const schedule = scheduleOf(id)
    const all = occurrencesOf(schedule, { afterMs: fromMs - 1, untilMs, limit: BACKFILL_MAX })
    const run = new Set(
      firings.filter((each) => each.scheduleId === id && each.jobIds.length > 0).map(({ nominalMs }) => nominalMs)
    )
    return { schedule, all, left: all.filter(({ nominalMs }) => !run.has(nominalMs)) }
  }

  if (!world.firstRun)
    for (const { settings, over, history } of fakeScheduleList(Date.now())) {
      const schedule = add(settings, over)
      for (const firing of history(schedule, world.random)) record(firing)
      schedules.set(schedule.id, schedule)
      save(schedule)
    }

  return {
    schedules,
    step() {
      for (const schedule of schedules.values()) {
        const { backfill } = schedule
        if (backfill?.state !== 'running') continue
        const fired = Math.min(backfill.total, backfill.fired + backfill.concurrency)
        const state = fired === backfill.total && backfill.fired === fired ? 'done' : 'running'
        save(schedule, { backfill: { ...backfill, fired, ended: state === 'done' ? fired : backfill.fired, state } })
      }
    },
    handlers: {
      list: os.schedules.list.handler(({ input }) => {
        const text = input.text?.toLowerCase() ?? ''
        const matching = [...schedules.values()]
          .filter(
            ({ name, jobs }) =>
              (text === '' || JSON.stringify([name, jobs]).toLowerCase().includes(text)) &&
              (input.project === undefined || jobs.some(({ project }) => project === input.project)) &&
              (input.userId === undefined || jobs.some(({ userId }) => userId === input.userId))
          )
          .sort((left, right) => left.name.localeCompare(right.name))
        const from = input.after === undefined ? 0 : matching.findIndex(({ id }) => id === input.after) + 1
        const page = matching.slice(from, from + input.limit)
        const isLast = from + page.length >= matching.length
        return { schedules: page, nextAfter: isLast ? null : (page.at(-1)?.id ?? null), total: matching.length }
      }),
      get: os.schedules.get.handler(({ input }) => scheduleOf(input.id)),
      create: os.schedules.create.handler(({ input }) => ({ schedule: save(add(checked(input))) })),
      update: os.schedules.update.handler(({ input: { id, revision, ...settings } }) => {
        const before = scheduleOf(id)
        if (revision !== undefined && revision !== before.revision)
          throw new ScrapdeckError(
            'CHANGED_MEANWHILE',
            `Somebody has changed ${before.name} since it was read. Read it again and make your changes to what it is now.`
          )
        return { schedule: save(before, checked(settings)) }
      }),
      remove: os.schedules.remove.handler(({ input }) => {
        const removed = input.ids.filter((id) => schedules.delete(id))
        world.emit(...removed.map((id) => ({ kind: 'schedule_removed' as const, id })))
        return { removed }
      }),
      setPaused: os.schedules.setPaused.handler(({ input: { ids, paused, note } }) => ({
        schedules: ids.map((id) =>
          save(scheduleOf(id), { paused, pauseNote: paused ? note : null, pausedBy: paused ? 'operator' : null })
        )
      })),
      runNow: os.schedules.runNow.handler(({ input }) => {
        const schedule = scheduleOf(input.id)
        const firing = fire(schedule, Date.now(), 'manual')
        save(schedule, { runCount: schedule.runCount + 1 })
        return { firing }
      }),
      preview: os.schedules.preview.handler(({ input: { timing, fromMs, count } }) => ({
        words: '',
        occurrences: occurrencesOf(timing, { afterMs: (fromMs ?? Date.now()) - 1, limit: count })
      })),
      calendar: os.schedules.calendar.handler(({ input }) => {
        const moments = [...schedules.values()]
          .filter(({ paused }) => !paused)
          .flatMap((schedule) =>
            occurrencesOf(schedule, { afterMs: input.fromMs - 1, untilMs: input.untilMs - 1, limit: input.limit }).map(
              ({ nominalMs }) => ({ scheduleId: schedule.id, atMs: nominalMs })
            )
          )
          .sort((left, right) => left.atMs - right.atMs)
        return { moments: moments.slice(0, input.limit), more: moments.length > input.limit }
      }),
      load: os.schedules.load.handler(({ input }) => {
        const minutes = new Map<number, { atMs: number; firings: number; jobs: number }>()
        for (const schedule of schedules.values()) {
          if (schedule.paused) continue
          const jobs = schedule.jobs.reduce((sum, { spiders }) => sum + spiders.length, 0)
          const lateMs = jitterOf(schedule)
          const span = { afterMs: input.fromMs - lateMs - 1, untilMs: input.untilMs - lateMs - 1, limit: 2_000 }
          for (const { nominalMs } of occurrencesOf(schedule, span)) {
            const atMs = Math.floor((nominalMs + lateMs) / 60_000) * 60_000
            const before = minutes.get(atMs) ?? { atMs, firings: 0, jobs: 0 }
            minutes.set(atMs, { atMs, firings: before.firings + 1, jobs: before.jobs + jobs })
          }
        }
        const slots = [...world.nodes.values()].reduce((sum, node) => sum + node.slots, 0)
        return { slots, minutes: [...minutes.values()].sort((left, right) => left.atMs - right.atMs) }
      }),
      firings: os.schedules.firings.handler(({ input }) => {
        const matching = [...firings]
          .sort((left, right) => right.id - left.id)
          .filter(
            (firing) =>
              (input.scheduleId === undefined || firing.scheduleId === input.scheduleId) &&
              (input.state === undefined || input.state.includes(firing.state)) &&
              (input.before === undefined || firing.id < input.before)
          )
        const page = matching.slice(0, input.limit)
        return { firings: page, nextBefore: matching.length > page.length ? (page.at(-1)?.id ?? null) : null }
      }),
      planBackfill: os.schedules.planBackfill.handler(({ input }) => {
        const { schedule, all, left } = toBackfill(input)
        const jobsEach = schedule.jobs.reduce((sum, { spiders }) => sum + spiders.length, 0)
        return {
          count: left.length,
          jobs: left.length * jobsEach,
          alreadyRun: all.length - left.length,
          forgotten: 0,
          first: left.slice(0, 10),
          last: left.slice(-10)
        }
      }),
      backfill: os.schedules.backfill.handler(({ input }) => {
        const { schedule, left } = toBackfill(input)
        const backfill = {
          ...input,
          id: String(world.nextNumber()),
          scheduleId: input.id,
          state: 'running' as const,
          total: left.length,
          fired: Math.min(left.length, input.concurrency),
          ended: 0,
          failed: 0
        }
        for (const { nominalMs } of left.slice(0, input.concurrency)) fire(schedule, nominalMs, 'backfill')
        save(schedule, { backfill })
        return { backfill }
      }),
      cancelBackfill: os.schedules.cancelBackfill.handler(({ input }) => {
        const schedule = scheduleOf(input.id)
        if (schedule.backfill === null) throw new ScrapdeckError('BAD_INPUT', 'No backfill of this schedule runs.')
        const backfill = { ...schedule.backfill, state: 'cancelled' as const }
        save(schedule, { backfill })
        return { backfill }
      })
    }
  }
}

const jitterOf = ({ jitterSeconds }: ScheduleSettings) => jitterSeconds * 400

const idOf = (number: number) => `5ced${number.toString(16)}`.padEnd(32, '0')

type History = (schedule: Schedule, random: () => number) => Omit<Firing, 'id'>[]

const template = (project: string, spiders: string[], over: object = {}) =>
  RunTemplate.parse({ project, spiders, ...over })

function fakeScheduleList(nowMs: number): { settings: ScheduleSettings; over: Partial<Schedule>; history: History }[] {
  const settings = (name: string, zone: string, expression: string, jobs: RunTemplate[], over: object = {}) =>
    ScheduleSettings.parse({ name, zone, rules: [{ kind: 'cron', expression }], jobs, ...over })
  const history =
    (failsOf: number, skipsOf = 0, missed = 0): History =>
    (schedule, random) => {
      const past = occurrencesOf(schedule, { afterMs: nowMs - 40 * DAY_MS, untilMs: nowMs - 1, limit: 6_000 })
      return past.slice(-34).map(({ nominalMs }, index, all) => {
        const atMs = nominalMs + 400 + random() * 900
        const base = { scheduleId: schedule.id, nominalMs, origin: 'tick' as const, atMs, count: 1 }
        if (index >= all.length - missed)
          return {
            ...base,
            atMs: nominalMs + 3 * 3_600_000,
            state: 'missed' as const,
            reason: 'out_of_window' as const,
            ...written(say('firing.out_of_window', { cause: 'stopped', windowSeconds: 3600, countedUntilMs: null })),
            jobIds: [],
            outcome: null,
            durationMs: null
          }
        if (random() < skipsOf)
          return {
            ...base,
            state: 'skipped' as const,
            reason: 'overlap' as const,
            ...written(say('firing.overlap', { runOfMs: nominalMs - DAY_MS, isAnotherWaiting: false })),
            jobIds: [],
            outcome: null,
            durationMs: null
          }
        return {
          ...base,
          state: 'fired' as const,
          reason: random() < 0.05 ? ('caught_up' as const) : ('on_time' as const),
          text: '',
          jobIds: [],
          outcome: random() < failsOf ? ('failed' as const) : ('succeeded' as const),
          durationMs: 120_000 + random() * 900_000
        }
      })
    }
  return [
    {
      settings: settings(
        'nightly prices',
        'Europe/Berlin',
        '0 3 * * 1-5',
        [template('prices', ['amazon_de', 'otto', 'zalando'], { tags: ['eu'], args: { day: '{nominal:yyyy-MM-dd}' } })],
        { overlap: 'queue_one', catchUpWindowSeconds: 43_200, jitterSeconds: 120 }
      ),
      over: { runCount: 412 },
      history: history(0.1)
    },
    {
      settings: settings('reuters live', 'UTC', '*/10 * * * *', [template('news', ['reuters'])]),
      over: { runCount: 20_814 },
      history: history(0.15, 0.1)
    },
    {
      settings: settings('stock by 5', 'Europe/London', '*/5 8-18 * * 1-5', [
        template('prices', ['bol_nl', 'coolblue'])
      ]),
      over: { runCount: 9_120 },
      history: history(0.12, 0.05)
    },
    {
      settings: settings('monthly full', 'UTC', '0 0 1 * *', [
        template('maps', ['osm_poi'], { matrix: { region: ['eu', 'us', 'ap'], layer: ['shops', 'transit'] } })
      ]),
      over: { paused: true, pausedBy: 'operator', pauseNote: 'Until the new tile server is up (Ana)', runCount: 11 },
      history: history(0)
    },
    {
      settings: settings('maps weekly', 'Asia/Tokyo', '30 1 * * 0', [template('maps', ['transit'])], {
        overlap: 'allow'
      }),
      over: { runCount: 52 },
      history: history(0.1, 0, 1)
    },
    {
      settings: settings('folha 3×', 'America/Sao_Paulo', '0 6,12,18 * * *', [template('news', ['folha'])]),
      over: { runCount: 1_204 },
      history: history(0.18)
    },
    {
      settings: settings('half past two', 'Europe/Berlin', '30 2 * * *', [template('news', ['lemonde'])], {
        doubled: 'run_twice'
      }),
      over: { runCount: 96 },
      history: history(0.03)
    },
    {
      settings: settings('stepstone', 'Europe/Berlin', '0 3 * * *', [template('jobs', ['stepstone'])], {
        pauseAfterFailures: 3
      }),
      over: { paused: true, pausedBy: 'failures', failuresInARow: 3, runCount: 210 },
      history: (schedule, random) =>
        history(0.1)(schedule, random).map((firing, index, all) =>
          index >= all.length - 3 ? { ...firing, outcome: 'failed' as const, durationMs: 30_000 } : firing
        )
    },
    {
      settings: ScheduleSettings.parse({
        name: 'heartbeat',
        zone: 'UTC',
        rules: [{ kind: 'interval', everySeconds: 5_400, anchorMs: Math.floor(nowMs / DAY_MS) * DAY_MS }],
        jobs: [template('jobs', ['indeed'])]
      }),
      over: { runCount: 640 },
      history: history(0.05)
    },
    {
      settings: settings('nightly sitemap', 'Europe/Berlin', '0 3 * * *', [template('news', ['hindu', 'nikkei'])]),
      over: { runCount: 44 },
      history: history(0.02)
    }
  ]
}
