import { z } from 'zod'
import { codeOfText } from './coded-text.ts'
import { AnyProjectName, JobId } from './ids.ts'
import { read, write } from './operation.ts'

export const RunMetric = z.enum(['items', 'pages', 'runtime', 'errors', 'field'])
export type RunMetric = z.infer<typeof RunMetric>

/** The middle half of the values in earlier runs of the spider. */
export const UsualRange = z.object({ low: z.number(), high: z.number() })
export type UsualRange = z.infer<typeof UsualRange>

/** `value`: items, pages, seconds, errors per 100 pages, or the percentage of items that have the field. */
export const Finding = z.object({
  metric: RunMetric,
  field: z.string().nullable(),
  /** `Items fell by 80 %: 120, usually 610 to 640` */
  words: z.string(),
  /** The code of `words` (shared/texts). Findings stored before codes existed lack it. */
  ...codeOfText,
  value: z.number(),
  usual: UsualRange
})
export type Finding = z.infer<typeof Finding>

export const SpiderFindings = z.object({
  project: AnyProjectName,
  spider: z.string(),
  jobId: JobId,
  endedAtMs: z.number(),
  findings: z.array(Finding)
})
export type SpiderFindings = z.infer<typeof SpiderFindings>

/** `learning`: there are not enough earlier runs. `off`: disabled in the project. Only successful runs are compared. */
export const JobExpectations = z.object({
  state: z.enum(['judged', 'learning', 'off', 'not_succeeded']),
  neededRuns: z.number().int(),
  /** `weekday` (0: Sunday, UTC) is set if only runs of that weekday are compared. */
  comparedRuns: z.number().int(),
  weekday: z.number().int().nullable(),
  metrics: z.array(z.object({ metric: RunMetric, value: z.number().nullable(), usual: UsualRange })),
  /**
   * The percentage of items that have each field, in this run and in earlier runs with counted items. null: this run's
   * items were not counted, because the run has fewer than 20 items or no readable file.
   */
  fields: z
    .object({
      neededRuns: z.number().int(),
      comparedRuns: z.number().int(),
      shown: z.array(z.object({ field: z.string(), value: z.number().nullable(), usual: UsualRange.nullable() }))
    })
    .nullable(),
  findings: z.array(Finding)
})
export type JobExpectations = z.infer<typeof JobExpectations>

export const findingsContract = {
  /** Spiders whose newest successful run differs from earlier runs, without dismissed findings. Newest first. */
  list: read('read', 'GET /findings', 'seen').output(z.object({ spiders: z.array(SpiderFindings) })),
  ofJob: read('read', 'GET /jobs/{id}/findings', { id: 'job' }, { answerBytes: () => 300_000 })
    .input(z.object({ id: JobId }))
    .output(JobExpectations),
  /** Hides the findings of this job until the next run. False: the spider's findings now belong to another job. */
  dismiss: write('results.review', 'POST /findings/dismiss', { project: 'project', jobId: 'job' })
    .input(z.object({ project: AnyProjectName, spider: z.string().max(200), jobId: JobId }))
    .output(z.object({ dismissed: z.boolean() }))
}
