/**
 * What each screen keeps in its address (ux.md, principle 6). Anything may stand in an address, so every value is
 * checked and what does not fit is left out. Features read it with `getRouteApi('/jobs').useSearch()`.
 */
import { JOB_ID_PATTERN, NODE_ID_PATTERN } from '../../shared/ids.ts'
import type { JobStatus, ProjectName, VersionName } from '../../shared/contract/index.ts'

export const JOB_STATUSES: readonly JobStatus[] = [
  'queued',
  'starting',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'lost'
]

export interface JobsSearch {
  status?: JobStatus[]
  project?: ProjectName
  spider?: string
  node?: string
  text?: string
  /** Hours back from now. */
  sinceHours?: number
  /** The job whose detail is open. */
  job?: string
  /** The tab of the detail. */
  tab?: string
  /** Only what this schedule made. */
  schedule?: string
}
export interface SchedulesSearch {
  /** The schedule whose detail is open. */
  schedule?: string
  /** The editor is open: with this schedule, or with a new one (`new`). */
  edit?: string
  /** The filter of the table. */
  text?: string
  project?: ProjectName
}
export interface ProjectsSearch {
  project?: ProjectName
  version?: VersionName
  /** The log of its environment is open. */
  log?: boolean
}
export interface NodesSearch {
  /** The node whose detail is open. */
  node?: string
  /** The Add dialog is open. */
  add?: boolean
  /** The environment whose log is open. */
  log?: string
  /** Only the nodes of this group. */
  group?: string
}
export interface CalendarSearch {
  /** A day of the week that is shown, `2026-11-23`; absent: this week. */
  week?: string
  /** The hour whose runs are listed, as milliseconds. */
  hour?: number
  /** Time zone UTC instead of this machine's. */
  utc?: boolean
}
export interface LoadSearch {
  /** Time range, in hours. */
  hours?: number
  /** The minute that is looked at, as milliseconds. */
  at?: number
}
export interface ChainsSearch {
  /** The chain that is edited. */
  chain?: string
  /** A new one is made. */
  add?: boolean
}
export interface LogsSearch {
  /** Open tabs, by job id. */
  jobs?: string[]
  /** The tab in front. */
  job?: string
}

/** Time range the load can be looked at. */
export const LOAD_HOURS = [6, 24, 72, 168] as const

const DAY_PATTERN = /^\d{4}-\d\d-\d\d$/
const SCHEDULE_ID_PATTERN = /^[0-9a-f]{32}$/
const ENVIRONMENT_ID_PATTERN = /^[a-z0-9-]{1,64}$/

type Raw = Record<string, unknown>

export const parseJobsSearch = (raw: Raw): JobsSearch => ({
  status: listOf(raw['status'], (value): value is JobStatus => JOB_STATUSES.includes(value as JobStatus)),
  project: textOf(raw['project']),
  spider: textOf(raw['spider']),
  node: textOf(raw['node'], NODE_ID_PATTERN),
  text: textOf(raw['text']),
  sinceHours: Number(raw['sinceHours']) > 0 ? Number(raw['sinceHours']) : undefined,
  job: textOf(raw['job'], JOB_ID_PATTERN),
  tab: textOf(raw['tab']),
  schedule: textOf(raw['schedule'], SCHEDULE_ID_PATTERN)
})

export const parseSchedulesSearch = (raw: Raw): SchedulesSearch => ({
  schedule: textOf(raw['schedule'], SCHEDULE_ID_PATTERN),
  edit: textOf(raw['edit'], /^([0-9a-f]{32}|new)$/),
  text: textOf(raw['text']),
  project: textOf(raw['project'])
})

export const parseProjectsSearch = (raw: Raw): ProjectsSearch => ({
  project: textOf(raw['project']),
  version: textOf(raw['version']),
  log: flagOf(raw['log'])
})

export const parseNodesSearch = (raw: Raw): NodesSearch => ({
  node: textOf(raw['node'], NODE_ID_PATTERN),
  add: flagOf(raw['add']),
  log: textOf(raw['log'], ENVIRONMENT_ID_PATTERN),
  group: textOf(raw['group'])
})

export const parseLogsSearch = (raw: Raw): LogsSearch => ({
  jobs: listOf(raw['jobs'], (value): value is string => typeof value === 'string' && JOB_ID_PATTERN.test(value)),
  job: textOf(raw['job'], JOB_ID_PATTERN)
})

export const parseCalendarSearch = (raw: Raw): CalendarSearch => ({
  week: textOf(raw['week'], DAY_PATTERN),
  hour: instantOf(raw['hour']),
  utc: flagOf(raw['utc'])
})

export const parseLoadSearch = (raw: Raw): LoadSearch => ({
  hours: LOAD_HOURS.find((hours) => hours === Number(raw['hours'])),
  at: instantOf(raw['at'])
})

export const parseChainsSearch = (raw: Raw): ChainsSearch => ({
  chain: textOf(raw['chain'], JOB_ID_PATTERN),
  add: flagOf(raw['add'])
})

const flagOf = (value: unknown): true | undefined => (String(value) === 'true' ? true : undefined)

/** Of this century and the next: anything else was not written by us. */
const instantOf = (value: unknown): number | undefined =>
  Number.isInteger(Number(value)) && Number(value) > 9e11 && Number(value) < 7e12 ? Number(value) : undefined

function textOf(value: unknown, pattern?: RegExp): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > 200) return undefined
  return pattern === undefined || pattern.test(value) ? value : undefined
}

function listOf<T extends string>(value: unknown, isOne: (value: unknown) => value is T): T[] | undefined {
  const list = (Array.isArray(value) ? value : [value]).filter(isOne)
  return list.length > 0 ? list : undefined
}
