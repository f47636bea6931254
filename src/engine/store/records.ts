import type { TimelineEntry } from '../job-rules/attempt-change.ts'
import type {
  Attempt,
  AttemptNumber,
  Backfill,
  ChainId,
  ChainSettings,
  Delivery,
  Dependency,
  Deployment,
  Firing,
  Job,
  JobId,
  JobStatus,
  LimitRule,
  NodeId,
  NodeMode,
  Placement,
  Problem,
  ProjectName,
  RetryPolicy,
  RunLimits,
  Schedule,
  ScheduleId,
  ScheduleSettings,
  SealedText,
  SourceId,
  SourceSettings,
  VersionName,
  WebhookId
} from '../../shared/contract/index.ts'
import { PLAIN_ORDER } from '../../shared/plain-job.ts'

/** What the Store is given and gives (store.ts): plain data, the same for every implementation. */

export interface NewJob {
  id: JobId
  jobid: string
  project: ProjectName
  version: VersionName | null
  spider: string
  settings: Record<string, string>
  args: Record<string, string>
  /** Names whose values in `settings` and `args` are sealed (src/engine/runtime/secret-box.ts). */
  secretNames: string[]
  limits: RunLimits | null
  retry: RetryPolicy | null
  notBeforeMs: number | null
  expiresAtMs: number | null
  noOverlap: boolean
  after: Dependency[]
  /** `renew`: the key stands for this job from now on, whatever it stood for. */
  dedupe: { key: string; expiresAtMs: number; renew?: true } | null
  priority: number
  placement: Placement
  source: Job['source']
  scheduleId: ScheduleId | null
  nominalMs: number | null
  entry: TimelineEntry
}

/** What a new job has where nobody asked for more: it runs at once, on any node, without limits. */
export const PLAIN_JOB: Omit<NewJob, 'id' | 'jobid' | 'project' | 'spider' | 'source' | 'entry'> = {
  ...PLAIN_ORDER,
  dedupe: null
}

/** A job as the store knows it: all of the contract's Job but what only the live engine can tell. */
export type StoredJob = Omit<Job, 'waiting' | 'unknownSinceMs'>

/** A job that ran and ended, as lists of a Scrapyd show it. */
export interface FinishedRun {
  /** The job's id; `jobid` is the one its client knows, `run` where and under which jobid it ran. */
  id: JobId
  jobid: string
  project: ProjectName
  spider: string
  startedAtMs: number | null
  endedAtMs: number
  run: { nodeId: NodeId; jobid: string; logArchived: boolean }
}

/** Jobs of one lane are alike to placement (store/lane.ts parses the text). */
export interface LaneDepth {
  lane: string
  /** Held jobs are not counted. */
  depth: number
}

/** A queued job as dispatching sees it. */
export interface QueueHead {
  id: JobId
  jobid: string
  priority: number
  rank: number
  /** Tells the number of the next attempt. */
  attemptCount: number
}

/** A run as its node names it. */
export interface RunOnNode {
  project: ProjectName
  jobid: string
}

export interface AttemptStart {
  jobId: JobId
  number: AttemptNumber
  jobid: string
  nodeId: NodeId
  version: VersionName
  entry: TimelineEntry
}

/** With its job as the claim left it. */
export interface BegunAttempt extends Attempt {
  job: StoredJob
}

export interface StoredNode {
  id: NodeId
  name: string
  kind: 'local' | 'scrapyd'
  url: string
  username: string | null
  sealedPassword: SealedText | null
  caCertificate: string | null
  /** null: our default, or what is learned. */
  slots: number | null
  tags: string[]
  mode: NodeMode
  scrapydVersion: string | null
  addedAtMs: number
  queueAhead: number
  giveUpAfterSeconds: number | null
  group: string | null
  clientCertificate: string | null
  sealedClientKey: SealedText | null
  /** It may hold a password. `direct` is not sealed. */
  sealedProxyUrl: SealedText | 'direct' | null
  /** The discovery source that found it; null: added by hand. */
  sourceId: SourceId | null
}

export interface StoredSchedule {
  id: ScheduleId
  revision: number
  /** Secret values of its templates are sealed. */
  settings: ScheduleSettings
  paused: boolean
  pauseNote: string | null
  pausedBy: Schedule['pausedBy']
  createdAtMs: number
  changedAtMs: number
  /** Every moment up to here has its row, or was before the schedule began. */
  doneUntilMs: number
  /** Firings that made jobs. */
  runCount: number
  failuresInARow: number
}

/** All of the contract's Firing but what its jobs tell, by which run bars are drawn. */
export type StoredFiring = Omit<Firing, 'outcome' | 'durationMs'> & {
  backfillId: string | null
  /** Statuses of its jobs, and when the first started and the last ended, as far as they have. */
  statuses: JobStatus[]
  startedAtMs: number | null
  endedAtMs: number | null
}

/** What is kept, and how long. */
export interface Retention {
  nowMs: number
  /** So many positions of the change log. */
  changes: number
  /** Deliveries that have ended since then, well or not; of each webhook the newest of either. */
  deliveries: { deliveredSinceMs: number; deadSinceMs: number; newest: number }
  /** Of each schedule the newest rows that were written since then; all rows of `except` (a backfill is under way). */
  firings: { newest: number; sinceMs: number; except: string[] }
  /** Cancels of queued jobs that chains know of can be undone if they were asked since then. */
  chains: { cancelledSinceMs: number }
}

export interface NewFiring extends Omit<Firing, 'id' | 'jobIds' | 'outcome' | 'durationMs'> {
  backfillId: string | null
  jobs: NewJob[]
  /** The schedule's, from then on; null: it stays. */
  doneUntilMs: number | null
}

/**
 * The newest backfill of a schedule. `fired` and `failed` are as of when it was written: while it is under way they are
 * counted from its firings, which may be pruned afterwards.
 */
export interface StoredBackfill extends Omit<Backfill, 'ended'> {
  revision: number
}

export interface StoredSource {
  revision: number
  settings: SourceSettings
  sealedPassword: SealedText | null
}

/** A node that its source named before and does not now. `cordoning`: it is to be cordoned for it. */
export interface VanishedNode {
  nodeId: NodeId
  sinceMs: number
  state: 'cordoning' | 'cordoned' | 'left'
}

/** All limits together; revision 0: none were ever set. */
export interface StoredLimits {
  revision: number
  rules: LimitRule[]
}

export type ToldProblem = Pick<Problem, 'id' | 'title' | 'severity'>

export interface StoredChain {
  id: ChainId
  /** Secret values of its template are sealed. */
  settings: ChainSettings
  createdAtMs: number
  firedCount: number
  lastFiredAtMs: number | null
  problem: string | null
}

export interface DueChain {
  chainId: ChainId
  jobId: JobId
}

export interface ChainAnswer extends DueChain {
  atMs: number
  /** Empty where none could be made; `problem` then says why. */
  jobs: NewJob[]
  problem: string | null
}

/** Somebody who is told of events: `kind` says by whom, a webhook or a plugin's hooks. */
export interface NewWebhook {
  id: WebhookId
  kind: 'webhook' | 'plugin'
  name: string
  url: string
  events: string[]
  project: ProjectName | null
  enabled: boolean
  createdAtMs: number
  /** The old one signs as well until its time. */
  sealedSecret: SealedText | null
  sealedOldSecret: SealedText | null
  oldSecretUntilMs: number | null
}

export interface StoredWebhook extends NewWebhook {
  lastDeliveredAtMs: number | null
  /** Of the last try; null: it was delivered. */
  problem: string | null
  waiting: number
  dead: number
  /** Events since the last delivery that were not kept, because too many waited. */
  dropped: number
}

export interface NewEvent {
  event: string
  project: ProjectName | null
  atMs: number
  data: Record<string, unknown>
}

export interface StoredDelivery extends Omit<Delivery, 'event'> {
  event: string
  body: string
}

/** What came of a try. `waiting`: again at `nextTryAtMs`. */
export interface DeliveryTry {
  id: string
  state: StoredDelivery['state']
  atMs: number
  nextTryAtMs: number | null
  answer: string
  /** The receiver wants nothing any more: its webhook is turned off. */
  isGone?: boolean
}

/** `scope`: whose key it is; `begunBy`: which run of the engine took it. */
export interface AnswerClaim {
  scope: string
  key: string
  /** Of the request: the same key with another one is refused. */
  fingerprint: string
  begunBy: string
  nowMs: number
  expiresAtMs: number
}

/** `answer` null: there is none (yet). */
export interface RememberedAnswer extends Pick<AnswerClaim, 'fingerprint' | 'begunBy' | 'expiresAtMs'> {
  answer: SealedText | null
}

export interface StoredVersion {
  project: ProjectName
  version: VersionName
  sha256: string | null
  sizeBytes: number | null
  spiders: string[] | null
  createdAtMs: number
  deployments: Deployment[]
}

/** What a change names, by noun. `jobs`: too many to be told one by one (a bulk); its id says nothing. */
export interface ChangedIds {
  job: JobId
  jobs: string
  node: NodeId
  project: ProjectName
  schedule: ScheduleId
}

export type ChangedThing<Noun extends keyof ChangedIds = keyof ChangedIds> = {
  [One in Noun]: { noun: One; id: ChangedIds[One]; cursor: number }
}[Noun]
