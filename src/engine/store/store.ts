import type {
  Attempt,
  AttemptNumber,
  ChainId,
  Deployment,
  Firing,
  JobFacets,
  JobFilter,
  JobId,
  JobStatus,
  NodeId,
  Outcome,
  Placement,
  ProjectName,
  ProjectSettings,
  QueuePlace,
  Schedule,
  ScheduleId,
  SealedText,
  SourceId,
  Transition,
  VersionName,
  WebhookId
} from '../../shared/contract/index.ts'
import type { TimelineEntry, AttemptChange } from '../job-rules/attempt-change.ts'
import type {
  NewJob,
  StoredJob,
  FinishedRun,
  LaneDepth,
  QueueHead,
  RunOnNode,
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
  StoredBackfill,
  StoredSource,
  VanishedNode,
  StoredLimits,
  ToldProblem,
  ChangedThing
} from './records.ts'
import type { SettingKey, SettingValue } from './settings.ts'

/** Jobs as they are now, and what became of them. */
export interface JobReader {
  getJob(id: JobId): Promise<StoredJob | null>
  getJobs(ids: JobId[]): Promise<StoredJob[]>
  /** Newest first, ids below `before`. `sinceMs` leaves out what was queued before it. */
  listJobs(filter: JobFilter, page: { before: JobId | null; limit: number }): Promise<StoredJob[]>
  /** Each facet counts what the other filters leave: what choosing another of its values would give. Most first. */
  countFacets(filter: JobFilter): Promise<JobFacets>
  /** How many of these jobs have which status; unknown ids are not counted. */
  countStatuses(ids: JobId[]): Promise<Partial<Record<JobStatus, number>>>
  countByState(): Promise<{ queued: number; starting: number; running: number; ended: number }>
  /** Jobs that ended at or after this time, by outcome: the overview's figures. */
  countEndedSince(sinceMs: number): Promise<Record<Outcome, number>>
  /** The newest live or ended jobs by the jobid that Scrapyd clients know; newest first. */
  findJobsByJobid(project: ProjectName | null, jobid: string): Promise<StoredJob[]>
  /** The jobs that ended last, newest first, with where their newest attempt ran; without those that never ran. */
  listFinishedRuns(limit: number): Promise<FinishedRun[]>
  listTimeline(jobId: JobId): Promise<Transition[]>
}

/** Jobs, and how they come to be. */
export interface JobStore extends JobReader {
  /**
   * Writes queued jobs with a `queued` timeline entry each, all or none. Returns for each the id of the job that it is
   * now: its own, or that of the earlier job with its dedupe key, in which case nothing was written for it. A job
   * begins held (`dependency`, then `not_before`, then `overlap`) where something must happen first; one whose
   * dependency can no longer be met ends at once as cancelled. Rejects with JOB_NOT_FOUND where a dependency names no
   * job.
   */
  enqueueJobs(jobs: NewJob[]): Promise<JobId[]>
  /**
   * Writes runs that began before we knew of them, all or none: another server's history (ended), or a job that
   * somebody else started (adopted). They are never in the queue.
   */
  recordRuns(runs: { job: NewJob; start: AttemptStart; changes: AttemptChange[] }[]): Promise<void>
}

/** The queue as dispatching sees it. */
export interface LaneReader {
  /** Every lane with queued jobs that are not held, and how many. Cheap: a row a lane. */
  listLanes(): Promise<LaneDepth[]>
  /**
   * The first jobs of lanes in queue order (priority descending, then rank, then id), up to `limit` each, without held
   * ones. Answers in the order asked; a lane without jobs is empty.
   */
  readHeads(wanted: { lane: string; limit: number }[]): Promise<QueueHead[][]>
  /**
   * Called after each commit that put jobs into lanes, took them out, or changed their order there; not for jobs that
   * beginAttempts claimed, which its caller knows of. Returns the way to stop.
   */
  onQueueChange(listener: (lanes: string[]) => void): () => void
}

/** What keeps queued jobs out of their lanes until a time. */
export interface HoldStore {
  /**
   * Lifts holds whose time has come and ends jobs whose time is over, at most `limit` of each. `nextDueMs`: when to ask
   * again; null: nothing waits for a time. Released jobs may at once be held for another reason (overlap).
   */
  releaseDue(nowMs: number, limit: number): Promise<{ released: number; expired: number; nextDueMs: number | null }>
}

/** A job that waits is claimed. */
export interface ClaimStore {
  /**
   * Claim and send, first half: for each start whose job is still queued and whose number is the next, makes the
   * attempt in state `sending` and moves the job to `starting`. Returns the starts that were made; the rest lost the
   * race (cancelled, held, expired at the entry's time, or another job of its overlap key is live: then it is held from
   * now on). Send the attempt's own `jobid`: where its node had the wanted one before in this project, it is another.
   * The jobs come with all that sending needs: no other call may fail between the claim and knowing them to be live.
   */
  beginAttempts(starts: AttemptStart[]): Promise<BegunAttempt[]>
}

/** What operators and dispatching do with jobs that wait. */
export interface QueueStore extends LaneReader, HoldStore, ClaimStore {
  /** Queued jobs only, held ones included; returns the ids that were queued. */
  setPriority(ids: JobId[], priority: number, entry: TimelineEntry): Promise<JobId[]>
  /** Queued jobs only. They keep the order they were given in. `before` a job that is not queued changes nothing. */
  reorder(ids: JobId[], to: QueuePlace, entry: TimelineEntry): Promise<JobId[]>
  /** Queued jobs only. */
  placeQueued(ids: JobId[], placement: Placement, entry: TimelineEntry): Promise<JobId[]>
  /** Ends jobs that are queued, as cancelled. Returns the ids that were queued; others are untouched. */
  cancelQueued(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
  /** Undo of cancelQueued: the jobs go back to the queue under their old id. Returns the ids restored. */
  restoreCancelled(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
  /**
   * Notes on live jobs (starting, running) that a cancel was asked; with a `cancel_asked` entry the first time.
   * Returns the ids that were live.
   */
  askCancel(ids: JobId[], entry: TimelineEntry): Promise<JobId[]>
}

/** Attempts, live and ended. */
export interface AttemptReader {
  /** All attempts that have not ended. */
  listLiveAttempts(): Promise<Attempt[]>
  listAttempts(jobId: JobId): Promise<Attempt[]>
  /** Attempts, ended ones too, that ran on a node under these jobids. */
  findAttemptsOnNode(nodeId: NodeId, runs: RunOnNode[]): Promise<Attempt[]>
  /** Whether one of these runs is ours and had been recorded as succeeded or failed when that attempt was begun. */
  hasEndedBefore(nodeId: NodeId, runs: RunOnNode[], attempt: Pick<Attempt, 'jobId' | 'number'>): Promise<boolean>
  /** What was given as `gzip`. */
  readArchivedLog(jobId: JobId, attemptNumber: AttemptNumber): Promise<Uint8Array | null>
}

/** The only way in which an attempt, and its job with it, goes on. */
export interface AttemptWriter {
  /**
   * Applies changes to attempts and their jobs, with one timeline entry each. A change names the state it starts from;
   * where the attempt is no longer in it, that change is skipped (I4: recorded once). Returns which were applied. The
   * job follows its newest attempt: `running` and `finishing` make it running, `ended` ends it or puts it back in the
   * queue under its id. A job that would go back but was asked to cancel ends as cancelled, with an `ended` entry of
   * its own. A job that ends, or goes back, frees its overlap key for the next job held for it; one that ends releases
   * (or ends, as cancelled) the jobs that wait for it. An ended attempt takes details, counts and a killing line, but a
   * new state only as `found_again`: while its job is queued, has no newer attempt and was not asked to cancel, and no
   * other job of its overlap key is live. That takes the job out of the queue, lifts its hold, and its flag, where it
   * is the job's only attempt.
   */
  applyChanges(changes: AttemptChange[]): Promise<boolean[]>
}

/** Attempts and their logs. */
export interface AttemptStore extends AttemptReader, AttemptWriter {
  /** `gzip`: the whole log, where it is small; null: it is a blob (output/log-archive.ts). */
  markLogArchived(jobId: JobId, attemptNumber: AttemptNumber, gzip: Uint8Array | null): Promise<void>
}

/** The fleet. */
export interface NodeStore {
  listNodes(): Promise<StoredNode[]>
  putNode(node: StoredNode): Promise<void>
  /** Forgets the node and what was deployed on it; its attempts stay in history. */
  deleteNode(id: NodeId): Promise<void>
}

/** Versions of projects, and where they are deployed. */
export interface VersionStore {
  listVersions(): Promise<StoredVersion[]>
  /** Insert or replace by (project, version), deployments included: a new egg under an old name is on no node yet. */
  putVersion(version: StoredVersion): Promise<void>
  deleteVersion(project: ProjectName, version: VersionName): Promise<void>
  /** Insert or replace by (project, version, node). Rejects with VERSION_NOT_FOUND where there is no such version. */
  putDeployment(project: ProjectName, version: VersionName, deployment: Deployment): Promise<void>
  deleteDeployment(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void>
  /** Queued or live jobs that need this version (version null: any of the project). */
  countJobsNeeding(project: ProjectName, version: VersionName | null): Promise<number>
}

export interface ProjectSettingsStore {
  /** What operators set for projects, by name. */
  listProjectSettings(): Promise<Map<ProjectName, ProjectSettings>>
  putProjectSettings(project: ProjectName, settings: ProjectSettings): Promise<void>
}

/** Who wants to know at once that something changed. */
export interface ChangeNotifier {
  /** Called after each commit that added to the change log. Returns the way to stop. */
  onChange(listener: (cursor: number) => void): () => void
}

/** What changed, in order. */
export interface ChangeLog extends ChangeNotifier {
  /** The newest position. Positions ascend by one transaction after another. */
  changeCursor(): Promise<number>
  /**
   * What changed after a position, each thing once, at most `limit` of them; `cursor` is where to go on.
   * `reset` is true when positions that old are no longer kept.
   */
  listChanges(after: number, limit: number): Promise<{ changes: ChangedThing[]; cursor: number; reset: boolean }>
}

/** Schedules as they are set, and how far they are. */
export interface ScheduleReader {
  /** By name. */
  listSchedules(): Promise<StoredSchedule[]>
  getSchedules(ids: ScheduleId[]): Promise<StoredSchedule[]>
  /**
   * By name, those after this name and id, whether that schedule still exists or not; `total` counts all that the
   * filter leaves. `text` is a part of the name, or of a project or spider that it runs; `project` and `name` are
   * whole.
   */
  pageSchedules(
    filter: { text?: string; project?: ProjectName; name?: string; pausedBy?: NonNullable<Schedule['pausedBy']>[] },
    page: { after: { name: string; id: string } | null; limit: number }
  ): Promise<{ schedules: StoredSchedule[]; total: number }>
}

/** Schedules, and their jobs that have not ended. */
export interface ScheduleStore extends ScheduleReader {
  /**
   * Adds it, with revision 1, or changes it whole. Its revision must be one above the present one (CHANGED_MEANWHILE,
   * or SCHEDULE_NOT_FOUND where it was removed). `doneUntilMs` and `runCount` never go back: `fire` may have come
   * between.
   */
  putSchedule(schedule: StoredSchedule): Promise<void>
  /** With their firings; their jobs stay. Returns those that were there. */
  deleteSchedules(ids: ScheduleId[]): Promise<ScheduleId[]>
  /** What its ended jobs came to. No new revision: it disturbs nobody who edits it. */
  setFailuresInARow(scheduleId: ScheduleId, failuresInARow: number): Promise<void>
  /** Jobs of a schedule that have not ended, oldest first. */
  listLiveJobsOf(scheduleId: ScheduleId): Promise<StoredJob[]>
}

/** What became of the moments of schedules. */
export interface FiringReader {
  /**
   * Newest first, ids below `before`; of one schedule, one backfill, or all. `sinceChange`: of one schedule those
   * written after its last `putSchedule`, whatever clocks said.
   */
  listFirings(
    filter: { scheduleId?: ScheduleId; backfillId?: string; states?: Firing['state'][]; sinceChange?: boolean },
    page: { before: number | null; limit: number }
  ): Promise<StoredFiring[]>
  /** The newest `limit` of each of these schedules, in the order of the ids, newest first. */
  listRecentFirings(scheduleIds: ScheduleId[], limit: number): Promise<StoredFiring[]>
  /**
   * Which of these moments have fired already, by the clock or a backfill, and of which that is no longer known: they
   * lie among moments whose rows were pruned. Both ascend.
   */
  findFired(scheduleId: ScheduleId, nominalMs: number[]): Promise<{ fired: number[]; forgotten: number[] }>
}

/** Moments of schedules become jobs. */
export interface FiringStore extends FiringReader {
  /**
   * Writes what became of moments, with the jobs made of them, all or none, and moves their schedules on. A moment that
   * has fired already (by the clock or a backfill) is skipped, its jobs too: null in its place, but its schedule is
   * moved on all the same. So is one whose schedule is gone.
   */
  fire(firings: NewFiring[]): Promise<(StoredFiring | null)[]>
  /**
   * These will probably be fired soon: `fire` with these very objects has less to do then. Nothing that can be read
   * changes; the caller changes nothing of them from now on.
   */
  prepareFirings(firings: NewFiring[]): void
}

/** Backfills, the newest of each schedule. */
export interface BackfillStore {
  listBackfills(): Promise<StoredBackfill[]>
  /** Adds it, or replaces that of its schedule. Its revision must be one above the present, or 1: CHANGED_MEANWHILE. */
  putBackfill(backfill: StoredBackfill): Promise<void>
}

/** Chains as they are set. */
export interface ChainStore {
  listChains(): Promise<StoredChain[]>
  /** Adds it or changes what is set; its counts stay. */
  putChain(chain: Pick<StoredChain, 'id' | 'settings' | 'createdAtMs'>): Promise<void>
  deleteChain(id: ChainId): Promise<boolean>
}

/** Ends of jobs that chains are to answer. */
export interface ChainEndStore {
  /** Ends of jobs that chains have not answered yet, oldest first; recorded with the end, once a chain and job. */
  listDueChains(limit: number): Promise<DueChain[]>
  /** Answers them, with the jobs that were made, all or none; false for one that was answered before, or is gone. */
  answerChains(answers: ChainAnswer[]): Promise<boolean[]>
}

/** Who is told of events. */
export interface WebhookReader {
  /** Plugins, which are told of events the same way, included. By name. */
  listWebhooks(): Promise<StoredWebhook[]>
}

export interface WebhookStore extends WebhookReader {
  /**
   * Adds it or changes it. From then on its events (job.queued, job.started, job.ended, schedule.fired,
   * schedule.missed, schedule.paused) are written as deliveries in the very transaction in which they happen.
   */
  putWebhook(webhook: NewWebhook): Promise<void>
  /** Its deliveries go with it. False: there was none. */
  deleteWebhook(id: WebhookId): Promise<boolean>
}

/** Events that the store does not see by itself. */
export interface EventStore {
  /** Events of what is not in the store: nodes that go and come. */
  recordEvents(events: NewEvent[]): Promise<void>
}

/** What is to be told now. */
export interface DueDeliveryStore {
  /** Of each webhook that is on, at most so many that are due, first due first. `nextDueMs`: of those not yet due. */
  listDueDeliveries(
    nowMs: number,
    limitEach: number
  ): Promise<{ deliveries: StoredDelivery[]; nextDueMs: number | null }>
  concludeTries(tries: DeliveryTry[]): Promise<void>
}

/** What is to be told, and how that went. */
export interface DeliveryStore extends DueDeliveryStore {
  /** Newest first, those before the one with the id `before`. */
  listDeliveries(
    webhookId: WebhookId,
    page: { state?: StoredDelivery['state'] | undefined; before: string | null; limit: number }
  ): Promise<StoredDelivery[]>
  /** Ended ones are due again, as if they had never been tried; of no ids all dead ones. Returns how many. */
  replayDeliveries(webhookId: WebhookId, ids: string[], nowMs: number): Promise<number>
}

/** Answers to requests with a key. */
export interface AnswerStore {
  /** Takes the key for a request, or tells what became of the one that took it before and is not forgotten yet. */
  claimAnswer(claim: AnswerClaim): Promise<RememberedAnswer | null>
  /** null: forgets that it was asked. */
  keepAnswer(scope: string, key: string, answer: SealedText | null): Promise<void>
}

/** Sources that name nodes, and the nodes that they name no longer. */
export interface DiscoveryStore {
  /** In the order in which they were added. */
  listSources(): Promise<StoredSource[]>
  /** Adds or changes it. Its revision must be one above the present one (or 1): CHANGED_MEANWHILE. */
  putSource(source: StoredSource): Promise<void>
  /** False: there was none. */
  deleteSource(id: SourceId): Promise<boolean>
  listVanishedNodes(): Promise<VanishedNode[]>
  putVanishedNodes(nodes: VanishedNode[]): Promise<void>
  deleteVanishedNodes(nodeIds: NodeId[]): Promise<void>
}

/** The limits on what is live. */
export interface LimitStore {
  getLimits(): Promise<StoredLimits>
  /** All of them at once. The revision must be one above the one that is there: CHANGED_MEANWHILE. */
  putLimits(limits: StoredLimits): Promise<void>
}

/** Which problems those who subscribe to them were told of. */
export interface ToldProblemStore {
  listToldProblems(): Promise<ToldProblem[]>
  /** From now on these are what was told, together with the events that tell it. */
  putToldProblems(problems: ToldProblem[], events: NewEvent[]): Promise<void>
}

/** What is kept for a while only. */
export interface RetentionStore {
  /**
   * Forgets the oldest of what is no longer to be kept, expired answers included, at most `limit` rows, so that nothing
   * else waits long. Returns how many; fewer than `limit`: that was all. With what chains know of a job goes the
   * undoing of its cancel: an end that they answered would be answered again. Firings of moments to come are always
   * kept.
   */
  prune(retention: Retention, limit: number): Promise<number>
}

/** Single values that are none of the nouns above: settings.ts has their keys and schemas. */
export interface SettingStore {
  /** null: it was never set. */
  getSetting<Key extends SettingKey>(key: Key): Promise<SettingValue<Key> | null>
  putSetting<Key extends SettingKey>(key: Key, value: SettingValue<Key>): Promise<void>
}

/**
 * What the engine asks of its database: verbs of the domain, never tables. Each call that writes is one transaction:
 * when its promise resolves, it is on the disk (invariant I1), together with its timeline entries and its entries in
 * the change log. Implementations group calls that come at the same time into one commit; a call that fails takes
 * none of the others with it. testing/conformance.ts holds every implementation to this.
 */
export interface Store
  extends JobStore,
    QueueStore,
    AttemptStore,
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
    ToldProblemStore,
    RetentionStore,
    SettingStore {
  /** Resolves after the last write has landed. May be called twice. */
  close(): Promise<void>
}
