import type { TimelineEntry } from './attempt-change.ts'
import type { ProjectBounds, Protection } from './retention.ts'
import type {
  Alert,
  ALERT_CODES,
  AlertChannelId,
  AlertDigest,
  AlertId,
  AlertLabels,
  AlertRuleId,
  AlertTarget,
  QuietHours,
  AccessTokenId,
  Attempt,
  AttemptNumber,
  AuditRecord,
  AuditResult,
  Backfill,
  ChainId,
  ChainSettings,
  Delivery,
  Dependency,
  Deployment,
  ErrorGroupId,
  ErrorState,
  Firing,
  GroupId,
  Job,
  JobId,
  JobStatus,
  KubernetesSettings,
  LimitRule,
  NodeId,
  NodeMode,
  Outcome,
  PasskeyId,
  Placement,
  ProjectName,
  RetryPolicy,
  RunLimits,
  Schedule,
  ScheduleId,
  ScheduleSettings,
  SealedText,
  SourceId,
  SourceSettings,
  SpiderFindings,
  StoragePolicy,
  UserId,
  VersionName,
  WebhookId
} from '../../shared/contract/index.ts'
import type { AlertWatch } from '../../shared/alert-watches.ts'
import type { NodeGroupRole } from '../../shared/roles.ts'
import { PLAIN_ORDER } from '../../shared/plain-job.ts'
import { type Message, messageOf, plain, say } from '../../shared/texts/message.ts'

export interface NewJob {
  id: JobId
  jobid: string
  project: ProjectName
  version: VersionName | null
  spider: string
  settings: Record<string, string>
  args: Record<string, string>
  env: Record<string, string>
  /** Names whose values in `settings`, `args` and `env` are encrypted (src/engine/runtime/secret-box.ts). */
  secretNames: string[]
  limits: RunLimits | null
  retry: RetryPolicy | null
  notBeforeMs: number | null
  expiresAtMs: number | null
  noOverlap: boolean
  after: Dependency[]
  /** `renew`: point the key at this job, even if it points at another job. */
  dedupe: { key: string; expiresAtMs: number; renew?: true } | null
  priority: number
  placement: Placement
  userId: string | null
  source: Job['source']
  scheduleId: ScheduleId | null
  nominalMs: number | null
  entry: TimelineEntry
}

export const PLAIN_JOB: Omit<NewJob, 'id' | 'jobid' | 'project' | 'spider' | 'source' | 'entry'> = {
  ...PLAIN_ORDER,
  dedupe: null
}

export type StoredJob = Omit<Job, 'waiting' | 'unknownSinceMs' | 'pagesPerMinute' | 'itemsPerMinute'>

export interface FinishedRun {
  /** The job's own id. `jobid` is the id that the client uses. `run` has the node and the jobid on that node. */
  id: JobId
  jobid: string
  project: ProjectName
  spider: string
  startedAtMs: number | null
  endedAtMs: number
  run: { nodeId: NodeId; jobid: string; logArchived: boolean; itemsKept: boolean }
}

export interface LaneDepth {
  lane: string
  /** Excludes held jobs. */
  depth: number
}

export interface QueueHead {
  id: JobId
  jobid: string
  priority: number
  rank: number
  attemptCount: number
}

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

export interface BegunAttempt extends Attempt {
  job: StoredJob
}

export interface StoredNode {
  id: NodeId
  name: string
  kind: 'local' | 'engine' | 'scrapyd' | 'pulling' | 'kubernetes'
  /** `pull:ID` for a pulling node, which has no address. */
  url: string
  username: string | null
  sealedPassword: SealedText | null
  caCertificate: string | null
  /** null: the default, or a learned value. */
  slots: number | null
  tags: string[]
  mode: NodeMode
  scrapydVersion: string | null
  addedAtMs: number
  queueAhead: number
  giveUpAfterSeconds: number | null
  /** How many logs per spider the node keeps (Scrapyd's jobs_to_keep); null: unknown. */
  logsKept: number | null
  group: string | null
  clientCertificate: string | null
  sealedClientKey: SealedText | null
  /** Encrypted (except `direct`), because the URL can contain a password. */
  sealedProxyUrl: SealedText | 'direct' | null
  /** The discovery source that found the node; null: added by hand. */
  sourceId: SourceId | null
  /** SHA-256 of a pulling node's token; null: none, or revoked. */
  tokenHash: string | null
  kubernetes: KubernetesSettings | null
}

export interface StoredSchedule {
  id: ScheduleId
  revision: number
  /** Secret values in the templates are encrypted. */
  settings: ScheduleSettings
  paused: boolean
  pauseNote: string | null
  /** Set only if the scheduler wrote the note. */
  pauseNoteCode?: string | undefined
  pauseNoteParams?: Message['params'] | undefined
  pausedBy: Schedule['pausedBy']
  createdAtMs: number
  changedAtMs: number
  /** When an edit moved the schedule's jobs to other projects; 0: never. */
  movedAtMs: number
  /** Fire times up to this one either have a row or precede the schedule's creation. */
  doneUntilMs: number
  runCount: number
  failuresInARow: number
  crawl: CrawlOrigin | null
}

/** The parts of a crawl request that its schedule's settings do not contain. */
export interface CrawlOrigin {
  /** Requests with the same key are duplicates. */
  key: string
  /** As requested. The spider receives them as strings. */
  params: Record<string, unknown>
  atMs: number | null
}

export type StoredFiring = Omit<Firing, 'outcome' | 'durationMs'> & {
  backfillId: string | null
  statuses: JobStatus[]
  startedAtMs: number | null
  endedAtMs: number | null
}

export interface Retention {
  nowMs: number
  changes: number
  /** Keeps deliveries that ended after these times, and the last `newest` deliveries of each webhook. */
  deliveries: { deliveredSinceMs: number; deadSinceMs: number; newest: number }
  /**
   * Keeps firings written after `sinceMs` that are among the last `newest` firings of their schedule, and all firings
   * of the schedules in `except`.
   */
  firings: { newest: number; sinceMs: number; except: string[] }
  chains: { cancelledSinceMs: number }
}

export const jobIdBytesOf = (firings: readonly Pick<Firing, 'jobIds'>[]): number =>
  firings.reduce((sum, { jobIds }) => sum + JSON.stringify(jobIds).length, 0)

type Derived = 'id' | 'jobIds' | 'outcome' | 'durationMs' | 'text' | 'code' | 'params'
export interface NewFiring extends Omit<Firing, Derived> {
  message: Message
  backfillId: string | null
  jobs: NewJob[]
  doneUntilMs: number | null
}

/**
 * The newest backfill of a schedule. `fired` and `failed` are as of the last write. While the backfill runs, both are
 * counted from its firings, which can be pruned afterwards.
 */
export interface StoredBackfill extends Omit<Backfill, 'ended'> {
  revision: number
  /**
   * Whether the user who requested the backfill can use priorities above 0. Stored, because later jobs of the backfill
   * have no user.
   */
  mayGoFirst: boolean
}

export interface StoredSource {
  revision: number
  /** As stored: settings from an older version may lack fields that have defaults. */
  settings: SourceSettings
  sealedPassword: SealedText | null
}

/** A node that its source no longer lists. `cordoning`: the node will be cordoned for that reason. */
export interface VanishedNode {
  nodeId: NodeId
  sinceMs: number
  state: 'cordoning' | 'cordoned' | 'left'
}

export interface StoredLimits {
  revision: number
  rules: LimitRule[]
}

export interface PastRun {
  jobId: JobId
  pages: number | null
  items: number | null
  errors: number | null
  startedAtMs: number | null
  endedAtMs: number | null
  filledFields: FilledFields | null
}

export interface FilledFields {
  items: number
  fields: [name: string, filled: number][]
  hasMoreFields: boolean
}

export interface StoredFindings extends SpiderFindings {
  isDismissed: boolean
}

export interface StoredUser {
  id: UserId
  name: string
  kind: 'person' | 'service'
  /** The role in all projects; null: only the roles in `projects`. */
  role: string | null
  projects: Record<ProjectName, string>
  nodeGroups: Record<string, NodeGroupRole>
  enabled: boolean
  /** In the format of access/passwords.ts; null: cannot log in. */
  passwordHash: string | null
  createdAtMs: number
  /** Sessions that started earlier are invalid. */
  sessionsSinceMs: number
  lastSeenAtMs: number | null
  /** The identity at an external provider: `oidc ISSUER SUB`, `proxy NAME`; null: a user of Scrapdeck itself. */
  subject: string | null
  /** When the provider last confirmed the user; null: never, or the confirmation was revoked. */
  vouchedAtMs: number | null
}

export interface StoredGroup {
  id: GroupId
  name: string
  description: string
  role: string | null
  projects: Record<ProjectName, string>
  nodeGroups: Record<string, NodeGroupRole>
  members: UserId[]
  createdAtMs: number
}

export interface StoredRole {
  name: string
  description: string
  permissions: readonly string[]
  createdAtMs: number
}

export interface StoredAccessToken {
  id: AccessTokenId
  /** null: a token of the owner, who logs in with the service's own password. */
  userId: UserId | null
  name: string
  role: string
  projects: ProjectName[] | null
  /** Only nodes with these tags; null: all nodes, unless `projects` is set. */
  nodeGroups: string[] | null
  hash: string
  ending: string
  createdAtMs: number
  expiresAtMs: number | null
  lastUsedAtMs: number | null
}

export interface StoredAuthenticator {
  userId: UserId
  sealedSecret: SealedText
  createdAtMs: number
  /** The time step of the last accepted code. This code and earlier codes are refused. */
  usedStep: number
  recoveryHashes: string[]
}

export interface StoredPasskey {
  id: PasskeyId
  userId: UserId
  credentialId: string
  name: string
  /** The only host at which the passkey works (the relying party's id). */
  host: string
  /** A COSE key in base64url. */
  publicKey: string
  /** The authenticator's signature counter; 0: the authenticator has none. */
  signCount: number
  createdAtMs: number
  lastUsedAtMs: number | null
}

export interface StoredChain {
  id: ChainId
  /** Secret values in the template are encrypted. */
  settings: ChainSettings
  createdAtMs: number
  firedCount: number
  lastFiredAtMs: number | null
  problem: Message | null
}

export interface DueChain {
  chainId: ChainId
  jobId: JobId
}

export interface ChainAnswer extends DueChain {
  atMs: number
  jobs: NewJob[]
  problem: Message | null
}

/** A subscriber to events: a webhook, a plugin's hooks, or an alert channel. */
export interface NewWebhook {
  id: WebhookId
  /** A `channel` gets only alerts (`AlertWrite.messages`). Its settings are in the field `channel`. */
  kind: 'webhook' | 'plugin' | 'channel'
  name: string
  url: string
  events: string[]
  project: ProjectName | null
  enabled: boolean
  createdAtMs: number
  /** The old secret also signs until `oldSecretUntilMs`. */
  sealedSecret: SealedText | null
  sealedOldSecret: SealedText | null
  oldSecretUntilMs: number | null
  /** Channels stored by an older version lack the newer fields of this object. */
  channel?: {
    target: AlertTarget
    quiet: QuietHours | null
    digest?: AlertDigest | null
    messagesPerHour?: number | null
    projects?: ProjectName[]
  } | null
}

export interface StoredWebhook extends NewWebhook {
  lastDeliveredAtMs: number | null
  problem: string | null
  waiting: number
  dead: number
  /** The number of events dropped since the last delivery because too many were waiting. */
  dropped: number
}

/**
 * An alert (engine/monitoring/alerts), from its first sign until channels have reported its end. `subject` and
 * `text` are encoded messages (shared/texts).
 */
export interface StoredEpisode extends Omit<Alert, 'state' | 'muted' | 'isFlapping' | keyof typeof ALERT_CODES> {
  /** Identifies the watched thing, whose signals have the same key. */
  key: string
  /** `calming`: the breach is over but was too frequent recently, so users still see the alert as firing. */
  state: 'pending' | 'firing' | 'calming' | 'resolved'
  /** When the breach ended; for a resolved alert, when it was resolved. */
  endedAtMs: number | null
  isEscalated: boolean
  /** Channels that must still report the alert or its end. `isTold`: the channel reported it firing. */
  channels: Record<AlertChannelId, { groupId: string; isTold: boolean }>
}

export interface StoredAlertGroup {
  id: string
  channelId: AlertChannelId
  ruleId: AlertRuleId
  lastToldAtMs: number | null
  /** When the group is evaluated next; null: there is nothing to send. */
  flushAtMs: number | null
}

export interface AlertMemory {
  episodes: StoredEpisode[]
  groups: StoredAlertGroup[]
  /** When channels last sent messages. Each channel keeps as many entries as its largest limit counts. */
  sent: { channelId: AlertChannelId; atMs: number }[]
}

export interface AlertWrite {
  episodes: StoredEpisode[]
  forgotten: AlertId[]
  groups: StoredAlertGroup[]
  endedGroups: string[]
  messages: { channelId: AlertChannelId; atMs: number; data: unknown }[]
}

/** A past signal that no other table contains (engine/monitoring/alerts/past). Its texts are encoded. */
export interface StoredAlertFact {
  watch: AlertWatch
  key: string
  /** null: the signal disappeared. */
  value: number | null
  sinceMs: number
  atMs: number
  subject: string
  text: string
  labels: AlertLabels
}

/** `toldMs`: when the channel's last report was due. If `settings` change, reporting starts again. */
export interface StoredDigest {
  channelId: AlertChannelId
  settings: string
  toldMs: number
}

export interface AlertFilter extends OnlyProjects {
  state?: 'firing' | 'resolved' | undefined
  ruleId?: AlertRuleId | undefined
}

export interface AlertPage {
  /** The last alert of the previous page: firing (with the rank of its severity) or ended; null: the first page. */
  before: { rank: number; firedAtMs: number; id: AlertId } | { endedAtMs: number; id: AlertId } | null
  limit: number
}

export interface AlertRuleFigures {
  ruleId: AlertRuleId
  fired: number
  actedOn: number
  lastFiredAtMs: number
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

export interface DeliveryTry {
  id: string
  state: StoredDelivery['state']
  atMs: number
  nextTryAtMs: number | null
  answer: string
  /** Whether the receiver refuses all further events. The webhook is then disabled. */
  isGone?: boolean
}

/** `scope`: the credential that the key belongs to. `begunBy`: the engine process that claimed the key. */
export interface AnswerClaim {
  scope: string
  key: string
  /** A hash of the request. A different request with the same key is rejected. */
  fingerprint: string
  begunBy: string
  nowMs: number
  expiresAtMs: number
  /** Each claim deletes the oldest answers beyond these quotas, those of the same scope first. */
  quota: { ofScope: AnswerQuota; ofAll: AnswerQuota }
}

export interface AnswerQuota {
  count: number
  bytes: number
}

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

export type VersionChange =
  | { kind: 'put'; stored: StoredVersion }
  | ({ kind: 'delete' } & Pick<StoredVersion, 'project' | 'version'>)
  | ({ kind: 'deploy'; deployment: Deployment } & Pick<StoredVersion, 'project' | 'version'>)
  | ({ kind: 'undeploy'; nodeId: NodeId } & Pick<StoredVersion, 'project' | 'version'>)

/** The id types of changes, by noun. `jobs`: too many jobs changed to list them, so the id has no meaning. */
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

/**
 * Settings, arguments and variables up to this size do not count, so that a list of ordinary jobs is never cut short.
 */
const SMALL_BYTES = 10_000

/** How much of a list's byte limit a job uses, given the size of its settings, arguments and variables as JSON. */
export function largeBytes(bytes: number): number {
  return bytes > SMALL_BYTES ? bytes : 0
}

export function largeBytesOf(jobs: Iterable<Pick<StoredJob, 'settings' | 'args' | 'env'>>): number {
  let bytes = 0
  for (const { settings, args, env } of jobs) {
    bytes += largeBytes(JSON.stringify(settings).length + JSON.stringify(args).length + JSON.stringify(env).length)
  }
  return bytes
}

/** A reason without a code is Scrapy's text, or was stored before codes existed. */
export function reasonOf({
  reason,
  reasonCode: code,
  reasonParams: params = {}
}: Pick<Job, 'reason' | 'reasonCode' | 'reasonParams'>): Message | null {
  if (code !== undefined) return { code, params } as Message
  return reason === null ? null : plain(reason)
}

/** The log line that ended the run, or otherwise the reason for its end. */
export function whyFailed(job: WhyFailed): Message {
  const { killingLine: text, killingLineCode: code, killingLineParams: params } = job
  return text === null ? (reasonOf(job) ?? say('reason.unknown')) : messageOf({ text, code, params })
}

export type WhyFailed = Pick<
  StoredJob,
  ('reason' | 'reasonCode' | 'reasonParams') | ('killingLine' | 'killingLineCode' | 'killingLineParams')
>

export interface LogKey {
  jobId: JobId
  number: AttemptNumber
}

export interface ItemsRecord extends LogKey {
  project: ProjectName
  spider: string
  endedAtMs: number
  sizes: { rawBytes: number; storedBytes: number } | null
  problem: string | null
  deletedAtMs: number | null
}

/** `job` is null if retention has deleted it. */
export interface KeptItemsFile extends ItemsRecord {
  sizes: { rawBytes: number; storedBytes: number }
  job: { hasEnded: boolean; kept: boolean; mayHaveRunTwice: boolean } | null
}

export interface UnreachableNodes {
  /** Nodes that are unreachable (`isUnreachable`). A filter gives their live jobs the status `unknown`. */
  unreachableNodes?: readonly NodeId[]
}

/** `onlyProjects`: the projects to include; absent: all projects. */
export interface OnlyProjects {
  onlyProjects?: readonly ProjectName[] | undefined
}

/** All conditions that are set must hold. */
export interface KeptLogFilter extends OnlyProjects {
  /** As in JobFilter: `*` matches anything. */
  project?: string | undefined
  spider?: string | undefined
  nodeId?: NodeId | undefined
  outcome?: Outcome | undefined
  /** Runs that ended after `sinceMs` and started before `untilMs`. */
  sinceMs?: number | undefined
  untilMs?: number | undefined
}

export interface IndexedLogBlocks {
  rawBytes: number
  /** The first of the consecutive blocks of whole frames; null: no whole frames. */
  firstBlock: number | null
  wholeBlocks: number
  /**
   * The block of the bytes after the whole frames; null: there are no such bytes; `open`: the block is not full yet.
   */
  tailBlock: number | 'open' | null
}

/** `blocks` is null if the log is not in the index yet. `next` starts the next page; null: this is the last page. */
export interface LogPage {
  logs: (LogKey & { blocks: IndexedLogBlocks | null })[]
  next: LogKey | null
  ruledOut: { logs: number; bytes: number }
}

export interface KeptLog extends LogKey {
  project: ProjectName
  spider: string
  nodeId: NodeId
  startedAtMs: number | null
  endedAtMs: number | null
  log: ArchivedLog
}

export interface UnarchivedRun extends Omit<KeptLog, 'log' | 'endedAtMs'> {
  jobid: string
}

export interface UnindexedLog extends LogKey {
  log: ArchivedLog
  isTailOnly: boolean
}

export interface RetentionBounds {
  nowMs: number
  defaults: ProjectBounds
  projects: ReadonlyMap<ProjectName, ProjectBounds>
}

/** A pass over the ended jobs, with counts of the jobs kept so far. If this record is lost, the pass starts again. */
export interface RetentionPass {
  after: { endedAtMs: number; id: string }
  /** Keys: project and spider, separated by a null character. */
  spiders: Map<string, number>
  jobs: Map<string, number>
  logBytes: Map<string, number>
  isUnpublished: boolean
}
export const newRetentionPass = (): RetentionPass => ({
  after: { endedAtMs: Number.MIN_SAFE_INTEGER, id: '' },
  spiders: new Map(),
  jobs: new Map(),
  logBytes: new Map(),
  isUnpublished: false
})

/** `rows`: the maximum number of rows to check. `jobs`: the maximum number of jobs (or their logs) to delete. */
export interface RetentionLimit {
  rows: number
  jobs: number
  /** Whether to announce the deletions so far to clients. The last step of a pass always does. */
  publish?: boolean
}

/** `protection` is null for jobs and logs that are deleted, or that a preview would delete. */
export interface RetentionCounts {
  project: ProjectName
  kind: 'jobs' | 'logs'
  protection: Protection | null
  count: number
  bytes: number
  oldestMs: number
  newestMs: number
}

/** `pass` is null when the pass is over. `tookMs` excludes waiting for other work and for the disk. */
export interface RetentionStep {
  pass: RetentionPass | null
  tookMs: number
  counts: RetentionCounts[]
}

/** `withItems`: the jobs to delete that have archived items files, which are deleted too. */
export interface RetentionPreviewStep extends RetentionStep {
  withItems: JobId[]
}

/** An archived log whose row is deleted, but whose blob can still exist. */
export interface DeletedLog {
  jobId: JobId
  attemptNumber: AttemptNumber
}

export interface StoredStoragePolicy {
  revision: number
  policy: StoragePolicy
}

export interface StorageSums {
  jobs: { project: ProjectName; jobs: number }[]
  logs: { project: ProjectName; logs: number; bytes: number; packed: number }[]
  /** `canShrink` is false if an earlier version created the database: it reuses free pages but never shrinks. */
  database: { bytes: number; freeBytes: number; canShrink: boolean }
}

export interface ArchivedLog {
  /** The log itself if it is small; null: the log is a blob. */
  packed: Uint8Array | null
  sizes: { rawBytes: number; storedBytes: number } | null
}

/** An error in a run (log-parser/error-fingerprint.ts). Times are by our clock. */
export interface RunErrorRow {
  fingerprint: string
  title: string
  culprit: string
  exceptionType: string | null
  because: 'frames' | 'exception' | 'message'
  count: number
  firstSeenMs: number
  lastSeenMs: number
  line: number
  offset: number
  message: string
}

export interface RunReading {
  jobId: JobId
  attemptNumber: AttemptNumber
  /** JSON (log-parser/stored-figures.ts); null: keep the stored figures. */
  figures: string | null
  errors: RunErrorRow[]
}

export interface StoredErrorGroup extends Omit<RunErrorRow, 'fingerprint' | 'line' | 'offset' | 'message'> {
  id: ErrorGroupId
  project: ProjectName
  state: ErrorState
  stateAtMs: number | null
  reopenedAtMs: number | null
  firstVersion: VersionName
  jobCount: number
  spiderCount: number
  versionCount: number
  nodeCount: number
  spiders: string[]
  /** Counts by hour since 1970. Hours without errors are omitted. */
  hours: { hour: number; count: number }[]
}

/** `line` and `offset` are where the error first occurred in the run. */
export interface StoredOccurrence
  extends Pick<RunErrorRow, 'count' | 'firstSeenMs' | 'lastSeenMs' | 'line' | 'offset' | 'message'> {
  jobId: JobId
  attemptNumber: AttemptNumber
  spider: string
  version: VersionName
  nodeId: NodeId
}

export interface ErrorSpreadRow {
  value: string
  count: number
  runCount: number
  firstSeenMs: number
  lastSeenMs: number
}

export interface StoredErrorGroupDetail {
  group: StoredErrorGroup
  occurrences: StoredOccurrence[]
  spiders: ErrorSpreadRow[]
  versions: ErrorSpreadRow[]
  nodes: ErrorSpreadRow[]
}

export type NewAuditRecord = Omit<AuditRecord, 'seq' | 'changes'>

/** `text` is a string and not an object, because strings are passed between threads much faster. */
export interface NewAuditEntry {
  columns: Omit<StoredAuditEntry, 'seq' | 'record' | 'hash'>
  text: string
}

/** As stored. The hash covers exactly this text and the previous hash. */
export interface StoredAuditEntry {
  seq: number
  atMs: number
  operation: string
  who: string
  project: string | null
  result: AuditResult
  record: string
  hash: string
}

/** A `seq` of 0 means that there is no such entry. */
export interface AuditChain {
  /** The last entry that was deleted because of its age. */
  deleted: { seq: number; hash: string }
  newest: { seq: number; hash: string }
}
