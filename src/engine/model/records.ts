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
import { type Message, plain, say } from '../../shared/texts/message.ts'

/** Records that the Store (store.ts) accepts and returns: plain data, the same for every implementation. */

export interface NewJob {
  id: JobId
  jobid: string
  project: ProjectName
  version: VersionName | null
  spider: string
  settings: Record<string, string>
  args: Record<string, string>
  env: Record<string, string>
  /** Names whose values in `settings`, `args` and `env` are sealed (src/engine/runtime/secret-box.ts). */
  secretNames: string[]
  limits: RunLimits | null
  retry: RetryPolicy | null
  notBeforeMs: number | null
  expiresAtMs: number | null
  noOverlap: boolean
  after: Dependency[]
  /** `renew`: point the key at this job, even if it points at another. */
  dedupe: { key: string; expiresAtMs: number; renew?: true } | null
  priority: number
  placement: Placement
  userId: string | null
  source: Job['source']
  scheduleId: ScheduleId | null
  nominalMs: number | null
  entry: TimelineEntry
}

/** Defaults of a new job: it runs at once, on any node, without limits. */
export const PLAIN_JOB: Omit<NewJob, 'id' | 'jobid' | 'project' | 'spider' | 'source' | 'entry'> = {
  ...PLAIN_ORDER,
  dedupe: null
}

/** The contract's Job without the fields that only the running engine knows. */
export type StoredJob = Omit<Job, 'waiting' | 'unknownSinceMs' | 'pagesPerMinute' | 'itemsPerMinute'>

/** An ended run, as Scrapyd lists it. */
export interface FinishedRun {
  /** `jobid` is the client's; `run` has the node and the jobid there. */
  id: JobId
  jobid: string
  project: ProjectName
  spider: string
  startedAtMs: number | null
  endedAtMs: number
  run: { nodeId: NodeId; jobid: string; logArchived: boolean; itemsKept: boolean }
}

/** A lane (in text form, see model/lane.ts) and its number of jobs. */
export interface LaneDepth {
  lane: string
  /** Held jobs excluded. */
  depth: number
}

export interface QueueHead {
  id: JobId
  jobid: string
  priority: number
  rank: number
  /** The number of attempts so far, which determines the number of the next one. */
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

/** An attempt with its job as of the claim. */
export interface BegunAttempt extends Attempt {
  job: StoredJob
}

export interface StoredNode {
  id: NodeId
  name: string
  kind: 'local' | 'engine' | 'scrapyd' | 'pulling' | 'kubernetes'
  /** `pull:ID` for a node that pulls, which has no address. */
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
  /** How many logs per spider it keeps (Scrapyd's jobs_to_keep); null: unknown. */
  logsKept: number | null
  group: string | null
  clientCertificate: string | null
  sealedClientKey: SealedText | null
  /** Encrypted, because it may contain a password; `direct` is not. */
  sealedProxyUrl: SealedText | 'direct' | null
  /** The discovery source that found it; null: added by hand. */
  sourceId: SourceId | null
  /** SHA-256 of the token with which a pulling node authenticates; null: none, or revoked. */
  tokenHash: string | null
  /** Set if and only if the node is of this kind. */
  kubernetes: KubernetesSettings | null
}

export interface StoredSchedule {
  id: ScheduleId
  revision: number
  /** Secret values in its templates are encrypted. */
  settings: ScheduleSettings
  paused: boolean
  pauseNote: string | null
  /** Set only for a note from the scheduler. */
  pauseNoteCode?: string | undefined
  pauseNoteParams?: Message['params'] | undefined
  pausedBy: Schedule['pausedBy']
  createdAtMs: number
  changedAtMs: number
  /** When its jobs moved to other projects; 0: never. */
  movedAtMs: number
  /** Every fire time up to this has a row or precedes the schedule. */
  doneUntilMs: number
  /** The number of firings that created jobs. */
  runCount: number
  failuresInARow: number
  /** Set if a crawl order created it. */
  crawl: CrawlOrigin | null
}

/** What a schedule keeps of the crawl order that created it; its settings have the rest. */
export interface CrawlOrigin {
  /** Equal for orders that count as the same. */
  key: string
  /** As ordered; the spider receives them as text. */
  params: Record<string, unknown>
  /** Its `schedule_at`. */
  atMs: number | null
}

/** The contract's Firing without the fields derived from its jobs for run bars. */
export type StoredFiring = Omit<Firing, 'outcome' | 'durationMs'> & {
  backfillId: string | null
  /** Statuses of its jobs, the first start and the last end; null: not yet. */
  statuses: JobStatus[]
  startedAtMs: number | null
  endedAtMs: number | null
}

export interface Retention {
  nowMs: number
  /** Number of change log entries to keep. */
  changes: number
  /** Keeps deliveries, delivered or dead, that ended since then, and the newest of each webhook. */
  deliveries: { deliveredSinceMs: number; deadSinceMs: number; newest: number }
  /** Keeps the newest rows per schedule written since then, and all rows of `except` (with a running backfill). */
  firings: { newest: number; sinceMs: number; except: string[] }
  /** A cancel of a queued job that chains know of can be undone if it was requested since then. */
  chains: { cancelledSinceMs: number }
}

/** The bytes that count towards `maxBytes` of listFirings. */
export const jobIdBytesOf = (firings: readonly Pick<Firing, 'jobIds'>[]): number =>
  firings.reduce((sum, { jobIds }) => sum + JSON.stringify(jobIds).length, 0)

type Derived = 'id' | 'jobIds' | 'outcome' | 'durationMs' | 'text' | 'code' | 'params'
export interface NewFiring extends Omit<Firing, Derived> {
  message: Message
  backfillId: string | null
  jobs: NewJob[]
  /** The schedule's new `doneUntilMs`; null: unchanged. */
  doneUntilMs: number | null
}

/**
 * The newest backfill of a schedule. `fired` and `failed` are as of the last write. While it runs, they are counted
 * from its firings, which may be pruned afterwards.
 */
export interface StoredBackfill extends Omit<Backfill, 'ended'> {
  revision: number
  /** Whether its requester may use a priority above normal; stored, because later jobs of the backfill have no user. */
  mayGoFirst: boolean
}

export interface StoredSource {
  revision: number
  /** As stored: settings from an older version may lack fields that have defaults. */
  settings: SourceSettings
  sealedPassword: SealedText | null
}

/** A node that its source no longer lists. `cordoning`: it will be cordoned for that. */
export interface VanishedNode {
  nodeId: NodeId
  sinceMs: number
  state: 'cordoning' | 'cordoned' | 'left'
}

/** All limits together; revision 0: none was ever set. */
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
  /** null: its items were not counted. */
  filledFields: FilledFields | null
}

export interface FilledFields {
  items: number
  /** Most frequent first. */
  fields: [name: string, filled: number][]
  /** There are other, less frequent fields. */
  hasMoreFields: boolean
}

export interface StoredFindings extends SpiderFindings {
  isDismissed: boolean
}

/** A person or program that may log in or use tokens. */
export interface StoredUser {
  id: UserId
  name: string
  kind: 'person' | 'service'
  /** The role in all projects; null: only the roles in the listed ones. */
  role: string | null
  projects: Record<ProjectName, string>
  /** By node tag. */
  nodeGroups: Record<string, NodeGroupRole>
  enabled: boolean
  /** As written by access/passwords.ts; null: cannot log in. */
  passwordHash: string | null
  createdAtMs: number
  /** Sessions that began earlier are invalid. */
  sessionsSinceMs: number
  lastSeenAtMs: number | null
  /** The identity at an external provider: `oidc ISSUER SUB`, `proxy NAME`. null: a user of this Scrapdeck itself. */
  subject: string | null
  /** When the provider last confirmed the user; null: never, or no longer. */
  vouchedAtMs: number | null
}

/** Users who get these roles in addition to their own. */
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
  /** By name; this version ignores permissions that it does not know. */
  permissions: readonly string[]
  createdAtMs: number
}

export interface StoredAccessToken {
  id: AccessTokenId
  /** null: the token of the owner, who logs in with the service's own password. */
  userId: UserId | null
  name: string
  role: string
  /** Restricted to these projects; null: all. */
  projects: ProjectName[] | null
  /** Restricted to nodes with these tags; null: all, unless restricted to projects. */
  nodeGroups: string[] | null
  /** SHA-256, in hexadecimal digits. */
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
  /** Time step of the last accepted code: this and earlier codes are refused. */
  usedStep: number
  recoveryHashes: string[]
}

export interface StoredPasskey {
  id: PasskeyId
  userId: UserId
  /** The authenticator's id for the passkey: base64url. */
  credentialId: string
  name: string
  /** The only host at which it works (the relying party's id). */
  host: string
  /** COSE, base64url. */
  publicKey: string
  /** The authenticator's signature counter; 0: it does not count. */
  signCount: number
  createdAtMs: number
  lastUsedAtMs: number | null
}

export interface StoredChain {
  id: ChainId
  /** Secret values in its template are encrypted. */
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
  /** Empty if no job could be created; `problem` then says why. */
  jobs: NewJob[]
  problem: Message | null
}

/** A subscriber to events: a webhook, a plugin's hooks, or an alert channel. */
export interface NewWebhook {
  id: WebhookId
  /** `channel`: gets only alerts (`AlertWrite.messages`); its settings are in the field `channel`. */
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
  /** Optional fields are absent in channels from before they existed. */
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
  /** The error of the last attempt; null: it was delivered. */
  problem: string | null
  waiting: number
  dead: number
  /** Events dropped since the last delivery, because too many were waiting. */
  dropped: number
}

/**
 * An alert (engine/monitoring/alerts), from its first sign until channels have reported its end. `subject` and `text`
 * are encoded messages (shared/texts).
 */
export interface StoredEpisode extends Omit<Alert, 'state' | 'muted' | 'isFlapping' | keyof typeof ALERT_CODES> {
  /** Identifies the watched thing; signals have the same key. */
  key: string
  /** `calming`: the breach is over but was too frequent recently; users still see it as firing. */
  state: 'pending' | 'firing' | 'calming' | 'resolved'
  /** When the breach ended; for a resolved alert, when it was resolved. */
  endedAtMs: number | null
  isEscalated: boolean
  /**
   * Channels that must still report the alert, or have reported it firing (`isTold`). Empty once all have reported its
   * end.
   */
  channels: Record<AlertChannelId, { groupId: string; isTold: boolean }>
}

export interface StoredAlertGroup {
  id: string
  channelId: AlertChannelId
  ruleId: AlertRuleId
  lastToldAtMs: number | null
  /** The next evaluation; null: nothing to send. */
  flushAtMs: number | null
}

/** What alerts need after a restart. */
export interface AlertMemory {
  /** Unsettled alerts and recently ended ones. */
  episodes: StoredEpisode[]
  groups: StoredAlertGroup[]
  /** When channels last got messages; for each channel, as many as its largest limit counts. */
  sent: { channelId: AlertChannelId; atMs: number }[]
}

export interface AlertWrite {
  episodes: StoredEpisode[]
  /** Alerts that ended while pending. */
  forgotten: AlertId[]
  groups: StoredAlertGroup[]
  endedGroups: string[]
  messages: { channelId: AlertChannelId; atMs: number; data: unknown }[]
}

/** A signal that no other table keeps (engine/monitoring/alerts/past), with encoded texts. */
export interface StoredAlertFact {
  watch: AlertWatch
  key: string
  /** null: it disappeared. */
  value: number | null
  sinceMs: number
  atMs: number
  subject: string
  text: string
  labels: AlertLabels
}

/** When a channel's last report was due; changed settings start afresh. */
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
  /** Returns alerts after this one, which fires (with the rank of its severity) or has ended; null: the first page. */
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

/** Result of a delivery attempt. `waiting`: retry at `nextTryAtMs`. */
export interface DeliveryTry {
  id: string
  state: StoredDelivery['state']
  atMs: number
  nextTryAtMs: number | null
  answer: string
  /** The receiver refuses all further events, so the webhook is disabled. */
  isGone?: boolean
}

/** `scope`: the credential that the key belongs to; `begunBy`: the engine run that claimed it. */
export interface AnswerClaim {
  scope: string
  key: string
  /** Hash of the request: another request with the same key is rejected. */
  fingerprint: string
  begunBy: string
  nowMs: number
  expiresAtMs: number
  /** Claiming deletes the oldest answers beyond it, those of this scope first. */
  quota: { ofScope: AnswerQuota; ofAll: AnswerQuota }
}

/** The limit for answers with their keys. `bytes`: of the encrypted answers. */
export interface AnswerQuota {
  count: number
  bytes: number
}

/** `answer` null: no answer (yet). */
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

/** A change of the facts about one version. `deploy`: adds or replaces the deployment of its node. */
export type VersionChange =
  | { kind: 'put'; stored: StoredVersion }
  | ({ kind: 'delete' } & Pick<StoredVersion, 'project' | 'version'>)
  | ({ kind: 'deploy'; deployment: Deployment } & Pick<StoredVersion, 'project' | 'version'>)
  | ({ kind: 'undeploy'; nodeId: NodeId } & Pick<StoredVersion, 'project' | 'version'>)

/** Ids of changes by noun. `jobs`: too many jobs changed to list them (bulk); the id has no meaning. */
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

/** Settings, arguments and variables below this size do not count, so that a list of ordinary jobs is not cut. */
const SMALL_BYTES = 10_000

/** How much of a list's limit a job with this many bytes of settings, arguments and variables (as JSON) uses. */
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

/** Without a code, the reason is Scrapy's text, or was stored before codes existed. */
export function reasonOf({
  reason,
  reasonCode: code,
  reasonParams: params = {}
}: Pick<Job, 'reason' | 'reasonCode' | 'reasonParams'>): Message | null {
  if (code !== undefined) return { code, params } as Message
  return reason === null ? null : plain(reason)
}

/** The line that killed the run, or why it ended. */
export const whyFailed = (job: Pick<StoredJob, 'killingLine' | 'reason' | 'reasonCode' | 'reasonParams'>): Message =>
  job.killingLine === null ? (reasonOf(job) ?? say('reason.unknown')) : plain(job.killingLine)

export interface LogKey {
  jobId: JobId
  number: AttemptNumber
}

export interface ItemsRecord extends LogKey {
  project: ProjectName
  spider: string
  endedAtMs: number
  /** Sizes of the file and its blob; null: no file. */
  sizes: { rawBytes: number; storedBytes: number } | null
  problem: string | null
  deletedAtMs: number | null
}

/** `job`: null: retention has deleted it. */
export interface KeptItemsFile extends ItemsRecord {
  sizes: { rawBytes: number; storedBytes: number }
  job: { hasEnded: boolean; kept: boolean; mayHaveRunTwice: boolean } | null
}

/** Hides all other projects everywhere; absent: hides nothing. */
export interface AwayNodes {
  /** Nodes that do not respond: a filter gives their live jobs the status `unknown`. Absent: none. */
  awayNodes?: readonly NodeId[]
}

export interface OnlyProjects {
  onlyProjects?: readonly ProjectName[] | undefined
}

/** Which archived logs to search; all given conditions must hold. */
export interface KeptLogFilter extends OnlyProjects {
  /** As in JobFilter: `*` matches anything. */
  project?: string | undefined
  spider?: string | undefined
  nodeId?: NodeId | undefined
  outcome?: Outcome | undefined
  /** Runs that ended after `sinceMs` and began before `untilMs`. */
  sinceMs?: number | undefined
  untilMs?: number | undefined
}

export interface IndexedLogBlocks {
  rawBytes: number
  /** The first block of its whole frames, which have consecutive blocks; null: no whole frames. */
  firstBlock: number | null
  wholeBlocks: number
  /** The block of the bytes after the whole frames; null: no such bytes; `open`: the block is not full yet. */
  tailBlock: number | 'open' | null
}

/** `blocks`: null where the log is not in the index yet. `next`: start of the next page; null: the last page. */
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

/** A run whose log is not archived (yet), with its names on its node. */
export interface UnarchivedRun extends Omit<KeptLog, 'log' | 'endedAtMs'> {
  jobid: string
}

export interface UnindexedLog extends LogKey {
  log: ArchivedLog
  /** Its whole frames are already in the index. */
  isTailOnly: boolean
}

/** What retention keeps (model/retention.ts); `projects`: those with their own bounds. */
export interface RetentionBounds {
  nowMs: number
  defaults: ProjectBounds
  projects: ReadonlyMap<ProjectName, ProjectBounds>
}

/**
 * Progress of a pass over the ended jobs, with counts of the kept jobs that it has passed. Plain data: a lost pass
 * starts again.
 */
export interface RetentionPass {
  after: { endedAtMs: number; id: string }
  /** By project and spider, separated by a null character. */
  spiders: Map<string, number>
  jobs: Map<string, number>
  logBytes: Map<string, number>
  /** The change log does not list all deleted jobs yet. */
  isUnpublished: boolean
}
export const newRetentionPass = (): RetentionPass => ({
  after: { endedAtMs: Number.MIN_SAFE_INTEGER, id: '' },
  spiders: new Map(),
  jobs: new Map(),
  logBytes: new Map(),
  isUnpublished: false
})

/** `rows`: maximum rows to check; `jobs`: maximum jobs (or their logs) to delete. */
export interface RetentionLimit {
  rows: number
  jobs: number
  /** Publish the deletions so far to clients; the last step of a pass always does. */
  publish?: boolean
}

/** `protection` null: deleted, or to be deleted. */
export interface RetentionCounts {
  project: ProjectName
  kind: 'jobs' | 'logs'
  protection: Protection | null
  count: number
  bytes: number
  oldestMs: number
  newestMs: number
}

/** `pass` null: the pass is over. `tookMs`: the store's own time, without waiting for others or the disk. */
export interface RetentionStep {
  pass: RetentionPass | null
  tookMs: number
  counts: RetentionCounts[]
}

/** `withItems`: how many of the jobs to delete have archived items files, which are deleted too. */
export interface RetentionPreviewStep extends RetentionStep {
  withItems: JobId[]
}

/** An archived log whose row is deleted and whose blob may still exist. */
export interface DeletedLog {
  jobId: JobId
  attemptNumber: AttemptNumber
}

export interface StoredStoragePolicy {
  revision: number
  policy: StoragePolicy
}

/** `packed`: bytes of logs stored in the database. */
export interface StorageSums {
  jobs: { project: ProjectName; jobs: number }[]
  logs: { project: ProjectName; logs: number; bytes: number; packed: number }[]
  /** `canShrink` false: an earlier version created it, so it reuses free pages but never shrinks. */
  database: { bytes: number; freeBytes: number; canShrink: boolean }
}

/** Where the archive has an attempt's log (logs/archive/log-archive.ts). */
export interface ArchivedLog {
  /** The log itself if it is small; null: it is a blob. */
  packed: Uint8Array | null
  /** Sizes of the log and its stored form. */
  sizes: { rawBytes: number; storedBytes: number } | null
}

/** An error of a run with its count (log-parser/error-fingerprint.ts). Times are by our clock. */
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
  /** JSON (log-parser/stored-figures.ts); null: not written this time. */
  figures: string | null
  /** Errors that are new or more frequent since they were last recorded. */
  errors: RunErrorRow[]
}

export interface StoredErrorGroup {
  id: ErrorGroupId
  project: ProjectName
  title: string
  culprit: string
  exceptionType: string | null
  because: RunErrorRow['because']
  state: ErrorState
  /** When a user set the state; null: never. */
  stateAtMs: number | null
  /** When it occurred again after it was resolved. */
  reopenedAtMs: number | null
  firstSeenMs: number
  lastSeenMs: number
  /** The version of the first run that logged it. */
  firstVersion: VersionName
  count: number
  jobCount: number
  spiderCount: number
  versionCount: number
  nodeCount: number
  /** The spiders that log it most. */
  spiders: string[]
  /** Counts by hour (since 1970), for hours that have any. */
  hours: { hour: number; count: number }[]
}

/** How often a run logged an error; line and offset are those of the first one. */
export interface StoredOccurrence {
  jobId: JobId
  attemptNumber: AttemptNumber
  spider: string
  version: VersionName
  nodeId: NodeId
  count: number
  firstSeenMs: number
  lastSeenMs: number
  line: number
  offset: number
  message: string
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
  /** Newest first. */
  occurrences: StoredOccurrence[]
  spiders: ErrorSpreadRow[]
  versions: ErrorSpreadRow[]
  nodes: ErrorSpreadRow[]
}

/** A user's action or attempt, for the audit log; without its position there. */
export type NewAuditRecord = Omit<AuditRecord, 'seq' | 'changes'>

/** The same as text: passing text between threads is much faster than passing an object. */
export interface NewAuditEntry {
  columns: Omit<StoredAuditEntry, 'seq' | 'record' | 'hash'>
  /** As stored, without the position (storage/audit/chain.ts). */
  text: string
}

/** As stored; the hash covers exactly this text and the previous hash. */
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

/** The first and last link of the chain; `seq` 0: none. */
export interface AuditChain {
  /** The last entry that was deleted for its age. */
  deleted: { seq: number; hash: string }
  newest: { seq: number; hash: string }
}
