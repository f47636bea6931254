import {
  type CrawlChange,
  type CrawlInput,
  type CrawlOrder,
  type CrawlOutput,
  type Job,
  JobId,
  type ProjectName,
  type RunInput,
  type Schedule,
  type ScheduleId
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { timeOfJobId } from '../../shared/ids.ts'
import { requireOfActor } from '../access/acting.ts'
import type { Catalog } from '../projects/catalog.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { CrawlOrigin, StoredSchedule, OnlyProjects } from '../store/records.ts'
import type { JobReader, ScheduleReader } from '../store/store.ts'
import * as orders from './crawl-order.ts'
import type { JobCommands } from './job-commands.ts'
import type { Origin } from './prepare-jobs.ts'
import type { ScheduleCommands } from './schedule-commands.ts'
import type { ScheduleReads } from './schedule-reads.ts'

export interface CrawlCommandsParts {
  jobCommands: Pick<JobCommands, 'queue' | 'cancel'>
  catalog: Pick<Catalog, 'names' | 'hasActiveSpider'>
  store: Pick<JobReader, 'getJob'> & Pick<ScheduleReader, 'getSchedules' | 'pageSchedules'>
  scheduleCommands: Pick<ScheduleCommands, 'create' | 'update' | 'remove' | 'setPaused'>
  scheduleReads: Pick<ScheduleReads, 'get' | 'list'>
  /** How long an order that does not say it is remembered; 0: not at all. */
  cacheSeconds: number
  clock: Clock
  random: Random
}

/** Delay before the first run of a repeated order: a schedule only fires for moments after its creation. */
const FIRST_RUN_AFTER_MS = 1_000

/**
 * Orders in the format of `POST /crawl`: now, later, or repeatedly. A repeated order by the same user returns the
 * existing job or schedule, found by the job's dedupe key (unique in the store) or the schedule's key.
 */
export class CrawlCommands {
  readonly #parts: CrawlCommandsParts
  /** Schedule orders in progress, by key: a concurrent identical order waits for the first. */
  readonly #underWay = new Map<string, Promise<{ schedule: Schedule; cached: boolean }>>()

  constructor(parts: CrawlCommandsParts) {
    this.#parts = parts
  }

  /** Rejects as jobs.run and schedules.create do, and with BAD_INPUT if several projects have the spider. */
  async crawl(input: CrawlInput, { onceKey }: Pick<Origin, 'onceKey'> = {}): Promise<CrawlOutput> {
    const { user_id = null, ignore_cache, cache_seconds = this.#parts.cacheSeconds } = input
    const project = input.project ?? this.#projectWith(input.spider)
    const order: orders.Order = { ...input, project, user_id, atMs: orders.timeOfOrder(input) }
    const { args, settings: ordered } = orders.workOf(order)
    const cache = orders.cacheSettings(order.http_cache, { isBypassed: ignore_cache, seconds: cache_seconds })
    const work = { project, userId: user_id, settings: { ...ordered, ...cache } }
    if (order.interval !== undefined) {
      requireOfActor([project], 'schedules.change', 'A repeated crawl')
      return this.#repeat(order, { ...work, args: orders.templateArgs(args) }, input)
    }

    const nowMs = this.#parts.clock.nowMs()
    const atMs = order.atMs !== null && order.atMs > nowMs ? order.atMs : null
    const key = `crawl:${orders.keyOf(order)}`
    const dedupe = cache_seconds === 0 ? null : { key, ttlSeconds: cache_seconds, renew: ignore_cache }
    const run: RunInput = { ...work, args, spiders: [order.spider], notBeforeMs: atMs, dedupe }
    const origin: Origin = { source: 'crawl' satisfies Job['source'], onceKey }
    const [made] = await this.#parts.jobCommands.queue(run, origin)
    const { id, jobid } = made!
    // For a new job id and jobid are equal; otherwise an earlier job was returned.
    const cached = id !== jobid
    const cached_at = cached ? orders.iso(timeOfJobId(id)) : null
    const answer = { job_id: id, cached, cached_at, logs_url: `/api/v1/jobs/${id}/logs` }
    if (atMs === null) return { status: 200, body: { ...answer, scheduled: false } }
    return { status: 202, body: { ...answer, scheduled: true, schedule_id: null, next_run: orders.iso(atMs) } }
  }

  /** Repeated orders, a page by name. */
  async list(filter: OnlyProjects & { user_id?: string; project?: ProjectName; after?: string; limit: number }) {
    const { user_id, ...others } = filter
    const users = user_id === undefined ? {} : { userId: user_id }
    const page = await this.#parts.scheduleReads.list({ ...others, ...users, isCrawl: true, recent: 1 })
    const stored = await this.#parts.store.getSchedules(page.schedules.map(({ id }) => id))
    const origins = new Map(stored.map(({ id, crawl }) => [id, crawl]))
    const described = page.schedules.flatMap((schedule) => {
      // One that was removed meanwhile has none.
      const origin = origins.get(schedule.id) ?? null
      return origin === null ? [] : [orders.describeOrder(schedule, origin)]
    })
    return { orders: described, next_after: page.nextAfter }
  }

  /** Rejects with SCHEDULE_NOT_FOUND, also for schedules that no order created. */
  async get(id: ScheduleId): Promise<CrawlOrder> {
    const { crawl } = await this.#require(id)
    return orders.describeOrder(await this.#parts.scheduleReads.get(id), crawl)
  }

  /** Rejects as get and schedules.update do. */
  async update({ id, paused, ...change }: CrawlChange): Promise<CrawlOrder> {
    const { scheduleCommands, cacheSeconds, clock } = this.#parts
    const { settings, crawl, revision } = await this.#require(id)
    const before = orders.orderOf(settings, crawl)
    const after = orders.changedOrder(before, change)
    if (Object.keys(change).length > 0) {
      const firstMs = clock.nowMs() + FIRST_RUN_AFTER_MS
      const changed = orders.changedSettings(settings, { before, after }, { cacheSeconds, firstMs })
      await scheduleCommands.update(id, changed, revision, orders.originOf(after))
    }
    if (paused !== undefined) await scheduleCommands.setPaused([id], paused, null)
    return this.get(id)
  }

  /** Removes a repeated order, or cancels a job that was ordered. Rejects with SCHEDULE_NOT_FOUND. */
  async cancel(id: ScheduleId | JobId): Promise<{ cancelled: boolean }> {
    const { store, jobCommands, scheduleCommands } = this.#parts
    const jobId = JobId.parse(id)
    const job = await store.getJob(jobId)
    if (job?.source === 'crawl') {
      const { asked } = await jobCommands.cancel([jobId], { force: false })
      return { cancelled: asked.length > 0 }
    }
    const scheduleId = id as ScheduleId
    const { settings } = await this.#require(scheduleId)
    requireOfActor(
      settings.jobs.map(({ project }) => project),
      'schedules.change',
      'Removing a repeated crawl'
    )
    await scheduleCommands.remove([scheduleId])
    return { cancelled: true }
  }

  async #repeat(
    order: orders.Order,
    work: orders.Work & { project: ProjectName; userId: string | null },
    { ignore_cache }: Pick<CrawlInput, 'ignore_cache'>
  ): Promise<CrawlOutput> {
    const origin = orders.originOf(order)
    const before = ignore_cache ? null : (this.#underWay.get(origin.key) ?? null)
    const found =
      before ??
      this.#findOrCreate(order, work, { origin, isNew: ignore_cache }).finally(() => {
        if (this.#underWay.get(origin.key) === found) this.#underWay.delete(origin.key)
      })
    this.#underWay.set(origin.key, found)
    const { schedule, cached } = await found
    const isCached = cached || before !== null
    return {
      status: 202,
      body: {
        job_id: null,
        schedule_id: schedule.id,
        scheduled: true,
        next_run: schedule.nextAtMs === null ? null : orders.iso(schedule.nextAtMs),
        cached: isCached,
        cached_at: isCached ? orders.iso(schedule.createdAtMs) : null,
        logs_url: `/api/v1/schedules/${schedule.id}/logs`
      }
    }
  }

  async #findOrCreate(
    order: orders.Order,
    { args, settings, project, userId }: orders.Work & { project: ProjectName; userId: string | null },
    { origin, isNew }: { origin: CrawlOrigin; isNew: boolean }
  ): Promise<{ schedule: Schedule; cached: boolean }> {
    const { scheduleCommands, clock, random } = this.#parts
    const earlier = isNew ? null : await this.#findByKey(origin.key)
    if (earlier !== null) return { schedule: earlier, cached: true }
    const schedule = await scheduleCommands.create(
      {
        name: `Crawl ${order.spider} (${random.hex(8)})`,
        ...orders.timingOf(order, clock.nowMs() + FIRST_RUN_AFTER_MS),
        ...{ excludedDates: [], excludedCrons: [], gap: 'run_at_shift', doubled: 'run_once' },
        ...{ endMs: null, maxRuns: null, pauseAfterFailures: null },
        ...{ overlap: 'skip', catchUp: 'last', catchUpWindowSeconds: 3_600, jitterSeconds: 0 },
        jobs: [
          {
            ...{ project, spiders: [order.spider], args, settings, userId },
            ...{ version: null, argSets: [], matrix: {}, secretNames: [], limits: null },
            ...{ priority: 0, nodeId: null, tags: [], retry: null }
          }
        ]
      },
      { crawl: origin }
    )
    return { schedule, cached: false }
  }

  /** The newest, if an order ignored the one before. */
  async #findByKey(crawlKey: string): Promise<Schedule | null> {
    const { schedules } = await this.#parts.store.pageSchedules({ crawlKey }, { after: null, limit: SAME_KEY_MAX })
    const newest = schedules.reduce<StoredSchedule | null>(
      (best, one) => (best === null || one.createdAtMs > best.createdAtMs ? one : best),
      null
    )
    return newest === null ? null : this.#parts.scheduleReads.get(newest.id)
  }

  async #require(id: ScheduleId): Promise<StoredSchedule & { crawl: CrawlOrigin }> {
    const [schedule] = await this.#parts.store.getSchedules([id])
    if (schedule === undefined || schedule.crawl === null) {
      const job = await this.#parts.store.getJob(JobId.parse(id))
      const what =
        job?.source === 'crawl'
          ? `${id} is the job of a single crawl, not a repeated one: GET /api/v1/jobs/${id} shows it`
          : `There is no crawl ${id}; it may have been cancelled`
      throw new ScrapdeckError('SCHEDULE_NOT_FOUND', what)
    }
    return { ...schedule, crawl: schedule.crawl }
  }

  #projectWith(spider: string): ProjectName {
    const { catalog } = this.#parts
    const having = catalog.names().filter((name) => catalog.hasActiveSpider(name, spider))
    if (having.length === 1) return having[0]!
    if (having.length === 0) {
      throw new ScrapdeckError(
        'SPIDER_NOT_FOUND',
        `No project has a spider "${spider}". Deploy it, or specify its project`
      )
    }
    const some = having.slice(0, 10).join(', ')
    throw new ScrapdeckError(
      'BAD_INPUT',
      `${having.length} projects have a spider "${spider}" (${some}). Specify the project`
    )
  }
}

/** Each more is an order that ignored the ones before. */
const SAME_KEY_MAX = 1_000
