import { z } from 'zod'
import { AttemptNumber, JobId } from './ids.ts'
import { read } from './operation.ts'

const Count = z.number().int()

/** A run's progress. Each value is the total so far at the end of its interval. */
export const RunSeries = z.object({
  startMs: z.number(),
  widthMs: z.number(),
  pages: z.array(Count),
  items: z.array(Count),
  errors: z.array(Count)
})
export type RunSeries = z.infer<typeof RunSeries>

/**
 * The figures of a run's log, so far or at its end. Times follow the engine's clock if the log's clock and zone are
 * known. null: the log does not contain the value.
 */
export const RunFigures = z.object({
  jobId: JobId,
  attemptNumber: AttemptNumber,
  isLive: z.boolean(),
  /** Whether parts of the log were not read. Counts can then be too low. */
  isPartial: z.boolean(),
  bytes: Count,
  lines: Count,
  pages: Count.nullable(),
  items: Count.nullable(),
  pagesPerMinute: z.number().nullable(),
  itemsPerMinute: z.number().nullable(),
  lastPageAtMs: z.number().nullable(),
  lastItemAtMs: z.number().nullable(),
  firstAtMs: z.number().nullable(),
  lastAtMs: z.number().nullable(),
  /** Records per level, without continuation lines. */
  records: z.record(z.string(), Count),
  responses: z.record(z.string(), Count),
  /** Counts by kind: retries, filtered or forbidden requests, dropped items, warnings and others. */
  notes: z.record(z.string(), Count),
  latest: z.record(z.string(), z.string()),
  scrapyVersion: z.string().nullable(),
  pythonVersion: z.string().nullable(),
  bot: z.string().nullable(),
  telnetConsole: z.string().nullable(),
  resumedWith: z.string().nullable(),
  shutdownReason: z.string().nullable(),
  finishReason: z.string().nullable(),
  series: RunSeries.nullable()
})
export type RunFigures = z.infer<typeof RunFigures>

export const LiveFigures = z.object({
  pages: Count.nullable(),
  items: Count.nullable(),
  errors: Count,
  pagesPerMinute: z.number().nullable(),
  itemsPerMinute: z.number().nullable()
})
export type LiveFigures = z.infer<typeof LiveFigures>

export const figuresOperation = read('read', 'GET /jobs/{id}/figures', { id: 'job' })
  .input(z.object({ id: JobId, attemptNumber: AttemptNumber.optional() }))
  .output(RunFigures)
