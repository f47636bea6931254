import { z } from 'zod'
import { AnyProjectName, ErrorGroupId, JobId } from './ids.ts'

const Params = z.record(z.string(), z.unknown())

/** Codes for `subject` and `text` of an alert (shared/texts). Older servers do not send them. */
export const ALERT_CODES = {
  subjectCode: z.string().optional(),
  subjectParams: Params.optional(),
  code: z.string().optional(),
  params: Params.optional()
}

export const AlertLogExcerpt = z.object({
  subject: z.string(),
  jobId: JobId,
  lines: z.array(z.string())
})
export type AlertLogExcerpt = z.infer<typeof AlertLogExcerpt>

export const AlertFigureHistory = z.object({
  /** `Items of the last 20 runs of shop/prices` */
  title: z.string(),
  titleCode: z.string().optional(),
  titleParams: Params.optional(),
  /** Oldest first. `now` is the alert's own value. */
  bars: z.array(z.object({ value: z.number(), tone: z.enum(['past', 'now', 'failed', 'succeeded']) })),
  fromMs: z.number(),
  untilMs: z.number(),
  /** Describes the bars in words with units, because not all users can see the bars. */
  caption: z.string(),
  captionCode: z.string().optional(),
  captionParams: Params.optional()
})
export type AlertFigureHistory = z.infer<typeof AlertFigureHistory>

/**
 * Data that helps to judge an alert, read for this request. A part is null if it does not exist or could not be read in
 * time.
 */
export const AlertEvidence = z.object({ log: AlertLogExcerpt.nullable(), history: AlertFigureHistory.nullable() })
export type AlertEvidence = z.infer<typeof AlertEvidence>

export const AlertRulePreview = z.object({
  /** How often the rule would have fired, including alerts that are not listed. */
  fired: z.number().int(),
  alerts: z.array(
    z.object({
      subject: z.string(),
      text: z.string(),
      ...ALERT_CODES,
      firedAtMs: z.number(),
      resolvedAtMs: z.number().nullable()
    })
  ),
  fromMs: z.number(),
  /** False: part of the period has too little data, or too much to evaluate. */
  isComplete: z.boolean(),
  note: z.string(),
  noteCode: z.string().optional(),
  noteParams: Params.optional()
})
export type AlertRulePreview = z.infer<typeof AlertRulePreview>

const RunCounts = z.object({
  succeeded: z.number().int(),
  failed: z.number().int(),
  lost: z.number().int(),
  cancelled: z.number().int(),
  unclear: z.number().int()
})
const ofSpider = { project: AnyProjectName, spider: z.string() }

export const AlertReport = z.object({
  fromMs: z.number(),
  untilMs: z.number(),
  runs: RunCounts,
  runsBefore: RunCounts,
  failing: z.array(
    z.object({
      ...ofSpider,
      failed: z.number().int(),
      runs: z.number().int(),
      reason: z.string(),
      reasonCode: z.string().optional(),
      reasonParams: Params.optional()
    })
  ),
  newErrors: z.object({
    count: z.number().int(),
    groups: z.array(z.object({ id: ErrorGroupId, project: AnyProjectName, title: z.string(), runs: z.number().int() }))
  }),
  unusual: z.array(z.object({ ...ofSpider, text: z.string(), code: z.string().optional(), params: Params.optional() })),
  slowest: z.array(z.object({ ...ofSpider, runs: z.number().int(), medianMs: z.number(), longestMs: z.number() })),
  /** null: the caller cannot see all projects. */
  service: z
    .object({
      alertsFired: z.number().int(),
      nodes: z.number().int(),
      nodesDown: z.array(z.string()),
      queued: z.number().int(),
      databaseBytes: z.number(),
      logBytes: z.number(),
      diskFreePercent: z.number().nullable()
    })
    .nullable(),
  /** False: there were too many jobs to include all of them in the spider lists. */
  isComplete: z.boolean()
})
export type AlertReport = z.infer<typeof AlertReport>
