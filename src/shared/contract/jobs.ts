import { z } from 'zod'
import { AttemptNumber, JobId, NodeId, ProjectName, ToldProject, ToldVersion, VersionName } from './ids.ts'
import { ask, isSet, knownForMs, read, write } from './operation.ts'
import { MomentMs } from './moment.ts'

/** Where a job is in its life (drawn in job-rules/transitions.ts). */
export const JobState = z.enum(['queued', 'starting', 'running', 'ended'])
export type JobState = z.infer<typeof JobState>

/** How a job ended. */
export const Outcome = z.enum(['succeeded', 'failed', 'cancelled', 'lost'])
export type Outcome = z.infer<typeof Outcome>

/** State and outcome in one word: what lists filter by and show. */
export const JobStatus = z.enum(['queued', 'starting', 'running', 'succeeded', 'failed', 'cancelled', 'lost'])
export type JobStatus = z.infer<typeof JobStatus>

/** Why a queued job has not been sent yet: a code for programs, words for people. */
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
  'node_refused',
  'project_paused',
  'limit',
  'overlap',
  'dependency',
  'not_before',
  'retry_wait'
])
export type WaitingCode = z.infer<typeof WaitingCode>
/** `untilMs`: when the wait is over, where a time ends it (not_before, retry_wait). */
export const Waiting = z.object({ code: WaitingCode, text: z.string(), untilMs: z.number().optional() })
export type Waiting = z.infer<typeof Waiting>

/** What a node may be tagged with: no blanks, `|` or `!`, which tag terms are made of. */
export const NodeTag = z
  .string()
  .max(60)
  .regex(/^[^\s|!]+$/, 'A tag must not contain spaces, | or !')
/** One condition on a node's tags: `eu`, `!slow` (not on it), `eu|us` (one of them), `gpu|!slow`. */
export const TagTerm = z
  .string()
  .max(200)
  .regex(/^!?[^\s|!]+(\|!?[^\s|!]+)*$/, 'Write a tag, !tag, or several separated by |')
/** Which nodes may run a job. Both empty: any node. A node must meet all tag terms (shared/tag-terms.ts). */
export const Placement = z.object({ nodeId: NodeId.nullable(), tags: z.array(TagTerm).max(20) })
export type Placement = z.infer<typeof Placement>

const StringMap = z.record(z.string(), z.string())

const Limit = z.number().int().min(1).max(1_000_000_000).nullable().optional()

/**
 * What ends a run before its own end: `wallSeconds` on every node, the others on the local node. Each absent or null:
 * no limit; a field that a job leaves open is its project's. Memory is the resident memory of all its processes,
 * sampled; `addressSpaceMegabytes`, `cpuSeconds` and `openFiles` are set in the kernel for each process as well.
 */
export const RunLimits = z.object({
  wallSeconds: Limit,
  memoryMegabytes: Limit,
  addressSpaceMegabytes: Limit,
  cpuSeconds: Limit,
  openFiles: Limit,
  /** No new line in the log for so long. */
  silentSeconds: Limit,
  logMegabytes: Limit
})
export type RunLimits = z.infer<typeof RunLimits>

/**
 * When a job that ended badly is tried again: at most `attempts` runs that reached a node. The wait before run n+1 is
 * `backoffSeconds * backoffFactor^(n-1)`, at most `backoffMaxSeconds`. A cancelled job is never retried.
 */
export const RetryPolicy = z.object({
  attempts: z.number().int().min(1).max(100),
  backoffSeconds: z.number().min(0).max(86_400).default(30),
  backoffFactor: z.number().min(1).max(10).default(2),
  backoffMaxSeconds: z.number().min(0).max(604_800).default(3_600),
  on: z
    .array(z.enum(['failed', 'lost']))
    .min(1)
    .max(2)
    .default(['failed', 'lost'])
})
export type RetryPolicy = z.infer<typeof RetryPolicy>

/** A job that must end first, and how; when it ends otherwise, the one that waits for it is cancelled (skipped). */
export const Dependency = z.object({ jobId: JobId, on: z.enum(['succeeded', 'failed', 'ended']) })
export type Dependency = z.infer<typeof Dependency>

/** Keeps a queued job out of the line until something else has happened. */
export const Hold = z.enum(['not_before', 'retry', 'dependency', 'overlap'])
export type Hold = z.infer<typeof Hold>

/** What a run used at one moment, over all its processes. */
export const UsageSample = z.object({
  atMs: z.number(),
  memoryBytes: z.number(),
  /** Of one core, since the sample before: 1 is one core busy. */
  cpuShare: z.number(),
  processes: z.number().int()
})
export type UsageSample = z.infer<typeof UsageSample>

/** What stands where a secret value would, in every answer. */
export const SECRET_MASK = '\u2022\u2022\u2022\u2022\u2022\u2022'

export const Job = z.object({
  id: JobId,
  /** The id that Scrapyd clients see; equal to `id` unless the client of schedule.json brought its own. */
  jobid: z.string(),
  project: ToldProject,
  /** null: the latest at the time the job is sent, as Scrapyd does. */
  version: ToldVersion.nullable(),
  spider: z.string(),
  settings: StringMap,
  args: StringMap,
  /** Names of settings and arguments whose values are secret: SECRET_MASK stands in their place above. */
  secretNames: z.array(z.string()),
  limits: RunLimits.nullable(),
  retry: RetryPolicy.nullable(),
  /** Not sent before this time. */
  notBeforeMs: z.number().nullable(),
  /** Dropped (cancelled, reason `expired`) when it has not been sent by this time. */
  expiresAtMs: z.number().nullable(),
  /** At most one live run of this spider with these arguments among the jobs that say so. */
  noOverlap: z.boolean(),
  /** All of them must have ended as said. */
  after: z.array(Dependency),
  dedupeKey: z.string().nullable(),
  hold: Hold.nullable(),
  priority: z.number(),
  /** Place in the queue among jobs of the same priority: lower goes first. */
  rank: z.number(),
  placement: Placement,
  source: z.enum(['ui', 'api', 'scrapyd', 'demo', 'retry', 'adopted', 'schedule', 'chain', 'crawl']),
  /** The schedule that made it, and the moment that it stands for (schedules.ts). */
  scheduleId: z.string().brand<'ScheduleId'>().nullable(),
  nominalMs: z.number().nullable(),
  state: JobState,
  outcome: Outcome.nullable(),
  status: JobStatus,
  /** Why it ended so, in a few words (`finished`, `shutdown`, `exit code 1`); null before. */
  reason: z.string().nullable(),
  /** The line of the log that killed it, when one was found. */
  killingLine: z.string().nullable(),
  waiting: Waiting.nullable(),
  /** Jobs of one lane are alike to placement (project, spider, version, node, tags): unless held, they wait alike. */
  lane: z.string(),
  /** The node of the newest attempt. */
  nodeId: NodeId.nullable(),
  attemptCount: z.number().int(),
  /**
   * It may have run more than once (its node forgot it or was given up, and it was run again): look at the attempts.
   */
  mayHaveRunTwice: z.boolean(),
  /** It is live on a node that has not answered since then, so what became of it is unknown; null: it is known. */
  unknownSinceMs: z.number().nullable(),
  /** Somebody asked to cancel it; the node has not confirmed yet while state is not `ended`. */
  cancelAskedAtMs: z.number().nullable(),
  queuedAtMs: z.number(),
  startedAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
  pages: z.number().int().nullable(),
  items: z.number().int().nullable(),
  errors: z.number().int().nullable()
})
export type Job = z.infer<typeof Job>

export const AttemptState = z.enum(['sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended'])
export type AttemptState = z.infer<typeof AttemptState>
/** `refused` and `absent` (proved never to have reached the node) send the job back to the queue. */
export const AttemptResult = z.enum(['succeeded', 'failed', 'cancelled', 'lost', 'refused', 'absent'])
export type AttemptResult = z.infer<typeof AttemptResult>

/** Reasons of attempts that code compares: they are stored, so they must not change. */
export const ATTEMPT_REASONS = { givenUp: 'given up', takenBack: 'taken back', nodeRemoved: 'node removed' } as const

export const Attempt = z.object({
  jobId: JobId,
  number: AttemptNumber,
  /** The jobid on the node. */
  jobid: z.string(),
  nodeId: NodeId,
  project: ToldProject,
  version: ToldVersion,
  spider: z.string(),
  state: AttemptState,
  result: AttemptResult.nullable(),
  /** In a few words; those that code compares are ATTEMPT_REASONS. */
  reason: z.string().nullable(),
  sentAtMs: z.number(),
  acceptedAtMs: z.number().nullable(),
  startedAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
  pid: z.number().int().nullable(),
  exitCode: z.number().int().nullable(),
  signal: z.string().nullable(),
  /** Scrapy's closing stats, keys as Scrapy names them; null until they were read. */
  stats: z.record(z.string(), z.union([z.string(), z.number()])).nullable(),
  /** The limit that ended it, in words. */
  limitHit: z.string().nullable(),
  /** Local node only: the most memory that all its processes had at once, and what they used of the CPUs. */
  peakMemoryBytes: z.number().nullable(),
  cpuSeconds: z.number().nullable(),
  /** The log was copied into our archive. */
  logArchived: z.boolean()
})
export type Attempt = z.infer<typeof Attempt>

/** One line of a job's timeline: what changed, when, and what showed it. Recorded once (invariant I4). */
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
    /** It ran on a remote node for longer than its wall time: it is stopped as a cancel would, and its job fails. */
    'limit_hit',
    'ended',
    'restored',
    /** The hold was lifted: its time came, or what it waited for ended. */
    'released',
    /** The attempt's node was given up (by policy or by hand): back in the queue. */
    'given_up',
    /** A run that we had given up or lost was seen again on its node. */
    'seen_again',
    /** Its node accepted it but started nothing: taken out of the node's queue. */
    'taken_back',
    /** An operator changed its priority, order or placement. */
    'changed'
  ]),
  text: z.string(),
  evidence: z.record(z.string(), z.unknown())
})
export type Transition = z.infer<typeof Transition>
export type TransitionKind = Transition['kind']

export const JobDetail = z.object({ job: Job, attempts: z.array(Attempt), timeline: z.array(Transition) })
export type JobDetail = z.infer<typeof JobDetail>

/** How far a job is, for those who ask again and again. */
export const JobProgress = Job.pick({
  ...{
    id: true,
    status: true,
    state: true,
    outcome: true,
    reason: true,
    killingLine: true,
    waiting: true,
    nodeId: true
  },
  ...{ attemptCount: true, cancelAskedAtMs: true, unknownSinceMs: true, pages: true, items: true, errors: true },
  ...{ queuedAtMs: true, startedAtMs: true, endedAtMs: true }
})
export type JobProgress = z.infer<typeof JobProgress>

/** What narrows a list. `spider` and `project` take `*`; `text`: in either, or the start of an id (from 10 digits). */
export const JobFilter = z.object({
  /** One may stand alone: `?status=queued`. */
  status: z.union([z.array(JobStatus).max(7), JobStatus.transform((one) => [one])]).optional(),
  project: z.string().max(200).optional(),
  spider: z.string().max(200).optional(),
  nodeId: NodeId.optional(),
  scheduleId: z.string().max(32).brand<'ScheduleId'>().optional(),
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
  spiders: z.array(z.string().min(1).max(200)).min(1).max(1000),
  settings: StringMap.optional(),
  args: StringMap.optional(),
  /** Settings and arguments whose values must not be shown again. */
  secretNames: z.array(z.string().max(200)).max(100).optional(),
  limits: RunLimits.nullable().optional(),
  priority: z.number().finite().optional(),
  nodeId: NodeId.nullable().optional(),
  tags: z.array(TagTerm).max(20).optional(),
  /** Absent: as the project says. null: never. */
  retry: RetryPolicy.nullable().optional(),
  notBeforeMs: MomentMs.nullable().optional(),
  expiresAtMs: MomentMs.nullable().optional(),
  /** Absent: as the project says. */
  noOverlap: z.boolean().optional(),
  after: z.array(Dependency).max(100).optional(),
  /** While a job asked for with the same key is younger than this, that job is the answer and no new one is made. */
  dedupe: z
    .object({
      key: z.string().min(1).max(500),
      ttlSeconds: z.number().min(1).max(31_536_000),
      /** A new job whatever was asked for: the key stands for it from now on. */
      renew: z.boolean().optional()
    })
    .nullable()
    .optional()
})
export type RunInput = z.infer<typeof RunInput>

/** One job of a bulk: as RunInput, with one spider. */
export const RunItem = RunInput.omit({ spiders: true }).extend({ spider: z.string().min(1).max(200) })
export type RunItem = z.infer<typeof RunItem>

/** Where queued jobs go in the order of their priority: before all others, behind all others, or right before one. */
export const QueuePlace = z.union([z.literal('front'), z.literal('back'), z.object({ before: JobId })])
export type QueuePlace = z.infer<typeof QueuePlace>

const Ids = z.object({ ids: z.array(JobId).min(1).max(10_000) })
const Changed = z.object({ changed: z.array(JobId) })

/** A job made under a request's key is found again by it, as long as its own dedupe key does not say otherwise. */
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

export const jobsContract = {
  /** Newest first, by keyset: `before` is the id of the last row of the page above. */
  list: read('viewer', 'GET /jobs')
    .input(JobFilter.extend({ before: JobId.optional(), limit: z.coerce.number().int().min(1).max(500).default(100) }))
    .output(z.object({ jobs: z.array(Job), nextBefore: JobId.nullable() })),
  facets: read('viewer', 'GET /jobs/facets').input(JobFilter).output(JobFacets),
  get: read('viewer', 'GET /jobs/{id}')
    .input(z.object({ id: JobId }))
    .output(JobDetail),
  status: read('viewer', 'GET /jobs/{id}/status')
    .input(z.object({ id: JobId }))
    .output(JobProgress),
  /** Memory and CPU of the newest run on the local node, oldest sample first; empty for runs elsewhere. */
  usage: read('viewer', 'GET /jobs/{id}/usage')
    .input(z.object({ id: JobId }))
    .output(z.object({ samples: z.array(UsageSample) })),
  run: write('operator', 'POST /jobs', { repeatableForMs })
    .input(RunInput)
    .output(z.object({ jobs: z.array(Job) })),
  /** Many jobs in one transaction, all or none. `ids`: in the order of items; a deduplicated one is the earlier job. */
  runMany: write('operator', 'POST /jobs/bulk', { repeatableForMs: allRepeatableForMs })
    .input(z.object({ jobs: z.array(RunItem).min(1).max(10_000) }))
    .output(z.object({ ids: z.array(JobId), deduplicated: z.number().int() })),
  /** How many of these jobs have which status now: progress of a bulk act. Unknown ids are not counted. */
  count: ask('viewer', 'POST /jobs/count')
    .input(Ids)
    .output(z.object({ status: z.array(FacetCount) })),
  /** Queued jobs only; others are left as they are. */
  setPriority: write('operator', 'POST /jobs/priority')
    .input(Ids.extend({ priority: z.number().finite() }))
    .output(Changed),
  /** Queued jobs only. `before` gives them the priority of the job that they are put before. */
  reorder: write('operator', 'POST /jobs/reorder')
    .input(Ids.extend({ to: QueuePlace }))
    .output(Changed),
  /** Queued jobs only: where they may run from now on. */
  place: write('operator', 'POST /jobs/place').input(Ids.extend(Placement.shape)).output(Changed),
  /**
   * Gives up the live attempts of jobs whose node does not answer, and queues them for other nodes: they may run twice,
   * and are flagged so. Jobs whose node answers are left alone and not in `changed`.
   */
  runElsewhere: write('operator', 'POST /jobs/elsewhere').input(Ids).output(Changed),
  /**
   * Ask for an end: queued jobs end at once, live ones by the ladder INT, INT, KILL; `force` starts at the second step.
   */
  cancel: write('operator', 'POST /jobs/cancel')
    .input(Ids.extend({ force: z.boolean().default(false) }))
    .output(z.object({ asked: z.array(JobId), alreadyEnded: z.array(JobId) })),
  /** Undo of a cancel: jobs that were cancelled while still queued go back to their place. */
  restore: write('operator', 'POST /jobs/restore')
    .input(Ids)
    .output(z.object({ restored: z.array(JobId) })),
  /** The same again as new jobs. */
  retry: write('operator', 'POST /jobs/retry')
    .input(Ids)
    .output(z.object({ jobs: z.array(Job) }))
}
