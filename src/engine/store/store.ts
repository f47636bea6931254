import type {
  Attempt,
  AttemptResult,
  AttemptState,
  Deployment,
  Job,
  JobFacets,
  JobFilter,
  NodeMode,
  Outcome,
  Placement,
  ProjectSettings,
  RunLimits,
  Transition,
  TransitionKind
} from '../../shared/contract/index.ts'

/**
 * What the engine asks of its database: verbs of the domain, never tables. Each call that writes is one transaction:
 * when its promise resolves, it is on the disk (invariant I1), together with its timeline entries and its entries in
 * the change log. Implementations group calls that come at the same time into one commit; a call that fails takes
 * none of the others with it. conformance.ts holds every implementation to this.
 */
export interface Store {
  // --- jobs -------------------------------------------------------------------------------------------------------
  /** Writes queued jobs with a `queued` timeline entry each, all or none. */
  enqueueJobs(jobs: NewJob[]): Promise<void>
  /**
   * Writes runs that began and ended before we knew of them (another server's history), all or none: they are never seen in
   * between, and never in the queue.
   */
  recordEnded(runs: { job: NewJob; start: AttemptStart; end: AttemptChange }[]): Promise<void>
  getJob(id: string): Promise<StoredJob | null>
  getJobs(ids: string[]): Promise<StoredJob[]>
  /** Newest first, ids below `before`. `sinceMs` leaves out what was queued before it. */
  listJobs(filter: JobFilter, page: { before: string | null; limit: number }): Promise<StoredJob[]>
  /** Each facet counts what the other filters leave: what choosing another of its values would give. Most first. */
  countFacets(filter: JobFilter): Promise<JobFacets>
  countByState(): Promise<{ queued: number; starting: number; running: number; ended: number }>
  /** Jobs that ended at or after this time, by outcome: the overview's figures. */
  countEndedSince(sinceMs: number): Promise<Record<Outcome, number>>
  /** The newest live or ended jobs by the jobid that Scrapyd clients know; newest first. */
  findJobsByJobid(jobid: string, project: string | null): Promise<StoredJob[]>
  /** The jobs that ended last, newest end first, with where their newest attempt ran; those that never ran are left out. */
  listFinishedRuns(limit: number): Promise<FinishedRun[]>
  listTimeline(jobId: string): Promise<Transition[]>

  // --- queue ------------------------------------------------------------------------------------------------------
  /**
   * The heads of the queue: for every lane with queued jobs, its first `perLane` in order (priority descending, then
   * id ascending). Jobs of one lane are alike to placement: same project, version, node and tags.
   */
  readQueueHeads(perLane: number): Promise<QueueLane[]>
  /**
   * Claim and send, first half: for each start whose job is still queued and whose number is the next, makes the attempt
   * in state `sending` and moves the job to `starting`. Returns the starts that were made; the rest lost the race. Send
   * the attempt's own `jobid`: where its node had the wanted one before in this project, it is another.
   */
  beginAttempts(starts: AttemptStart[]): Promise<Attempt[]>
  /** Ends jobs that are queued: cancelled before they were sent. Returns the ids that were queued; others are untouched. */
  cancelQueued(ids: string[], entry: TimelineEntry): Promise<string[]>
  /** Undo of cancelQueued: jobs cancelled while queued go back to the queue under their old id. Returns the ids restored. */
  restoreCancelled(ids: string[], entry: TimelineEntry): Promise<string[]>
  /**
   * Notes on live jobs (starting, running) that a cancel was asked; with a `cancel_asked` entry the first time.
   * Returns the ids that were live.
   */
  askCancel(ids: string[], entry: TimelineEntry): Promise<string[]>

  // --- attempts ---------------------------------------------------------------------------------------------------
  /** All attempts that have not ended, with their jobs: what the engine believes, read once at start. */
  listLiveAttempts(): Promise<Attempt[]>
  listAttempts(jobId: string): Promise<Attempt[]>
  /**
   * Applies changes to attempts and their jobs, with one timeline entry each. A change names the state it starts
   * from; where the attempt is no longer in it, that change is skipped (I4: recorded once). Returns which were applied.
   * The job follows its newest attempt: `running` and `finishing` make it running, `ended` ends it or puts it back in
   * the queue under its id. A job that would go back but was asked to cancel ends as cancelled, with an `ended` entry
   * of its own. An ended attempt takes details, counts and a killing line, but no new state.
   */
  applyChanges(changes: AttemptChange[]): Promise<boolean[]>
  markLogArchived(jobId: string, attemptNumber: number): Promise<void>

  // --- nodes ------------------------------------------------------------------------------------------------------
  listNodes(): Promise<StoredNode[]>
  putNode(node: StoredNode): Promise<void>
  /** Forgets the node and what was deployed on it; its attempts stay in history. */
  deleteNode(id: string): Promise<void>

  // --- projects ---------------------------------------------------------------------------------------------------
  listVersions(): Promise<StoredVersion[]>
  /** Insert or replace by (project, version), deployments included: a new egg under an old name is on no node yet. */
  putVersion(version: StoredVersion): Promise<void>
  deleteVersion(project: string, version: string): Promise<void>
  /** Insert or replace by (project, version, node). Rejects with VERSION_NOT_FOUND where there is no such version. */
  putDeployment(project: string, version: string, deployment: Deployment): Promise<void>
  deleteDeployment(project: string, version: string, nodeId: string): Promise<void>
  /** Queued or live jobs that need this version (version null: any of the project). */
  countJobsNeeding(project: string, version: string | null): Promise<number>

  /** What operators set for projects, by name. */
  listProjectSettings(): Promise<Map<string, ProjectSettings>>
  putProjectSettings(project: string, settings: ProjectSettings): Promise<void>

  // --- the change log ---------------------------------------------------------------------------------------------
  /** The newest position. Positions ascend by one transaction after another. */
  changeCursor(): Promise<number>
  /**
   * What changed after a position, each thing once, at most `limit` of them; `cursor` is where to go on.
   * `reset` is true when positions that old are no longer kept.
   */
  listChanges(after: number, limit: number): Promise<{ changes: ChangedThing[]; cursor: number; reset: boolean }>
  /** Called after each commit that added to the change log. Returns the way to stop. */
  onChange(listener: (cursor: number) => void): () => void
  /** Forgets all but the newest `keep` positions. */
  pruneChanges(keep: number): Promise<void>

  // --- settings and life ------------------------------------------------------------------------------------------
  getSetting(key: string): Promise<string | null>
  putSetting(key: string, value: string): Promise<void>
  /** Resolves after the last write has landed. May be called twice. */
  close(): Promise<void>
}

export interface TimelineEntry {
  atMs: number
  text: string
  evidence: Record<string, unknown>
}

export interface NewJob {
  id: string
  jobid: string
  project: string
  version: string | null
  spider: string
  settings: Record<string, string>
  args: Record<string, string>
  /** Names whose values in `settings` and `args` are sealed (src/engine/runtime/secret-box.ts). */
  secretNames: string[]
  limits: RunLimits | null
  priority: number
  placement: Placement
  source: Job['source']
  entry: TimelineEntry
}

/** A job as the store knows it: all of the contract's Job but what only the live engine can tell. */
export type StoredJob = Omit<Job, 'waiting'>

/** A job that ran and ended, as lists of a Scrapyd show it. */
export interface FinishedRun {
  /** The job's id; `jobid` is the one its client knows, `run` where and under which jobid it ran. */
  id: string
  jobid: string
  project: string
  spider: string
  startedAtMs: number | null
  endedAtMs: number
  run: { nodeId: string; jobid: string; logArchived: boolean }
}

export interface QueueLane {
  /** The same text for the same (project, version, node, tags). */
  lane: string
  project: string
  version: string | null
  placement: Placement
  /** In order. `attemptCount` tells the number of the next attempt. */
  jobs: { id: string; jobid: string; spider: string; priority: number; attemptCount: number }[]
  /** How many jobs are queued in this lane, `jobs` included; capped at 10,000 so that counting stays cheap. */
  depth: number
}

export interface AttemptStart {
  jobId: string
  number: number
  jobid: string
  nodeId: string
  version: string
  entry: TimelineEntry
}

export interface AttemptChange {
  jobId: string
  attemptNumber: number
  from: AttemptState[]
  /** New state of the attempt; absent: it stays as it is and only the entry (and `details`) are written. */
  to?: AttemptState
  kind: TransitionKind
  entry: TimelineEntry
  /** With `to: 'ended'`. `refused` and `absent` put the job back in the queue unless `jobOutcome` says otherwise. */
  result?: AttemptResult
  reason?: string
  /** With `to: 'ended'`: the job's outcome; null sends it back to the queue. */
  jobOutcome?: Outcome | null
  killingLine?: string | null
  /** Absent times are filled in: `acceptedAtMs` by `to: 'accepted'`, `startedAtMs` by `to: 'running'`. */
  details?: Partial<
    Pick<
      Attempt,
      | 'acceptedAtMs'
      | 'startedAtMs'
      | 'pid'
      | 'exitCode'
      | 'signal'
      | 'stats'
      | 'limitHit'
      | 'peakMemoryBytes'
      | 'cpuSeconds'
    >
  >
  counts?: { pages: number | null; items: number | null; errors: number | null }
}

export interface StoredNode {
  id: string
  name: string
  kind: 'local' | 'scrapyd'
  url: string
  username: string | null
  /** As the secret box gave it (src/engine/runtime/secret-box.ts); never plain text. */
  sealedPassword: string | null
  caCertificate: string | null
  /** null: our default, or what is learned. */
  slots: number | null
  tags: string[]
  mode: NodeMode
  scrapydVersion: string | null
  addedAtMs: number
}

export interface StoredVersion {
  project: string
  version: string
  sha256: string | null
  sizeBytes: number | null
  spiders: string[] | null
  createdAtMs: number
  deployments: Deployment[]
}

export type ChangedThing = { noun: 'job' | 'node' | 'project'; id: string; cursor: number }
