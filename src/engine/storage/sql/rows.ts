import type { Attempt, AttemptNumber, Job, JobId, JobStatus, NodeId } from '../../../shared/contract/index.ts'
import { decode, render, writtenAs } from '../../../shared/texts/message.ts'
import { largeBytes, type StoredJob, type StoredSchedule } from '../../model/records.ts'

/** For example, `nodeId` becomes `node_id`. */
type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name
/** A row of `SELECT *`, with one column per field. `Json` fields are strings, booleans are 1 and 0, null stays null. */
type Row<Thing, Json extends keyof Thing = never> = {
  [Field in keyof Thing as SnakeCase<Field> & string]: Column<Thing[Field], Field extends Json ? true : false>
}
/** A row of a query that gives each column the name of its field. */
export type NamedRow<Thing, Json extends keyof Thing = never> = {
  [Field in keyof Thing]: Column<Thing[Field], Field extends Json ? true : false>
}
type Column<Value, IsJson> = IsJson extends true ? AsText<Value> : Value extends boolean ? number : Value
type AsText<Value> = null extends Value ? string | null : string

/** Frequent column values, in SQL. Rows have null instead, which is cheaper to read and to send than a string. */
const USUAL = {
  jobid: 'jobs.id',
  settings: `'{}'`,
  args: `'{}'`,
  env: `'{}'`,
  secret_names: `'[]'`,
  after: `'[]'`,
  placement_tags: `'[]'`
}

type JobColumns = Omit<Row<Omit<StoredJob, 'status'>, 'limits' | 'retry'>, keyof typeof USUAL> &
  Record<keyof typeof USUAL | 'overlap_key', string | null> & { placement_node_id: NodeId | null }

// biome-ignore format: the order of the names in toJob
const JOB_COLUMNS = [
  'id', 'jobid', 'project', 'version', 'spider', 'settings', 'args', 'env', 'secret_names', 'limits', 'retry',
  'not_before_ms', 'expires_at_ms', 'overlap_key', 'after', 'dedupe_key', 'hold', 'rank', 'may_have_run_twice',
  'priority', 'placement_node_id', 'placement_tags', 'lane', 'user_id', 'source', 'schedule_id', 'nominal_ms', 'state',
  'outcome', 'reason', 'killing_line', 'node_id', 'attempt_count', 'sent_version', 'cancel_asked_at_ms',
  'queued_at_ms', 'started_at_ms', 'ended_at_ms', 'pages', 'items', 'errors', 'kept'
] as const satisfies (keyof JobColumns)[]

/** All columns of a job, for `raw` statements: sending objects with fifty named fields costs more than reading them. */
export const JOB = JOB_COLUMNS.map((column) =>
  column in USUAL ? `nullif(jobs.${column}, ${USUAL[column as keyof typeof USUAL]})` : `jobs.${column}`
).join(', ')
export const JOB_NAMES = JOB_COLUMNS.join(', ')
export type JobRow = ValuesOf<typeof JOB_COLUMNS>
type ValuesOf<Columns extends readonly (keyof JobColumns)[]> = {
  -readonly [Index in keyof Columns]: JobColumns[Columns[Index]]
}

export function toJob(row: JobRow): StoredJob {
  // biome-ignore format: the order of JOB_COLUMNS
  const [
    id, jobid, project, version, spider, settings, args, env, secretNames, limits, retry, notBeforeMs, expiresAtMs,
    overlapKey, after, dedupeKey, hold, rank, mayHaveRunTwice, priority, placementNodeId, placementTags, lane, userId,
    source, scheduleId, nominalMs, state, outcome, reason, killingLine, nodeId, attemptCount, sentVersion,
    cancelAskedAtMs, queuedAtMs, startedAtMs, endedAtMs, pages, items, errors, kept
  ] = row
  return {
    id,
    jobid: jobid ?? id,
    project,
    version,
    spider,
    settings: settings === null ? {} : JSON.parse(settings),
    args: args === null ? {} : JSON.parse(args),
    env: env === null ? {} : JSON.parse(env),
    secretNames: secretNames === null ? [] : JSON.parse(secretNames),
    limits: limits === null ? null : JSON.parse(limits),
    retry: retry === null ? null : JSON.parse(retry),
    notBeforeMs,
    expiresAtMs,
    noOverlap: overlapKey !== null,
    after: after === null ? [] : JSON.parse(after),
    dedupeKey,
    hold,
    rank,
    mayHaveRunTwice: mayHaveRunTwice === 1,
    priority,
    placement: { nodeId: placementNodeId, tags: placementTags === null ? [] : JSON.parse(placementTags) },
    lane,
    userId,
    source,
    scheduleId,
    nominalMs,
    state,
    outcome,
    // A CHECK of the table ensures that an ended job has an outcome.
    status: outcome ?? (state as JobStatus),
    ...coded('reason', reason),
    ...coded('killingLine', killingLine),
    nodeId,
    attemptCount,
    sentVersion,
    cancelAskedAtMs,
    queuedAtMs,
    startedAtMs,
    endedAtMs,
    pages,
    items,
    errors,
    kept: kept === 1
  }
}

type CodedName = 'reason' | 'limitHit' | 'killingLine'
const OURS: Record<CodedName, RegExp> = {
  reason: /^(?:reason|limit_hit)\./,
  limitHit: /^(?:reason|limit_hit)\./,
  killingLine: /^(?:node_error|run_problem|python|reason)\./
}

type Coded<Name extends CodedName> = Pick<Attempt & Job, Name | `${Name}Code` | `${Name}Params`>

/** Converts an encoded message (shared/texts/message.ts), an external text, or a text stored before codes existed. */
function coded<Name extends CodedName>(name: Name, stored: string | null): Coded<Name> {
  const message = stored === null ? null : decode(stored)
  if (message !== null && OURS[name].test(message.code)) {
    const { code, params } = message
    return { [name]: render(message), [`${name}Code`]: code, [`${name}Params`]: params } as Coded<Name>
  }
  // A text from Scrapy that was stored before messages were encoded can look like an encoded message.
  return { [name]: message?.code === 'text' ? render(message) : stored } as Coded<Name>
}

function noteOf(stored: string | null): Pick<StoredSchedule, 'pauseNote' | 'pauseNoteCode' | 'pauseNoteParams'> {
  if (stored === null) return { pauseNote: null }
  const note = writtenAs('pauseNote', decode(stored))
  return note.pauseNoteCode === 'text' ? { pauseNote: note.pauseNote } : note
}

export function largeBytesOfRow([, , , , , settings, args, env]: JobRow): number {
  return largeBytes((settings?.length ?? 0) + (args?.length ?? 0) + (env?.length ?? 0))
}

export type AttemptRow = Row<Attempt, 'stats'>

export const attemptKey = (jobId: JobId, number: AttemptNumber): string => `${jobId} ${number}`

export function toAttempt(row: AttemptRow): Attempt {
  const { reason, limit_hit: limitHit } = row
  return {
    ...toStoredAttempt(row),
    ...coded('reason', reason),
    ...coded('limitHit', limitHit)
  }
}

/** `reason` and `limitHit` stay encoded, as they are stored. */
export function toStoredAttempt(row: AttemptRow): Attempt {
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
    logArchived: row.log_archived === 1,
    logDeletedAtMs: row.log_deleted_at_ms
  }
}

export const SCHEDULE = `schedules.id, revision, settings, paused, pause_note AS "pauseNote", paused_by AS "pausedBy",
  created_at_ms AS "createdAtMs", changed_at_ms AS "changedAtMs", moved_at_ms AS "movedAtMs", done_until_ms AS "doneUntilMs", run_count AS "runCount",
  failures_in_a_row AS "failuresInARow", crawl_key AS "crawlKey", crawl_order AS "crawlOrder"`

export interface ScheduleRow
  extends NamedRow<Omit<StoredSchedule, 'crawl' | 'pauseNoteCode' | 'pauseNoteParams'>, 'settings'> {
  crawlKey: string | null
  crawlOrder: string | null
}

export function toSchedule({ crawlKey, crawlOrder, ...row }: ScheduleRow): StoredSchedule {
  const crawl = crawlKey === null ? null : { key: crawlKey, ...JSON.parse(crawlOrder!) }
  return { ...row, ...noteOf(row.pauseNote), settings: JSON.parse(row.settings), paused: row.paused === 1, crawl }
}
