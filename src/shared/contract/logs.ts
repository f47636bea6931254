import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { MAX_LOG_CHUNK_BYTES, MAX_ZIPPED_LOGS } from './fixed-values.ts'
import { RECORD_LEVELS } from '../log-record/record-level.ts'
import { TIME_STYLES } from '../log-record/time-text.ts'
import { AttemptNumber, JobId, NodeId, ProjectName } from './ids.ts'
import { Outcome } from './jobs.ts'
import { MomentMs } from './moment.ts'
import { ask, read } from './operation.ts'

const HeadFormat = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('scrapy') }),
  z.object({ kind: z.literal('json') }),
  z.object({
    kind: z.literal('pattern'),
    parts: z.array(
      z.discriminatedUnion('part', [
        z.object({
          part: z.literal('time'),
          style: z.enum(TIME_STYLES),
          order: z.enum(['day-first', 'month-first'])
        }),
        z.object({ part: z.literal('level'), case: z.enum(['upper', 'lower', 'title', 'initial']) }),
        z.object({ part: z.literal('logger'), until: z.string().nullable() }),
        z.object({ part: z.literal('other') }),
        z.object({ part: z.literal('gap') }),
        z.object({ part: z.literal('text'), text: z.string() })
      ])
    )
  })
])

/** Offsets and sizes are in bytes. `text` is UTF-8, cut at line ends where possible. */
export const LogChunk = z.object({
  offset: z.number().int(),
  nextOffset: z.number().int(),
  sizeBytes: z.number().int(),
  text: z.string(),
  /** Whether the run has ended and this piece reaches the end of its log. */
  complete: z.boolean(),
  /** Whether another file replaced the log, or the log became shorter. Earlier pieces belong to the previous file. */
  startsOver: z.boolean().optional(),
  format: HeadFormat.optional()
})
export type LogChunk = z.infer<typeof LogChunk>

/** In JSON, bytes that are not UTF-8 take three bytes each. */
const asJson = (limitBytes: unknown): number => 3 * Math.min(Number(limitBytes ?? 262_144), MAX_LOG_CHUNK_BYTES)

export const FoundLogLine = z.object({
  line: z.number().int(),
  offset: z.number().int(),
  text: z.string(),
  /** The first match, in characters of `text`. */
  matchAt: z.number().int(),
  matchLength: z.number().int()
})
export type FoundLogLine = z.infer<typeof FoundLogLine>

export const LogSearchProgress = z.object({
  /** `copying`: the log is copied from its node first. */
  state: z.enum(['copying', 'searching', 'complete']),
  /** Lines found since the last message, in order. At most `mostLines` in total. */
  found: z.array(FoundLogLine),
  matches: z.number().int(),
  searchedBytes: z.number().int(),
  sizeBytes: z.number().int()
})
export type LogSearchProgress = z.infer<typeof LogSearchProgress>

/** A position in a log. `line` is the number (from 1) of the line that starts at `offset`. */
export const LogPlace = z.object({
  line: z.number().int(),
  offset: z.number().int(),
  /** The number of lines in the log at the time of the response. */
  lines: z.number().int(),
  sizeBytes: z.number().int()
})
export type LogPlace = z.infer<typeof LogPlace>

const OfJob = z.object({
  jobId: JobId,
  attemptNumber: z.coerce.number().int().positive().brand<'AttemptNumber'>().optional()
})

export const FleetLogHit = FoundLogLine.extend({
  jobId: JobId,
  attemptNumber: AttemptNumber,
  project: ProjectName,
  spider: z.string(),
  nodeId: NodeId,
  /** The level of the record to which the line belongs; null: no record starts shortly above the line. */
  level: z.enum(RECORD_LEVELS).nullable(),
  time: z.string().nullable()
})
export type FleetLogHit = z.infer<typeof FleetLogHit>

const LogAmount = z.object({ logs: z.number().int(), bytes: z.number().int() })

export const LogSearchCursor = z.string().max(100)

export const FleetLogSearchProgress = z.object({
  /**
   * Lines found since the last message: first from live runs, then from archived logs. Both are ordered by job, newest
   * first.
   */
  hits: z.array(FleetLogHit),
  /**
   * Totals so far: logs that the index ruled out, logs that were read, and the number of logs that could not be read.
   */
  ruledOut: LogAmount,
  scanned: LogAmount,
  unreadable: z.number().int(),
  /** Set in the last message. `end`: all logs were searched; otherwise, the limit that ended the search. */
  stoppedBy: z.enum(['end', 'time', 'bytes', 'hits']).nullable(),
  cursor: LogSearchCursor.nullable()
})
export type FleetLogSearchProgress = z.infer<typeof FleetLogSearchProgress>

export const FleetLogSearchInput = z.object({
  /** A single line, because no match extends past the end of a line. */
  text: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[^\n]*$/, 'A line has no line breaks'),
  /** Whether `text` is a JavaScript regular expression. */
  isRegex: z.boolean().default(false),
  matchesCase: z.boolean().default(false),
  project: z.string().max(200).optional(),
  spider: z.string().max(200).optional(),
  nodeId: NodeId.optional(),
  outcome: Outcome.optional(),
  minLevel: z.enum(RECORD_LEVELS).optional(),
  /**
   * The times between which records are searched. A log's zone is derived from its first record, whose time is the
   * start of the run.
   */
  sinceMs: z.coerce.number().pipe(MomentMs).optional(),
  untilMs: z.coerce.number().pipe(MomentMs).optional(),
  /** The search ends after this time, after reading this many bytes, or after finding this many lines. */
  maxSeconds: z.coerce.number().min(0.1).max(60).default(10),
  maxBytes: z.coerce.number().int().min(1_048_576).max(1_099_511_627_776).default(4_294_967_296),
  mostHits: z.coerce.number().int().min(1).max(10_000).default(1_000),
  cursor: LogSearchCursor.optional()
})
export type FleetLogSearchInput = z.infer<typeof FleetLogSearchInput>

export const LogZipPiece = z.object({
  base64: z.string(),
  /** The number of logs that are in the archive so far, or known to be missing. */
  logs: z.number().int()
})
export type LogZipPiece = z.infer<typeof LogZipPiece>

export const logsContract = {
  /**
   * Returns a range of the log. A negative `offset` counts from the end, at most 4 MiB. With `printed`, returns the
   * last 64 KiB of a successful run's printed output instead, as long as the local node keeps it.
   */
  read: read('read', 'GET /jobs/{jobId}/log', { jobId: 'job' }, { answerBytes: ({ limitBytes }) => asJson(limitBytes) })
    .input(
      OfJob.extend({
        offset: z.coerce.number().int(),
        limitBytes: z.coerce.number().int().min(1).max(MAX_LOG_CHUNK_BYTES).default(262_144),
        printed: z.stringbool().or(z.boolean()).optional()
      })
    )
    .output(LogChunk),
  /**
   * The log as it grows. Starts at `offset` to resume, otherwise `tailBytes` before the end of the log. Stays open for
   * a job that has not started yet. Ends after the chunk with `complete: true`.
   */
  tail: read('read', 'GET /jobs/{jobId}/log/tail', { jobId: 'job' })
    .input(
      OfJob.extend({
        offset: z.coerce.number().int().min(0).optional(),
        tailBytes: z.coerce.number().int().min(0).max(MAX_LOG_CHUNK_BYTES).default(262_144),
        /**
         * If the viewer is further behind than this, it gets only the last `tailBytes`. Default: every byte is sent.
         */
        maxLagBytes: z.coerce.number().int().min(65_536).optional(),
        /**
         * The stream ends after about this many bytes. The next request confirms that the viewer has shown them.
         * Streams between documents have no back-pressure, so nothing else shows how far behind a viewer is.
         */
        limitBytes: z.coerce.number().int().min(65_536).optional()
      })
    )
    .output(eventIterator(LogChunk)),
  /**
   * Finds a line by its number, by a byte in it, or by time: the first record at or after `time` (`14:05`,
   * `14:05:10`, `2026-11-02 14:05`), in the log's own zone. Past the end, returns the last line.
   */
  locate: read('read', 'GET /jobs/{jobId}/log/place', { jobId: 'job' })
    .input(
      OfJob.extend({
        line: z.coerce.number().int().min(1).optional(),
        offset: z.coerce.number().int().min(0).optional(),
        time: z.string().max(30).optional()
      })
    )
    .output(LogPlace),
  /** Searches the whole log and sends lines as they are found. Ends after `complete`. */
  search: read('read', 'GET /jobs/{jobId}/log/search', { jobId: 'job' })
    .input(
      OfJob.extend({
        text: z.string().min(1).max(500),
        /** Whether `text` is a JavaScript regular expression. */
        isRegex: z.boolean().default(false),
        matchesCase: z.boolean().default(false),
        mostLines: z.coerce.number().int().min(1).max(10_000).default(1_000)
      })
    )
    .output(eventIterator(LogSearchProgress)),
  /**
   * Searches the logs of all jobs and sends lines as they are found. Starts with runs that are live or not archived yet
   * (from other machines, only the part copied so far), then searches the archive. Both are searched by job, newest
   * first. The last message contains what ended the search and where to continue.
   */
  searchAll: read('read', 'GET /logs/search', 'seen')
    .input(FleetLogSearchInput)
    .output(eventIterator(FleetLogSearchProgress)),
  /**
   * The newest logs of many jobs as one zip archive, in pieces: PROJECT/SPIDER/JOBID.log, then INDEX.txt, which
   * describes each file and why a log is missing. `POST /logs/zip` returns the archive itself.
   */
  zip: ask('read', 'POST /logs/zip/pieces', { jobIds: 'jobs' })
    .input(z.object({ jobIds: z.array(JobId).min(1).max(MAX_ZIPPED_LOGS) }))
    .output(eventIterator(LogZipPiece))
}
