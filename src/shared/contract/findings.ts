import { z } from 'zod'
import { AnyProjectName, JobId } from './ids.ts'
import { read, write } from './operation.ts'

export const RunMetric = z.enum(['items', 'pages', 'runtime', 'errors', 'field'])
export type RunMetric = z.infer<typeof RunMetric>

/** What earlier runs of the spider had: half of them lie between these. */
export const UsualRange = z.object({ low: z.number(), high: z.number() })
export type UsualRange = z.infer<typeof UsualRange>

/**
 * What is unusual about a run that succeeded. `value`: items, pages, seconds, errors per 100 pages, or the percentage
 * of items that have the field.
 */
export const Finding = z.object({
  metric: RunMetric,
  /** Only for `field`. */
  field: z.string().nullable(),
  /** `Items fell by 80 %: 120, usually 610 to 640`. */
  words: z.string(),
  /** What `words` say (shared/texts); absent: found before there were codes. */
  code: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  value: z.number(),
  usual: UsualRange
})
export type Finding = z.infer<typeof Finding>

/** The findings of the newest successful run of a spider. */
export const SpiderFindings = z.object({
  project: AnyProjectName,
  spider: z.string(),
  jobId: JobId,
  endedAtMs: z.number(),
  findings: z.array(Finding)
})
export type SpiderFindings = z.infer<typeof SpiderFindings>

/**
 * A run beside the earlier ones of its spider. `learning`: there are not enough of them yet, so nothing is unusual;
 * `off`: its project does not want it; `not_succeeded`: only runs that succeeded are compared.
 */
export const JobExpectations = z.object({
  state: z.enum(['judged', 'learning', 'off', 'not_succeeded']),
  /** How many successful runs are still missing. */
  neededRuns: z.number().int(),
  /** How many earlier runs it is compared with, and if they are only those of its weekday (0: Sunday, UTC), which. */
  comparedRuns: z.number().int(),
  weekday: z.number().int().nullable(),
  metrics: z.array(z.object({ metric: RunMetric, value: z.number().nullable(), usual: UsualRange })),
  /**
   * Which percentage of the items has each field, by itself and in earlier runs whose items were counted, too. null:
   * its own were not, because it has fewer than 20, or no file of them that can be read.
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
  /** Spiders whose newest successful run was unlike their earlier ones, and that were not dismissed; newest first. */
  list: read('read', 'GET /findings', 'seen').output(z.object({ spiders: z.array(SpiderFindings) })),
  /** How a job compares with the earlier runs of its spider. */
  ofJob: read('read', 'GET /jobs/{id}/findings', { id: 'job' }, { answerBytes: () => 300_000 })
    .input(z.object({ id: JobId }))
    .output(JobExpectations),
  /** Hides the findings of this job; the next run is judged again. False: they are of another job by now. */
  dismiss: write('results.review', 'POST /findings/dismiss', { project: 'project', jobId: 'job' })
    .input(z.object({ project: AnyProjectName, spider: z.string().max(200), jobId: JobId }))
    .output(z.object({ dismissed: z.boolean() }))
}
