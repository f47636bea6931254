import { type RunItem, RunTemplate, ScheduleSettings } from '../../src/shared/contract/index.ts'
import { ScrapdeckError } from '../../src/shared/errors.ts'
import { aChainId, aProjectName, aScheduleId } from '../../src/shared/testing/ids.ts'
import type { Clock } from '../../src/engine/runtime/clock.ts'
import { createJobIds } from '../../src/engine/runtime/ids.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { Scheduler, type SchedulerParts } from '../../src/engine/schedules/scheduler.ts'
import type { ChainAnswer, NewFiring, NewJob, StoredFiring, StoredSchedule } from '../../src/engine/model/records.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { ScheduleReads } from '../../src/engine/api/commands/schedule-reads.ts'
import { ScheduleCommands } from '../../src/engine/api/commands/schedule-commands.ts'
import { ChainRunner } from '../../src/engine/schedules/chains.ts'
import { aNewJob } from '../../src/engine/testing/builders.ts'
import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'
import { openTemporaryStore } from '../../src/engine/testing/temporary-store.ts'
import { createChance } from '../world/chance.ts'
import { VirtualTime } from '../world/time.ts'
import { toContract } from './calendar.ts'
import type { Journal } from './journal.ts'
import { type JobPlan, Jobs, type RanJob } from './jobs.ts'
import {
  DISK_FULL_MS,
  type Fatal,
  isFailing,
  lifeOf,
  type Plan,
  type PlannedChain,
  type PlannedSchedule,
  projectOf
} from './plan.ts'
import { asSealedText } from '../../src/engine/runtime/secret-box.ts'

export interface Answer {
  chainId: string
  jobId: string
  jobIds: string[]
}

export interface Story {
  journal: Journal
  schedules: Map<string, { stored: StoredSchedule; rows: StoredFiring[] }>
  jobs: RanJob[]
  answers: Answer[]
  firedCounts: Map<string, number>
}

interface Life {
  isDead: boolean
  fatal: Fatal | null
  fatalCalls: number
  landed: { atMs: number; ids: Set<string> }
  scheduler: Scheduler
  chains: ChainRunner
  commands: ScheduleCommands
}

/** The time after which an armed death happens if no write occurs. */
const FATAL_WITHIN_MS = 20 * 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How often an operator checks for schedules paused due to failures, and resumes some. */
const VISITS_EVERY_MS = 4 * HOUR_MS + 413
const CHAINED_LIFE_MAX_MS = 600_000
const DISK_FULL = new Error('The disk is full')

/** Uses the real ticker and store; jobs, deaths and the clock are simulated. `onDay` receives the completed days. */
export async function runStory(plan: Plan, onDay: (day: number) => void = nothing): Promise<Story> {
  const time = new VirtualTime()
  const journal: Journal = {
    lives: [],
    walls: [{ fromMs: 0, offsetMs: plan.beginsAtMs }],
    notices: new Map(),
    lastCancels: new Set(),
    refused: new Set(),
    failedWrites: 0,
    pauses: new Map(),
    changes: new Map(),
    pausedRows: new Map()
  }
  const nowMs = () => Math.floor(time.nowMs + journal.walls.at(-1)!.offsetMs)
  const storeClock: Clock = {
    nowMs,
    monotonicMs: () => time.nowMs,
    // Rounds to whole milliseconds, like the wall clock.
    setTimer: (delayMs, callback) => time.after(Math.floor(time.nowMs + delayMs) - time.nowMs, callback)
  }
  await using temporary = await openTemporaryStore({ clock: storeClock, inMemory: true })
  const store = busily(temporary.store)
  const random = createSeededRandom(plan.seed)
  const newJobId = createJobIds(storeClock, random)
  const schedules = new Map(plan.schedules.map((schedule) => [schedule.id, schedule]))
  const jobs = new Jobs({ time, store, nowMs })
  const answers: Answer[] = []
  const chance = createChance(plan.seed, 'world')
  const fatalResumes = new Set(plan.schedules.filter(({ pause }) => pause?.isFatal === true).map(({ id }) => id))
  let unnoticedJumpMs: number | null = null
  let life: Life | null = null
  let writesToFail = 0

  for (const schedule of plan.schedules) await store.putSchedule(toStored(schedule, plan.beginsAtMs))
  for (const chain of plan.chains) await store.putChain(toStoredChain(chain))
  time.after(0, begin)
  for (const event of plan.events) {
    time.after(event.atMs, () => {
      if (event.kind === 'jump') return jump(event.byMs)
      if (event.kind === 'full_disk') {
        writesToFail = event.writes
        return void time.after(DISK_FULL_MS, () => (writesToFail = 0))
      }
      if (event.inWrite === null || life === null) return die(event.downMs, event.jumpMs)
      life.fatal = event.inWrite
      life.fatalCalls = 0
      pendingDeath = { downMs: event.downMs, jumpMs: event.jumpMs }
      const armed = life
      time.after(FATAL_WITHIN_MS, () => {
        if (life === armed) die(event.downMs, event.jumpMs)
      })
    })
  }
  let pendingDeath = { downMs: 0, jumpMs: 0 }
  for (const { id, pause } of plan.schedules) if (pause !== null) planPause(id, pause)
  for (let atMs = VISITS_EVERY_MS; atMs < plan.durationMs; atMs += VISITS_EVERY_MS) time.after(atMs, () => void visit())
  for (let day = 1; day * DAY_MS <= plan.durationMs; day += 1) time.after(day * DAY_MS, () => onDay(day))
  await time.runUntil(plan.durationMs, () => false)
  await time.settle()
  if (life !== null) {
    journal.lives.at(-1)!.untilMs = plan.durationMs
    await (life as Life).scheduler.stop()
    await (life as Life).chains.stop()
  }
  const told: Story['schedules'] = new Map()
  for (const stored of await store.listSchedules()) {
    told.set(stored.id, { stored, rows: await allRows(temporary.store, stored.id) })
  }
  const firedCounts = new Map((await store.listChains()).map(({ id, firedCount }) => [id, firedCount]))
  return { journal, schedules: told, jobs: [...jobs.all.values()], answers, firedCounts }

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
      fatalCalls: 0,
      landed: { atMs: -1, ids: new Set() }
    } as unknown as Life
    const clock: Clock = {
      ...storeClock,
      setTimer: (delayMs, callback) => storeClock.setTimer(delayMs, () => void (mine.isDead || callback()))
    }
    const lent = lend(mine)
    mine.scheduler = new Scheduler({
      store: lent,
      clock,
      random,
      logger: silentLogger,
      openTemplate: async (template) => template,
      requireSpiders: nothing,
      prepare,
      cancel: (jobIds) => cancel(mine, jobIds),
      onJobs: nothing,
      onFired: nothing,
      onPaused: nothing,
      // Yielding to the event loop is pointless, because time does not advance until every call to the store has
      // returned.
      giveWay: async () => undefined
    })
    mine.chains = new ChainRunner({
      store: lent,
      clock,
      logger: silentLogger,
      openTemplate: async (template) => template,
      onJobs: nothing,
      requireSpiders: nothing,
      onAnswered: nothing,
      expand: async ({ project, spiders }) => ({ items: spiders.map((spider) => ({ project, spider })), bytes: 0 }),
      prepare: async (items) =>
        items.map(({ project, spider }) => aNewJob({ id: newJobId(), project, spider, source: 'chain' }))
    })
    const { scheduler } = mine
    mine.commands = new ScheduleCommands({
      store: lent,
      clock,
      random,
      onChange: nothing,
      reads: new ScheduleReads({ store: lent, clock, scheduler, slots: () => 8 }),
      fleet: { get: () => undefined },
      secretBox: { seal: async (text) => asSealedText(text) },
      scheduler: {
        refresh: (id) => refresh(mine, id),
        writePaused: (id) => scheduler.writePaused(id),
        nextOf: (id) => scheduler.nextOf(id),
        runNow: (id) => scheduler.runNow(id),
        backfill: (id, order) => scheduler.backfill(id, order),
        cancelBackfill: (id, cancelJobs) => scheduler.cancelBackfill(id, cancelJobs)
      }
    })
    life = mine
    journal.lives.push({ fromMs: time.nowMs, untilMs: Number.POSITIVE_INFINITY, landed: null })
    void mine.scheduler.start()
    void mine.chains.start()
  }

  /** The operator's command is already stored. Some engines die before their ticker learns of the command. */
  async function refresh(mine: Life, id: string): Promise<void> {
    const [stored] = await store.getSchedules([aScheduleId(id)])
    if (!mine.isDead && stored?.paused === false && fatalResumes.delete(id)) die(chance.between(1_000, 60_000), 0)
    await (mine.isDead ? new Promise<never>(() => undefined) : mine.scheduler.refresh(aScheduleId(id)))
  }

  function die(downMs: number, jumpMs: number, landed: Set<string> | null = null): void {
    if (life === null) return
    life.isDead = true
    life = null
    Object.assign(journal.lives.at(-1)!, { untilMs: time.nowMs, landed })
    if (unnoticedJumpMs !== null) journal.notices.set(unnoticedJumpMs, Number.POSITIVE_INFINITY)
    unnoticedJumpMs = null
    if (jumpMs !== 0) time.after(Math.floor(downMs / 2), () => jump(jumpMs))
    time.after(Math.ceil(time.nowMs + downMs) - time.nowMs, begin)
  }

  function jump(byMs: number): void {
    journal.walls.push({ fromMs: time.nowMs, offsetMs: journal.walls.at(-1)!.offsetMs + byMs })
    unnoticedJumpMs = byMs > 0 && life !== null ? time.nowMs : null
  }

  function lend(mine: Life): Store {
    const never = () => new Promise<never>(() => undefined)
    return new Proxy(store, {
      get(_, name) {
        const value: unknown = Reflect.get(store, name)
        if (typeof value !== 'function') return value
        if (name === 'onChange') return (listener: () => void) => store.onChange(() => void (mine.isDead || listener()))
        return async (...parameters: unknown[]) => {
          if (mine.isDead) return never()
          if (name === 'fire' && writesToFail > 0) throw failWrite(parameters[0] as NewFiring[])
          const isFatal = isFatalCall(mine, String(name))
          if (isFatal && mine.fatal!.when === 'before') {
            dieWriting(mine)
            return never()
          }
          const answer: unknown = await value.apply(store, parameters)
          if (name === 'fire') await noteFired(mine, parameters[0] as NewFiring[], answer as (StoredFiring | null)[])
          if (name === 'putSchedule') notePut(mine, parameters[0] as StoredSchedule)
          if (name === 'answerChains') await noteAnswers(parameters[0] as ChainAnswer[], answer as boolean[])
          if (isFatal && !mine.isDead) dieWriting(mine)
          return mine.isDead ? never() : answer
        }
      }
    })
  }

  function failWrite(asked: NewFiring[]): Error {
    writesToFail -= 1
    journal.failedWrites += 1
    const [id, ...others] = new Set(asked.map(({ scheduleId }) => scheduleId))
    if (others.length === 0) journal.refused.add(`${id} ${time.nowMs}`)
    return DISK_FULL
  }

  function isFatalCall(mine: Life, verb: string): boolean {
    return mine.fatal?.verbs.includes(verb) === true && ++mine.fatalCalls === mine.fatal.call
  }

  function dieWriting(mine: Life): void {
    const landed = mine.landed.atMs === time.nowMs ? mine.landed.ids : new Set<string>()
    die(pendingDeath.downMs, pendingDeath.jumpMs, landed)
  }

  /** Recorded rows count even if their engine dies before it learns of them. */
  async function noteFired(mine: Life, asked: NewFiring[], written: (StoredFiring | null)[]): Promise<void> {
    if (unnoticedJumpMs !== null) journal.notices.set(unnoticedJumpMs, time.nowMs)
    unnoticedJumpMs = null
    if (mine.landed.atMs !== time.nowMs) mine.landed = { atMs: time.nowMs, ids: new Set() }
    for (const { scheduleId } of asked) mine.landed.ids.add(scheduleId)
    for (const [index, firing] of asked.entries()) {
      if (written[index] == null) continue
      const { scheduleId, nominalMs } = firing
      if (firing.reason === 'paused') notePaused(scheduleId, nominalMs)
      await jobs.add(firing.jobs, (job, index) => planOf(schedules.get(scheduleId)!, job, nominalMs, index))
    }
  }

  function notePaused(id: string, nominalMs: number): void {
    const rows = journal.pausedRows.get(id) ?? []
    journal.pausedRows.set(id, rows)
    rows.push({ atMs: time.nowMs, nominalMs })
  }

  function planOf(schedule: PlannedSchedule, { project, spider }: NewJob, nominalMs: number, index: number): JobPlan {
    return {
      project,
      spider,
      of: { scheduleId: schedule.id, nominalMs, index },
      line: [],
      lifeMs: lifeOf(schedule, nominalMs, index),
      isFailing: isFailing(schedule, nominalMs, index)
    }
  }

  function notePut(mine: Life, { id, paused, pausedBy }: StoredSchedule): void {
    const changes = journal.changes.get(id) ?? []
    journal.changes.set(id, changes)
    changes.push(time.nowMs)
    const pauses = journal.pauses.get(id) ?? []
    journal.pauses.set(id, pauses)
    const last = pauses.at(-1)
    if (!paused && last !== undefined) last.untilMs = Math.min(last.untilMs, time.nowMs)
    if (!paused || (pausedBy !== 'operator' && pausedBy !== 'failures')) return
    const isAfterRows = mine.landed.atMs === time.nowMs && mine.landed.ids.has(id)
    pauses.push({ fromMs: time.nowMs, untilMs: Number.POSITIVE_INFINITY, by: pausedBy, isAfterRows })
  }

  async function noteAnswers(asked: ChainAnswer[], taken: boolean[]): Promise<void> {
    for (const [index, { chainId, jobId, jobs: made }] of asked.entries()) {
      if (taken[index] !== true) continue
      answers.push({ chainId, jobId, jobIds: made.map(({ id }) => id) })
      const line = [...jobs.all.get(jobId)!.line, chainId]
      await jobs.add(made, ({ project, spider }) => {
        const lifeMs = chance.between(1_000, CHAINED_LIFE_MAX_MS) + 0.5
        return { project, spider, of: null, line, lifeMs, isFailing: chance.happens(0.3) }
      })
    }
  }

  async function cancel(mine: Life, jobIds: string[]): Promise<void> {
    if (mine.isDead || jobIds.length === 0) return
    const isFatal = isFatalCall(mine, 'cancel')
    if (isFatal && mine.fatal!.when === 'before') return dieWriting(mine)
    journal.lastCancels.add(`${jobs.all.get(jobIds[0]!)!.of!.scheduleId} ${time.nowMs}`)
    await jobs.cancel(jobIds)
    if (isFatal) dieWriting(mine)
  }

  async function prepare(items: RunItem[], origin: Parameters<SchedulerParts['prepare']>[1]): Promise<NewJob[]> {
    if (schedules.get(origin.scheduled.scheduleId)!.isRefused) {
      throw new ScrapdeckError('BAD_INPUT', 'The spider has another name by now')
    }
    return items.map(({ project, spider }) =>
      aNewJob({ id: newJobId(), project, spider, source: 'schedule', ...origin.scheduled })
    )
  }

  function planPause(id: string, { fromMs, untilMs }: { fromMs: number; untilMs: number }): void {
    time.after(fromMs, () => void order(id, true))
    // An operator who finds the engine down or its disk full tries again later.
    const resume = async () => {
      if (['down', 'refused'].includes(await order(id, false))) time.after(3 * HOUR_MS + 17, () => void resume())
    }
    time.after(untilMs, () => void resume())
  }

  /** Pauses or resumes a schedule, unless it has ended or was paused by failures. */
  async function order(id: string, paused: boolean): Promise<'down' | 'refused' | 'done' | 'nothing to do'> {
    const mine = life
    const [stored] = await store.getSchedules([aScheduleId(id)])
    if (mine === null || mine.isDead) return 'down'
    const isTheirs = stored!.paused && stored!.pausedBy !== 'operator'
    if (stored!.paused === paused || isTheirs || (!paused && isOver(stored!))) return 'nothing to do'
    return (await setPaused(mine, id, paused)) ? 'done' : 'refused'
  }

  /** Resolves to false if the disk is full. */
  function setPaused(mine: Life, id: string, paused: boolean): Promise<boolean> {
    const orders = mine.commands.setPaused([aScheduleId(id)], paused, null)
    return orders.then(
      () => true,
      (error: unknown) => {
        if (error !== DISK_FULL) throw error
        return false
      }
    )
  }

  async function visit(): Promise<void> {
    const mine = life
    const failed = (await store.listSchedules()).filter(({ paused, pausedBy }) => paused && pausedBy === 'failures')
    for (const stored of failed) {
      if (mine === null || mine.isDead) return
      if (!isOver(stored) && chance.happens(0.7)) await setPaused(mine, stored.id, false)
    }
  }

  function isOver({ settings, runCount }: StoredSchedule): boolean {
    const { endMs, maxRuns } = settings
    return (endMs !== null && endMs < nowMs()) || (maxRuns !== null && runCount >= maxRuns)
  }
}

function nothing(): void {}

function toStored(schedule: PlannedSchedule, beginsAtMs: number) {
  const { id, timing, overlap, catchUp, catchUpWindowSeconds, jitterSeconds, maxRuns, pauseAfterFailures, jobs } =
    schedule
  const { rules, ...rest } = timing
  const settings = ScheduleSettings.parse({
    name: `schedule ${id}`,
    ...rest,
    rules: rules.map(toContract),
    overlap,
    catchUp,
    catchUpWindowSeconds,
    jitterSeconds,
    maxRuns,
    pauseAfterFailures,
    jobs: [{ project: projectOf(id), spiders: Array.from({ length: jobs }, (_, index) => `spider${index}`) }]
  })
  const times = { createdAtMs: beginsAtMs, changedAtMs: beginsAtMs, movedAtMs: 0, doneUntilMs: beginsAtMs }
  return {
    id: aScheduleId(id),
    revision: 1,
    settings,
    paused: false,
    pauseNote: null,
    pausedBy: null,
    ...times,
    runCount: 0,
    failuresInARow: 0,
    crawl: null
  }
}

function toStoredChain({ id, project, spider, on, runs }: PlannedChain) {
  const settings = {
    name: `chain ${id}`,
    enabled: true,
    project: aProjectName(project),
    spider,
    on,
    run: RunTemplate.parse(runs)
  }
  return { id: aChainId(id), settings, createdAtMs: 0 }
}

async function allRows(store: Store, scheduleId: string): Promise<StoredFiring[]> {
  const rows: StoredFiring[] = []
  for (let before: number | null = null; ; before = rows.at(-1)!.id) {
    const page = await store.listFirings({ scheduleId: aScheduleId(scheduleId) }, { before, limit: 1_000 })
    rows.push(...page)
    if (page.length < 1_000) return rows.reverse()
  }
}
