/**
 * What each screen stores in the URL. URLs are untrusted, so every value is validated and invalid ones are dropped.
 * Features read the values with `getRouteApi('/jobs').useSearch()`.
 */
import { SHOWN_STATUSES } from '../../shared/choices.ts'
import { RECORD_LEVELS } from '../../shared/log-record/record-level.ts'
import { JOB_ID_PATTERN, NODE_ID_PATTERN, RANDOM_ID_PATTERN } from '../../shared/id-patterns.ts'
import type {
  WebhookId,
  AlertId,
  AlertRuleId,
  AttemptNumber,
  ChainId,
  ErrorGroupId,
  JobId,
  NodeId,
  ProjectName,
  ScheduleId,
  ShownStatus,
  VersionName
} from '../../shared/contract/index.ts'

export const LOAD_HOURS = [6, 24, 72, 168] as const

const LINES_PATTERN = /^\d{1,12}(-\d{1,12})?$/
const DAY_PATTERN = /^\d{4}-\d\d-\d\d$/
const ENVIRONMENT_ID_PATTERN = /^[a-z0-9-]{1,64}$/

type Raw = Record<string, unknown>

export type JobsSearch = Partial<ReturnType<typeof parseJobsSearch>>
export const parseJobsSearch = (raw: Raw) => ({
  status: listOf(raw['status'], (value): value is ShownStatus => SHOWN_STATUSES.includes(value as ShownStatus)),
  project: textOf<ProjectName>(raw['project']),
  spider: textOf(raw['spider']),
  node: textOf<NodeId>(raw['node'], NODE_ID_PATTERN),
  text: textOf(raw['text']),
  /** Only jobs from this many past hours. */
  sinceHours: Number(raw['sinceHours']) > 0 ? Number(raw['sinceHours']) : undefined,
  job: textOf<JobId>(raw['job'], JOB_ID_PATTERN),
  tab: textOf(raw['tab']),
  schedule: textOf<ScheduleId>(raw['schedule'], RANDOM_ID_PATTERN),
  user: textOf(raw['user'])
})

export type SchedulesSearch = Partial<ReturnType<typeof parseSchedulesSearch>>
export const parseSchedulesSearch = (raw: Raw) => ({
  schedule: textOf<ScheduleId>(raw['schedule'], RANDOM_ID_PATTERN),
  /** Set while the editor is open: the schedule's id, or `new`. */
  edit: textOf(raw['edit'], /^([0-9a-f]{32}|new)$/),
  text: textOf(raw['text']),
  project: textOf<ProjectName>(raw['project'])
})

export const parseProjectsSearch = (raw: Raw) => ({
  project: textOf<ProjectName>(raw['project']),
  version: textOf<VersionName>(raw['version']),
  log: flagOf(raw['log'])
})

export const parseNodesSearch = (raw: Raw) => ({
  node: textOf<NodeId>(raw['node'], NODE_ID_PATTERN),
  add: flagOf(raw['add']),
  /** The environment with the open log. */
  log: textOf(raw['log'], ENVIRONMENT_ID_PATTERN),
  group: textOf(raw['group'])
})

export type LogsSearch = Partial<ReturnType<typeof parseLogsSearch>>
export const parseLogsSearch = (raw: Raw) => ({
  /** The job ids of the open tabs. */
  jobs: listOf(raw['jobs'], (value): value is JobId => textOf(value, JOB_ID_PATTERN) !== undefined),
  job: textOf<JobId>(raw['job'], JOB_ID_PATTERN),
  beside: listOf(raw['beside'], (value): value is JobId => textOf(value, JOB_ID_PATTERN) !== undefined),
  /** Whether the visible logs are merged into one. */
  merged: flagOf(raw['merged']),
  /** Marked lines in the active tab: `120` or `120-135`. */
  line: textOf(String(raw['line'] ?? ''), LINES_PATTERN)
})

export const ERROR_STATES = ['open', 'resolved', 'ignored'] as const

export type ErrorsSearch = Partial<ReturnType<typeof parseErrorsSearch>>
export const parseErrorsSearch = (raw: Raw) => ({
  group: countOf<ErrorGroupId>(raw['group']),
  state: [...ERROR_STATES, 'all' as const].find((state) => state === raw['state']),
  project: textOf<ProjectName>(raw['project']),
  spider: textOf(raw['spider']),
  version: textOf(raw['version']),
  /** Only errors first seen in this version. */
  since: textOf(raw['since']),
  node: textOf<NodeId>(raw['node'], NODE_ID_PATTERN),
  text: textOf(raw['text'])
})

export type AlertsSearch = Partial<ReturnType<typeof parseAlertsSearch>>
export const parseAlertsSearch = (raw: Raw) => ({
  alert: textOf<AlertId>(raw['alert'], RANDOM_ID_PATTERN),
  state: (['firing', 'resolved'] as const).find((state) => state === raw['state']),
  rule: textOf<AlertRuleId>(raw['rule'], RANDOM_ID_PATTERN)
})

export type AlertRulesSearch = Partial<ReturnType<typeof parseAlertRulesSearch>>
export const parseAlertRulesSearch = (raw: Raw) => ({
  text: textOf(raw['text'])
})

export type AlertSilencesSearch = Partial<ReturnType<typeof parseAlertSilencesSearch>>
export const parseAlertSilencesSearch = (raw: Raw) => ({
  /** The dialog that is open: a new silence, or a new repeating window. */
  add: (['silence', 'window'] as const).find((add) => add === raw['add'])
})

export type AlertChannelsSearch = Partial<ReturnType<typeof parseAlertChannelsSearch>>
export const parseAlertChannelsSearch = (raw: Raw) => ({
  channel: textOf<WebhookId>(raw['channel'], RANDOM_ID_PATTERN),
  add: flagOf(raw['add'])
})

export type AlertReportSearch = Partial<ReturnType<typeof parseAlertReportSearch>>
export const parseAlertReportSearch = (raw: Raw) => ({
  /** Default: the last day. */
  days: Number(raw['days']) === 7 ? (7 as const) : undefined
})

export const AUDIT_RESULTS = ['done', 'refused', 'failed'] as const

export type AuditSearch = Partial<ReturnType<typeof parseAuditSearch>>
export const parseAuditSearch = (raw: Raw) => ({
  entry: countOf<number>(raw['entry']),
  result: AUDIT_RESULTS.find((result) => result === raw['result']),
  who: textOf(raw['who']),
  operation: textOf(raw['operation']),
  project: textOf<ProjectName>(raw['project']),
  /** Only entries from this many past hours. */
  hours: countOf<number>(raw['hours']),
  text: textOf(raw['text'])
})

/** Written by a program that signs in (shared/sign-in.ts). The page validates all of it. */
export type AuthorizeSearch = Partial<ReturnType<typeof parseAuthorizeSearch>>
export const parseAuthorizeSearch = (raw: Raw) => ({
  client: textOf(raw['client']),
  host: textOf(raw['host']),
  user: textOf(raw['user']),
  redirect_uri: textOf(raw['redirect_uri']),
  state: textOf(raw['state']),
  code_challenge: textOf(raw['code_challenge']),
  code_challenge_method: textOf(raw['code_challenge_method'])
})

export const parseItemsSearch = (raw: Raw) => ({
  job: textOf<JobId>(raw['job'], JOB_ID_PATTERN),
  /** Default: the last attempt. */
  attempt: countOf<AttemptNumber>(raw['attempt']),
  where: longTextOf(raw['where']),
  /** The field to sort by; a leading `-` means descending order. */
  sort: textOf(raw['sort']),
  /** What the side pane shows: an item (by number), a field, or the comparison. */
  item: Number.isInteger(Number(raw['item'] ?? 'x')) && Number(raw['item']) >= 0 ? Number(raw['item']) : undefined,
  field: textOf(raw['field']),
  compare: flagOf(raw['compare'])
})

export const LOG_SEARCH_HOURS = [1, 24, 168, 720] as const

export type LogSearchSearch = Partial<ReturnType<typeof parseLogSearchSearch>>
export const parseLogSearchSearch = (raw: Raw) => ({
  q: textOf(raw['q']),
  regex: flagOf(raw['regex']),
  case: flagOf(raw['case']),
  project: textOf(raw['project']),
  spider: textOf(raw['spider']),
  node: textOf<NodeId>(raw['node'], NODE_ID_PATTERN),
  level: RECORD_LEVELS.find((level) => level === raw['level']),
  hours: LOG_SEARCH_HOURS.find((hours) => hours === Number(raw['hours']))
})

export type CalendarSearch = Partial<ReturnType<typeof parseCalendarSearch>>
export const parseCalendarSearch = (raw: Raw) => ({
  /** A day in the displayed week, as `2026-11-23`. Default: this week. */
  week: textOf(raw['week'], DAY_PATTERN),
  /** The hour for which to list runs, in milliseconds since the epoch. */
  hour: instantOf(raw['hour']),
  /** Whether to show times in UTC, not in the local time zone. */
  utc: flagOf(raw['utc'])
})

export type LoadSearch = Partial<ReturnType<typeof parseLoadSearch>>
export const parseLoadSearch = (raw: Raw) => ({
  hours: LOAD_HOURS.find((hours) => hours === Number(raw['hours'])),
  /** The open minute, in milliseconds since the epoch. */
  at: instantOf(raw['at'])
})

export type ChainsSearch = Partial<ReturnType<typeof parseChainsSearch>>
export const parseChainsSearch = (raw: Raw) => ({
  chain: textOf<ChainId>(raw['chain'], RANDOM_ID_PATTERN),
  add: flagOf(raw['add'])
})

const flagOf = (value: unknown): true | undefined => (String(value) === 'true' ? true : undefined)

/** Accepts only times between 1998 and 2191: this app writes no others. */
const instantOf = (value: unknown): number | undefined =>
  Number.isInteger(Number(value)) && Number(value) > 9e11 && Number(value) < 7e12 ? Number(value) : undefined

/** The type is branded if the pattern is that of an id. Projects and versions can be any text. */
function textOf<Text extends string = string>(value: unknown, pattern?: RegExp): Text | undefined {
  if (typeof value !== 'string' || value === '' || value.length > 200) return undefined
  return pattern === undefined || pattern.test(value) ? (value as Text) : undefined
}

const countOf = <Count extends number>(value: unknown): Count | undefined =>
  Number.isInteger(Number(value)) && Number(value) > 0 ? (Number(value) as Count) : undefined

const longTextOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= 8_000 ? value : undefined

function listOf<T extends string>(value: unknown, isOne: (value: unknown) => value is T): T[] | undefined {
  const list = (Array.isArray(value) ? value : [value]).filter(isOne)
  return list.length > 0 ? list : undefined
}
