/**
 * What each screen keeps in its address. Anything may stand in an address, so every value is
 * checked and what does not fit is left out. Features read it with `getRouteApi('/jobs').useSearch()`.
 */
import { JOB_ID_PATTERN, NODE_ID_PATTERN, RANDOM_ID_PATTERN } from '../../shared/id-patterns.ts'
import type {
  ChainId,
  JobId,
  JobStatus,
  NodeId,
  ProjectName,
  ScheduleId,
  VersionName
} from '../../shared/contract/index.ts'

export const JOB_STATUSES: readonly JobStatus[] = [
  'queued',
  'starting',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'lost'
]

/** Time ranges of the load chart. */
export const LOAD_HOURS = [6, 24, 72, 168] as const

const DAY_PATTERN = /^\d{4}-\d\d-\d\d$/
const ENVIRONMENT_ID_PATTERN = /^[a-z0-9-]{1,64}$/

type Raw = Record<string, unknown>

export type JobsSearch = Partial<ReturnType<typeof parseJobsSearch>>
export const parseJobsSearch = (raw: Raw) => ({
  status: listOf(raw['status'], (value): value is JobStatus => JOB_STATUSES.includes(value as JobStatus)),
  project: textOf<ProjectName>(raw['project']),
  spider: textOf(raw['spider']),
  node: textOf<NodeId>(raw['node'], NODE_ID_PATTERN),
  text: textOf(raw['text']),
  /** Hours back from now. */
  sinceHours: Number(raw['sinceHours']) > 0 ? Number(raw['sinceHours']) : undefined,
  /** The job whose detail is open. */
  job: textOf<JobId>(raw['job'], JOB_ID_PATTERN),
  /** The tab of the detail. */
  tab: textOf(raw['tab']),
  /** Only what this schedule made. */
  schedule: textOf<ScheduleId>(raw['schedule'], RANDOM_ID_PATTERN)
})

export const parseSchedulesSearch = (raw: Raw) => ({
  /** The schedule whose detail is open. */
  schedule: textOf<ScheduleId>(raw['schedule'], RANDOM_ID_PATTERN),
  /** The editor is open: with this schedule, or with a new one (`new`). */
  edit: textOf(raw['edit'], /^([0-9a-f]{32}|new)$/),
  /** The filter of the table. */
  text: textOf(raw['text']),
  project: textOf<ProjectName>(raw['project'])
})

export const parseProjectsSearch = (raw: Raw) => ({
  project: textOf<ProjectName>(raw['project']),
  version: textOf<VersionName>(raw['version']),
  /** The log of its environment is open. */
  log: flagOf(raw['log'])
})

export const parseNodesSearch = (raw: Raw) => ({
  /** The node whose detail is open. */
  node: textOf<NodeId>(raw['node'], NODE_ID_PATTERN),
  /** The Add dialog is open. */
  add: flagOf(raw['add']),
  /** The environment whose log is open. */
  log: textOf(raw['log'], ENVIRONMENT_ID_PATTERN),
  /** Only the nodes of this group. */
  group: textOf(raw['group'])
})

export type LogsSearch = Partial<ReturnType<typeof parseLogsSearch>>
export const parseLogsSearch = (raw: Raw) => ({
  /** Open tabs, by job id. */
  jobs: listOf(raw['jobs'], (value): value is JobId => textOf(value, JOB_ID_PATTERN) !== undefined),
  /** The tab in front. */
  job: textOf<JobId>(raw['job'], JOB_ID_PATTERN)
})

export type CalendarSearch = Partial<ReturnType<typeof parseCalendarSearch>>
export const parseCalendarSearch = (raw: Raw) => ({
  /** A day of the week that is shown, `2026-11-23`; absent: this week. */
  week: textOf(raw['week'], DAY_PATTERN),
  /** The hour whose runs are listed, as milliseconds. */
  hour: instantOf(raw['hour']),
  /** Time zone UTC instead of this machine's. */
  utc: flagOf(raw['utc'])
})

export type LoadSearch = Partial<ReturnType<typeof parseLoadSearch>>
export const parseLoadSearch = (raw: Raw) => ({
  /** Time range, in hours. */
  hours: LOAD_HOURS.find((hours) => hours === Number(raw['hours'])),
  /** The open minute, as milliseconds. */
  at: instantOf(raw['at'])
})

export type ChainsSearch = Partial<ReturnType<typeof parseChainsSearch>>
export const parseChainsSearch = (raw: Raw) => ({
  /** The chain that is edited. */
  chain: textOf<ChainId>(raw['chain'], RANDOM_ID_PATTERN),
  /** A new one is made. */
  add: flagOf(raw['add'])
})

const flagOf = (value: unknown): true | undefined => (String(value) === 'true' ? true : undefined)

/** Of this century and the next: anything else was not written by us. */
const instantOf = (value: unknown): number | undefined =>
  Number.isInteger(Number(value)) && Number(value) > 9e11 && Number(value) < 7e12 ? Number(value) : undefined

/** Branded where the pattern is that of an id; a project or a version is any text. */
function textOf<Text extends string = string>(value: unknown, pattern?: RegExp): Text | undefined {
  if (typeof value !== 'string' || value === '' || value.length > 200) return undefined
  return pattern === undefined || pattern.test(value) ? (value as Text) : undefined
}

function listOf<T extends string>(value: unknown, isOne: (value: unknown) => value is T): T[] | undefined {
  const list = (Array.isArray(value) ? value : [value]).filter(isOne)
  return list.length > 0 ? list : undefined
}
