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
  complete: z.boolean()
})
export type LogChunk = z.infer<typeof LogChunk>

/** Bytes that are not UTF-8 take three each. */
const asJson = (limitBytes: unknown): number => 3 * Math.min(Number(limitBytes ?? 262_144), MAX_LOG_CHUNK_BYTES)

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
        tailBytes: z.coerce.number().int().min(0).max(MAX_LOG_CHUNK_BYTES).default(262_144)
      })
    )
    .output(eventIterator(LogChunk))
}
