import { z } from 'zod'
import {
  AttemptNumber,
  JobId,
  NodeId,
  ProjectName,
  AnyProjectName,
  AnyVersionName,
  VersionName,
  ShownName
} from './ids.ts'
import { ask, isSet, knownForMs, pageBytes, read, write } from './operation.ts'
import { figuresOperation } from './figures.ts'
import { MomentMs } from './moment.ts'
import { CancelWaitSeconds, RetryPolicy, RunEnvironment, RunLimits, TagTerm } from './settings.ts'
import { JOB_STATUSES, OUTCOMES, SHOWN_STATUSES } from '../choices.ts'

/** A job's state follows the state of its newest attempt (engine/model/transitions.ts). */
export const JobState = z.enum(['queued', 'starting', 'running', 'ended'])
export type JobState = z.infer<typeof JobState>

/** `unclear`: the log does not show how the job ended, and the node does not report how the process ended. */
export const Outcome = z.enum(OUTCOMES)
export type Outcome = z.infer<typeof Outcome>

export const JobStatus = z.enum(JOB_STATUSES)
export type JobStatus = z.infer<typeof JobStatus>
export const ShownStatus = z.enum(SHOWN_STATUSES)
export type ShownStatus = z.infer<typeof ShownStatus>

export const WaitingCode = z.enum([
  'next_in_line',
  'paused',
  'no_nodes',
  'no_matching_node',
  'all_slots_busy',
  'nodes_down',
  'nodes_cordoned',
  'version_missing',
  'python_not_ready',
  'egg_on_its_way',
  'egg_refused',
  'pending_on_node',
  'node_refused',
  'project_paused',
  'limit',
  'overlap',
  'dependency',
  'not_before',
  'retry_wait'
])
export type WaitingCode = z.infer<typeof WaitingCode>
/** `text`: English, from `waiting.CODE` and `params` (shared/texts/en.ts). `untilMs`: when the wait ends, if known. */
export const Waiting = z.object({
  code: WaitingCode,
  text: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
  untilMs: z.number().optional()
})
export type Waiting = z.infer<typeof Waiting>

/** Which nodes can run a job. A node must meet all tag terms (shared/tag-terms.ts). */
export const Placement = z.object({ nodeId: NodeId.nullable(), tags: z.array(TagTerm).max(20) })
export type Placement = z.infer<typeof Placement>

const StringMap = z.record(z.string(), z.string())

/**
 * A job that must end first, and how it must end. If it ends in another way, the dependent job is cancelled (skipped).
 */
export const Dependency = z.object({ jobId: JobId, on: z.enum(['succeeded', 'failed', 'ended']) })
export type Dependency = z.infer<typeof Dependency>

/** Keeps a queued job out of its lane until a given time or until another job has ended. */
export const Hold = z.enum(['not_before', 'retry', 'dependency', 'overlap'])
export type Hold = z.infer<typeof Hold>

export const UsageSample = z.object({
  atMs: z.number(),
  memoryBytes: z.number(),
  /** The share of CPU time since the previous sample. 1 is one fully used core. */
  cpuShare: z.number(),
  processes: z.number().int()
})
export type UsageSample = z.infer<typeof UsageSample>

export const Job = z.object({
  id: JobId,
  /** The id that Scrapyd clients see. Identical to `id` unless the client of schedule.json chose one. */
  jobid: z.string(),
  project: AnyProjectName,
  /** null: the active version when the job is sent (the pinned version, otherwise the latest). */
  version: AnyVersionName.nullable(),
  spider: z.string(),
  settings: StringMap,
  args: StringMap,
  /** Environment variables of the job's runs, on the local node only. */
  env: StringMap,
  /** Names of settings, arguments and variables with secret values, which the fields above replace with SECRET_MASK. */
  secretNames: z.array(z.string()),
  limits: RunLimits.nullable(),
  retry: RetryPolicy.nullable(),
  notBeforeMs: z.number().nullable(),
  /** If the job has not been sent by this time, it is cancelled with the reason `expired`. */
  expiresAtMs: z.number().nullable(),
  /** Among jobs with this flag, only one live run of this spider with these arguments is allowed. */
  noOverlap: z.boolean(),
  after: z.array(Dependency),
  dedupeKey: z.string().nullable(),
  hold: Hold.nullable(),
  priority: z.number(),
  /** Position among queued jobs of the same priority. Jobs with a lower rank go first. */
  rank: z.number(),
  placement: Placement,
  /** The end user for whom the job was requested, if the request named one. */
  userId: z.string().nullable(),
  source: z.enum(['ui', 'api', 'scrapyd', 'demo', 'retry', 'adopted', 'schedule', 'chain', 'crawl']),
  /** The schedule that created the job, and the run's scheduled time (schedules.ts). */
  scheduleId: z.string().brand<'ScheduleId'>().nullable(),
  nominalMs: z.number().nullable(),
  state: JobState,
  outcome: Outcome.nullable(),
  status: JobStatus,
  /** Why the job ended, in a few words (`finished`, `shutdown`, `exit code 1`); null: it has not ended. */
  reason: z.string().nullable(),
  /** The code of `reason` in shared/texts/en.ts, such as `reason.skipped`, if Scrapdeck wrote it. */
  reasonCode: z.string().optional(),
  reasonParams: z.record(z.string(), z.unknown()).optional(),
  /** What ended a failed job: a line of its log, or why the job could not be sent. */
  killingLine: z.string().nullable(),
  /** The code of `killingLine`, if Scrapdeck wrote it. */
  killingLineCode: z.string().optional(),
  killingLineParams: z.record(z.string(), z.unknown()).optional(),
  waiting: Waiting.nullable(),
  /** Jobs with the same project, spider, version, node and tags share a lane: unless held, they wait together. */
  lane: z.string(),
  nodeId: NodeId.nullable(),
  attemptCount: z.number().int(),
  /**
   * The version that was sent with the newest attempt; null: nothing was sent, or it was sent long ago (see the
   * attempts).
   */
  sentVersion: AnyVersionName.nullable(),
  /** Whether the job may have run twice, because its node lost the run or was given up on. See its attempts. */
  mayHaveRunTwice: z.boolean(),
  /** When the node of a live job stopped responding; null: the job's state is known. */
  unknownSinceMs: z.number().nullable(),
  /** When a cancel was requested. Until the state is `ended`, the node has not confirmed the cancel. */
  cancelAskedAtMs: z.number().nullable(),
  queuedAtMs: z.number(),
  startedAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
  pages: z.number().int().nullable(),
  items: z.number().int().nullable(),
  errors: z.number().int().nullable(),
  pagesPerMinute: z.number().nullable(),
  itemsPerMinute: z.number().nullable(),
  /** If true, retention deletes neither the job nor its logs. */
  kept: z.boolean()
})
export type Job = z.infer<typeof Job>

export const AttemptState = z.enum(['sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended'])
export type AttemptState = z.infer<typeof AttemptState>
/** `refused` and `absent` (proven never to have reached the node) return the job to the queue. */
export const AttemptResult = z.enum([...OUTCOMES, 'refused', 'absent'])
export type AttemptResult = z.infer<typeof AttemptResult>

export const Attempt = z.object({
  jobId: JobId,
  number: AttemptNumber,
  jobid: z.string(),
  nodeId: NodeId,
  project: AnyProjectName,
  version: AnyVersionName,
  spider: z.string(),
  state: AttemptState,
  result: AttemptResult.nullable(),
  /** Why the attempt ended, in a few words. For `reasonCode` and `reasonParams`, see the job. */
  reason: z.string().nullable(),
  reasonCode: z.string().optional(),
  reasonParams: z.record(z.string(), z.unknown()).optional(),
  sentAtMs: z.number(),
  acceptedAtMs: z.number().nullable(),
  startedAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
  pid: z.number().int().nullable(),
  exitCode: z.number().int().nullable(),
  signal: z.string().nullable(),
  /** Scrapy's own keys; null until the stats are read. Integers above 2^53 are strings, and null is Python's None. */
  stats: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).nullable(),
  limitHit: z.string().nullable(),
  limitHitCode: z.string().optional(),
  limitHitParams: z.record(z.string(), z.unknown()).optional(),
  /** Only for the local node: the peak memory of all processes together, and their CPU time. */
  peakMemoryBytes: z.number().nullable(),
  cpuSeconds: z.number().nullable(),
  logArchived: z.boolean(),
  logDeletedAtMs: z.number().nullable()
})
export type Attempt = z.infer<typeof Attempt>

/** One entry of a job's timeline: what changed, when, and the evidence. Recorded once (invariant I4). */
export const Transition = z.object({
  sequence: z.number().int(),
  jobId: JobId,
  attemptNumber: AttemptNumber.nullable(),
  atMs: z.number(),
  kind: z.enum([
    'queued',
    'sending',
    'accepted',
    'uncertain',
    'running',
    'vanished',
    'found_again',
    'finishing',
    'refused',
    'absent',
    'cancel_asked',
    'cancel_sent',
    /** The run exceeded a limit that Scrapdeck enforces. It is stopped like a cancelled run, and its job fails. */
    'limit_hit',
    'ended',
    'restored',
    /** The hold was lifted: its time was reached, or the awaited job ended. */
    'released',
    /** Scrapdeck or a user gave up on the attempt's node. The job is back in the queue. */
    'given_up',
    /** A run that was given up on or lost reappeared on its node. */
    'seen_again',
    /** The run was lost. The copied part of its log is kept. */
    'log_kept',
    /** The node accepted the job but starts nothing, so the job was removed from the node's queue. */
    'taken_back',
    'changed'
  ]),
  /** English, from `code` and `params` (shared/texts/en.ts). */
  text: z.string(),
  /** Such as `timeline.sent`. `text`: the entry was stored before codes existed; its only parameter is the text. */
  code: z.string(),
  /** A parameter can be an object with its own `code` and `params`. */
  params: z.record(z.string(), z.unknown()),
  evidence: z.record(z.string(), z.unknown()),
  /** The codes of the texts that Scrapdeck wrote in `evidence`, by the names of their fields. */
  evidenceCodes: z
    .record(z.string(), z.object({ code: z.string(), params: z.record(z.string(), z.unknown()) }))
    .optional()
})
export type Transition = z.infer<typeof Transition>
export type TransitionKind = Transition['kind']

export const JobDetail = z.object({ job: Job, attempts: z.array(Attempt), timeline: z.array(Transition) })
export type JobDetail = z.infer<typeof JobDetail>

export const JobProgress = Job.pick({
  id: true,
  status: true,
  state: true,
  outcome: true,
  reason: true,
  reasonCode: true,
  reasonParams: true,
  killingLine: true,
  killingLineCode: true,
  killingLineParams: true,
  waiting: true,
  nodeId: true,
  attemptCount: true,
  cancelAskedAtMs: true,
  unknownSinceMs: true,
  pages: true,
  items: true,
  errors: true,
  queuedAtMs: true,
  startedAtMs: true,
  endedAtMs: true
})
export type JobProgress = z.infer<typeof JobProgress>

export const RunningJob = Job.pick({
  id: true,
  project: true,
  spider: true,
  sentVersion: true,
  nodeId: true,
  state: true,
  status: true,
  attemptCount: true,
  cancelAskedAtMs: true,
  unknownSinceMs: true,
  startedAtMs: true,
  pages: true,
  items: true,
  errors: true,
  pagesPerMinute: true,
  itemsPerMinute: true
}).extend({
  sentAtMs: z.number(),
  pid: z.number().int().nullable(),
  usage: UsageSample.nullable()
})
export type RunningJob = z.infer<typeof RunningJob>

/**
 * `spider` and `project` accept `*`. `jobid` matches a whole jobid. `text` matches part of a project or spider, the
 * start of a jobid or id (from 10 digits), or the end of an id (from 8 digits).
 */
export const JobFilter = z.object({
  /** Also accepts a single value: `?status=queued`. */
  status: z.union([z.array(ShownStatus).max(SHOWN_STATUSES.length), ShownStatus.transform((one) => [one])]).optional(),
  project: z.string().max(200).optional(),
  spider: z.string().max(200).optional(),
  nodeId: NodeId.optional(),
  scheduleId: z.string().max(32).brand<'ScheduleId'>().optional(),
  jobid: z.string().min(1).max(200).optional(),
  userId: z.string().max(200).optional(),
  text: z.string().max(200).optional(),
  sinceMs: z.number().optional()
})
export type JobFilter = z.infer<typeof JobFilter>

export const FacetCount = z.object({ value: z.string(), count: z.number().int() })
export const JobFacets = z.object({
  status: z.array(FacetCount),
  project: z.array(FacetCount),
  nodeId: z.array(FacetCount)
})
export type JobFacets = z.infer<typeof JobFacets>

export const RunInput = z.object({
  project: ProjectName,
  version: VersionName.nullable().optional(),
  spiders: z.array(ShownName.max(200)).min(1).max(1000),
  settings: StringMap.optional(),
  args: StringMap.optional(),
  env: RunEnvironment.optional(),
  /**
   * The settings, arguments and variables for which this job does not use the defaults, by name. `*`: uses no defaults,
   * not even for priority and placement.
   */
  withoutDefaults: z.array(z.string().max(200)).max(1_000).optional(),
  /** Settings, arguments and variables with values that must never be shown. */
  secretNames: z.array(z.string().max(200)).max(100).optional(),
  limits: RunLimits.nullable().optional(),
  priority: z.number().finite().optional(),
  nodeId: NodeId.nullable().optional(),
  tags: z.array(TagTerm).max(20).optional(),
  /** Absent: the project's policy applies; null: the job is never retried. */
  retry: RetryPolicy.nullable().optional(),
  notBeforeMs: MomentMs.nullable().optional(),
  expiresAtMs: MomentMs.nullable().optional(),
  noOverlap: z.boolean().optional(),
  after: z.array(Dependency).max(100).optional(),
  userId: ShownName.max(200).nullable().optional(),
  /** For `ttlSeconds`, requests with the same key return this job instead of creating another job. */
  dedupe: z
    .object({
      key: z.string().min(1).max(500),
      ttlSeconds: z.number().min(1).max(31_536_000),
      /** If true, always creates a new job. The key then refers to this job. */
      renew: z.boolean().optional()
    })
    .nullable()
    .optional()
})
export type RunInput = z.infer<typeof RunInput>

export const RunItem = RunInput.omit({ spiders: true }).extend({ spider: ShownName.max(200) })
export type RunItem = z.infer<typeof RunItem>

/** Position of queued jobs within their priority: before all others, behind all others, or right before one job. */
export const QueuePlace = z.union([z.literal('front'), z.literal('back'), z.object({ before: JobId })])
export type QueuePlace = z.infer<typeof QueuePlace>

const Ids = z.object({ ids: z.array(JobId).min(1).max(10_000) })
const Changed = z.object({ changed: z.array(JobId) })

/** A request is repeatable without limit by its idempotency key, unless the job has its own dedupe key. */
function repeatableForMs(body: unknown): number {
  const dedupe = (body as { dedupe?: { ttlSeconds?: unknown; renew?: unknown } | null } | null | undefined)?.dedupe
  if (dedupe == null) return Number.POSITIVE_INFINITY
  return isSet(dedupe.renew) ? 0 : knownForMs(dedupe.ttlSeconds)
}

function allRepeatableForMs(body: unknown): number {
  const jobs = (body as { jobs?: unknown } | null | undefined)?.jobs
  const items: unknown[] = Array.isArray(jobs) ? jobs : []
  return items.reduce<number>((leastMs, job) => Math.min(leastMs, repeatableForMs(job)), Number.POSITIVE_INFINITY)
}

const JOB_BYTES = 2_000
const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 1)
const runAnswerBytes = ({ spiders, settings, args }: Record<string, unknown>): number =>
  lengthOf(spiders) * (JOB_BYTES + JSON.stringify([settings, args]).length)

export const jobsContract = {
  /** Newest first. `before`: the id of the last row of the previous page. */
  list: read('read', 'GET /jobs', 'seen', { answerBytes: pageBytes })
    .input(JobFilter.extend({ before: JobId.optional(), limit: z.coerce.number().int().min(1).max(500).default(100) }))
    .output(z.object({ jobs: z.array(Job), nextBefore: JobId.nullable() })),
  facets: read('read', 'GET /jobs/facets', 'seen').input(JobFilter).output(JobFacets),
  get: read('read', 'GET /jobs/{id}', { id: 'job' })
    .input(z.object({ id: JobId }))
    .output(JobDetail),
  status: read('read', 'GET /jobs/{id}/status', { id: 'job' })
    .input(z.object({ id: JobId }))
    .output(JobProgress),
  /** All jobs that are on a node, oldest first, at most 2,000 of `total`. */
  running: read('read', 'GET /jobs/running', 'seen', { answerBytes: () => 2_000 * 1_000 }).output(
    z.object({ jobs: z.array(RunningJob), total: z.number().int() })
  ),
  /** Memory and CPU of the newest run on the local node, oldest sample first. Empty for runs on other nodes. */
  usage: read('read', 'GET /jobs/{id}/usage', { id: 'job' })
    .input(z.object({ id: JobId }))
    .output(z.object({ samples: z.array(UsageSample) })),
  /** The log figures of the newest or given attempt. LOG_NOT_FOUND: no part of the log has been read. */
  figures: figuresOperation,
  run: write(
    'jobs.run',
    'POST /jobs',
    { project: 'project', after: 'dependencies' },
    { repeatableForMs, answerBytes: runAnswerBytes }
  )
    .input(RunInput)
    .output(z.object({ jobs: z.array(Job) })),
  /**
   * Creates all jobs in one transaction. `ids` is in the order of the items. For a duplicate, it has the earlier
   * job's id.
   */
  runMany: write('jobs.run', 'POST /jobs/bulk', { jobs: 'runs' }, { repeatableForMs: allRepeatableForMs })
    .input(z.object({ jobs: z.array(RunItem).min(1).max(10_000) }))
    .output(z.object({ ids: z.array(JobId), deduplicated: z.number().int() })),
  /** Counts these jobs by status, to show the progress of a bulk action. Ignores unknown ids. */
  count: ask('read', 'POST /jobs/count', { ids: 'jobs' })
    .input(Ids)
    .output(z.object({ status: z.array(FacetCount) })),
  /** Changes only queued jobs. */
  setPriority: write('queue.order', 'POST /jobs/priority', { ids: 'jobs' })
    .input(Ids.extend({ priority: z.number().finite() }))
    .output(Changed),
  /** Changes only queued jobs. With `before`, they also get that job's priority. */
  reorder: write('queue.order', 'POST /jobs/reorder', { ids: 'jobs', to: 'place' })
    .input(Ids.extend({ to: QueuePlace }))
    .output(Changed),
  place: write('queue.order', 'POST /jobs/place', { ids: 'jobs' }).input(Ids.extend(Placement.shape)).output(Changed),
  /**
   * Gives up on live attempts on nodes that do not respond, and queues their jobs for other nodes. The jobs may run
   * twice and are flagged. Other jobs stay unchanged and are not in `changed`.
   */
  runElsewhere: write('jobs.run', 'POST /jobs/elsewhere', { ids: 'jobs' }).input(Ids).output(Changed),
  /**
   * Ends queued jobs immediately, and live jobs by the stop ladder INT, INT, KILL. `force` takes the next step now, at
   * least the second INT. `waitSeconds`: how long the runs can take to finish after the first INT; default: as set in
   * their projects, otherwise 10 minutes. Repeating a cancel does not change its wait.
   */
  cancel: write('jobs.cancel', 'POST /jobs/cancel', { ids: 'jobs' })
    .input(Ids.extend({ force: z.boolean().default(false), waitSeconds: CancelWaitSeconds.optional() }))
    .output(z.object({ asked: z.array(JobId), alreadyEnded: z.array(JobId) })),
  /** Undoes a cancel: jobs that were cancelled while queued return to their position in the queue. */
  restore: write('jobs.cancel', 'POST /jobs/restore', { ids: 'jobs' })
    .input(Ids)
    .output(z.object({ restored: z.array(JobId) })),
  /** Retention never deletes these jobs or their logs. `keep: false` undoes this. */
  keep: write('results.review', 'POST /jobs/keep', { ids: 'jobs' })
    .input(Ids.extend({ keep: z.boolean().default(true) }))
    .output(Changed),
  retry: write('jobs.run', 'POST /jobs/retry', { ids: 'jobs' }, { answerBytes: ({ ids }) => JOB_BYTES * lengthOf(ids) })
    .input(Ids)
    .output(z.object({ jobs: z.array(Job) }))
}
