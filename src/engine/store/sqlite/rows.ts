import type { Attempt, NodeId } from '../../../shared/contract/index.ts'
import type { StoredJob, StoredSchedule } from '../records.ts'

/** `nodeId` -> `node_id`. */
type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name
/** A row of `SELECT *`: one column per field; `Json` fields are text, booleans are 1 and 0, null stays null. */
type Row<Thing, Json extends keyof Thing = never> = {
  [Field in keyof Thing as SnakeCase<Field> & string]: Column<Thing[Field], Field extends Json ? true : false>
}
/** The same, for a query that names each column like its field. */
export type NamedRow<Thing, Json extends keyof Thing = never> = {
  [Field in keyof Thing]: Column<Thing[Field], Field extends Json ? true : false>
}
type Column<Value, IsJson> = IsJson extends true ? AsText<Value> : Value extends boolean ? number : Value
type AsText<Value> = null extends Value ? string | null : string

export interface JobRow
  extends Row<
    Omit<StoredJob, 'noOverlap' | 'placement'>,
    'settings' | 'args' | 'env' | 'secretNames' | 'limits' | 'retry' | 'after'
  > {
  overlap_key: string | null
  placement_node_id: NodeId | null
  placement_tags: string
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
    env: JSON.parse(row.env),
    secretNames: JSON.parse(row.secret_names),
    limits: row.limits === null ? null : JSON.parse(row.limits),
    retry: row.retry === null ? null : JSON.parse(row.retry),
    notBeforeMs: row.not_before_ms,
    expiresAtMs: row.expires_at_ms,
    noOverlap: row.overlap_key !== null,
    after: JSON.parse(row.after),
    dedupeKey: row.dedupe_key,
    hold: row.hold,
    rank: row.rank,
    mayHaveRunTwice: row.may_have_run_twice === 1,
    priority: row.priority,
    placement: { nodeId: row.placement_node_id, tags: JSON.parse(row.placement_tags) },
    lane: row.lane,
    userId: row.user_id,
    source: row.source,
    scheduleId: row.schedule_id,
    nominalMs: row.nominal_ms,
    state: row.state,
    outcome: row.outcome,
    status: row.status,
    reason: row.reason,
    killingLine: row.killing_line,
    nodeId: row.node_id,
    attemptCount: row.attempt_count,
    sentVersion: row.sent_version,
    cancelAskedAtMs: row.cancel_asked_at_ms,
    queuedAtMs: row.queued_at_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    pages: row.pages,
    items: row.items,
    errors: row.errors
  }
}

export type AttemptRow = Row<Attempt, 'stats'>

export function toAttempt(row: AttemptRow): Attempt {
  return {
    jobId: row.job_id,
    number: row.number,
    jobid: row.jobid,
    nodeId: row.node_id,
    project: row.project,
    version: row.version,
    spider: row.spider,
    state: row.state,
    result: row.result,
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

/** All columns of a schedule: its settings and its progress (schedule_progress). */
export const SCHEDULE = `schedules.id, revision, settings, paused, pause_note AS pauseNote, paused_by AS pausedBy,
  created_at_ms AS createdAtMs, changed_at_ms AS changedAtMs, done_until_ms AS doneUntilMs, run_count AS runCount,
  failures_in_a_row AS failuresInARow, crawl_key AS crawlKey, crawl_order AS crawlOrder`

export interface ScheduleRow extends NamedRow<Omit<StoredSchedule, 'crawl'>, 'settings'> {
  crawlKey: string | null
  crawlOrder: string | null
}

export function toSchedule({ crawlKey, crawlOrder, ...row }: ScheduleRow): StoredSchedule {
  const crawl = crawlKey === null ? null : { key: crawlKey, ...JSON.parse(crawlOrder!) }
  return { ...row, settings: JSON.parse(row.settings), paused: row.paused === 1, crawl }
}
