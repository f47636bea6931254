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
  AwayNodes,
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
   * Newest first, ids below `before`. `sinceMs` excludes jobs queued earlier. Ends after the job at which large
   * settings and arguments reach `maxBytes` (records.ts, largeBytes), but has at least one job.
   */
  listJobs(
    filter: JobFilter & OnlyProjects & AwayNodes,
    page: { before: JobId | null; limit: number; maxBytes?: number }
  ): Promise<StoredJob[]>
  /** Jobs of crawl orders that wait for their time and never ran, in the order of that time. Ends like `listJobs`. */
  listLaterOrders(
    filter: OnlyProjects & { userId?: string | undefined; project?: ProjectName | undefined },
    page: { after: { atMs: number; id: string }; limit: number; maxBytes?: number }
  ): Promise<StoredJob[]>
  /** Each facet counts jobs that match the other filters, which shows the effect of other values. Highest first. */
  countFacets(filter: JobFilter & OnlyProjects & AwayNodes): Promise<JobFacets>
  /** The number of these jobs per status; unknown ids are not counted. */
  countStatuses(ids: JobId[]): Promise<Partial<Record<JobStatus, number>>>
  countByState(of?: OnlyProjects): Promise<{ queued: number; starting: number; running: number; ended: number }>
  countEndedSince(sinceMs: number, of?: OnlyProjects): Promise<Record<Outcome, number>>
  /** The newest jobs with this client jobid, live or ended, newest first. */
  findJobsByJobid(project: ProjectName | null, jobid: string): Promise<StoredJob[]>
  /** The jobs that ended last, newest first, with the node of their newest attempt; excludes jobs that never ran. */
  listFinishedRuns(limit: number): Promise<FinishedRun[]>
  /** The spiders of jobs that are running or have run on another node than this. Includes deleted projects. */
  listSpidersElsewhere(nodeId: NodeId): Promise<{ project: ProjectName; spider: string }[]>
  listTimeline(jobId: JobId): Promise<Transition[]>
}

export interface JobStore extends JobReader {
  /**
   * Writes queued jobs with a `queued` timeline entry each, all or none. Returns an id for each: its own, or that of
   * the earlier job with its dedupe key, in which case nothing is written for it. A job starts held (`dependency`, then
   * `not_before`, then `overlap`) if something must happen first; a job whose dependency can no longer be met ends
   * immediately as cancelled. Rejects with JOB_NOT_FOUND if a dependency does not exist.
   */
  enqueueJobs(jobs: NewJob[]): Promise<JobId[]>
  /**
   * Writes runs that began before Scrapdeck knew of them, all or none: another server's history (ended), or an external
   * job (adopted). They are never queued.
   */
  recordRuns(runs: { job: NewJob; start: AttemptStart; changes: AttemptChange[] }[]): Promise<void>
}

export interface LaneReader {
  /** Every lane with queued jobs that are not held, and the number of these jobs. Cheap: reads one row per lane. */
  listLanes(): Promise<LaneDepth[]>
  /**
   * The first jobs of lanes in queue order (priority descending, then rank, then id), up to `limit` each, without held
   * ones. Results are in the order of `wanted`; an empty lane has no jobs.
   */
  readHeads(wanted: { lane: string; limit: number }[]): Promise<QueueHead[][]>
  /**
   * Called after each commit that added jobs to lanes, removed them, or changed their order; not for jobs claimed by
   * beginAttempts, because its caller knows them. Returns the function that unsubscribes.
   */
  onQueueChange(listener: (lanes: string[]) => void): () => void
}

export interface HoldStore {
  /**
   * Lifts holds that are due and ends expired jobs, at most `limit` of each. `nextDueMs`: when to call again; null: no
   * job waits for a time. Released jobs may immediately be held for another reason (overlap).
   */
  releaseDue(nowMs: number, limit: number): Promise<{ released: number; expired: number; nextDueMs: number | null }>
}

export interface ClaimStore {
  /**
   * First half of sending: for each start whose job is still queued and whose number is the next, creates the attempt
   * as `sending` and moves the job to `starting`. Returns the created attempts; the others lost a race (cancelled,
   * held, expired at the entry's time, or another job with its overlap key is live: then the job is held from now on).
   * Send the attempt's own `jobid`: it differs from the requested one if the node already had that in this project. The
   * result has the jobs with everything that sending needs: between the claim and its result no call may fail, or live
   * jobs would be unknown to the caller.
   */
  beginAttempts(starts: AttemptStart[]): Promise<BegunAttempt[]>
}

export interface QueueFailureStore {
  /**
   * Ends queued jobs as failed, because no node can import their egg; `error` becomes the killing line. Only jobs that
   * were in their lane at `sinceMs`: not those ordered, released, queued again, restored or moved later. Returns the
   * ids that failed; others are unchanged. Cannot be undone.
   */
  failQueued(ids: JobId[], error: string, sinceMs: number, entry: TimelineEntry): Promise<JobId[]>
}

export interface QueueStore extends LaneReader, HoldStore, ClaimStore, QueueFailureStore {
  /** Changes only queued jobs, including held ones. Returns the ids of the queued jobs. */
  setPriority(ids: JobId[], priority: number, entry: TimelineEntry): Promise<JobId[]>
  /** Moves only queued jobs, in the given order. If `before` is not queued, nothing changes. */
  reorder(ids: JobId[], to: QueuePlace, entry: TimelineEntry): Promise<JobId[]>
  /** Changes only queued jobs. */
  placeQueued(ids: JobId[], placement: Placement, entry: TimelineEntry): Promise<JobId[]>
  /**
   * Gives a queued job that never ran the settings, arguments, variables, time and dedupe key of `job`, which has the
   * same id. Returns the id, or an empty list if the job has begun or ended.
   */
  changeQueued(job: NewJob): Promise<JobId[]>
  /** Ends queued jobs as cancelled. Returns the ids that were queued; other jobs are unchanged. */
  cancelQueued(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
  /** Undoes cancelQueued: the jobs return to the queue with their old ids. Returns the restored ids. */
  restoreCancelled(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
  /** Records a cancel request for live jobs, with a `cancel_asked` entry the first time. Returns the live ids. */
  askCancel(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
}

export interface AttemptReader {
  listLiveAttempts(): Promise<Attempt[]>
  listAttempts(jobId: JobId): Promise<Attempt[]>
  /** Attempts, including ended ones, that ran on a node under these jobids. */
  findAttemptsOnNode(nodeId: NodeId, runs: RunOnNode[]): Promise<Attempt[]>
  /** Whether one of these runs is ours, and was recorded as succeeded or failed before the attempt began. */
  hasEndedBefore(nodeId: NodeId, runs: RunOnNode[], attempt: Pick<Attempt, 'jobId' | 'number'>): Promise<boolean>
  /** null: not archived. */
  findArchivedLog(jobId: JobId, attemptNumber: AttemptNumber): Promise<ArchivedLog | null>
}

/** The only interface that changes attempts, and with them their jobs. */
export interface AttemptWriter {
  /**
   * Applies changes to attempts and their jobs, with one timeline entry each. A change names its source states; if the
   * attempt is in none of them, the change is skipped (I4: recorded once). Returns which changes were applied.
   *
   * The job follows its newest attempt: `running` and `finishing` make it running, `ended` ends it or requeues it under
   * its id. A job that would be requeued but has a cancel request ends as cancelled, with a separate `ended` entry. A
   * job that ends or is requeued frees its overlap key for the next job held for it; one that ends releases (or ends,
   * as cancelled) its dependents.
   *
   * An ended attempt accepts details, counts and a killing line, but a new state only by `found_again`: while its job
   * is queued, has no newer attempt and no cancel request, and no other job with its overlap key is live. This removes
   * the job from the queue, lifts its hold and, if this is its only attempt, clears `mayHaveRunTwice`.
   */
  applyChanges(changes: AttemptChange[]): Promise<boolean[]>
}

export interface AttemptStore extends AttemptReader, AttemptWriter {
  /** Replaces the previous record: a lost run that turns up again is archived again. */
  markLogArchived(jobId: JobId, attemptNumber: AttemptNumber, log: ArchivedLog): Promise<void>
}

export interface ItemsStore {
  /** null: nothing was recorded. */
  findItems(jobId: JobId, number: AttemptNumber): Promise<ItemsRecord | null>
  recordItems(record: ItemsRecord): Promise<void>
  /** Files that are stored as blobs, in the order of their keys. */
  listKeptItems(after: LogKey | null, limit: number): Promise<KeptItemsFile[]>
}

export interface ReadingStore {
  /** Replaces earlier figures. Errors count once per run, however often they are recorded. */
  recordReadings(readings: RunReading[]): Promise<void>
  /** The figures as recorded; null: none. */
  findFigures(jobId: JobId, attemptNumber: AttemptNumber): Promise<string | null>
}

/**
 * `text` matches part of title or culprit; all other values must be equal. `firstVersion`: the version that logged it
 * first.
 */
export interface ErrorGroupFilter extends OnlyProjects {
  project?: string | undefined
  spider?: string | undefined
  version?: string | undefined
  firstVersion?: string | undefined
  nodeId?: NodeId | undefined
  state?: ErrorState | undefined
  text?: string | undefined
}

/** `sinceMs`: where the counts per hour begin. */
export interface ErrorGroupPage {
  before: { lastSeenMs: number; id: ErrorGroupId } | null
  limit: number
  sinceMs: number
}

/** The errors that runs have logged, in groups. `recordReadings` writes them. */
export interface ErrorStore {
  /** The most recently seen first. */
  listErrorGroups(filter: ErrorGroupFilter, page: ErrorGroupPage): Promise<StoredErrorGroup[]>
  /** Includes the newest occurrences, and the spiders, versions and nodes that log it most. */
  getErrorGroup(id: ErrorGroupId, sinceMs: number): Promise<StoredErrorGroupDetail | null>
  /** Omits ids that do not exist. */
  projectsOfErrorGroups(ids: ErrorGroupId[]): Promise<{ id: ErrorGroupId; project: ProjectName }[]>
  /** Errors of all attempts, or of the given one. */
  listErrorsOfJob(
    jobId: JobId,
    attemptNumber: AttemptNumber | null,
    sinceMs: number
  ): Promise<{ group: StoredErrorGroup; occurrence: StoredOccurrence }[]>
  /** Resolves with the ids that had another state. A resolved group reopens when it is logged after `atMs`. */
  setErrorState(ids: ErrorGroupId[], state: ErrorState, atMs: number): Promise<ErrorGroupId[]>
}

export interface KeptLogReader {
  /**
   * The newest jobs first, and their last attempts first. Scans `limit` archived logs and lists those that match the
   * filter. Logs that `candidates` rules out are only counted (log-blocks.ts).
   */
  pageKeptLogs(
    filter: KeptLogFilter,
    page: { before: LogKey | null; limit: number; candidates: Uint8Array | null }
  ): Promise<LogPage>
  /** In the order of the keys. Omits logs that no longer exist. */
  readKeptLogs(keys: LogKey[]): Promise<KeptLog[]>
  /**
   * Live runs, the last runs of jobs that ended since the given time, and ended runs in `copied`. The newest jobs
   * first, at most `limit` of each kind.
   */
  listUnarchivedRuns(
    filter: KeptLogFilter,
    options: { endedSinceMs: number; copied: LogKey[]; limit: number }
  ): Promise<UnarchivedRun[]>
}

export interface LogBlockStore extends KeptLogReader {
  /** Of the `limit` newest archived logs before `before`, those that are not in the index. */
  listUnindexedLogs(before: LogKey | null, limit: number): Promise<{ logs: UnindexedLog[]; next: LogKey | null }>
  /** Like listUnindexedLogs, for logs first archived since the call that returned `lastId`; null: from the start. */
  listAddedLogs(sinceId: number | null, limit: number): Promise<{ logs: UnindexedLog[]; lastId: number }>
  /** Skips logs that were archived again meanwhile, which have different `storedBytes`. */
  recordLogBlocks(logs: (LogKey & { blocks: IndexedLogBlocks; log: { storedBytes: number | null } })[]): Promise<void>
  /** Removes these logs from the index; null: all logs. */
  forgetLogBlocks(logs: LogKey[] | null): Promise<void>
  /** The highest block number in use, plus one. */
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
  /** Replaces the version with this name, if any, and its deployments: no node has the new egg yet. */
  putVersion(version: StoredVersion): Promise<void>
  deleteVersion(project: ProjectName, version: VersionName): Promise<void>
  /** Upserts by (project, version, node). Rejects with VERSION_NOT_FOUND if there is no such version. */
  putDeployment(project: ProjectName, version: VersionName, deployment: Deployment): Promise<void>
  deleteDeployment(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void>
  /** Like the four verbs above, for many changes, all or none. Adds one entry per project to the change log. */
  changeVersions(changes: VersionChange[]): Promise<void>
  /** The number of queued or live jobs that need this version (null: any version of the project). */
  countJobsNeeding(project: ProjectName, version: VersionName | null): Promise<number>
}

export interface ProjectSettingsStore {
  /** By project name. */
  listProjectSettings(): Promise<Map<ProjectName, ProjectSettings>>
  putProjectSettings(project: ProjectName, settings: ProjectSettings): Promise<void>
}

export interface ChangeNotifier {
  /** Called after each commit that added to the change log. Returns a function that unsubscribes. */
  onChange(listener: (cursor: number) => void): () => void
}

export interface ChangeLog extends ChangeNotifier {
  /** The newest position. Positions ascend from transaction to transaction. */
  changeCursor(): Promise<number>
  /**
   * The changes after a position, each thing once, at most `limit`. `cursor`: where to continue. `reset`: the changes
   * since that position are no longer stored, or it comes from other data (a restored backup).
   */
  listChanges(after: number, limit: number): Promise<{ changes: ChangedThing[]; cursor: number; reset: boolean }>
}

export interface ScheduleReader {
  listSchedules(): Promise<StoredSchedule[]>
  getSchedules(ids: ScheduleId[]): Promise<StoredSchedule[]>
  /**
   * Sorted by name. Starts after this name and id, even if that schedule no longer exists. `total` counts all matches.
   */
  pageSchedules(
    filter: ScheduleFilter,
    page: SchedulePage
  ): Promise<{ schedules: StoredSchedule[]; total: number; isCut: boolean }>
}

/** `maxBytes`: the page ends once large schedules reach this size (largeBytes), and `isCut` is then true. */
export interface SchedulePage {
  after: { name: string; id: string } | null
  limit: number
  maxBytes?: number
}

/**
 * `text` matches part of the name, or of a project or spider that it runs; `project`, `name`, `userId` (of its jobs)
 * and `crawlKey` match exactly. `isCrawl`: created by a crawl order. `hasNamesake`: shares its name with another (reads
 * all names). `onlyProjects` excludes schedules with a job of any other project.
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
   * Adds it with revision 1, or replaces it. Its revision must be one above the stored one (CHANGED_MEANWHILE, or
   * SCHEDULE_NOT_FOUND if it was deleted). `doneUntilMs` and `runCount` never decrease: `fire` may have run in between.
   */
  putSchedule(schedule: StoredSchedule): Promise<void>
  /** Also deletes their firings, but not their jobs. Returns the ids that existed. */
  deleteSchedules(ids: ScheduleId[]): Promise<ScheduleId[]>
  /** Does not change the revision, so it cannot conflict with edits. */
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
   * Newest first, ids below `before`, for a schedule, a backfill, or all. `sinceChange`: only firings of one schedule
   * that were written after its last `putSchedule`, even if a clock was changed.
   */
  listFirings(
    filter: FiringFilter,
    page: { before: number | null; limit: number; maxBytes?: number }
  ): Promise<StoredFiring[]>
  /** The newest `limit` firings of each schedule: schedules in the order of the ids, firings newest first. */
  listRecentFirings(scheduleIds: ScheduleId[], limit: number): Promise<StoredFiring[]>
  /**
   * `fired`: those of the given moments that have fired, by the clock or a backfill. `forgotten`: those in the range of
   * pruned rows, where this is unknown. Both ascend.
   */
  findFired(scheduleId: ScheduleId, nominalMs: number[]): Promise<{ fired: number[]; forgotten: number[] }>
}

export interface FiringStore extends FiringReader {
  /**
   * Writes firings and their jobs, all or none, and advances their schedules. A moment that has already fired (by the
   * clock or a backfill) is skipped with its jobs: its result is null, but its schedule still advances. A firing whose
   * schedule was deleted is skipped as well.
   */
  fire(firings: NewFiring[]): Promise<(StoredFiring | null)[]>
}

export interface BackfillStore {
  listBackfills(): Promise<StoredBackfill[]>
  /**
   * Adds or replaces the backfill of its schedule. Its revision must be one above the stored one (or 1):
   * CHANGED_MEANWHILE.
   */
  putBackfill(backfill: StoredBackfill): Promise<void>
}

export interface ChainStore {
  listChains(): Promise<StoredChain[]>
  /** Adds a chain, or replaces its settings and keeps its counts. */
  putChain(chain: Pick<StoredChain, 'id' | 'settings' | 'createdAtMs'>): Promise<void>
  deleteChain(id: ChainId): Promise<boolean>
}

export interface ChainEndStore {
  /** Unanswered ends, oldest first. Each is recorded in the transaction that ends the job, once per chain and job. */
  listDueChains(limit: number): Promise<DueChain[]>
  /** Writes answers with their jobs, all or none. false: it was already answered, or the chain no longer exists. */
  answerChains(answers: ChainAnswer[]): Promise<boolean[]>
}

export interface WebhookReader {
  /** Sorted by name. Includes plugins, because they subscribe to events in the same way. */
  listWebhooks(): Promise<StoredWebhook[]>
}

export interface WebhookStore extends WebhookReader {
  /**
   * Adds or replaces it. From then on its events (job.queued, job.started, job.ended, schedule.fired, schedule.missed,
   * schedule.paused) are written as deliveries in the transaction in which they happen.
   */
  putWebhook(webhook: NewWebhook): Promise<void>
  /** Also deletes its deliveries. Returns false if it did not exist. */
  deleteWebhook(id: WebhookId): Promise<boolean>
}

export interface EventStore {
  /** For events that occur outside the store, such as a node that becomes unreachable or recovers. */
  recordEvents(events: NewEvent[]): Promise<void>
}

export interface DueDeliveryStore {
  /**
   * At most `limitEach` due deliveries per enabled webhook, earliest first. `nextDueMs`: when the next one after these
   * becomes due.
   */
  listDueDeliveries(
    nowMs: number,
    limitEach: number
  ): Promise<{ deliveries: StoredDelivery[]; nextDueMs: number | null }>
  concludeTries(tries: DeliveryTry[]): Promise<void>
}

export interface DeliveryStore extends DueDeliveryStore {
  /** Newest first, starting before the one with the id `before`. */
  listDeliveries(
    webhookId: WebhookId,
    page: { state?: StoredDelivery['state'] | undefined; before: string | null; limit: number }
  ): Promise<StoredDelivery[]>
  /** The id of the newest delivery of these webhooks; null: there is none. */
  findNewestDelivery(webhookIds: readonly WebhookId[]): Promise<string | null>
  /** Deliveries of these webhooks after this id, oldest first; null: from the first one. */
  listDeliveriesAfter(webhookIds: readonly WebhookId[], after: string | null, limit: number): Promise<StoredDelivery[]>
  /** Makes ended deliveries due again, as if they were new; without ids, all dead ones. Returns their number. */
  replayDeliveries(webhookId: WebhookId, ids: string[], nowMs: number): Promise<number>
}

export interface AnswerStore {
  /** Claims the key for a request and returns null, or returns the unexpired claim that holds it. */
  claimAnswer(claim: AnswerClaim): Promise<RememberedAnswer | null>
  /** `answer` null: releases the key. */
  keepAnswer(scope: string, key: string, answer: SealedText | null): Promise<void>
}

export interface DiscoveryStore {
  /** In order of creation. */
  listSources(): Promise<StoredSource[]>
  /** Adds or replaces it. Its revision must be one above the stored one (or 1): CHANGED_MEANWHILE. */
  putSource(source: StoredSource): Promise<void>
  deleteSource(id: SourceId): Promise<boolean>
  listVanishedNodes(): Promise<VanishedNode[]>
  putVanishedNodes(nodes: VanishedNode[]): Promise<void>
  deleteVanishedNodes(nodeIds: NodeId[]): Promise<void>
}

export interface LimitStore {
  getLimits(): Promise<StoredLimits>
  /** Replaces all limits. The revision must be one above the stored one: CHANGED_MEANWHILE. */
  putLimits(limits: StoredLimits): Promise<void>
}

/** The results of successful runs, and what is unusual about each spider's newest run. */
export interface FindingStore {
  /** Newest first, starting with this job. */
  listSuccessfulRuns(
    project: ProjectName,
    spider: string,
    page: { upTo: JobId | null; limit: number }
  ): Promise<PastRun[]>
  /** Records this for the job's last attempt. Does nothing if the job no longer exists. */
  recordFilledFields(jobId: JobId, filled: FilledFields): Promise<void>
  listFindings(): Promise<StoredFindings[]>
  /**
   * Replaces the spider's findings; an empty list deletes them. A dismissal lasts as long as the job stays the same.
   */
  putFindings(findings: StoredFindings): Promise<void>
  /** Returns false if the findings are now those of another job. */
  dismissFindings(project: ProjectName, spider: string, jobId: JobId): Promise<boolean>
}

/** Alert rules, silences, and the states of alerts (engine/monitoring/alerts). */
export interface AlertStore {
  /** In order of creation. */
  listAlertRules(): Promise<AlertRule[]>
  /** Its revision must be one above the stored one (or 1): CHANGED_MEANWHILE. */
  putAlertRule(rule: AlertRule): Promise<void>
  /** Returns false if it did not exist. Its alerts remain. */
  deleteAlertRule(id: AlertRuleId): Promise<boolean>
  listSilences(): Promise<AlertSilence[]>
  putSilence(silence: AlertSilence): Promise<void>
  deleteSilence(id: AlertSilenceId): Promise<boolean>
  /** Also contains episodes that ended, and messages sent to channels, after `sinceMs`. */
  readAlertMemory(sinceMs: number): Promise<AlertMemory>
  /** Atomic: a message is never stored without the state that records it as sent, nor the state without the message. */
  writeAlerts(write: AlertWrite): Promise<void>
  /** Like writeAlerts, at a user's request. */
  answerAlerts(write: AlertWrite): Promise<void>
  getAlerts(ids: AlertId[]): Promise<StoredEpisode[]>
  /** The first page begins with firing alerts; then ended ones, newest first; equal times by id. */
  listAlerts(filter: AlertFilter, page: AlertPage): Promise<StoredEpisode[]>
  /** Per rule, over the alerts that fired after `sinceMs`. */
  sumAlerts(sinceMs: number): Promise<AlertRuleFigures[]>
  /** Deletes settled alerts and silences that ended earlier. Returns the number of alerts. */
  pruneAlerts(beforeMs: number, limit: number): Promise<number>
}

/** The history with which users try alert rules, as far as no other table has it. */
export interface AlertFactStore {
  /** Records the facts in this order. */
  recordAlertFacts(facts: StoredAlertFact[]): Promise<void>
  /** The newest fact of each key of each watch, without keys that disappeared. */
  listNewestAlertFacts(): Promise<StoredAlertFact[]>
  /** Oldest first, from `fromMs` on, starting after the row `after`. */
  listAlertFacts(
    watch: AlertWatch,
    page: { fromMs: number; after: { atMs: number; id: number } | null; limit: number }
  ): Promise<(StoredAlertFact & { id: number })[]>
  /**
   * Deletes facts from before `beforeMs` and those beyond the newest `most`, oldest first, at most `limit`. Returns how
   * many.
   */
  pruneAlertFacts(beforeMs: number, most: number, limit: number): Promise<number>
}

export interface DigestStore {
  listDigests(): Promise<StoredDigest[]>
  /**
   * Records this due time as reported to the channel, together with its message (null: reports only begin). Returns
   * false and writes nothing if this or a later due time was already reported with the same settings.
   */
  sendDigest(digest: StoredDigest, message: { atMs: number; data: unknown } | null): Promise<boolean>
  deleteDigests(channelIds: AlertChannelId[]): Promise<void>
}

/** Users, groups, roles and tokens. There are few, so all are kept in memory (engine/access). */
export interface AccessStore {
  listUsers(): Promise<StoredUser[]>
  putUser(user: StoredUser): Promise<void>
  /** Also deletes its tokens and second factors, and its memberships. Returns false if it did not exist. */
  deleteUser(id: UserId): Promise<boolean>
  listGroups(): Promise<StoredGroup[]>
  putGroup(group: StoredGroup): Promise<void>
  deleteGroup(id: GroupId): Promise<boolean>
  listAccessTokens(): Promise<StoredAccessToken[]>
  addAccessToken(token: StoredAccessToken): Promise<void>
  deleteAccessToken(id: AccessTokenId): Promise<boolean>
  listRoles(): Promise<StoredRole[]>
  putRole(role: StoredRole): Promise<void>
  /** Returns false if there is no such role. */
  deleteRole(name: string): Promise<boolean>
  /** Records when they were last seen. Skips those that no longer exist. */
  recordAccess(users: UserId[], tokens: AccessTokenId[], atMs: number): Promise<void>
}

/** Second factors and passkeys of users. There are few, so all are kept in memory (engine/access/second-factor). */
export interface SecondFactorStore {
  listAuthenticators(): Promise<StoredAuthenticator[]>
  /** Replaces the user's authenticator and all recovery codes. */
  putAuthenticator(authenticator: StoredAuthenticator): Promise<void>
  putRecoveryCodes(userId: UserId, hashes: string[]): Promise<void>
  /** Also deletes its recovery codes. Returns false if it did not exist. */
  deleteAuthenticator(userId: UserId): Promise<boolean>
  /** Returns true once per step, and false after any caller has used this or a later step. */
  useAuthenticatorStep(userId: UserId, step: number): Promise<boolean>
  /** Returns true only once. */
  useRecoveryCode(userId: UserId, hash: string): Promise<boolean>
  listPasskeys(): Promise<StoredPasskey[]>
  addPasskey(passkey: StoredPasskey): Promise<void>
  /**
   * Returns false if the passkey is gone, or its counter was already this high. A passkey without a counter (0) can be
   * used any number of times.
   */
  usePasskey(id: PasskeyId, signCount: number, atMs: number): Promise<boolean>
  deletePasskey(userId: UserId, id: PasskeyId): Promise<boolean>
  /** Deletes all of the user's second factors. Returns false if there were none. */
  deleteSecondFactors(userId: UserId): Promise<boolean>
}

/** The audit log: who did or tried what (audit/chain.ts explains the chain of entries). */
export interface AuditStore {
  /**
   * Adds this entry to the write that `call` begins, in the same transaction: neither exists without the other. `call`
   * must begin a write synchronously, and only its first one gets the entry. The entry includes what the write changed.
   */
  withAudit<T>(entry: NewAuditEntry, call: () => Promise<T>): Promise<T>
  /** Appends a separate entry, for an operation that wrote nothing to the store. */
  appendAudit(record: NewAuditRecord): Promise<void>
  /**
   * Newest first, starting before `before`. A page scans a limited number of entries: it may be empty and not the last.
   */
  pageAudit(
    filter: AuditFilter,
    page: { before: number | null; limit: number }
  ): Promise<{ entries: (StoredAuditEntry & { previousHash: string })[]; nextBefore: number | null }>
  /** Oldest first. */
  listAuditAfter(seq: number, limit: number): Promise<StoredAuditEntry[]>
  auditChain(): Promise<AuditChain>
  /** Deletes the oldest entries from before that time, at most `limit`, but never the newest. Returns their number. */
  forgetAudit(beforeMs: number, limit: number): Promise<number>
}

export interface RetentionStore {
  /**
   * Deletes the oldest data beyond its retention, including expired answers, at most `limit` rows, so that other calls
   * are not delayed. Returns their number; below `limit`, all are done. A job whose chain records are deleted can no
   * longer be restored, because chains would answer its end twice. Firings of future moments are always kept.
   */
  prune(retention: Retention, limit: number): Promise<number>
}

/** Retention of ended jobs, with their attempts, timelines and archived logs. */
export interface JobRetentionStore {
  /**
   * Performs one step of a pass over the ended jobs, oldest end first: deletes what is due (model/retention.ts) and all
   * that belongs to it, at most `limit`. Afterwards, `listDeletedLogs` lists the blobs of the deleted logs.
   */
  applyRetention(pass: RetentionPass, bounds: RetentionBounds, limit: RetentionLimit): Promise<RetentionStep>
  /** Performs the same step without deleting anything. */
  previewRetention(pass: RetentionPass, bounds: RetentionBounds, rows: number): Promise<RetentionPreviewStep>
  listDeletedLogs(limit: number): Promise<DeletedLog[]>
  /** Call this once the blobs of these logs are deleted as well. */
  forgetDeletedLogs(logs: DeletedLog[]): Promise<void>
  /** Sets whether retention must keep these jobs, and records changes as `entry`. Returns the ids that exist. */
  keepJobs(ids: JobId[], isKept: boolean, entry: TimelineEntry): Promise<JobId[]>
  /** null: the policy was never set. */
  getStoragePolicy(): Promise<StoredStoragePolicy | null>
  /** The revision must be one above the stored one (or 1): CHANGED_MEANWHILE. */
  putStoragePolicy(stored: StoredStoragePolicy): Promise<void>
  /** Cheap, because it reads sums and not jobs. */
  storageSums(): Promise<StorageSums>
  /**
   * Returns at most this many free pages to the disk. Resolves with how many are left; 0 if the database cannot shrink.
   */
  shrink(pages: number): Promise<number>
  /**
   * Rewrites the whole database without free pages, so that it can shrink from then on. Blocks every other call for
   * seconds per gigabyte, and needs as much free disk space.
   */
  compact(): Promise<void>
}

/** Single values: see settings.ts for keys and schemas. */
export interface SettingStore {
  /** null: the setting was never set. */
  getSetting<Key extends SettingKey>(key: Key): Promise<SettingValue<Key> | null>
  putSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): Promise<void>
  /** Records `value` unless the setting already has one, in one transaction. Resolves with the recorded value. */
  keepSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): Promise<SettingValue<Key>>
}

/**
 * The engine's database port: verbs of the domain, never tables. Each call that writes is one transaction: when its
 * promise resolves, it is on disk (invariant I1), with its timeline entries and change log entries. Implementations
 * group concurrent calls into one commit; a failing call does not affect the others. testing/conformance.ts verifies
 * every implementation.
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
  /** Resolves once the last write is on disk. Can be called twice. */
  close(): Promise<void>
}
