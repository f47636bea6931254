import { createHash } from 'node:crypto'
import type {
  CrawlInput,
  CrawlOutput,
  Job,
  ProjectName,
  RunInput,
  Schedule,
  ScheduleSettings
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { timeOfJobId } from '../../shared/ids.ts'
import type { Catalog } from '../projects/catalog.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JobCommands } from './job-commands.ts'

export interface CrawlCommandsParts {
  jobCommands: Pick<JobCommands, 'queue'>
  catalog: Pick<Catalog, 'names' | 'hasActiveSpider'>
  clock: Clock
  findSchedule: (name: string) => Promise<Schedule | null>
  createSchedule: (settings: ScheduleSettings) => Promise<Schedule>
}

/** What to run for an order. */
interface Work {
  project: ProjectName
  spider: string
  args: Record<string, string>
  settings: Record<string, string>
}

/** Delay before the first run of a repeated order: a schedule only fires for moments after its creation. */
const FIRST_RUN_AFTER_MS = 1_000

/**
 * Orders in the format of `POST /api/v1/crawl`: now, later, or repeatedly. A repeated order by the same user returns
 * the existing job or schedule, found by the job's dedupe key (unique in the store) or the schedule's name.
 */
export class CrawlCommands {
  readonly #parts: CrawlCommandsParts
  /** Schedule orders in progress, by name: a concurrent identical order waits for the first. */
  readonly #underWay = new Map<string, Promise<{ schedule: Schedule; cached: boolean }>>()

  constructor(parts: CrawlCommandsParts) {
    this.#parts = parts
  }

  /** Rejects as jobs.run and schedules.create do, and with BAD_INPUT if several projects have the spider. */
  async crawl(order: CrawlInput): Promise<CrawlOutput> {
    const work = this.#workOf(order)
    const nowMs = this.#parts.clock.nowMs()
    const atMs = order.schedule_at !== undefined && order.schedule_at > nowMs ? order.schedule_at : null
    if (order.interval !== undefined) return this.#repeat(order, work, atMs ?? nowMs + FIRST_RUN_AFTER_MS)

    const key = keyOf(order, work)
    const dedupe = { key, ttlSeconds: order.cache_seconds, renew: order.ignore_cache }
    const { spider, ...rest } = work
    const input: RunInput = { ...rest, spiders: [spider], notBeforeMs: atMs, dedupe }
    const [made] = await this.#parts.jobCommands.queue(input, { source: 'crawl' satisfies Job['source'] })
    const { id, jobid } = made!
    // For a new job id and jobid are equal; otherwise an earlier job was returned.
    const cached = id !== jobid
    const answer = { job_id: id, cached, cached_at: cached ? iso(timeOfJobId(id)) : null }
    if (atMs === null) return { status: 200, body: answer }
    return { status: 202, body: { ...answer, schedule_id: null, next_run: iso(atMs) } }
  }

  async #repeat(order: CrawlInput, work: Work, firstMs: number): Promise<CrawlOutput> {
    const name = `Crawl ${work.spider} (${keyOf(order, work).slice(-16)})`
    const before = this.#underWay.get(name) ?? null
    const found =
      before ??
      this.#findOrCreate(name, order, work, firstMs).finally(() => {
        this.#underWay.delete(name)
      })
    if (before === null) this.#underWay.set(name, found)
    const { schedule, cached } = await found
    const isCached = cached || before !== null
    return {
      status: 202,
      body: {
        job_id: null,
        schedule_id: schedule.id,
        next_run: schedule.nextAtMs === null ? null : iso(schedule.nextAtMs),
        cached: isCached,
        cached_at: isCached ? iso(schedule.createdAtMs) : null
      }
    }
  }

  async #findOrCreate(
    name: string,
    order: CrawlInput,
    { spider, args, ...work }: Work,
    firstMs: number
  ): Promise<{ schedule: Schedule; cached: boolean }> {
    const earlier = order.ignore_cache ? null : await this.#parts.findSchedule(name)
    if (earlier !== null) return { schedule: earlier, cached: true }
    // Braces are placeholders in templates but literal here, so escape them.
    const plainArgs = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, value.replaceAll('{', '{{')]))
    const schedule = await this.#parts.createSchedule({
      name,
      zone: 'UTC',
      rules: [{ kind: 'interval', everySeconds: order.interval!, anchorMs: firstMs }],
      ...{ excludedDates: [], excludedCrons: [], gap: 'run_at_shift', doubled: 'run_once' },
      ...{ startMs: firstMs, endMs: null, maxRuns: null, pauseAfterFailures: null },
      ...{ overlap: 'skip', catchUp: 'last', catchUpWindowSeconds: 3_600, jitterSeconds: 0 },
      jobs: [
        {
          ...work,
          spiders: [spider],
          args: plainArgs,
          ...{ version: null, argSets: [], matrix: {}, secretNames: [], limits: null },
          ...{ priority: 0, nodeId: null, tags: [], retry: null }
        }
      ]
    })
    return { schedule, cached: false }
  }

  #workOf(order: CrawlInput): Work {
    const { spider, start_urls, depth, params = {} } = order
    if (start_urls !== undefined && Object.hasOwn(params, 'start_urls')) {
      throw new ScrapdeckError('BAD_INPUT', '"start_urls" is given twice, by itself and in "params". Give it once')
    }
    const args = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]))
    if (start_urls !== undefined) args['start_urls'] = JSON.stringify(start_urls)
    const settings: Record<string, string> = depth === undefined ? {} : { DEPTH_LIMIT: String(depth) }
    return { project: order.project ?? this.#projectWith(spider), spider, args, settings }
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

/** Equal for equal orders of the same user, regardless of key order and of how long the order is remembered. */
function keyOf(order: CrawlInput, { project, spider, args, settings }: Work): string {
  const sorted = Object.entries(args).sort(([one], [other]) => (one < other ? -1 : 1))
  const { user_id = null, schedule_at = null, interval = null } = order
  const what = [user_id, project, spider, sorted, settings, schedule_at, interval]
  return `crawl:${createHash('sha256').update(JSON.stringify(what)).digest('hex')}`
}

const iso = (atMs: number): string => new Date(atMs).toISOString()
