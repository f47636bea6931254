import { z } from 'zod'
import { describeTiming, occurrencesOf, problemOfTiming } from '../../shared/calendar/index.ts'
import {
  type Backfill,
  type Firing,
  type Occurrence,
  type RunTemplate,
  type Schedule,
  ScheduleId,
  type ScheduleSettings,
  type ScheduleTiming
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import { jitterOf } from '../schedules/moments.ts'
import { countJobs } from '../schedules/template.ts'
import type { StoredFiring, StoredSchedule } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { checkTemplate } from './check-template.ts'
import { describeFiring, describeSchedule, type ScheduleOutlook } from './describe-schedule.ts'
import { loadByMinute, upcomingMoments } from './schedule-outlook.ts'
import { sealTemplate } from './template-secrets.ts'

/** The ticker, as far as orders need it. */
export interface SchedulerDoor {
  /** It was added, changed or removed. */
  noteChanged(scheduleId: string): void | Promise<void>
  /** Of one that is paused: what passed meanwhile gets its rows. Rejects where they cannot be written. */
  writePaused(scheduleId: string): Promise<void>
  /** null: it will not fire again, or is paused. */
  nextOf(scheduleId: string): ScheduleOutlook['next']
  backfillOf(scheduleId: string): Backfill | null
  runNow(scheduleId: string): Promise<StoredFiring>
  planBackfill(
    scheduleId: string,
    range: { fromMs: number; untilMs: number }
  ): Promise<{
    count: number
    jobs: number
    alreadyRun: number
    forgotten: number
    first: Occurrence[]
    last: Occurrence[]
  }>
  backfill(scheduleId: string, range: Pick<Backfill, 'fromMs' | 'untilMs' | 'order' | 'concurrency'>): Promise<Backfill>
  cancelBackfill(scheduleId: string, cancelJobs: boolean): Promise<Backfill>
}

export interface ScheduleCommandsParts {
  store: Store
  scheduler: SchedulerDoor
  fleet: Pick<Fleet, 'get'>
  secretBox: Pick<SecretBox, 'seal'>
  clock: Clock
  random: Random
  /** The slots that jobs can have now. */
  slots: () => number
  /** Somebody added, changed or removed one. */
  onChange: () => void
}

const Cursor = z.tuple([z.string(), ScheduleId])

const RECENT_FIRINGS = 30
/** That come with a page of schedules: more take too long to read and to send for what else goes on. */
const FIRINGS_A_PAGE = 3_000
/** Schedules whose firings are read in one step. */
const DESCRIBED_AT_ONCE = 25
/** How often somebody else may change a schedule while it is changed by one who does not care what it was. */
const TRIES_MAX = 5
/** Each may have thousands of rows in the history: some take the store long enough. */
const DELETED_AT_ONCE = 5
/** A look ahead, by calendar or load: a little more than a month's page of weeks. */
const SPAN_MAX_MS = 45 * 86_400_000
/** Some two seconds of computing. */
const LOAD_MOMENTS_MAX = 1_000_000
/** Schedules that are read at once where all are looked at: what comes over from the store is taken in without a pause. */
const READ_AT_ONCE = 500

/** Orders about schedules, and what is told of them. What fires them is the ticker (schedules/). */
export class ScheduleCommands {
  readonly #parts: ScheduleCommandsParts

  constructor(parts: ScheduleCommandsParts) {
    this.#parts = parts
  }

  /**
   * By name, at most `limit`; `after` is what `nextAfter` of the page before said. Rejects with BAD_INPUT where it is something else.
   * `recent`: so many of their newest firings.
   */
  async list(filter: { text?: string; project?: string; after?: string; limit: number; recent?: number }) {
    const { after, recent = RECENT_FIRINGS, ...wanted } = filter
    const limit = Math.min(filter.limit, Math.floor(FIRINGS_A_PAGE / Math.max(1, recent)))
    const page = await this.#parts.store.pageSchedules(wanted, {
      after: after === undefined ? null : readCursor(after),
      limit: limit + 1
    })
    const shown = page.schedules.slice(0, limit)
    const nextAfter = page.schedules.length > limit ? writeCursor(placeOf(shown.at(-1)!)) : null
    return { schedules: await this.#describe(shown, recent), nextAfter, total: page.total }
  }

  /** Those of these that there are. */
  async describeMany(ids: string[]): Promise<Schedule[]> {
    return this.#describe(await this.#parts.store.getSchedules(ids))
  }

  /** Rejects with SCHEDULE_NOT_FOUND. */
  async get(id: string): Promise<Schedule> {
    return this.#describeOne(await this.#require(id))
  }

  /** The first of them, where several have this name. */
  async findByName(name: string): Promise<Schedule | null> {
    const { schedules } = await this.#parts.store.pageSchedules({ name }, { after: null, limit: 1 })
    return schedules.length === 0 ? null : this.#describeOne(schedules[0]!)
  }

  /** Its projects and spiders need not be there yet. Rejects with BAD_INPUT, ARGUMENT_RESERVED or NODE_NOT_FOUND. */
  async create(settings: ScheduleSettings): Promise<Schedule> {
    const { store, clock, random } = this.#parts
    this.#check(settings)
    const nowMs = clock.nowMs()
    const schedule: StoredSchedule = {
      id: random.hex(16),
      revision: 1,
      settings: await this.#seal(settings, null),
      paused: false,
      pauseNote: null,
      pausedBy: null,
      createdAtMs: nowMs,
      changedAtMs: nowMs,
      // What its rule means before it was there is nobody's loss.
      doneUntilMs: nowMs,
      runCount: 0,
      failuresInARow: 0
    }
    await store.putSchedule(schedule)
    await this.#told([schedule.id])
    return this.get(schedule.id)
  }

  /**
   * Its settings whole; secret values that come back masked stay as they were. Rejects as create, and with SCHEDULE_NOT_FOUND, or
   * CHANGED_MEANWHILE where it is no longer of this revision.
   */
  async update(id: string, settings: ScheduleSettings, revision?: number): Promise<Schedule> {
    this.#check(settings)
    await this.#change(id, revision, async (before) => {
      const isOtherTiming = JSON.stringify(timingOf(before.settings)) !== JSON.stringify(timingOf(settings))
      return {
        ...before,
        settings: await this.#seal(settings, before.settings),
        doneUntilMs: isOtherTiming ? this.#doneUntil(id, settings) : before.doneUntilMs,
        failuresInARow: 0
      }
    })
    return this.get(id)
  }

  /** Their history goes with them, their jobs stay. Returns those that were there. */
  async remove(ids: string[]): Promise<string[]> {
    const removed: string[] = []
    for (let index = 0; index < ids.length; index += DELETED_AT_ONCE) {
      const some = await this.#parts.store.deleteSchedules(ids.slice(index, index + DELETED_AT_ONCE))
      await this.#told(some)
      removed.push(...some)
    }
    return removed
  }

  /**
   * Moments that come while it is paused are skipped, each with its row. Rejects with SCHEDULE_NOT_FOUND before anything is done, and
   * with BAD_INPUT where one is to go on that is over.
   */
  async setPaused(ids: string[], paused: boolean, note: string | null): Promise<Schedule[]> {
    const wanted = [...new Set(ids)]
    const there = await this.#parts.store.getSchedules(wanted)
    const missing = wanted.find((id) => !there.some((schedule) => schedule.id === id))
    if (missing !== undefined) throw notFound(missing)
    if (!paused) for (const schedule of there) this.#checkNotOver(schedule)
    for (const { id } of there) {
      await this.#change(id, undefined, async (before) => ({
        ...before,
        paused,
        pauseNote: paused ? note : null,
        pausedBy: paused ? 'operator' : null,
        failuresInARow: paused ? before.failuresInARow : 0
      }))
    }
    return this.describeMany(wanted)
  }

  /** Rejects with SCHEDULE_NOT_FOUND, and as prepareJobs where what it asks for is not there. */
  async runNow(id: string): Promise<Firing> {
    await this.#require(id)
    return describeFiring(await this.#parts.scheduler.runNow(id))
  }

  /** Of a timing that need not be anybody's. BAD_INPUT says what is wrong with it. */
  preview(timing: ScheduleTiming, { fromMs, count }: { fromMs?: number; count: number }) {
    checkTiming(timing)
    const afterMs = fromMs === undefined ? this.#parts.clock.nowMs() : fromMs - 1
    return { words: describeTiming(timing), occurrences: occurrencesOf(timing, { afterMs, limit: count }) }
  }

  /** Of all that are not paused. */
  async calendar({ limit, ...span }: { fromMs: number; untilMs: number; limit: number }) {
    checkSpan(span)
    const schedules = (await this.#active()).map(({ id, settings }) => ({ id, timing: settings }))
    return upcomingMoments(schedules, span, { limit, clock: this.#parts.clock })
  }

  /** Rejects with BAD_INPUT where there is more than can be counted. */
  async load(span: { fromMs: number; untilMs: number }) {
    checkSpan(span)
    const schedules = (await this.#active()).map(({ id, settings }) => ({
      id,
      timing: settings,
      offsetMs: jitterOf(id, settings.jitterSeconds),
      jobs: countJobs(settings.jobs)
    }))
    const minutes = await loadByMinute(schedules, span, { limit: LOAD_MOMENTS_MAX, clock: this.#parts.clock })
    return { slots: this.#parts.slots(), minutes }
  }

  /** Newest first; of one schedule, or of all. */
  async firings(filter: { scheduleId?: string; state?: Firing['state'][]; before?: number; limit: number }) {
    const { scheduleId, state, before, limit } = filter
    const rows = await this.#parts.store.listFirings(
      { ...(scheduleId === undefined ? {} : { scheduleId }), ...(state === undefined ? {} : { states: state }) },
      { before: before ?? null, limit: limit + 1 }
    )
    const page = rows.slice(0, limit)
    return { firings: page.map(describeFiring), nextBefore: rows.length > limit ? page.at(-1)!.id : null }
  }

  async planBackfill(id: string, range: { fromMs: number; untilMs: number }) {
    await this.#require(id)
    checkRange(range)
    return this.#parts.scheduler.planBackfill(id, range)
  }

  /** Rejects with BACKFILL_RUNNING. */
  async backfill(id: string, range: Pick<Backfill, 'fromMs' | 'untilMs' | 'order' | 'concurrency'>): Promise<Backfill> {
    await this.#require(id)
    checkRange(range)
    return this.#parts.scheduler.backfill(id, range)
  }

  async cancelBackfill(id: string, options: { cancelJobs: boolean }): Promise<Backfill> {
    await this.#require(id)
    return this.#parts.scheduler.cancelBackfill(id, options.cancelJobs)
  }

  // --- what the above is made of -----------------------------------------------------------------------------------

  #check(settings: ScheduleSettings): void {
    checkTiming(settings)
    for (const template of settings.jobs) checkTemplate(template, 'schedule', this.#parts.fleet)
  }

  async #seal(settings: ScheduleSettings, before: ScheduleSettings | null): Promise<ScheduleSettings> {
    const { secretBox } = this.#parts
    const jobs = await Promise.all(
      settings.jobs.map((template, index) => sealTemplate(template, templateBefore(template, index, before), secretBox))
    )
    return { ...settings, jobs }
  }

  /**
   * Other rules begin now: what they mean before is nobody's loss. A moment whose time has come, but not yet its jitter, still fires
   * where the new rules mean it too.
   */
  #doneUntil(id: string, timing: ScheduleTiming): number {
    const nowMs = this.#parts.clock.nowMs()
    const pendingMs = this.#parts.scheduler.nextOf(id)?.nextNominalMs
    if (pendingMs === undefined || pendingMs > nowMs) return nowMs
    const [same] = occurrencesOf(timing, { afterMs: pendingMs - 1, untilMs: pendingMs, limit: 1 })
    return same === undefined ? nowMs : pendingMs - 1
  }

  #checkNotOver({ settings, runCount }: StoredSchedule): void {
    const { name, maxRuns, endMs } = settings
    if (maxRuns !== null && runCount >= maxRuns) {
      throw new ScrapdeckError(
        'BAD_INPUT',
        `${name} has made all of its ${maxRuns} runs. Allow it more runs, then resume it`
      )
    }
    if (endMs !== null && endMs < this.#parts.clock.nowMs()) {
      throw new ScrapdeckError('BAD_INPUT', `${name} is over: its end has passed. Give it a later end, then resume it`)
    }
  }

  async #change(
    id: string,
    revision: number | undefined,
    change: (before: StoredSchedule) => Promise<StoredSchedule>
  ): Promise<void> {
    const { store, clock, scheduler } = this.#parts
    for (let tries = 1; ; tries += 1) {
      let before = await this.#require(id)
      if (before.paused) {
        // Moments of a pause are written by the hour. They are before it may end: an engine that died right after would not know of it.
        await scheduler.writePaused(id)
        before = await this.#require(id)
      }
      if (revision !== undefined && revision !== before.revision) {
        throw new ScrapdeckError(
          'CHANGED_MEANWHILE',
          `The schedule ${before.settings.name} was changed since you read it, and nothing was written. Look at it as it is now, and make your change anew`
        )
      }
      const changed = { ...(await change(before)), revision: before.revision + 1, changedAtMs: clock.nowMs() }
      try {
        await store.putSchedule(changed)
        break
      } catch (error) {
        // The ticker paused it, or another operator was quicker.
        const isRace = error instanceof ScrapdeckError && error.code === 'CHANGED_MEANWHILE'
        if (!isRace || revision !== undefined || tries === TRIES_MAX) throw error
      }
    }
    await this.#told([id])
  }

  async #told(ids: string[]): Promise<void> {
    for (const id of ids) await this.#parts.scheduler.noteChanged(id)
    this.#parts.onChange()
  }

  async #active(): Promise<StoredSchedule[]> {
    const all: StoredSchedule[] = []
    for (let after: ReturnType<typeof placeOf> | null = null; ; ) {
      const { schedules }: { schedules: StoredSchedule[] } = await this.#parts.store.pageSchedules(
        {},
        { after, limit: READ_AT_ONCE }
      )
      all.push(...schedules.filter(({ paused }) => !paused))
      if (schedules.length < READ_AT_ONCE) return all
      after = placeOf(schedules.at(-1)!)
    }
  }

  async #require(id: string): Promise<StoredSchedule> {
    const [schedule] = await this.#parts.store.getSchedules([id])
    if (schedule === undefined) throw notFound(id)
    return schedule
  }

  async #describeOne(schedule: StoredSchedule): Promise<Schedule> {
    return (await this.#describe([schedule]))[0]!
  }

  async #describe(schedules: StoredSchedule[], recent = RECENT_FIRINGS): Promise<Schedule[]> {
    const { store, scheduler } = this.#parts
    const described: Schedule[] = []
    for (let index = 0; index < schedules.length; index += DESCRIBED_AT_ONCE) {
      const some = schedules.slice(index, index + DESCRIBED_AT_ONCE)
      const ids = some.map(({ id }) => id)
      const firings = Map.groupBy(await store.listRecentFirings(ids, recent), ({ scheduleId }) => scheduleId)
      for (const schedule of some) {
        const { id, paused } = schedule
        const next = paused ? null : scheduler.nextOf(id)
        described.push(describeSchedule(schedule, firings.get(id) ?? [], { next, backfill: scheduler.backfillOf(id) }))
      }
    }
    return described
  }
}

function notFound(id: string): ScrapdeckError {
  return new ScrapdeckError(
    'SCHEDULE_NOT_FOUND',
    `There is no schedule ${id}; it may have been removed. Reload the list`
  )
}

/** The template whose secrets this one may keep: the one for the same spiders, wherever it stood; else the one in its place. */
function templateBefore(template: RunTemplate, index: number, before: ScheduleSettings | null): RunTemplate | null {
  const isSame = (other: RunTemplate) =>
    other.project === template.project && JSON.stringify(other.spiders) === JSON.stringify(template.spiders)
  const there = before?.jobs ?? []
  const inPlace = there[index]
  if (inPlace !== undefined && isSame(inPlace)) return inPlace
  return there.find(isSame) ?? inPlace ?? null
}

/** Where a schedule stands in the list: by its name, whatever becomes of it meanwhile. */
function placeOf({ id, settings }: StoredSchedule): { name: string; id: string } {
  return { name: settings.name, id }
}

function writeCursor({ name, id }: { name: string; id: string }): string {
  return Buffer.from(JSON.stringify([name, id])).toString('base64url')
}

function readCursor(text: string): { name: string; id: string } {
  try {
    const [name, id] = Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    return { name, id }
  } catch {
    const message = '"after" is not what a page of schedules gave as "nextAfter". Give that back, or begin without it'
    throw new ScrapdeckError('BAD_INPUT', message)
  }
}

function timingOf(settings: ScheduleSettings): ScheduleTiming {
  const { zone, rules, excludedDates, excludedCrons, gap, doubled, startMs, endMs } = settings
  return { zone, rules, excludedDates, excludedCrons, gap, doubled, startMs, endMs }
}

function checkTiming(timing: ScheduleTiming): void {
  const problem = problemOfTiming(timing)
  if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
}

function checkRange({ fromMs, untilMs }: { fromMs: number; untilMs: number }): void {
  if (untilMs <= fromMs)
    throw new ScrapdeckError('BAD_INPUT', 'The end ("untilMs") must be later than the beginning ("fromMs")')
}

function checkSpan(span: { fromMs: number; untilMs: number }): void {
  checkRange(span)
  if (span.untilMs - span.fromMs <= SPAN_MAX_MS) return
  throw new ScrapdeckError('BAD_INPUT', 'That is more than 45 days at once. Ask for a shorter time, several times')
}
