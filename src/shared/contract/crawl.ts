import { z } from 'zod'
import { DEFAULT_CRAWL_CACHE_SECONDS, MAX_CRAWL_CACHE_SECONDS } from './fixed-values.ts'
import { JobId, ProjectName, ScheduleId, ShownName } from './ids.ts'
import { MomentMs } from './moment.ts'
import { isSet, knownForMs, pageBytes, read, write } from './operation.ts'
import { TimeZone } from './schedules.ts'

const SECONDS_OF = { s: 1, m: 60, h: 3_600, d: 86_400 } as const
const STEPS = /^[1-9]\d{0,7}[smhd]$/
/** Checks only the format. The calendar parses the expression. */
const CRON = /^(?:@[a-z]+|\S+(?:\s+\S+){4,5})$/i

const INTERVAL_WORDS = 'Write seconds, or a number followed by s, m, h or d: 30m; or a cron expression: 0 9 * * *'

/** Seconds as a number or as a string (`90s`, `30m`, `12h`, `7d`), or a cron expression as in schedules. */
const Interval = z.union([
  z.number().int().min(1).max(31_536_000),
  z
    .string()
    .max(200)
    .regex(STEPS, INTERVAL_WORDS)
    .transform((text) => Number(text.slice(0, -1)) * SECONDS_OF[text.at(-1) as keyof typeof SECONDS_OF])
    .pipe(z.number().max(31_536_000)),
  z.string().trim().max(200).regex(CRON, INTERVAL_WORDS)
])

const MOMENT_WORDS = 'Write a time such as 2026-12-24T18:00:00+01:00, or milliseconds since 1970'
/** Returns a message for strings only. For other values, the union has its own message. */
const momentError = ({ code }: { code?: string | undefined }) => (code === 'invalid_format' ? MOMENT_WORDS : undefined)

/** A time without an offset stays a string, because it is in the request's zone. Other times become milliseconds. */
const WrittenMoment = [
  z.iso.datetime({ offset: true, error: momentError }).transform((text) => Date.parse(text)),
  z.iso.datetime({ local: true, error: momentError })
] as const
const Moment = z.union([
  MomentMs,
  ...WrittenMoment,
  z
    .string()
    .max(40)
    .regex(/^\d{4}-\d\d-\d\d \d/, MOMENT_WORDS)
    .transform((text) => text.replace(' ', 'T'))
    .pipe(z.union(WrittenMoment))
])

const UserId = z.union([ShownName.max(200), z.number().int().transform(String)])

/** Many clients send omitted fields as null. */
const left = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullable()
    .transform((value) => value ?? undefined)
    .optional()

const StartUrls = z.array(z.string().min(1).max(4_000)).max(10_000)
const Depth = z.number().int().min(0).max(1_000)
const Params = z.record(z.string().min(1).max(200), z.unknown())

/**
 * A crawl request in the underscore style of crawl schedulers. The spider gets `start_urls` as one argument, a JSON
 * list. `depth` becomes the setting DEPTH_LIMIT. `params` become arguments: strings unchanged, other values as JSON.
 * A field that is null counts as absent.
 */
export const CrawlInput = z.object({
  /** The end user of the request. Requests of other users never share its cached response. */
  user_id: left(UserId),
  project: left(ProjectName),
  spider: z.string().min(1).max(200),
  start_urls: left(StartUrls),
  depth: left(Depth),
  schedule_at: left(Moment),
  /** Repeats the crawl: at an interval that starts at `schedule_at` or now, or by a cron expression. */
  interval: left(Interval),
  zone: TimeZone.nullable()
    .transform((zone) => zone ?? 'UTC')
    .default('UTC'),
  /** Always creates a new job and bypasses the HTTP cache. Later identical requests return this job. */
  ignore_cache: z
    .boolean()
    .nullable()
    .transform((isIgnored) => isIgnored ?? false)
    .default(false),
  /** How long identical requests return this job; 0: never. Default: the server's `crawl_cache_ttl`. */
  cache_seconds: left(z.number().int().min(0).max(MAX_CRAWL_CACHE_SECONDS)),
  /** Whether Scrapy caches pages, for as long as the response (HTTPCACHE_ENABLED). Absent: the project's setting. */
  http_cache: left(z.boolean()),
  params: left(Params)
})
export type CrawlInput = z.infer<typeof CrawlInput>

const IsoTime = z.iso.datetime()

export const CrawlNow = z.object({
  job_id: JobId,
  scheduled: z.literal(false),
  /** An earlier identical request created this job, at `cached_at`. */
  cached: z.boolean(),
  cached_at: IsoTime.nullable(),
  logs_url: z.string()
})
export const CrawlLater = z.object({
  /** Set for a delayed crawl. null for a repeated crawl, whose jobs are created when they are due. */
  job_id: JobId.nullable(),
  schedule_id: ScheduleId.nullable(),
  scheduled: z.literal(true),
  /** null: the schedule of the earlier identical request is paused or over. */
  next_run: IsoTime.nullable(),
  cached: z.boolean(),
  cached_at: IsoTime.nullable(),
  /** For a repeated crawl, the log of its newest job. */
  logs_url: z.string()
})
export const CrawlOutput = z.union([
  z.object({ status: z.literal(200), body: CrawlNow }),
  z.object({ status: z.literal(202), body: CrawlLater })
])
export type CrawlOutput = z.infer<typeof CrawlOutput>

/**
 * A request is repeatable while its response is cached. A repeated crawl is repeatable at any time, because its
 * schedule is found by the request's key.
 */
function repeatableForMs(body: unknown, { crawlCacheSeconds } = { crawlCacheSeconds: DEFAULT_CRAWL_CACHE_SECONDS }) {
  const { interval, cache_seconds, ignore_cache } = (body ?? {}) as Record<string, unknown>
  if (isSet(ignore_cache)) return 0
  const seconds = cache_seconds ?? crawlCacheSeconds
  // Without a cache, the request's own key finds the job.
  return interval == null && seconds !== 0 ? knownForMs(seconds) : Number.POSITIVE_INFINITY
}

/** 200: a job for now; 202: a job for later, or a schedule. */
export const crawlContract = write(
  'jobs.run',
  'POST /crawl',
  { project: 'project' },
  { repeatableForMs, alsoInQuery: ['ignore_cache'] }
)
  .route({ outputStructure: 'detailed' })
  .input(CrawlInput)
  .output(CrawlOutput)

/**
 * A crawl order as its client sees it. A repeated crawl is a schedule, and a single crawl is a job. A repeated crawl is
 * `pending` while it waits for its next run, and `finished` if it never runs again.
 */
export const CrawlOrder = z.object({
  job_id: JobId.nullable(),
  schedule_id: ScheduleId.nullable(),
  user_id: z.string().nullable(),
  project: z.string(),
  spider: z.string(),
  start_urls: z.array(z.string()),
  depth: z.number().nullable(),
  params: z.record(z.string(), z.unknown()),
  /** Seconds, or a cron expression; null: the schedule now has another kind of rule. */
  interval: z.union([z.number(), z.string()]).nullable(),
  zone: TimeZone,
  http_cache: z.boolean().nullable(),
  status: z.enum(['pending', 'running', 'paused', 'finished', 'error']),
  /** For a single crawl in error: `cancelled`, `lost`, or why its run failed. */
  reason: z.string().nullable(),
  scheduled_at: IsoTime,
  next_run: IsoTime.nullable(),
  created_at: IsoTime,
  updated_at: IsoTime
})
export type CrawlOrder = z.infer<typeof CrawlOrder>

/** Any string, because clients can send ids of another scheduler, which are then not found. */
const OrderId = z.object({ id: z.string().max(1_000).brand<'ScheduleId'>().brand<'JobId'>() })
export type OrderId = z.infer<typeof OrderId>['id']

/** Absent fields stay unchanged; null clears a field. */
export const CrawlChange = OrderId.extend({
  start_urls: StartUrls.nullable().optional(),
  depth: Depth.nullable().optional(),
  params: Params.nullable().optional(),
  interval: Interval.optional(),
  zone: TimeZone.optional(),
  schedule_at: Moment.optional(),
  http_cache: z.boolean().nullable().optional(),
  paused: z.boolean().optional()
})
export type CrawlChange = z.infer<typeof CrawlChange>

export const crawlOrdersContract = {
  /** Repeated crawls by name, then single crawls that are waiting. `after`: `next_after` of the previous page. */
  list: read('read', 'GET /crawl', 'seen', { answerBytes: (input) => 4_000_000 + pageBytes(input) })
    .input(
      z.object({
        user_id: z.string().max(200).optional(),
        project: ProjectName.optional(),
        after: z.string().max(2_000).optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100)
      })
    )
    .output(z.object({ orders: z.array(CrawlOrder), next_after: z.string().nullable() })),
  get: read('read', 'GET /crawl/{id}', { id: 'crawlOrder' }).input(OrderId).output(CrawlOrder),
  /** Applies to the next runs. A single crawl can change only before its first run, if the caller has `jobs.run`. */
  update: write('schedules.change', 'PATCH /crawl/{id}', { id: 'crawlOrder' }).input(CrawlChange).output(CrawlOrder),
  /** Removes a repeated crawl (its jobs stay), or cancels a single crawl. False: the job had already ended. */
  cancel: write('jobs.cancel', 'DELETE /crawl/{id}', { id: 'crawlOrder' })
    .input(OrderId)
    .output(z.object({ cancelled: z.boolean() }))
}
