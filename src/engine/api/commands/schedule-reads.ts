import { z } from 'zod'
import { describeTiming, problemOfTiming } from '../../../shared/calendar/index.ts'
import { type Firing, type Schedule, ScheduleId, type ScheduleTiming } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Clock } from '../../runtime/clock.ts'
import { jitterOf, listOccurrencesToShow } from '../../schedules/moments.ts'
import { notFound, type Scheduler } from '../../schedules/scheduler.ts'
import { countJobs } from '../../schedules/template.ts'
import { jobIdBytesOf, type StoredSchedule, type OnlyProjects } from '../../model/records.ts'
import type { FiringReader, ScheduleFilter, ScheduleReader } from '../../storage/store.ts'
import { loadByMinute, upcomingMoments, describeFiring, describeSchedule } from './schedule-outlook.ts'

export type SchedulerOutlook = Pick<Scheduler, 'nextOf' | 'backfillOf' | 'planBackfill'>

export interface ScheduleReadsParts {
  store: ScheduleReader & FiringReader
  scheduler: SchedulerOutlook
  clock: Clock
  slots: () => number
}

interface Span {
  fromMs: number
  untilMs: number
}

const Cursor = z.tuple([z.string(), ScheduleId])
const RECENT_FIRINGS = 30
/** The maximum number of firings per page. Reading and sending more would block other work. */
const FIRINGS_A_PAGE = 3_000
/** The maximum size of a page. A crawl order can contain megabytes of URLs, and a firing 10,000 jobs. */
const PAGE_MAX_BYTES = 4_000_000
const DESCRIBED_AT_ONCE = 25
/** The maximum span of a query. A month view of full weeks needs slightly less. */
const SPAN_MAX_MS = 45 * 86_400_000
/** The maximum number of fire times to count, which takes about two seconds. */
const LOAD_MOMENTS_MAX = 1_000_000
/** The number of schedules to read at once. The store's thread returns that many without a noticeable pause. */
const READ_AT_ONCE = 500

export class ScheduleReads {
  readonly #parts: ScheduleReadsParts

  constructor(parts: ScheduleReadsParts) {
    this.#parts = parts
  }

  /**
   * Lists schedules by name. `after` is the `nextAfter` of the previous page. Rejects with BAD_INPUT for any other
   * `after`. `recent` is the number of firings per schedule.
   */
  async list(
    filter: Pick<ScheduleFilter, 'text' | 'project' | 'userId' | 'isCrawl' | 'onlyProjects'> & {
      after?: string
      limit: number
      recent?: number
    }
  ) {
    const { after, recent = RECENT_FIRINGS, ...wanted } = filter
    const limit = Math.min(filter.limit, Math.floor(FIRINGS_A_PAGE / Math.max(1, recent)))
    const page = await this.#parts.store.pageSchedules(wanted, {
      after: after === undefined ? null : readCursor(after),
      limit: limit + 1,
      maxBytes: PAGE_MAX_BYTES
    })
    const shown = page.schedules.slice(0, limit)
    const nextAfter = page.schedules.length > limit || page.isCut ? writeCursor(placeOf(shown.at(-1)!)) : null
    return { schedules: await this.#describe(shown, recent), nextAfter, total: page.total }
  }

  async describeMany(ids: ScheduleId[]): Promise<Schedule[]> {
    return this.#describe(await this.#parts.store.getSchedules(ids))
  }

  async get(id: ScheduleId): Promise<Schedule> {
    return this.#describeOne(await this.require(id))
  }

  /** Accepts any timing, stored or not. Rejects with BAD_INPUT. */
  async preview(timing: ScheduleTiming, { fromMs, count }: { fromMs?: number; count: number }) {
    checkTiming(timing)
    const afterMs = fromMs === undefined ? this.#parts.clock.nowMs() : fromMs - 1
    const occurrences = await listOccurrencesToShow(timing, { afterMs, limit: count }, this.#parts.clock)
    return { words: describeTiming(timing), occurrences }
  }

  async calendar({ limit, onlyProjects, ...span }: Span & OnlyProjects & { limit: number }) {
    checkSpan(span)
    const schedules = (await this.#active({ onlyProjects })).map(({ id, settings }) => ({ id, timing: settings }))
    return upcomingMoments(schedules, span, { limit, clock: this.#parts.clock })
  }

  /** Rejects with BAD_INPUT if there are too many fire times to count. */
  async load({ onlyProjects, ...span }: Span & OnlyProjects) {
    checkSpan(span)
    const schedules = (await this.#active({ onlyProjects })).map(({ id, settings }) => ({
      id,
      timing: settings,
      offsetMs: jitterOf(id, settings.jitterSeconds),
      jobs: countJobs(settings.jobs)
    }))
    const minutes = await loadByMinute(schedules, span, { limit: LOAD_MOMENTS_MAX, clock: this.#parts.clock })
    return { slots: this.#parts.slots(), minutes }
  }

  /** Lists firings, newest first. */
  async firings(
    filter: OnlyProjects & { scheduleId?: ScheduleId; state?: Firing['state'][]; before?: number; limit: number }
  ) {
    const { scheduleId, state, before, limit, onlyProjects } = filter
    const rows = await this.#parts.store.listFirings(
      { scheduleId, states: state, onlyProjects },
      { before: before ?? null, limit: limit + 1, maxBytes: PAGE_MAX_BYTES }
    )
    const page = rows.slice(0, limit)
    const isCut = rows.length > limit || jobIdBytesOf(page) >= PAGE_MAX_BYTES
    return { firings: page.map(describeFiring), nextBefore: isCut ? page.at(-1)!.id : null }
  }

  async planBackfill(id: ScheduleId, range: { fromMs: number; untilMs: number }) {
    await this.require(id)
    checkRange(range)
    return this.#parts.scheduler.planBackfill(id, range)
  }

  async require(id: ScheduleId): Promise<StoredSchedule> {
    const [schedule] = await this.#parts.store.getSchedules([id])
    if (schedule === undefined) throw notFound(id)
    return schedule
  }

  async #active(only: OnlyProjects): Promise<StoredSchedule[]> {
    const all: StoredSchedule[] = []
    for (let after: ReturnType<typeof placeOf> | null = null; ; ) {
      const { schedules }: { schedules: StoredSchedule[] } = await this.#parts.store.pageSchedules(
        only.onlyProjects === undefined ? {} : only,
        { after, limit: READ_AT_ONCE }
      )
      all.push(...schedules.filter(({ paused }) => !paused))
      if (schedules.length < READ_AT_ONCE) return all
      after = placeOf(schedules.at(-1)!)
    }
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

/** A cursor made of name and id stays valid when the schedule changes. */
function placeOf({ id, settings }: StoredSchedule): { name: string; id: ScheduleId } {
  return { name: settings.name, id }
}

function writeCursor({ name, id }: { name: string; id: ScheduleId }): string {
  return Buffer.from(JSON.stringify([name, id])).toString('base64url')
}

function readCursor(text: string): { name: string; id: ScheduleId } {
  try {
    const [name, id] = Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    return { name, id }
  } catch {
    const message = sentence('api.next_after_unknown')
    throw new ScrapdeckError('BAD_INPUT', message)
  }
}

/** Throws BAD_INPUT for a timing that can never fire. */
export function checkTiming(timing: ScheduleTiming): void {
  const problem = problemOfTiming(timing)
  if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
}

export function checkRange({ fromMs, untilMs }: { fromMs: number; untilMs: number }): void {
  if (untilMs <= fromMs) throw new ScrapdeckError('BAD_INPUT', sentence('api.range_ends_before_start'))
}

function checkSpan(span: { fromMs: number; untilMs: number }): void {
  checkRange(span)
  if (span.untilMs - span.fromMs <= SPAN_MAX_MS) return
  throw new ScrapdeckError('BAD_INPUT', sentence('api.range_too_long'))
}
