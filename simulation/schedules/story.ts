import { ScheduleSettings, type RunItem } from '../../src/shared/contract/index.ts'
import { ScrapdeckError } from '../../src/shared/errors.ts'
import type { Clock } from '../../src/engine/runtime/clock.ts'
import { createJobIds } from '../../src/engine/runtime/ids.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { Scheduler, type SchedulerParts } from '../../src/engine/schedules/scheduler.ts'
import type { NewFiring, NewJob, Store, StoredFiring } from '../../src/engine/store/store.ts'
import { aNewJob, entry } from '../../src/engine/testing/builders.ts'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import { openTemporaryStore } from '../../src/engine/testing/temporary-store.ts'
import { VirtualTime } from '../world/time.ts'
import { toContract } from './calendar.ts'
import { CANCEL_TAKES_MS, lifeOf, type Plan, type PlannedSchedule } from './plan.ts'

/** What happened around the engine, in monotonic time: all that the calculation is told. */
export interface Journal {
  /** `landed`: of an engine that died while it wrote, the schedules whose rows were written at that very moment. */
  lives: { fromMs: number; untilMs: number; landed: Set<string> | null }[]
  /** The wall shows monotonic time and this, from then on. */
  walls: { fromMs: number; offsetMs: number }[]
  /** When a clock that was set ahead under a living engine was noticed: by the first row that was written. */
  notices: Map<number, number>
  /** Cancels that were asked for in the moment of a death. */
  lastCancels: Set<string>
  pauses: Map<string, { fromMs: number; untilMs: number }>
}

interface Life {
  isDead: boolean
  fatal: { call: number; when: 'before' | 'after' } | null
  fireCalls: number
  landed: { atMs: number; ids: Set<string> }
  scheduler: Scheduler
}

/** An armed death that finds no write happens by itself. */
const FATAL_WITHIN_MS = 20 * 60_000
const DAY_MS = 86_400_000

/** The real ticker on the real store; jobs, deaths and the clock are the story's. `onDay`: so many days of it are over. */
export async function runStory(
  plan: Plan,
  onDay: (day: number) => void = nothing
): Promise<{ journal: Journal; rows: Map<string, StoredFiring[]>; jobs: number }> {
  const time = new VirtualTime()
  const journal: Journal = {
    lives: [],
    walls: [{ fromMs: 0, offsetMs: plan.beginsAtMs }],
    notices: new Map(),
    lastCancels: new Set(),
    pauses: new Map()
  }
  const nowMs = () => Math.floor(time.nowMs + journal.walls.at(-1)!.offsetMs)
  const storeClock: Clock = {
    nowMs,
    monotonicMs: () => time.nowMs,
    setTimer: (delayMs, callback) => time.after(delayMs, callback)
  }
  await using temporary = await openTemporaryStore({ clock: storeClock, inMemory: true })
  const store = busily(temporary.store)
  const random = createSeededRandom(plan.seed)
  const newJobId = createJobIds(storeClock, random)
  const schedules = new Map(plan.schedules.map((schedule) => [schedule.id, schedule]))
  const jobs = new Map<
    string,
    {
      schedule: PlannedSchedule
      nominalMs: number
      index: number
      endsAtMs: number | null
      timer: { cancel(): void } | null
    }
  >()
  let unnoticedJumpMs: number | null = null
  let life: Life | null = null

  for (const schedule of plan.schedules) await store.putSchedule(toStored(schedule, plan.beginsAtMs))
  time.after(0, begin)
  for (const event of plan.events) {
    time.after(event.atMs, () => {
      if (event.kind === 'jump') return jump(event.byMs)
      if (event.inFire === null) return die(event.downMs, event.jumpMs)
      life!.fatal = event.inFire
      life!.fireCalls = 0
      pendingDeath = { downMs: event.downMs, jumpMs: event.jumpMs }
      const armed = life
      time.after(FATAL_WITHIN_MS, () => {
        if (life === armed && !armed!.isDead) die(event.downMs, event.jumpMs)
      })
    })
  }
  let pendingDeath = { downMs: 0, jumpMs: 0 }
  for (const schedule of plan.schedules) if (schedule.pause !== null) planPause(schedule, schedule.pause)
  for (let day = 1; day * DAY_MS <= plan.durationMs; day += 1) time.after(day * DAY_MS, () => onDay(day))
  await time.runUntil(plan.durationMs, () => false)
  await time.settle()
  if (life !== null) {
    journal.lives.at(-1)!.untilMs = plan.durationMs
    await (life as Life).scheduler.stop()
  }
  const rows = new Map<string, StoredFiring[]>()
  for (const { id } of plan.schedules) rows.set(id, await allRows(temporary.store, id))
  return { journal, rows, jobs: jobs.size }

  function busily(target: Store): Store {
    return new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'onChange' || name === 'onQueueChange') return value.bind(target)
        return async (...parameters: unknown[]) => {
          time.busy += 1
          try {
            return await value.apply(target, parameters)
          } finally {
            time.busy -= 1
          }
        }
      }
    })
  }

  function begin(): void {
    const mine: Life = {
      isDead: false,
      fatal: null,
      fireCalls: 0,
      landed: { atMs: -1, ids: new Set() },
      scheduler: null as unknown as Scheduler
    }
    const clock: Clock = {
      ...storeClock,
      setTimer: (delayMs, callback) => time.after(delayMs, () => void (mine.isDead || callback()))
    }
    mine.scheduler = new Scheduler({
      ...{ store: lend(mine), clock, random, logger: silentLogger, openTemplate: async (template) => template },
      ...{ prepare, cancel: (jobIds) => cancel(mine, jobIds), onJobs: nothing, onFired: nothing, onPaused: nothing },
      // Time stands still until every call to the store is back; a turn of the event loop that is given away is none.
      giveWay: async () => undefined
    })
    life = mine
    journal.lives.push({ fromMs: time.nowMs, untilMs: Number.POSITIVE_INFINITY, landed: null })
    void mine.scheduler.start()
  }

  function die(downMs: number, jumpMs: number, landed: Set<string> | null = null): void {
    if (life === null) return
    life.isDead = true
    life = null
    Object.assign(journal.lives.at(-1)!, { untilMs: time.nowMs, landed })
    if (jumpMs !== 0) time.after(Math.floor(downMs / 2), () => jump(jumpMs))
    time.after(downMs, begin)
  }

  function jump(byMs: number): void {
    journal.walls.push({ fromMs: time.nowMs, offsetMs: journal.walls.at(-1)!.offsetMs + byMs })
    unnoticedJumpMs = byMs > 0 && life !== null ? time.nowMs : null
  }

  function lend(mine: Life): SchedulerParts['store'] {
    const never = () => new Promise<never>(() => undefined)
    return new Proxy(store, {
      get(_, name) {
        const value: unknown = Reflect.get(store, name)
        if (typeof value !== 'function') return value
        if (name === 'onChange') return (listener: () => void) => store.onChange(() => void (mine.isDead || listener()))
        return async (...parameters: unknown[]) => {
          if (mine.isDead) return never()
          const isFatal = name === 'fire' && mine.fatal !== null && ++mine.fireCalls === mine.fatal.call
          const { when } = mine.fatal ?? {}
          if (isFatal && when === 'before') {
            dieWriting(mine)
            return never()
          }
          const answer: unknown = await value.apply(store, parameters)
          if (name === 'fire') await noteFired(mine, parameters[0] as NewFiring[], answer as (StoredFiring | null)[])
          if (isFatal && !mine.isDead) dieWriting(mine)
          return mine.isDead ? never() : answer
        }
      }
    })
  }

  function dieWriting(mine: Life): void {
    const landed = mine.landed.atMs === time.nowMs ? mine.landed.ids : new Set<string>()
    die(pendingDeath.downMs, pendingDeath.jumpMs, landed)
  }

  /** What was written is written, whether its engine lives to hear of it or not. */
  async function noteFired(mine: Life, asked: NewFiring[], written: (StoredFiring | null)[]): Promise<void> {
    if (unnoticedJumpMs !== null) journal.notices.set(unnoticedJumpMs, time.nowMs)
    unnoticedJumpMs = null
    if (mine.landed.atMs !== time.nowMs) mine.landed = { atMs: time.nowMs, ids: new Set() }
    for (const { scheduleId } of asked) mine.landed.ids.add(scheduleId)
    for (const [index, firing] of asked.entries()) {
      if (written[index] == null) continue
      const schedule = schedules.get(firing.scheduleId)!
      const { nominalMs } = firing
      for (const [position, job] of firing.jobs.entries()) {
        jobs.set(job.id, { schedule, nominalMs, index: position, endsAtMs: null, timer: null })
        if (job.after.length === 0) startJob(job.id)
      }
      // What they wait for may have ended while they were written.
      if (firing.jobs.some(({ after }) => after.length > 0)) await startReleased(schedule)
    }
  }

  function startJob(id: string): void {
    const job = jobs.get(id)!
    if (job.endsAtMs === null) endJobAt(id, time.nowMs + lifeOf(job.schedule, job.nominalMs, job.index))
  }

  function endJobAt(id: string, atMs: number): void {
    const job = jobs.get(id)!
    if (job.endsAtMs !== null && job.endsAtMs <= atMs) return
    job.timer?.cancel()
    job.endsAtMs = atMs
    job.timer = time.after(atMs - time.nowMs, () => void endJobs(job.schedule, [id]))
  }

  /** The way in which they end is nothing to a schedule that is not paused by failures. */
  async function endJobs(schedule: PlannedSchedule, ids: string[]): Promise<void> {
    await store.cancelQueued(ids, entry())
    await startReleased(schedule)
  }

  async function startReleased(schedule: PlannedSchedule): Promise<void> {
    if (schedule.overlap === 'allow' || schedule.overlap === 'skip') return
    for (const { id, hold } of await store.listLiveJobsOf(schedule.id)) if (hold === null) startJob(id)
  }

  async function cancel(mine: Life, jobIds: string[]): Promise<void> {
    if (mine.isDead || jobIds.length === 0) return
    const { schedule } = jobs.get(jobIds[0]!)!
    journal.lastCancels.add(`${schedule.id} ${time.nowMs}`)
    const held = jobIds.filter((id) => jobs.get(id)!.endsAtMs === null)
    for (const id of jobIds) if (!held.includes(id)) endJobAt(id, time.nowMs + CANCEL_TAKES_MS)
    if (held.length > 0) await endJobs(schedule, held)
  }

  async function prepare(items: RunItem[], origin: Parameters<SchedulerParts['prepare']>[1]): Promise<NewJob[]> {
    if (schedules.get(origin.scheduled.scheduleId)!.isRefused) {
      throw new ScrapdeckError('BAD_INPUT', 'The spider has another name by now')
    }
    return items.map(({ project, spider }) =>
      aNewJob({ id: newJobId(), project, spider, source: 'schedule', ...origin.scheduled })
    )
  }

  function planPause({ id }: PlannedSchedule, { fromMs, untilMs }: { fromMs: number; untilMs: number }): void {
    const set = async (paused: boolean): Promise<boolean> => {
      if (life === null) return false
      const [stored] = await store.getSchedules([id])
      if (stored === undefined || stored.paused === paused || (stored.paused && stored.pausedBy !== 'operator'))
        return false
      await store.putSchedule({
        ...{ ...stored, revision: stored.revision + 1, paused, pausedBy: paused ? 'operator' : null },
        changedAtMs: nowMs()
      })
      await life?.scheduler.noteChanged(id)
      return true
    }
    const pause = async () => {
      if (await set(true)) journal.pauses.set(id, { fromMs: time.nowMs, untilMs: Number.POSITIVE_INFINITY })
    }
    time.after(fromMs, () => void pause())
    // Whoever finds the engine down comes back.
    const resume = async () => {
      const paused = journal.pauses.get(id)
      if (paused === undefined) return
      if (await set(false)) paused.untilMs = time.nowMs
      else if (life === null) time.after(3 * 3_600_000 + 17, () => void resume())
    }
    time.after(untilMs, () => void resume())
  }
}

function nothing(): void {}

function toStored(schedule: PlannedSchedule, beginsAtMs: number) {
  const { id, timing, overlap, catchUp, catchUpWindowSeconds, jitterSeconds, maxRuns, jobs } = schedule
  const { rules, ...rest } = timing
  const settings = ScheduleSettings.parse({
    ...{ name: `schedule ${id}`, ...rest, rules: rules.map(toContract) },
    ...{ overlap, catchUp, catchUpWindowSeconds, jitterSeconds, maxRuns },
    jobs: [{ project: 'shop', spiders: Array.from({ length: jobs }, (_, index) => `spider${index}`) }]
  })
  const times = { createdAtMs: beginsAtMs, changedAtMs: beginsAtMs, doneUntilMs: beginsAtMs }
  return {
    id,
    revision: 1,
    settings,
    paused: false,
    pauseNote: null,
    pausedBy: null,
    ...times,
    runCount: 0,
    failuresInARow: 0
  }
}

async function allRows(store: Store, scheduleId: string): Promise<StoredFiring[]> {
  const rows: StoredFiring[] = []
  for (let before: number | null = null; ; before = rows.at(-1)!.id) {
    const page = await store.listFirings({ scheduleId }, { before, limit: 1_000 })
    rows.push(...page)
    if (page.length < 1_000) return rows.reverse()
  }
}
