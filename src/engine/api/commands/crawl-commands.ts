import type {
  CrawlChange,
  CrawlInput,
  CrawlOrder,
  CrawlOutput,
  OrderId,
  ProjectName,
  RunInput,
  Schedule
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { JOB_ID_PATTERN } from '../../../shared/id-patterns.ts'
import { timeOfJobId } from '../../../shared/ids.ts'
import { requireOfActor } from '../../access/acting.ts'
import { isWithoutFiles, WITHOUT_FILES } from '../../access/run-rights.ts'
import type { Catalog } from '../../projects/catalog.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import {
  type CrawlOrigin,
  largeBytesOf,
  type OnlyProjects,
  type StoredJob,
  type StoredSchedule
} from '../../model/records.ts'
import type { JobReader, ScheduleReader } from '../../storage/store.ts'
import * as orders from './crawl-order.ts'
import type { JobCommands } from './job-commands.ts'
import type { Origin } from './prepare-jobs.ts'
import type { ScheduleCommands } from './schedule-commands.ts'
import type { ScheduleReads } from './schedule-reads.ts'

export interface CrawlCommandsParts {
  jobCommands: Pick<JobCommands, 'queue' | 'replaceQueued' | 'cancel'>
  catalog: Pick<Catalog, 'names' | 'hasActiveSpider'>
  store: Pick<JobReader, 'getJob' | 'listLaterOrders' | 'listTimeline'> &
    Pick<ScheduleReader, 'getSchedules' | 'pageSchedules'>
  scheduleCommands: Pick<ScheduleCommands, 'create' | 'update' | 'remove' | 'setPaused'>
  scheduleReads: Pick<ScheduleReads, 'get' | 'list'>
  /** How long an identical order returns the existing job, unless the order itself specifies a time. 0: never. */
  cacheSeconds: number
  clock: Clock
  random: Random
}

/** The delay before the first run of an interval order. A schedule fires only at times after its creation. */
const FIRST_RUN_AFTER_MS = 1_000

/**
 * Runs orders in the format of `POST /crawl`: now, later or repeatedly. If a user sends an identical order again,
 * returns the existing job or schedule.
 */
export class CrawlCommands {
  readonly #parts: CrawlCommandsParts
  /** A concurrent identical order waits for the first. */
  readonly #underWay = new Map<string, Promise<{ schedule: Schedule; cached: boolean }>>()

  constructor(parts: CrawlCommandsParts) {
    this.#parts = parts
  }

  /** Rejects like jobs.run and schedules.create, and with BAD_INPUT if several projects have the spider. */
  async crawl(input: CrawlInput, { onceKey }: Pick<Origin, 'onceKey'> = {}): Promise<CrawlOutput> {
    const { user_id = null, ignore_cache, cache_seconds = this.#parts.cacheSeconds } = input
    const project = input.project ?? this.#projectWith(input.spider)
    const order: orders.Order = { ...input, project, user_id, atMs: orders.timeOfOrder(input) }
    const run = this.#runOf(order, { ignore_cache, cache_seconds })
    if (order.interval !== undefined) {
      requireOfActor([project], 'schedules.change', 'A repeated crawl')
      const work = { project, userId: user_id, settings: run.settings, args: orders.templateArgs(run.args) }
      return this.#repeat(order, work, input)
    }
    const json = orders.jsonParamsOf(order)
    const evidence = json.length > 0 && { evidence: { jsonParams: json } }
    const [made] = await this.#parts.jobCommands.queue(run, { ...CRAWL, onceKey, ...evidence })
    const { id, jobid } = made!
    // `id` and `jobid` are the same only for a new job. If they differ, an earlier job was returned.
    const cached = id !== jobid
    const cached_at = cached ? orders.iso(timeOfJobId(id)) : null
    const answer = { job_id: id, cached, cached_at, logs_url: `/api/v1/jobs/${id}/logs` }
    const { notBeforeMs: atMs } = run
    if (atMs === null) return { status: 200, body: { ...answer, scheduled: false } }
    return { status: 202, body: { ...answer, scheduled: true, schedule_id: null, next_run: orders.iso(atMs) } }
  }

  #runOf(order: orders.Order, { ignore_cache, cache_seconds }: { ignore_cache: boolean; cache_seconds: number }) {
    const { project, user_id: userId, spider, atMs } = order
    const { args, settings } = orders.workOf(order)
    const cache = orders.cacheSettings(order.http_cache, { isBypassed: ignore_cache, seconds: cache_seconds })
    const key = `crawl:${orders.keyOf(order)}`
    const dedupe = cache_seconds === 0 ? null : { key, ttlSeconds: cache_seconds, renew: ignore_cache }
    const notBeforeMs = atMs !== null && atMs > this.#parts.clock.nowMs() ? atMs : null
    const run = { project, userId, settings: { ...settings, ...cache }, args, spiders: [spider], notBeforeMs, dedupe }
    return run satisfies RunInput
  }

  /** Lists repeated orders by name, then single orders that wait for their start time. */
  async list({ limit, ...filter }: ListFilter) {
    const [, atMs, id] = LATER.exec(filter.after ?? '') ?? []
    const repeated = id === undefined ? await this.#listRepeated({ limit, ...filter }) : NO_ORDERS
    if (repeated.next_after !== null) return repeated
    const room = limit - repeated.orders.length
    const after = { atMs: Number(atMs ?? 0), id: id ?? '' }
    const page = { after, limit: room + 1, maxBytes: PAGE_MAX_BYTES }
    const found = await this.#parts.store.listLaterOrders({ ...filter, userId: filter.user_id }, page)
    const jobs = found.slice(0, room)
    const last = jobs.at(-1) ?? { notBeforeMs: after.atMs, id: after.id }
    const isCut = found.length > room || largeBytesOf(jobs) >= PAGE_MAX_BYTES
    const next_after = isCut ? `later:${last.notBeforeMs}:${last.id}` : null
    const later = await Promise.all(jobs.map((job) => this.#describe(job)))
    return { orders: [...repeated.orders, ...later], next_after }
  }

  async #listRepeated(filter: ListFilter) {
    const { user_id, ...others } = filter
    const users = user_id === undefined ? {} : { userId: user_id }
    const page = await this.#parts.scheduleReads.list({ ...others, ...users, isCrawl: true, recent: 1 })
    const stored = await this.#parts.store.getSchedules(page.schedules.map(({ id }) => id))
    const origins = new Map(stored.map(({ id, crawl }) => [id, crawl]))
    const described = page.schedules.flatMap((schedule) => {
      // A schedule that was removed in the meantime has no origin.
      const origin = origins.get(schedule.id) ?? null
      return origin === null ? [] : [orders.describeOrder(schedule, origin)]
    })
    return { orders: described, next_after: page.nextAfter }
  }

  /** Rejects with SCHEDULE_NOT_FOUND. */
  async get(id: OrderId): Promise<CrawlOrder> {
    const job = await this.#single(id)
    if (job !== null) return this.#describe(job)
    const { crawl } = await this.#require(id)
    return orders.describeOrder(await this.#parts.scheduleReads.get(id), crawl)
  }

  async update({ id, paused, ...change }: CrawlChange): Promise<CrawlOrder> {
    const { jobCommands, scheduleCommands, cacheSeconds, clock } = this.#parts
    const job = await this.#single(id)
    if (job !== null) {
      requireOfActor([job.project], 'jobs.run', 'Changing a single crawl')
      if (paused !== undefined || change.interval !== undefined) throw new ScrapdeckError('BAD_INPUT', NOT_REPEATED)
      if (Object.keys(change).length === 0) return this.get(id)
      const after = orders.changedOrder(orders.orderOfJob(job, await this.#parts.store.listTimeline(id)), change)
      const ownSeconds = Number(job.settings['HTTPCACHE_EXPIRATION_SECS']) || cacheSeconds
      const cache_seconds = job.dedupeKey === null ? 0 : ownSeconds
      const origin = { ...CRAWL, evidence: { jsonParams: orders.jsonParamsOf(after) } }
      const run = this.#runOf(after, { ignore_cache: false, cache_seconds })
      // The restrictions of the client that created the job stay in force, regardless of who changes the order.
      const settings = { ...run.settings, ...(isWithoutFiles(job.settings) && WITHOUT_FILES) }
      await jobCommands.replaceQueued(id, { ...run, settings }, origin)
      return this.get(id)
    }
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

  async #describe(job: StoredJob): Promise<CrawlOrder> {
    return orders.describeJobOrder(job, await this.#parts.store.listTimeline(job.id))
  }

  async cancel(id: OrderId): Promise<{ cancelled: boolean }> {
    const { jobCommands, scheduleCommands } = this.#parts
    if ((await this.#single(id)) !== null) {
      const { asked } = await jobCommands.cancel([id], { force: false })
      return { cancelled: asked.length > 0 }
    }
    const { settings } = await this.#require(id)
    requireOfActor(
      settings.jobs.map(({ project }) => project),
      'schedules.change',
      'Removing a repeated crawl'
    )
    await scheduleCommands.remove([id])
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
        excludedDates: [],
        excludedCrons: [],
        gap: 'run_at_shift',
        doubled: 'run_once',
        endMs: null,
        maxRuns: null,
        pauseAfterFailures: null,
        overlap: 'skip',
        catchUp: 'last',
        catchUpWindowSeconds: 3_600,
        jitterSeconds: 0,
        jobs: [
          {
            project,
            spiders: [order.spider],
            args,
            settings,
            userId,
            version: null,
            argSets: [],
            matrix: {},
            secretNames: [],
            limits: null,
            priority: 0,
            nodeId: null,
            tags: [],
            retry: null
          }
        ]
      },
      { crawl: origin }
    )
    return { schedule, cached: false }
  }

  /** Returns the newest schedule with this key. Orders with `ignore_cache` can create several. */
  async #findByKey(crawlKey: string): Promise<Schedule | null> {
    const { schedules } = await this.#parts.store.pageSchedules({ crawlKey }, { after: null, limit: SAME_KEY_MAX })
    const newest = schedules.reduce<StoredSchedule | null>(
      (best, one) => (best === null || one.createdAtMs > best.createdAtMs ? one : best),
      null
    )
    return newest === null ? null : this.#parts.scheduleReads.get(newest.id)
  }

  /** Returns null if there is no single order with this id. Rejects with SCHEDULE_NOT_FOUND for an invalid id. */
  async #single(id: OrderId): Promise<StoredJob | null> {
    if (!JOB_ID_PATTERN.test(id)) throw noCrawl(id)
    const job = await this.#parts.store.getJob(id)
    return job?.source === 'crawl' ? job : null
  }

  async #require(id: OrderId): Promise<StoredSchedule & { crawl: CrawlOrigin }> {
    const [schedule] = await this.#parts.store.getSchedules([id])
    if (schedule === undefined || schedule.crawl === null) throw noCrawl(id)
    return { ...schedule, crawl: schedule.crawl }
  }

  #projectWith(spider: string): ProjectName {
    const { catalog } = this.#parts
    const having = catalog.names().filter((name) => catalog.hasActiveSpider(name, spider))
    if (having.length === 1) return having[0]!
    if (having.length === 0) {
      throw new ScrapdeckError('SPIDER_NOT_FOUND', sentence('api.no_project_spider', { spider }))
    }
    const some = having.slice(0, 10).join(', ')
    throw new ScrapdeckError(
      'BAD_INPUT',
      sentence('api.spider_in_several_projects', { count: having.length, spider, some })
    )
  }
}

const noCrawl = (id: OrderId) =>
  new ScrapdeckError('SCHEDULE_NOT_FOUND', sentence('api.no_crawl', { id: id.slice(0, 100) }))
const NOT_REPEATED = sentence('api.single_crawl_not_repeated')

type ListFilter = OnlyProjects & { user_id?: string; project?: ProjectName; after?: string; limit: number }
const NO_ORDERS = { orders: [], next_after: null }
/** The format of `next_after` while single orders are listed. */
const LATER = /^later:(\d{1,16}):([0-9a-f]{32}|)$/
/** The maximum size of a page. An order can contain megabytes of URLs. */
const PAGE_MAX_BYTES = 4_000_000
const CRAWL = { source: 'crawl' } satisfies Origin

/** The maximum number of schedules to read for one key. Each order with `ignore_cache` adds a schedule. */
const SAME_KEY_MAX = 1_000
