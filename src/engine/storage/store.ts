import type { AlertWatch } from '../../shared/alert-watches.ts'
import type {
  AlertChannelId,
  AlertId,
  AlertRule,
  AlertRuleId,
  AlertSilence,
  AlertSilenceId,
  AccessTokenId,
  Attempt,
  AttemptNumber,
  AuditFilter,
  ChainId,
  Deployment,
  ErrorGroupId,
  ErrorState,
  Firing,
  GroupId,
  JobFacets,
  JobFilter,
  JobId,
  JobStatus,
  NodeId,
  Outcome,
  PasskeyId,
  Placement,
  ProjectName,
  ProjectSettings,
  QueuePlace,
  Schedule,
  ScheduleId,
  SealedText,
  SourceId,
  Transition,
  UserId,
  VersionName,
  WebhookId
} from '../../shared/contract/index.ts'
import type { TimelineEntry, AttemptChange } from '../model/attempt-change.ts'
import type {
  ArchivedLog,
  AuditChain,
  IndexedLogBlocks,
  KeptLog,
  KeptLogFilter,
  ItemsRecord,
  KeptItemsFile,
  LogKey,
  LogPage,
  UnarchivedRun,
  UnindexedLog,
  NewAuditEntry,
  NewAuditRecord,
  NewJob,
  StoredJob,
  FinishedRun,
  LaneDepth,
  QueueHead,
  RunOnNode,
  RunReading,
  StoredErrorGroup,
  StoredErrorGroupDetail,
  StoredOccurrence,
  AttemptStart,
  BegunAttempt,
  StoredNode,
  StoredSchedule,
  StoredFiring,
  Retention,
  NewFiring,
  StoredChain,
  DueChain,
  ChainAnswer,
  NewWebhook,
  StoredWebhook,
  NewEvent,
  StoredDelivery,
  DeliveryTry,
  AnswerClaim,
  RememberedAnswer,
  StoredVersion,
  VersionChange,
  StoredBackfill,
  StoredSource,
  VanishedNode,
  StoredLimits,
  FilledFields,
  PastRun,
  StoredFindings,
  StoredStoragePolicy,
  StorageSums,
  DeletedLog,
  RetentionBounds,
  RetentionLimit,
  RetentionPass,
  RetentionPreviewStep,
  RetentionStep,
  StoredAccessToken,
  StoredRole,
  StoredAuthenticator,
  StoredPasskey,
  StoredAuditEntry,
  StoredGroup,
  StoredUser,
  ChangedThing,
  UnreachableNodes,
  OnlyProjects,
  AlertFilter,
  AlertMemory,
  AlertPage,
  AlertRuleFigures,
  AlertWrite,
  StoredAlertFact,
  StoredDigest,
  StoredEpisode
} from '../model/records.ts'
import type { SettingKey, SettingValue } from '../model/settings.ts'

export interface JobReader {
  getJob(id: JobId): Promise<StoredJob | null>
  getJobs(ids: JobId[]): Promise<StoredJob[]>
  /**
   * Lists jobs newest first, with ids below `before`. `sinceMs` excludes jobs that were queued earlier. The page ends
   * after the job at which large settings and arguments reach `maxBytes` (records.ts, largeBytes), so it has at least
   * one job.
   */
  listJobs(
    filter: JobFilter & OnlyProjects & UnreachableNodes,
    page: { before: JobId | null; limit: number; maxBytes?: number }
  ): Promise<StoredJob[]>
  /**
   * Jobs from POST /crawl that never ran and wait for their time, in order of that time. The page ends like that of
   * `listJobs`.
   */
  listLaterOrders(
    filter: OnlyProjects & { userId?: string | undefined; project?: ProjectName | undefined },
    page: { after: { atMs: number; id: string }; limit: number; maxBytes?: number }
  ): Promise<StoredJob[]>
  /** Each facet counts the jobs that match all other filters, to show the effect of each value. Highest count first. */
  countFacets(filter: JobFilter & OnlyProjects & UnreachableNodes): Promise<JobFacets>
  /** Counts these jobs per status, ignoring unknown ids. */
  countStatuses(ids: JobId[]): Promise<Partial<Record<JobStatus, number>>>
  countByState(of?: OnlyProjects): Promise<{ queued: number; starting: number; running: number; ended: number }>
  countEndedSince(sinceMs: number, of?: OnlyProjects): Promise<Record<Outcome, number>>
  /** Live and ended jobs with this client jobid, newest first. */
  findJobsByJobid(project: ProjectName | null, jobid: string): Promise<StoredJob[]>
  /** The jobs that ended last, newest first, with the node of their newest attempt. Excludes jobs that never ran. */
  listFinishedRuns(limit: number): Promise<FinishedRun[]>
  /** The spiders of jobs that run or ran on other nodes, including those of deleted projects. */
  listSpidersElsewhere(nodeId: NodeId): Promise<{ project: ProjectName; spider: string }[]>
  listTimeline(jobId: JobId): Promise<Transition[]>
}

export interface JobStore extends JobReader {
  /**
   * Writes queued jobs with a `queued` timeline entry each, all or none. Returns an id for each job. If a job's
   * dedupe key already exists, the job is not written, and its id is that of the earlier job. A job is held if
   * something must happen first (`dependency`, then `not_before`, then `overlap`). A job whose dependency can no
   * longer be met ends immediately as cancelled. Rejects with JOB_NOT_FOUND if a dependency does not exist.
   */
  enqueueJobs(jobs: NewJob[]): Promise<JobId[]>
  /** Writes another server's history (ended) or external jobs (adopted), all or none. These jobs are never queued. */
  recordRuns(runs: { job: NewJob; start: AttemptStart; changes: AttemptChange[] }[]): Promise<void>
}

export interface LaneReader {
  /** Every lane with queued jobs that are not held, and the number of these jobs. Cheap: reads one row per lane. */
  listLanes(): Promise<LaneDepth[]>
  /** The first jobs of each lane in queue order, without held jobs. The lists are in the order of `wanted`. */
  readHeads(wanted: { lane: string; limit: number }[]): Promise<QueueHead[][]>
  /** Announces jobs that a commit added, removed or reordered, but no claims. Returns a function that unsubscribes. */
  onQueueChange(listener: (lanes: string[]) => void): () => void
}

export interface HoldStore {
  /**
   * Releases due jobs and ends expired ones, at most `limit` of each. `nextDueMs`: when to call again; null: no job
   * waits for a time. Released jobs can immediately be held again for overlap.
   */
  releaseDue(nowMs: number, limit: number): Promise<{ released: number; expired: number; nextDueMs: number | null }>
}

export interface ClaimStore {
  /**
   * The first half of sending. For each start whose job is still queued and whose number is the next, creates the
   * attempt as `sending` and moves the job to `starting`. Omits starts that lost a race: the job was cancelled, held,
   * or expired at the entry's time, or is now held because a job with the same overlap key is live. Send the attempt's
   * `jobid`, which differs from the requested jobid if the node already had it in this project. Nothing between the
   * claim and its result may fail, or the caller would not know of live jobs.
   */
  beginAttempts(starts: AttemptStart[]): Promise<BegunAttempt[]>
}

export interface QueueFailureStore {
  /**
   * Ends queued jobs as failed because no node can import their egg; `error` becomes the killing line. Skips jobs
   * that entered their lane after `sinceMs`. Returns the ids of the failed jobs. Cannot be undone.
   */
  failQueued(ids: JobId[], error: string, sinceMs: number, entry: TimelineEntry): Promise<JobId[]>
}

export interface QueueStore extends LaneReader, HoldStore, ClaimStore, QueueFailureStore {
  /** Changes only queued jobs, including held ones, and returns their ids. */
  setPriority(ids: JobId[], priority: number, entry: TimelineEntry): Promise<JobId[]>
  /** Moves only queued jobs, in the given order. Changes nothing if `before` is not queued. */
  reorder(ids: JobId[], to: QueuePlace, entry: TimelineEntry): Promise<JobId[]>
  placeQueued(ids: JobId[], placement: Placement, entry: TimelineEntry): Promise<JobId[]>
  /**
   * Replaces the settings, arguments, variables, time and dedupe key of a queued job that never ran. Returns the id,
   * or an empty list if the job has started or ended.
   */
  changeQueued(job: NewJob): Promise<JobId[]>
  /** Ends queued jobs as cancelled, ignores other jobs, and returns the ids of the cancelled ones. */
  cancelQueued(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
  /** Undoes cancelQueued: requeues the jobs under their ids. Returns the restored ids. */
  restoreCancelled(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
  /** Records a cancel request for live jobs, with a `cancel_asked` entry the first time. Returns the live ids. */
  askCancel(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
}

export interface AttemptReader {
  listLiveAttempts(): Promise<Attempt[]>
  listAttempts(jobId: JobId): Promise<Attempt[]>
  /** Includes ended attempts. */
  findAttemptsOnNode(nodeId: NodeId, runs: RunOnNode[]): Promise<Attempt[]>
  /** Whether one of these runs is ours and was recorded as succeeded, failed or unclear before the attempt started. */
  hasEndedBefore(nodeId: NodeId, runs: RunOnNode[], attempt: Pick<Attempt, 'jobId' | 'number'>): Promise<boolean>
  findArchivedLog(jobId: JobId, attemptNumber: AttemptNumber): Promise<ArchivedLog | null>
}

/** The only interface that changes attempts and, with them, their jobs. */
export interface AttemptWriter {
  /**
   * Applies changes to attempts and their jobs, with one timeline entry each. A change names its source states and is
   * skipped if the attempt is in none of them (I4: recorded once). Returns which changes were applied.
   *
   * The job follows its newest attempt: `running` and `finishing` make it running, `ended` ends it or requeues it under
   * its id. If a job to be requeued has a cancel request, it ends as cancelled, with a separate `ended` entry. A job
   * that ends or is requeued frees its overlap key. A job that ends releases its dependents or ends them as cancelled.
   *
   * An ended attempt accepts details, counts and a killing line. Only `found_again` gives it a new state, and only
   * while its job is queued, has no newer attempt and no cancel request, and no other job with its overlap key is live.
   * `found_again` takes the job out of the queue, lifts its hold and, if this is its only attempt, clears
   * `mayHaveRunTwice`.
   */
  applyChanges(changes: AttemptChange[]): Promise<boolean[]>
}

export interface AttemptStore extends AttemptReader, AttemptWriter {
  /** Replaces the previous record, because a lost run that is found again is archived again. */
  markLogArchived(jobId: JobId, attemptNumber: AttemptNumber, log: ArchivedLog): Promise<void>
}

export interface ItemsStore {
  findItems(jobId: JobId, number: AttemptNumber): Promise<ItemsRecord | null>
  recordItems(record: ItemsRecord): Promise<void>
  /** Files that are stored as blobs, in the order of their keys. */
  listKeptItems(after: LogKey | null, limit: number): Promise<KeptItemsFile[]>
}

export interface ReadingStore {
  /** Replaces earlier figures. Counts a run's errors once, however often they are recorded. */
  recordReadings(readings: RunReading[]): Promise<void>
  findFigures(jobId: JobId, attemptNumber: AttemptNumber): Promise<string | null>
}

/** `text` matches part of the title or culprit. `firstVersion`: the version in which the error was first logged. */
export interface ErrorGroupFilter extends OnlyProjects {
  project?: string | undefined
  spider?: string | undefined
  version?: string | undefined
  firstVersion?: string | undefined
  nodeId?: NodeId | undefined
  state?: ErrorState | undefined
  text?: string | undefined
}

export interface ErrorGroupPage {
  before: { lastSeenMs: number; id: ErrorGroupId } | null
  limit: number
  sinceMs: number
}

/** Groups of errors that runs logged. `recordReadings` writes them. */
export interface ErrorStore {
  listErrorGroups(filter: ErrorGroupFilter, page: ErrorGroupPage): Promise<StoredErrorGroup[]>
  /** Includes the newest occurrences, and the spiders, versions and nodes that log the error most often. */
  getErrorGroup(id: ErrorGroupId, sinceMs: number): Promise<StoredErrorGroupDetail | null>
  projectsOfErrorGroups(ids: ErrorGroupId[]): Promise<{ id: ErrorGroupId; project: ProjectName }[]>
  /** `attemptNumber` null: all attempts. */
  listErrorsOfJob(
    jobId: JobId,
    attemptNumber: AttemptNumber | null,
    sinceMs: number
  ): Promise<{ group: StoredErrorGroup; occurrence: StoredOccurrence }[]>
  /** Resolves with the ids whose state changed. A resolved group reopens if the error is logged after `atMs`. */
  setErrorState(ids: ErrorGroupId[], state: ErrorState, atMs: number): Promise<ErrorGroupId[]>
}

export interface KeptLogReader {
  /**
   * Newest jobs first, and their last attempts first. Scans `limit` archived logs and lists those that match the
   * filter. Logs that `candidates` rules out are only counted (log-blocks.ts).
   */
  pageKeptLogs(
    filter: KeptLogFilter,
    page: { before: LogKey | null; limit: number; candidates: Uint8Array | null }
  ): Promise<LogPage>
  /** Returns the logs in the order of the keys. Omits logs that no longer exist. */
  readKeptLogs(keys: LogKey[]): Promise<KeptLog[]>
  listUnarchivedRuns(
    filter: KeptLogFilter,
    options: { endedSinceMs: number; copied: LogKey[]; limit: number }
  ): Promise<UnarchivedRun[]>
}

export interface LogBlockStore extends KeptLogReader {
  /** The logs without an index among the `limit` newest archived logs before `before`. */
  listUnindexedLogs(before: LogKey | null, limit: number): Promise<{ logs: UnindexedLog[]; next: LogKey | null }>
  /**
   * Like listUnindexedLogs, for logs first archived after the call that returned `sinceId` as its `lastId`; null: all
   * logs.
   */
  listAddedLogs(sinceId: number | null, limit: number): Promise<{ logs: UnindexedLog[]; lastId: number }>
  /** Skips logs that were archived again in the meantime, which have different `storedBytes`. */
  recordLogBlocks(logs: (LogKey & { blocks: IndexedLogBlocks; log: { storedBytes: number | null } })[]): Promise<void>
  /** Removes these logs from the index; null: all logs. */
  forgetLogBlocks(logs: LogKey[] | null): Promise<void>
  endOfLogBlocks(): Promise<number>
}

export interface NodeStore {
  listNodes(): Promise<StoredNode[]>
  putNode(node: StoredNode): Promise<void>
  /** Also deletes the node's deployments. Its attempts remain in the history. */
  deleteNode(id: NodeId): Promise<void>
}

export interface VersionStore {
  listVersions(): Promise<StoredVersion[]>
  /** Replaces the version with this name and deletes its deployments, because no node has the new egg yet. */
  putVersion(version: StoredVersion): Promise<void>
  deleteVersion(project: ProjectName, version: VersionName): Promise<void>
  /** Upserts by (project, version, node). Rejects with VERSION_NOT_FOUND. */
  putDeployment(project: ProjectName, version: VersionName, deployment: Deployment): Promise<void>
  deleteDeployment(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void>
  /** Performs many calls of the four kinds above, all or none. Adds one entry per project to the change log. */
  changeVersions(changes: VersionChange[]): Promise<void>
  /** Counts queued and live jobs that need this version (null: any version of the project). */
  countJobsNeeding(project: ProjectName, version: VersionName | null): Promise<number>
}

export interface ProjectSettingsStore {
  listProjectSettings(): Promise<Map<ProjectName, ProjectSettings>>
  putProjectSettings(project: ProjectName, settings: ProjectSettings): Promise<void>
}

export interface ChangeNotifier {
  /** Calls `listener` after each commit that added to the change log. Returns a function that unsubscribes. */
  onChange(listener: (cursor: number) => void): () => void
}

export interface ChangeLog extends ChangeNotifier {
  changeCursor(): Promise<number>
  /**
   * Lists each changed thing once, at most `limit`. `cursor`: where to continue. `reset`: the changes after position
   * `after` are no longer stored, or the position is from other data (a restored backup).
   */
  listChanges(after: number, limit: number): Promise<{ changes: ChangedThing[]; cursor: number; reset: boolean }>
}

export interface ScheduleReader {
  listSchedules(): Promise<StoredSchedule[]>
  getSchedules(ids: ScheduleId[]): Promise<StoredSchedule[]>
  /** Sorted by name. Starts after this name and id, even of a deleted schedule. `total` counts all matches. */
  pageSchedules(
    filter: ScheduleFilter,
    page: SchedulePage
  ): Promise<{ schedules: StoredSchedule[]; total: number; isCut: boolean }>
}

/** If large schedules reach `maxBytes` (largeBytes), the page ends early and `isCut` is true. */
export interface SchedulePage {
  after: { name: string; id: string } | null
  limit: number
  maxBytes?: number
}

/**
 * `text` matches part of the name, or of a project or spider that the schedule runs. `project`, `name`, `userId` (of
 * the jobs) and `crawlKey` match exactly. `isCrawl`: created by a crawl request. `hasNamesake`: shares its name with
 * another schedule (reads all names). `onlyProjects` excludes schedules with a job of any other project.
 */
export interface ScheduleFilter extends OnlyProjects {
  text?: string
  project?: ProjectName
  name?: string
  userId?: string
  crawlKey?: string
  isCrawl?: true
  hasNamesake?: true
  pausedBy?: NonNullable<Schedule['pausedBy']>[]
}

export interface ScheduleStore extends ScheduleReader {
  /**
   * The revision must be 1, or one above the stored revision. Otherwise, rejects with CHANGED_MEANWHILE, or with
   * SCHEDULE_NOT_FOUND if the schedule was deleted. `doneUntilMs` and `runCount` never decrease, because `fire` may
   * have increased them in the meantime.
   */
  putSchedule(schedule: StoredSchedule): Promise<void>
  /** Also deletes their firings, but not their jobs. Returns the ids that existed. */
  deleteSchedules(ids: ScheduleId[]): Promise<ScheduleId[]>
  setFailuresInARow(scheduleId: ScheduleId, failuresInARow: number): Promise<void>
  /** Jobs of a schedule that have not ended, oldest first. */
  listLiveJobsOf(scheduleId: ScheduleId): Promise<StoredJob[]>
}

export interface FiringFilter extends OnlyProjects {
  scheduleId?: ScheduleId | undefined
  backfillId?: string | undefined
  states?: Firing['state'][] | undefined
  sinceChange?: boolean
}

export interface FiringReader {
  /**
   * Newest first, with ids below `before`, for a schedule, a backfill, or all schedules. `sinceChange`: only firings
   * of one schedule that were written after its last `putSchedule`, even if the clock was changed.
   */
  listFirings(
    filter: FiringFilter,
    page: { before: number | null; limit: number; maxBytes?: number }
  ): Promise<StoredFiring[]>
  /** The newest `limit` firings of each schedule, newest first, with schedules in the order of the ids. */
  listRecentFirings(scheduleIds: ScheduleId[], limit: number): Promise<StoredFiring[]>
  /** `fired`: moments that have fired. `forgotten`: moments whose rows may have been pruned. Both ascend. */
  findFired(scheduleId: ScheduleId, nominalMs: number[]): Promise<{ fired: number[]; forgotten: number[] }>
}

export interface FiringStore extends FiringReader {
  /**
   * Writes firings and their jobs, all or none, and advances their schedules. If a moment has already fired, its
   * result is null and its jobs are skipped, but its schedule still advances. Skips firings of deleted schedules.
   */
  fire(firings: NewFiring[]): Promise<(StoredFiring | null)[]>
}

export interface BackfillStore {
  listBackfills(): Promise<StoredBackfill[]>
  /** Rejects with CHANGED_MEANWHILE unless the revision is one above the stored backfill's, or 1 if none is stored. */
  putBackfill(backfill: StoredBackfill): Promise<void>
}

export interface ChainStore {
  listChains(): Promise<StoredChain[]>
  /** Adds a chain, or replaces its settings and keeps its counts. */
  putChain(chain: Pick<StoredChain, 'id' | 'settings' | 'createdAtMs'>): Promise<void>
  deleteChain(id: ChainId): Promise<boolean>
}

export interface ChainEndStore {
  /** Unprocessed ends, oldest first. The transaction that ends a job records each end once per chain. */
  listDueChains(limit: number): Promise<DueChain[]>
  /** All or none. Resolves with false for an end that was already answered, and for a chain that no longer exists. */
  answerChains(answers: ChainAnswer[]): Promise<boolean[]>
}

export interface WebhookReader {
  /** Sorted by name. Includes plugins, which subscribe to events in the same way. */
  listWebhooks(): Promise<StoredWebhook[]>
}

export interface WebhookStore extends WebhookReader {
  /** From then on, the transaction that causes an event also writes the webhook's delivery. */
  putWebhook(webhook: NewWebhook): Promise<void>
  /** Also deletes the webhook's deliveries. Returns false if the webhook did not exist. */
  deleteWebhook(id: WebhookId): Promise<boolean>
}

export interface EventStore {
  /** For events outside the store, such as a node that becomes unreachable or recovers. */
  recordEvents(events: NewEvent[]): Promise<void>
}

export interface DueDeliveryStore {
  /** Earliest first, at most `limitEach` per enabled webhook. `nextDueMs`: when the next delivery is due. */
  listDueDeliveries(
    nowMs: number,
    limitEach: number
  ): Promise<{ deliveries: StoredDelivery[]; nextDueMs: number | null }>
  concludeTries(tries: DeliveryTry[]): Promise<void>
}

export interface DeliveryStore extends DueDeliveryStore {
  /** Newest first, starting before the delivery with the id `before`. */
  listDeliveries(
    webhookId: WebhookId,
    page: { state?: StoredDelivery['state'] | undefined; before: string | null; limit: number }
  ): Promise<StoredDelivery[]>
  /** The id of the newest delivery of these webhooks; null: there is none. */
  findNewestDelivery(webhookIds: readonly WebhookId[]): Promise<string | null>
  /** Deliveries of these webhooks after this id, oldest first; null: all deliveries. */
  listDeliveriesAfter(webhookIds: readonly WebhookId[], after: string | null, limit: number): Promise<StoredDelivery[]>
  /** Makes ended deliveries due again with fresh attempts; without ids, all dead deliveries. Returns their number. */
  replayDeliveries(webhookId: WebhookId, ids: string[], nowMs: number): Promise<number>
}

export interface AnswerStore {
  /** Claims the key for a request and returns null, or returns the unexpired claim that holds the key. */
  claimAnswer(claim: AnswerClaim): Promise<RememberedAnswer | null>
  /** `answer` null: releases the key. */
  keepAnswer(scope: string, key: string, answer: SealedText | null): Promise<void>
}

export interface DiscoveryStore {
  /** In order of creation. */
  listSources(): Promise<StoredSource[]>
  putSource(source: StoredSource): Promise<void>
  deleteSource(id: SourceId): Promise<boolean>
  listVanishedNodes(): Promise<VanishedNode[]>
  putVanishedNodes(nodes: VanishedNode[]): Promise<void>
  deleteVanishedNodes(nodeIds: NodeId[]): Promise<void>
}

export interface LimitStore {
  getLimits(): Promise<StoredLimits>
  /** Replaces all limits. Rejects with CHANGED_MEANWHILE unless the revision is one above the stored one. */
  putLimits(limits: StoredLimits): Promise<void>
}

/** The results of successful runs, and the unusual findings of each spider's newest run. */
export interface FindingStore {
  /** Newest first, starting with this job. */
  listSuccessfulRuns(
    project: ProjectName,
    spider: string,
    page: { upTo: JobId | null; limit: number }
  ): Promise<PastRun[]>
  /** Records the counts for the job's last attempt. Does nothing if the job no longer exists. */
  recordFilledFields(jobId: JobId, filled: FilledFields): Promise<void>
  listFindings(): Promise<StoredFindings[]>
  /** Replaces the spider's findings; an empty list deletes them. A dismissal stays valid while the job is the same. */
  putFindings(findings: StoredFindings): Promise<void>
  /** Returns false if the findings are now from another job. */
  dismissFindings(project: ProjectName, spider: string, jobId: JobId): Promise<boolean>
}

export interface AlertStore {
  listAlertRules(): Promise<AlertRule[]>
  /** Rejects with CHANGED_MEANWHILE unless the revision is one above the stored one, or 1 for a new rule. */
  putAlertRule(rule: AlertRule): Promise<void>
  deleteAlertRule(id: AlertRuleId): Promise<boolean>
  listSilences(): Promise<AlertSilence[]>
  putSilence(silence: AlertSilence): Promise<void>
  deleteSilence(id: AlertSilenceId): Promise<boolean>
  /** Includes episodes that ended, and messages sent to channels, after `sinceMs`. */
  readAlertMemory(sinceMs: number): Promise<AlertMemory>
  /** Atomic: a message and the state that records it as sent are stored together or not at all. */
  writeAlerts(write: AlertWrite): Promise<void>
  answerAlerts(write: AlertWrite): Promise<void>
  getAlerts(ids: AlertId[]): Promise<StoredEpisode[]>
  /** The first page starts with all firing alerts. Ended alerts follow, newest first; equal times are sorted by id. */
  listAlerts(filter: AlertFilter, page: AlertPage): Promise<StoredEpisode[]>
  /** The figures of each rule, for alerts that fired after `sinceMs`. */
  sumAlerts(sinceMs: number): Promise<AlertRuleFigures[]>
  /** Deletes settled alerts and silences that ended before `beforeMs`. Returns the number of deleted alerts. */
  pruneAlerts(beforeMs: number, limit: number): Promise<number>
}

/** History that no other table contains, for trying out alert rules. */
export interface AlertFactStore {
  recordAlertFacts(facts: StoredAlertFact[]): Promise<void>
  /** The newest fact for each watch and key, without keys that have disappeared. */
  listNewestAlertFacts(): Promise<StoredAlertFact[]>
  /** Oldest first, from `fromMs` on, starting after the row `after`. */
  listAlertFacts(
    watch: AlertWatch,
    page: { fromMs: number; after: { atMs: number; id: number } | null; limit: number }
  ): Promise<(StoredAlertFact & { id: number })[]>
  /**
   * Deletes facts from before `beforeMs`, and all but the newest `most` facts, oldest first. Returns the number of
   * deleted facts.
   */
  pruneAlertFacts(beforeMs: number, most: number, limit: number): Promise<number>
}

export interface DigestStore {
  listDigests(): Promise<StoredDigest[]>
  /**
   * Records this due time as reported, together with its message (null: reporting only starts). Returns false and
   * writes nothing if this or a later due time was already reported with the same settings.
   */
  sendDigest(digest: StoredDigest, message: { atMs: number; data: unknown } | null): Promise<boolean>
  deleteDigests(channelIds: AlertChannelId[]): Promise<void>
}

/** Users, groups, roles and tokens. They are few, so all are kept in memory (engine/access). */
export interface AccessStore {
  listUsers(): Promise<StoredUser[]>
  putUser(user: StoredUser): Promise<void>
  /** Also deletes the user's tokens, second factors and memberships. Returns false if the user did not exist. */
  deleteUser(id: UserId): Promise<boolean>
  listGroups(): Promise<StoredGroup[]>
  putGroup(group: StoredGroup): Promise<void>
  deleteGroup(id: GroupId): Promise<boolean>
  listAccessTokens(): Promise<StoredAccessToken[]>
  addAccessToken(token: StoredAccessToken): Promise<void>
  deleteAccessToken(id: AccessTokenId): Promise<boolean>
  listRoles(): Promise<StoredRole[]>
  putRole(role: StoredRole): Promise<void>
  deleteRole(name: string): Promise<boolean>
  /** Records when these users and tokens were last seen. Skips those that no longer exist. */
  recordAccess(users: UserId[], tokens: AccessTokenId[], atMs: number): Promise<void>
}

/** Second factors and passkeys. They are few, so all are kept in memory (engine/access/second-factor). */
export interface SecondFactorStore {
  listAuthenticators(): Promise<StoredAuthenticator[]>
  putAuthenticator(authenticator: StoredAuthenticator): Promise<void>
  putRecoveryCodes(userId: UserId, hashes: string[]): Promise<void>
  /** Also deletes the recovery codes. Returns false if there was no authenticator. */
  deleteAuthenticator(userId: UserId): Promise<boolean>
  /** Returns false if this step or a later one was already used, so that each step can be used only once. */
  useAuthenticatorStep(userId: UserId, step: number): Promise<boolean>
  useRecoveryCode(userId: UserId, hash: string): Promise<boolean>
  listPasskeys(): Promise<StoredPasskey[]>
  addPasskey(passkey: StoredPasskey): Promise<void>
  /**
   * Returns false if the passkey does not exist, or if its counter was already this high. A passkey without a counter
   * (0) can be used any number of times.
   */
  usePasskey(id: PasskeyId, signCount: number, atMs: number): Promise<boolean>
  deletePasskey(userId: UserId, id: PasskeyId): Promise<boolean>
  /** Returns false if the user had no second factors. */
  deleteSecondFactors(userId: UserId): Promise<boolean>
}

/** The audit log: who did or tried what (audit/chain.ts explains the chain of entries). */
export interface AuditStore {
  /**
   * Adds this entry to the transaction of the write that `call` starts: neither is stored without the other. `call`
   * must start the write synchronously, and only its first write gets the entry.
   */
  withAudit<T>(entry: NewAuditEntry, call: () => Promise<T>): Promise<T>
  /** Appends an entry for an operation that wrote nothing to the store. */
  appendAudit(record: NewAuditRecord): Promise<void>
  /**
   * Newest first, starting before `before`. An empty page is not necessarily the last, because each page scans a
   * limited number of entries.
   */
  pageAudit(
    filter: AuditFilter,
    page: { before: number | null; limit: number }
  ): Promise<{ entries: (StoredAuditEntry & { previousHash: string })[]; nextBefore: number | null }>
  listAuditAfter(seq: number, limit: number): Promise<StoredAuditEntry[]>
  auditChain(): Promise<AuditChain>
  /**
   * Deletes the oldest entries from before `beforeMs`, but never the newest entry. Returns the number of deleted
   * entries.
   */
  forgetAudit(beforeMs: number, limit: number): Promise<number>
}

export interface RetentionStore {
  /**
   * Deletes the oldest data beyond its retention, at most `limit` rows, so that other calls are not delayed. Returns
   * the number of deleted rows; fewer than `limit` means that none are left. A job whose chain records are deleted
   * can no longer be restored, because chains would process its end twice. Never deletes firings of future moments.
   */
  prune(retention: Retention, limit: number): Promise<number>
}

/** Retention of ended jobs, with their attempts, timelines and archived logs. */
export interface JobRetentionStore {
  /**
   * Performs one step of a pass over the ended jobs, in the order in which they ended. Deletes the due jobs
   * (model/retention.ts) and everything that belongs to them. `listDeletedLogs` then lists the blobs of the deleted
   * logs.
   */
  applyRetention(pass: RetentionPass, bounds: RetentionBounds, limit: RetentionLimit): Promise<RetentionStep>
  /** Like applyRetention, but deletes nothing. */
  previewRetention(pass: RetentionPass, bounds: RetentionBounds, rows: number): Promise<RetentionPreviewStep>
  listDeletedLogs(limit: number): Promise<DeletedLog[]>
  forgetDeletedLogs(logs: DeletedLog[]): Promise<void>
  /** Sets whether retention must keep these jobs, and records changes as `entry`. Returns the ids that exist. */
  keepJobs(ids: JobId[], isKept: boolean, entry: TimelineEntry): Promise<JobId[]>
  getStoragePolicy(): Promise<StoredStoragePolicy | null>
  /** Rejects with CHANGED_MEANWHILE unless the revision is one above the stored one, or 1 for the first policy. */
  putStoragePolicy(stored: StoredStoragePolicy): Promise<void>
  /** Cheap, because it reads sums instead of jobs. */
  storageSums(): Promise<StorageSums>
  /** Returns free pages to the disk. Resolves with the number left; 0 if the database cannot shrink. */
  shrink(pages: number): Promise<number>
  /**
   * Rewrites the database, so that `shrink` works afterwards. Blocks all other calls for seconds per gigabyte, and
   * needs as much free disk space as the database.
   */
  compact(): Promise<void>
}

export interface SettingStore {
  getSetting<Key extends SettingKey>(key: Key): Promise<SettingValue<Key> | null>
  putSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): Promise<void>
  /** Sets the value in one transaction, unless there is one already. Resolves with the stored value. */
  keepSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): Promise<SettingValue<Key>>
}

/**
 * The engine's database interface, in terms of the domain, not of tables. Each call that writes is one transaction.
 * When its promise resolves, everything is on disk, including timeline and change log entries (invariant I1). A failing
 * call does not affect other calls in its commit. testing/conformance.ts verifies every implementation.
 */
export interface Store
  extends JobStore,
    QueueStore,
    AttemptStore,
    ItemsStore,
    ReadingStore,
    ErrorStore,
    LogBlockStore,
    NodeStore,
    VersionStore,
    ProjectSettingsStore,
    ChangeLog,
    ScheduleStore,
    FiringStore,
    BackfillStore,
    ChainStore,
    ChainEndStore,
    WebhookStore,
    EventStore,
    DeliveryStore,
    AnswerStore,
    DiscoveryStore,
    LimitStore,
    FindingStore,
    AlertStore,
    AlertFactStore,
    DigestStore,
    AccessStore,
    SecondFactorStore,
    AuditStore,
    RetentionStore,
    JobRetentionStore,
    SettingStore {
  /** Resolves when the last write is on disk. Can be called twice. */
  close(): Promise<void>
}
