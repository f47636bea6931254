import { z } from 'zod'
import { JobId, ProjectName, ScheduleId } from './ids.ts'
import { isSet, knownForMs, write } from './operation.ts'
import { MomentMs } from './moment.ts'

const DEFAULT_CACHE_SECONDS = 3_600

const SECONDS_OF = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/** Whole seconds, or `90s`, `30m`, `12h`, `7d`. */
const Seconds = z.union([
  z.number().int().min(1).max(31_536_000),
  z
    .string()
    .regex(/^[1-9]\d{0,7}[smhd]$/, 'Write seconds, or a number followed by s, m, h or d: 30m')
    .transform((text) => Number(text.slice(0, -1)) * SECONDS_OF[text.at(-1) as keyof typeof SECONDS_OF])
    .pipe(z.number().max(31_536_000))
])

/** A time with its offset (`2026-12-24T18:00:00+01:00`), or milliseconds since 1970. */
const Moment = z.union([
  MomentMs,
  z.iso
    .datetime({
      offset: true,
      error: 'Write a time with its offset, such as 2026-12-24T18:00:00+01:00, or milliseconds since 1970'
    })
    .transform((text) => Date.parse(text))
])

/**
 * A crawl request in the terms of people who want pages, not jobs; hence the underscores. The spider gets `start_urls`
 * as one argument, a JSON list; `depth` becomes the setting DEPTH_LIMIT; `params` become arguments.
 */
export const CrawlInput = z.object({
  /** The end user of the request: requests of other users never share its cached answer. */
  user_id: z.string().min(1).max(200).optional(),
  /** Default: the only project that has the spider. */
  project: ProjectName.optional(),
  spider: z.string().min(1).max(200),
  start_urls: z.array(z.string().min(1).max(4_000)).max(10_000).optional(),
  depth: z.number().int().min(0).max(1_000).optional(),
  schedule_at: Moment.optional(),
  /** Repeats the crawl, starting at `schedule_at` or now. */
  interval: Seconds.optional(),
  /** Creates a new job in any case; later identical requests are answered with that one. */
  ignore_cache: z.boolean().default(false),
  /** How long identical requests are answered with this job. */
  cache_seconds: z.number().int().min(1).max(31_536_000).default(DEFAULT_CACHE_SECONDS),
  params: z.record(z.string().min(1).max(200), z.union([z.string(), z.number(), z.boolean()])).optional()
})
export type CrawlInput = z.infer<typeof CrawlInput>

const IsoTime = z.iso.datetime()

export const CrawlNow = z.object({
  job_id: JobId,
  /** An identical request was made before: this is its job, created at `cached_at`. */
  cached: z.boolean(),
  cached_at: IsoTime.nullable()
})
export const CrawlLater = z.object({
  /** Set for a delayed crawl; null for a repeated one, whose jobs are created when they are due. */
  job_id: JobId.nullable(),
  schedule_id: ScheduleId.nullable(),
  /** null: the schedule that answers the identical request is paused or over. */
  next_run: IsoTime.nullable(),
  cached: z.boolean(),
  cached_at: IsoTime.nullable()
})
export const CrawlOutput = z.union([
  z.object({ status: z.literal(200), body: CrawlNow }),
  z.object({ status: z.literal(202), body: CrawlLater })
])
export type CrawlOutput = z.infer<typeof CrawlOutput>

/** Until its answer is no longer cached. A repeated crawl is a schedule and is found by its name. */
function repeatableForMs(body: unknown): number {
  const { interval, cache_seconds = DEFAULT_CACHE_SECONDS, ignore_cache } = (body ?? {}) as Record<string, unknown>
  if (isSet(ignore_cache)) return 0
  return interval === undefined ? knownForMs(cache_seconds) : Number.POSITIVE_INFINITY
}

/** 200: a job for now; 202: a job for later, or a schedule. */
export const crawlContract = write('operator', 'POST /crawl', { repeatableForMs })
  .route({ outputStructure: 'detailed' })
  .input(CrawlInput)
  .output(CrawlOutput)
