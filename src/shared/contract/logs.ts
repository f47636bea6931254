import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { MAX_LOG_CHUNK_BYTES } from './fixed-values.ts'
import { JobId } from './ids.ts'
import { read } from './operation.ts'

/** A piece of a log. Offsets and sizes are in bytes; `text` is UTF-8, cut at line ends where possible. */
export const LogChunk = z.object({
  offset: z.number().int(),
  nextOffset: z.number().int(),
  /** Size of the whole file when this piece was read. */
  sizeBytes: z.number().int(),
  text: z.string(),
  /** The run has ended and this piece reaches the end of its log: there is nothing more. */
  complete: z.boolean(),
  /** The log was replaced by another file or became shorter: what came before belongs to the one that was. */
  startsOver: z.boolean().optional()
})
export type LogChunk = z.infer<typeof LogChunk>

/** Bytes that are not UTF-8 take three each. */
const asJson = (limitBytes: unknown): number => 3 * Math.min(Number(limitBytes ?? 262_144), MAX_LOG_CHUNK_BYTES)

/** A line with a match. */
export const FoundLogLine = z.object({
  /** The first line is 1. */
  line: z.number().int(),
  /** Where the line begins, in bytes. */
  offset: z.number().int(),
  /** At most 500 characters of it, around the match. */
  text: z.string(),
  /** The first match, in characters of `text`. */
  matchAt: z.number().int(),
  matchLength: z.number().int()
})
export type FoundLogLine = z.infer<typeof FoundLogLine>

export const LogSearchProgress = z.object({
  /** `copying`: the log is fetched from its node first. */
  state: z.enum(['copying', 'searching', 'complete']),
  /** Further lines, in order; at most `mostLines` altogether. */
  found: z.array(FoundLogLine),
  /** Lines with a match so far. */
  matches: z.number().int(),
  searchedBytes: z.number().int(),
  sizeBytes: z.number().int()
})
export type LogSearchProgress = z.infer<typeof LogSearchProgress>

/** A place in a log. `line` is the number of the line that begins at `offset`; the first is 1. */
export const LogPlace = z.object({
  line: z.number().int(),
  offset: z.number().int(),
  /** Of the whole log, at that moment. */
  lines: z.number().int(),
  sizeBytes: z.number().int()
})
export type LogPlace = z.infer<typeof LogPlace>

const OfJob = z.object({
  jobId: JobId,
  attemptNumber: z.coerce.number().int().positive().brand<'AttemptNumber'>().optional()
})

export const logsContract = {
  /** A range of the log. A negative `offset` counts from the end, at most 4 MiB: one further away begins there. */
  read: read('viewer', 'GET /jobs/{jobId}/log', { answerBytes: ({ limitBytes }) => asJson(limitBytes) })
    .input(
      OfJob.extend({
        offset: z.coerce.number().int(),
        limitBytes: z.coerce.number().int().min(1).max(MAX_LOG_CHUNK_BYTES).default(262_144)
      })
    )
    .output(LogChunk),
  /**
   * The log as it grows. Starts `tailBytes` before its end, or at `offset` after a dropped connection. For a job that
   * has not started yet the stream stays open; it ends after the chunk with `complete: true`.
   */
  tail: read('viewer', 'GET /jobs/{jobId}/log/tail')
    .input(
      OfJob.extend({
        offset: z.coerce.number().int().min(0).optional(),
        tailBytes: z.coerce.number().int().min(0).max(MAX_LOG_CHUNK_BYTES).default(262_144),
        /** If you are further behind than this, the last `tailBytes` follow. Default: you get every byte. */
        maxLagBytes: z.coerce.number().int().min(65_536).optional()
      })
    )
    .output(eventIterator(LogChunk)),
  /**
   * Finds a line by its number, by a byte in it, or by time: the first record at or after `time` (`14:05`, `14:05:10`,
   * `2026-11-02 14:05`), as the log itself writes times. Past the end: the last line.
   */
  locate: read('viewer', 'GET /jobs/{jobId}/log/place')
    .input(
      OfJob.extend({
        line: z.coerce.number().int().min(1).optional(),
        offset: z.coerce.number().int().min(0).optional(),
        time: z.string().max(30).optional()
      })
    )
    .output(LogPlace),
  /** Searches the whole log, line by line; lines arrive as they are found. Ends after `complete`. */
  search: read('viewer', 'GET /jobs/{jobId}/log/search')
    .input(
      OfJob.extend({
        text: z.string().min(1).max(500),
        /** `text` is a regular expression of JavaScript. */
        isRegex: z.boolean().default(false),
        matchesCase: z.boolean().default(false),
        mostLines: z.coerce.number().int().min(1).max(10_000).default(1_000)
      })
    )
    .output(eventIterator(LogSearchProgress))
}
