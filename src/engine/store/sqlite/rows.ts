import type {
  Attempt,
  AttemptNumber,
  Deployment,
  JobId,
  JobStatus,
  NodeId,
  ProjectName,
  SealedText,
  Transition,
  VersionName
} from '../../../shared/contract/index.ts'
import type { StoredFiring, StoredJob, StoredNode, StoredSchedule, StoredVersion } from '../records.ts'

/** Rows as SQLite gives them, and how they become what the engine speaks of. Nullable columns stay null. */

export interface JobRow {
  id: JobId
  jobid: string
  project: ProjectName
  version: VersionName | null
  spider: string
  settings: string
  args: string
  secret_names: string
  limits: string | null
  retry: string | null
  not_before_ms: number | null
  expires_at_ms: number | null
  overlap_key: string | null
  after: string
  dedupe_key: string | null
  hold: string | null
  rank: number
  may_have_run_twice: number
  priority: number
  placement_node_id: NodeId | null
  placement_tags: string
  lane: string
  source: string
  state: string
  outcome: string | null
  status: string
  reason: string | null
  killing_line: string | null
  node_id: NodeId | null
  attempt_count: number
  cancel_asked_at_ms: number | null
  queued_at_ms: number
  started_at_ms: number | null
  ended_at_ms: number | null
  pages: number | null
  items: number | null
  errors: number | null
  schedule_id: string | null
  nominal_ms: number | null
}

export function toJob(row: JobRow): StoredJob {
  return {
    id: row.id,
    jobid: row.jobid,
    project: row.project,
    version: row.version,
    spider: row.spider,
    settings: JSON.parse(row.settings),
    args: JSON.parse(row.args),
    secretNames: JSON.parse(row.secret_names),
    limits: row.limits === null ? null : JSON.parse(row.limits),
    retry: row.retry === null ? null : JSON.parse(row.retry),
    notBeforeMs: row.not_before_ms,
    expiresAtMs: row.expires_at_ms,
    noOverlap: row.overlap_key !== null,
    after: JSON.parse(row.after),
    dedupeKey: row.dedupe_key,
    hold: row.hold as StoredJob['hold'],
    rank: row.rank,
    mayHaveRunTwice: row.may_have_run_twice === 1,
    priority: row.priority,
    placement: { nodeId: row.placement_node_id, tags: JSON.parse(row.placement_tags) },
    lane: row.lane,
    source: row.source as StoredJob['source'],
    scheduleId: row.schedule_id,
    nominalMs: row.nominal_ms,
    state: row.state as StoredJob['state'],
    outcome: row.outcome as StoredJob['outcome'],
    status: row.status as StoredJob['status'],
    reason: row.reason,
    killingLine: row.killing_line,
    nodeId: row.node_id,
    attemptCount: row.attempt_count,
    cancelAskedAtMs: row.cancel_asked_at_ms,
    queuedAtMs: row.queued_at_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    pages: row.pages,
    items: row.items,
    errors: row.errors
  }
}

export interface AttemptRow {
  job_id: JobId
  number: AttemptNumber
  jobid: string
  node_id: NodeId
  project: ProjectName
  version: VersionName
  spider: string
  state: string
  result: string | null
  reason: string | null
  sent_at_ms: number
  accepted_at_ms: number | null
  started_at_ms: number | null
  ended_at_ms: number | null
  pid: number | null
  exit_code: number | null
  signal: string | null
  stats: string | null
  limit_hit: string | null
  peak_memory_bytes: number | null
  cpu_seconds: number | null
  log_archived: number
}

export function toAttempt(row: AttemptRow): Attempt {
  return {
    jobId: row.job_id,
    number: row.number,
    jobid: row.jobid,
    nodeId: row.node_id,
    project: row.project,
    version: row.version,
    spider: row.spider,
    state: row.state as Attempt['state'],
    result: row.result as Attempt['result'],
    reason: row.reason,
    sentAtMs: row.sent_at_ms,
    acceptedAtMs: row.accepted_at_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    pid: row.pid,
    exitCode: row.exit_code,
    signal: row.signal,
    stats: row.stats === null ? null : JSON.parse(row.stats),
    limitHit: row.limit_hit,
    peakMemoryBytes: row.peak_memory_bytes,
    cpuSeconds: row.cpu_seconds,
    logArchived: row.log_archived === 1
  }
}

export interface TransitionRow {
  sequence: number
  job_id: JobId
  attempt_number: AttemptNumber | null
  at_ms: number
  kind: string
  text: string
  evidence: string
}

export function toTransition(row: TransitionRow): Transition {
  return {
    sequence: row.sequence,
    jobId: row.job_id,
    attemptNumber: row.attempt_number,
    atMs: row.at_ms,
    kind: row.kind as Transition['kind'],
    text: row.text,
    evidence: JSON.parse(row.evidence)
  }
}

export interface AskedRow {
  queued_at_ms: number
  asked_text: string
  asked_evidence: string | null
}

/** The first entry of a job's timeline stands in the job's own row; no other has its number. */
export function toQueuedEntry(jobId: JobId, row: AskedRow): Transition {
  const evidence = row.asked_evidence === null ? {} : JSON.parse(row.asked_evidence)
  const { queued_at_ms: atMs, asked_text: text } = row
  return { sequence: 0, jobId, attemptNumber: null, atMs, kind: 'queued', text, evidence }
}

export interface NodeRow {
  id: NodeId
  name: string
  kind: string
  url: string
  username: string | null
  sealed_password: SealedText | null
  ca_certificate: string | null
  slots: number | null
  tags: string
  mode: string
  scrapyd_version: string | null
  added_at_ms: number
  queue_ahead: number
  give_up_after_seconds: number | null
  group_name: string | null
  client_certificate: string | null
  sealed_client_key: SealedText | null
  sealed_proxy_url: StoredNode['sealedProxyUrl']
  source_id: string | null
}

export function toNode(row: NodeRow): StoredNode {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind as StoredNode['kind'],
    url: row.url,
    username: row.username,
    sealedPassword: row.sealed_password,
    caCertificate: row.ca_certificate,
    slots: row.slots,
    tags: JSON.parse(row.tags),
    mode: row.mode as StoredNode['mode'],
    scrapydVersion: row.scrapyd_version,
    addedAtMs: row.added_at_ms,
    queueAhead: row.queue_ahead,
    giveUpAfterSeconds: row.give_up_after_seconds,
    group: row.group_name,
    clientCertificate: row.client_certificate,
    sealedClientKey: row.sealed_client_key,
    sealedProxyUrl: row.sealed_proxy_url,
    sourceId: row.source_id
  }
}

export interface VersionRow {
  project: ProjectName
  version: VersionName
  sha256: string | null
  size_bytes: number | null
  spiders: string | null
  created_at_ms: number
}

export function toVersion(row: VersionRow, deployments: Deployment[]): StoredVersion {
  return {
    project: row.project,
    version: row.version,
    sha256: row.sha256,
    sizeBytes: row.size_bytes,
    spiders: row.spiders === null ? null : JSON.parse(row.spiders),
    createdAtMs: row.created_at_ms,
    deployments
  }
}

export interface DeploymentRow {
  project: ProjectName
  version: VersionName
  node_id: NodeId
  state: string
  error: string | null
  changed_at_ms: number
  sha256: string | null
}

export function toDeployment(row: DeploymentRow): Deployment {
  return {
    nodeId: row.node_id,
    state: row.state as Deployment['state'],
    error: row.error,
    changedAtMs: row.changed_at_ms,
    sha256: row.sha256
  }
}

export interface ScheduleRow {
  id: string
  revision: number
  settings: string
  paused: number
  pause_note: string | null
  paused_by: string | null
  created_at_ms: number
  changed_at_ms: number
  done_until_ms: number
  run_count: number
  failures_in_a_row: number
}

export function toSchedule(row: ScheduleRow): StoredSchedule {
  return {
    id: row.id,
    revision: row.revision,
    settings: JSON.parse(row.settings),
    paused: row.paused === 1,
    pauseNote: row.pause_note,
    pausedBy: row.paused_by as StoredSchedule['pausedBy'],
    createdAtMs: row.created_at_ms,
    changedAtMs: row.changed_at_ms,
    doneUntilMs: row.done_until_ms,
    runCount: row.run_count,
    failuresInARow: row.failures_in_a_row
  }
}

export interface FiringRow {
  id: number
  schedule_id: string
  nominal_ms: number
  origin: string
  backfill_id: string | null
  at_ms: number
  state: string
  reason: string
  text: string
  count: number
  job_ids: string
}

/** What is told of the jobs that a firing made, in their order. */
export interface FiredJobRow {
  status: JobStatus
  started_at_ms: number | null
  ended_at_ms: number | null
}

export function toFiring(row: FiringRow, jobs: FiredJobRow[]): StoredFiring {
  return {
    id: row.id,
    scheduleId: row.schedule_id,
    nominalMs: row.nominal_ms,
    origin: row.origin as StoredFiring['origin'],
    backfillId: row.backfill_id,
    atMs: row.at_ms,
    state: row.state as StoredFiring['state'],
    reason: row.reason as StoredFiring['reason'],
    text: row.text,
    count: row.count,
    jobIds: JSON.parse(row.job_ids),
    ...summaryOf(jobs)
  }
}

export function summaryOf(jobs: FiredJobRow[]): Pick<StoredFiring, 'statuses' | 'startedAtMs' | 'endedAtMs'> {
  const times = (column: 'started_at_ms' | 'ended_at_ms') =>
    jobs.map((job) => job[column]).filter((time) => time !== null)
  const started = times('started_at_ms')
  const ended = times('ended_at_ms')
  return {
    statuses: jobs.map(({ status }) => status),
    startedAtMs: started.length === 0 ? null : Math.min(...started),
    endedAtMs: ended.length === 0 ? null : Math.max(...ended)
  }
}
