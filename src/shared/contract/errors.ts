import { z } from 'zod'
import { AnyProjectName, AnyVersionName, AttemptNumber, ErrorGroupId, JobId, NodeId } from './ids.ts'
import { read, write } from './operation.ts'

const Count = z.number().int()

/** A `resolved` error reopens when it is logged again. An `ignored` error does not. */
export const ErrorState = z.enum(['open', 'resolved', 'ignored'])
export type ErrorState = z.infer<typeof ErrorState>

/** One error (a traceback or ERROR line) across all runs of a project. Times follow the engine's clock. */
export const ErrorGroup = z.object({
  id: ErrorGroupId,
  project: AnyProjectName,
  /** `ValueError: could not convert <text>` */
  title: z.string(),
  /** Where the error occurs: `shop/spiders/prices.py in parse`, otherwise the logger. */
  culprit: z.string(),
  exceptionType: z.string().nullable(),
  /** What identifies the error: project frames, the exception's text, or the message. */
  because: z.enum(['frames', 'exception', 'message']),
  state: ErrorState,
  stateAtMs: z.number().nullable(),
  reopenedAtMs: z.number().nullable(),
  firstSeenMs: z.number(),
  lastSeenMs: z.number(),
  firstVersion: AnyVersionName,
  count: Count,
  jobCount: Count,
  spiderCount: Count,
  versionCount: Count,
  nodeCount: Count,
  spiders: z.array(z.string()),
  series: z.object({ startMs: z.number(), widthMs: z.number(), counts: z.array(Count) })
})
export type ErrorGroup = z.infer<typeof ErrorGroup>

/** How often one run logged the error. `line` (from 1) and `offset` (in bytes) locate the first entry. */
export const ErrorOccurrence = z.object({
  jobId: JobId,
  attemptNumber: AttemptNumber,
  spider: z.string(),
  version: AnyVersionName,
  nodeId: NodeId,
  count: Count,
  firstSeenMs: z.number(),
  lastSeenMs: z.number(),
  line: Count,
  offset: Count,
  message: z.string()
})
export type ErrorOccurrence = z.infer<typeof ErrorOccurrence>

const Spread = z.object({
  value: z.string(),
  count: Count,
  runCount: Count,
  firstSeenMs: z.number(),
  lastSeenMs: z.number()
})

/** At most 50 of each: the newest occurrences, and the spiders, versions and nodes that log the error most. */
export const ErrorGroupDetail = z.object({
  group: ErrorGroup,
  occurrences: z.array(ErrorOccurrence),
  spiders: z.array(Spread),
  versions: z.array(Spread),
  nodes: z.array(Spread)
})
export type ErrorGroupDetail = z.infer<typeof ErrorGroupDetail>

/** `text` is searched in titles and culprits. The other filters must match exactly. */
export const ErrorFilter = z.object({
  state: ErrorState.optional(),
  project: z.string().max(200).optional(),
  spider: z.string().max(200).optional(),
  version: z.string().max(200).optional(),
  /** Only errors that were first logged in this version. */
  firstVersion: z.string().max(200).optional(),
  nodeId: NodeId.optional(),
  text: z.string().max(200).optional()
})
export type ErrorFilter = z.infer<typeof ErrorFilter>

const GROUP_BYTES = 4_000

export const errorsContract = {
  /** Sorted by last occurrence, newest first. `before`: `nextBefore` of the previous page. */
  list: read('read', 'GET /errors', 'seen', {
    answerBytes: ({ limit = 100 }) => GROUP_BYTES * Math.min(Number(limit), 500)
  })
    .input(
      ErrorFilter.extend({
        before: z
          .string()
          .regex(/^\d{1,15}-\d{1,15}$/)
          .optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100)
      })
    )
    .output(z.object({ groups: z.array(ErrorGroup), nextBefore: z.string().nullable() })),
  get: read('read', 'GET /errors/{id}', { id: 'errorGroup' }, { answerBytes: () => 400_000 })
    .input(z.object({ id: z.coerce.number().int().positive().brand<'ErrorGroupId'>() }))
    .output(ErrorGroupDetail),
  /** The errors that the job logged in all attempts, or in the given attempt. Newest first, at most 200. */
  ofJob: read('read', 'GET /jobs/{jobId}/errors', { jobId: 'job' }, { answerBytes: () => 200 * (GROUP_BYTES + 2_000) })
    .input(
      z.object({ jobId: JobId, attemptNumber: z.coerce.number().int().positive().brand<'AttemptNumber'>().optional() })
    )
    .output(z.object({ errors: z.array(z.object({ group: ErrorGroup, occurrence: ErrorOccurrence })) })),
  setState: write('results.review', 'POST /errors/state', { ids: 'errorGroups' })
    .input(z.object({ ids: z.array(ErrorGroupId).min(1).max(500), state: ErrorState }))
    .output(z.object({ changed: z.array(ErrorGroupId) }))
}
