import { z } from 'zod'
import { JobId } from './ids.ts'

/** The end of the log of one run, as the run wrote it. */
export const AlertLogExcerpt = z.object({
  /** `shop/prices` */
  subject: z.string(),
  jobId: JobId,
  lines: z.array(z.string())
})
export type AlertLogExcerpt = z.infer<typeof AlertLogExcerpt>

/** The watched figure until now. */
export const AlertFigureHistory = z.object({
  /** `Items of the last 20 runs of shop/prices` */
  title: z.string(),
  /** Oldest first. `now`: what the alert is about. */
  bars: z.array(z.object({ value: z.number(), tone: z.enum(['past', 'now', 'failed', 'succeeded']) })),
  fromMs: z.number(),
  untilMs: z.number(),
  /** Says the same in words, with units: not everybody sees the bars. */
  caption: z.string()
})
export type AlertFigureHistory = z.infer<typeof AlertFigureHistory>

/** What helps to judge an alert, as of when it is read. null: there is none, or it could not be read in time. */
export const AlertEvidence = z.object({ log: AlertLogExcerpt.nullable(), history: AlertFigureHistory.nullable() })
export type AlertEvidence = z.infer<typeof AlertEvidence>
