import pLimit from 'p-limit'
import { occurrencesOf } from '../../../shared/calendar/index.ts'
import type {
  Backfill,
  Firing,
  ProjectName,
  RunTemplate,
  Schedule,
  ScheduleId,
  ScheduleSettings,
  ScheduleTiming
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { actorMayGoFirst, actorSees, requireOfActor } from '../../access/acting.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { yielder } from '../../runtime/yielder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { BackfillOrder } from '../../schedules/backfills.ts'
import { notFound, type Scheduler } from '../../schedules/scheduler.ts'
import { checkTemplates } from '../../schedules/template.ts'
import { afterMove, projectsOfTemplates } from '../../schedules/whose-past.ts'
import type { CrawlOrigin, StoredSchedule } from '../../model/records.ts'
import type { FiringReader, ScheduleStore } from '../../storage/store.ts'
import { checkTemplate } from './check-template.ts'
import { describeFiring } from './schedule-outlook.ts'
import { checkRange, checkTiming, type ScheduleReads } from './schedule-reads.ts'
import { sealTemplate } from './template-secrets.ts'

export type SchedulerControl = Pick<
  Scheduler,
  'refresh' | 'writePaused' | 'nextOf' | 'runNow' | 'backfill' | 'cancelBackfill'
>

export interface ScheduleCommandsParts {
  store: ScheduleStore & FiringReader
  scheduler: SchedulerControl
  fleet: Pick<Fleet, 'get'>
  secretBox: Pick<SecretBox, 'seal'>
  clock: Clock
  random: Random
  reads: ScheduleReads
  onChange: () => void
}

/** The maximum number of attempts at an update without a revision. Concurrent changes make an attempt fail. */
const TRIES_MAX = 5
/**
 * The number of schedules to delete together. Each can have thousands of history rows, so even small batches keep
 * the store busy.
 */
const DELETED_AT_ONCE = 5

export class ScheduleCommands {
  readonly #parts: ScheduleCommandsParts
  readonly #naming = pLimit(1)

  constructor(parts: ScheduleCommandsParts) {
    this.#parts = parts
  }

  /**
   * Projects and spiders need not be deployed yet. `namesake`: whether to refuse a schedule with an existing name
   * (default), to replace the settings of the existing schedule, or to allow both. Rejects with BAD_INPUT,
   * ARGUMENT_RESERVED, NODE_NOT_FOUND or SCHEDULE_NAME_TAKEN.
   */
  async create(
    given: ScheduleSettings,
    { crawl, namesake = 'refuse' }: { crawl?: CrawlOrigin; namesake?: 'refuse' | 'replace' | 'allow' } = {}
  ): Promise<Schedule> {
    const settings = await this.#check(given, crawl)
    return this.#naming(async () => {
      const namesakes = namesake === 'allow' ? [] : await this.#namedAs(settings.name, null)
      const [first] = namesakes
      if (first === undefined) return this.#create(settings, crawl ?? null)
      const isReplaceable = namesakes.length === 1 && actorSees(projectsOf(first))
      if (namesake === 'refuse' || !isReplaceable) throw nameTaken(settings.name, namesakes)
      requireOfActor(projectsOf(first), 'schedules.change', 'schedules.create')
      return this.#update(first.id, settings)
    })
  }

  async #create(settings: ScheduleSettings, crawl: CrawlOrigin | null): Promise<Schedule> {
    const { store, clock, random } = this.#parts
    const nowMs = clock.nowMs()
    const schedule: StoredSchedule = {
      id: random.hex(16) as ScheduleId,
      revision: 1,
      settings: await this.#seal(settings, null),
      paused: false,
      pauseNote: null,
      pausedBy: null,
      createdAtMs: nowMs,
      changedAtMs: nowMs,
      movedAtMs: 0,
      doneUntilMs: nowMs,
      runCount: 0,
      failuresInARow: 0,
      crawl
    }
    await store.putSchedule(schedule)
    await this.#refresh([schedule.id])
    return this.#parts.reads.get(schedule.id)
  }

  /**
   * Keeps the stored values of masked secrets. Rejects like create, with SCHEDULE_NOT_FOUND, and with CHANGED_MEANWHILE
   * if `revision` is not current.
   */
  async update(id: ScheduleId, given: ScheduleSettings, revision?: number, crawl?: CrawlOrigin): Promise<Schedule> {
    const settings = await this.#check(given, crawl)
    return this.#naming(async () => {
      const { name } = (await this.#parts.reads.require(id)).settings
      // Schedules that already share a name stay editable.
      const namesakes = name === settings.name ? [] : await this.#namedAs(settings.name, id)
      if (namesakes.length > 0) throw nameTaken(settings.name, namesakes)
      return this.#update(id, settings, revision, crawl)
    })
  }

  async #update(id: ScheduleId, settings: ScheduleSettings, revision?: number, crawl?: CrawlOrigin): Promise<Schedule> {
    await this.#change(id, revision, async (before) => {
      const isOtherTiming = JSON.stringify(timingOf(before.settings)) !== JSON.stringify(timingOf(settings))
      const [newest] = await this.#parts.store.listRecentFirings([id], 1)
      const { movedAtMs, pauseNote, pauseNoteCode, pauseNoteParams } = afterMove(
        before,
        settings.jobs,
        Math.max(this.#parts.clock.nowMs(), newest?.atMs ?? 0)
      )
      return {
        ...before,
        movedAtMs,
        pauseNote,
        pauseNoteCode,
        pauseNoteParams,
        settings: await this.#seal(settings, before.settings),
        doneUntilMs: isOtherTiming ? this.#doneUntil(id, settings) : before.doneUntilMs,
        failuresInARow: 0,
        ...(crawl !== undefined && { crawl })
      }
    })
    return this.#parts.reads.get(id)
  }

  /** Deletes the schedules and their history, but keeps their jobs. Returns the ids that existed. */
  async remove(ids: ScheduleId[]): Promise<string[]> {
    const removed: string[] = []
    for (let index = 0; index < ids.length; index += DELETED_AT_ONCE) {
      const some = await this.#parts.store.deleteSchedules(ids.slice(index, index + DELETED_AT_ONCE))
      await this.#refresh(some)
      removed.push(...some)
    }
    return removed
  }

  /**
   * Fire times during a pause are skipped and recorded. Rejects before any change: with SCHEDULE_NOT_FOUND, and with
   * BAD_INPUT if a schedule to resume has no fire times left.
   */
  async setPaused(ids: ScheduleId[], paused: boolean, note: string | null): Promise<Schedule[]> {
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
        pauseNoteCode: undefined,
        pauseNoteParams: undefined,
        pausedBy: paused ? 'operator' : null,
        failuresInARow: paused ? before.failuresInARow : 0
      }))
    }
    return this.#parts.reads.describeMany(wanted)
  }

  /** Rejects with SCHEDULE_NOT_FOUND, and like prepareJobs. */
  async runNow(id: ScheduleId): Promise<Firing> {
    await this.#parts.reads.require(id)
    return describeFiring(await this.#parts.scheduler.runNow(id, { mayGoFirst: actorMayGoFirst() }))
  }

  /** Rejects with BACKFILL_RUNNING. */
  async backfill(id: ScheduleId, order: BackfillOrder): Promise<Backfill> {
    await this.#parts.reads.require(id)
    checkRange(order)
    return this.#parts.scheduler.backfill(id, order, { mayGoFirst: actorMayGoFirst() })
  }

  async cancelBackfill(id: ScheduleId, options: { cancelJobs: boolean }): Promise<Backfill> {
    await this.#parts.reads.require(id)
    return this.#parts.scheduler.cancelBackfill(id, options.cancelJobs)
  }

  async #namedAs(name: string, except: ScheduleId | null): Promise<StoredSchedule[]> {
    const { schedules } = await this.#parts.store.pageSchedules({ name }, { after: null, limit: 3 })
    return schedules.filter(({ id }) => id !== except)
  }

  async #check(given: ScheduleSettings, crawl: CrawlOrigin | undefined): Promise<ScheduleSettings> {
    checkTiming(given)
    const yieldTurn = yielder(this.#parts.clock)
    const jobs: RunTemplate[] = []
    for (const template of given.jobs) {
      jobs.push(checkTemplate(template, crawl === undefined ? 'schedule' : 'crawl', this.#parts.fleet))
      await yieldTurn()
    }
    const settings = { ...given, jobs }
    await checkTemplates(settings, settings.zone, this.#parts.clock)
    return settings
  }

  async #seal(settings: ScheduleSettings, before: ScheduleSettings | null): Promise<ScheduleSettings> {
    const { secretBox } = this.#parts
    const jobs = await Promise.all(
      settings.jobs.map((template, index) => sealTemplate(template, templateBefore(template, index, before), secretBox))
    )
    return { ...settings, jobs }
  }

  /**
   * Returns the time after which the new rules apply. That is now, unless a fire time is due but delayed by jitter and
   * the new rules include it.
   */
  #doneUntil(id: ScheduleId, timing: ScheduleTiming): number {
    const nowMs = this.#parts.clock.nowMs()
    const pendingMs = this.#parts.scheduler.nextOf(id)?.nextNominalMs
    if (pendingMs === undefined || pendingMs > nowMs) return nowMs
    const [same] = occurrencesOf(timing, { afterMs: pendingMs - 1, untilMs: pendingMs, limit: 1 })
    return same === undefined ? nowMs : pendingMs - 1
  }

  #checkNotOver({ settings, runCount }: StoredSchedule): void {
    const { name, maxRuns, endMs } = settings
    if (maxRuns !== null && runCount >= maxRuns) {
      throw new ScrapdeckError('BAD_INPUT', sentence('api.schedule_reached_max_runs', { name, maxRuns }))
    }
    if (endMs !== null && endMs < this.#parts.clock.nowMs()) {
      throw new ScrapdeckError('BAD_INPUT', sentence('api.schedule_ended', { name }))
    }
  }

  async #change(
    id: ScheduleId,
    revision: number | undefined,
    change: (before: StoredSchedule) => Promise<StoredSchedule>
  ): Promise<void> {
    const { store, clock, scheduler } = this.#parts
    for (let tries = 1; ; tries += 1) {
      let before = await this.#parts.reads.require(id)
      if (before.paused) {
        // Skipped fire times are stored only hourly. Store them now, because a crash right after the end of the pause
        // would lose them.
        await scheduler.writePaused(id)
        before = await this.#parts.reads.require(id)
      }
      if (revision !== undefined && revision !== before.revision) {
        throw new ScrapdeckError(
          'CHANGED_MEANWHILE',
          sentence('api.schedule_changed_meanwhile', { name: before.settings.name })
        )
      }
      const changed = { ...(await change(before)), revision: before.revision + 1, changedAtMs: clock.nowMs() }
      try {
        await store.putSchedule(changed)
        break
      } catch (error) {
        // The scheduler paused the schedule, or another client changed it first.
        const isRace = error instanceof ScrapdeckError && error.code === 'CHANGED_MEANWHILE'
        if (!isRace || revision !== undefined || tries === TRIES_MAX) throw error
      }
    }
    await this.#refresh([id])
  }

  async #refresh(ids: ScheduleId[]): Promise<void> {
    for (const id of ids) await this.#parts.scheduler.refresh(id)
    this.#parts.onChange()
  }
}

function nameTaken(name: string, namesakes: readonly StoredSchedule[]): ScrapdeckError {
  const code = 'SCHEDULE_NAME_TAKEN'
  if (!namesakes.every((one) => actorSees(projectsOf(one)))) {
    return new ScrapdeckError(code, sentence('api.schedule_name_unusable', { name }))
  }
  const count = namesakes.length
  const what = count === 1 ? `There is already a schedule "${name}"` : `Several schedules are called "${name}"`
  const advice =
    count === 1
      ? 'Choose another name, or replace it (--replace on the command line, "replace": true in the API)'
      : 'Rename or remove all but one of them first'
  return new ScrapdeckError(code, sentence('api.schedule_not_written', { what, advice }))
}

const projectsOf = ({ settings }: StoredSchedule): ProjectName[] => projectsOfTemplates(settings.jobs)

/**
 * Returns the template that provides the masked secrets: the template for the same spiders, otherwise the one at the
 * same index. The projects must match, because users of other projects must not get the secrets.
 */
function templateBefore(template: RunTemplate, index: number, before: ScheduleSettings | null): RunTemplate | null {
  const isSame = (other: RunTemplate) =>
    other.project === template.project && JSON.stringify(other.spiders) === JSON.stringify(template.spiders)
  const there = before?.jobs ?? []
  const inPlace = there[index]
  if (inPlace !== undefined && isSame(inPlace)) return inPlace
  return there.find(isSame) ?? (inPlace?.project === template.project ? inPlace : null)
}

function timingOf(settings: ScheduleSettings): ScheduleTiming {
  const { zone, rules, excludedDates, excludedCrons, gap, doubled, startMs, endMs } = settings
  return { zone, rules, excludedDates, excludedCrons, gap, doubled, startMs, endMs }
}
