import { RANDOM_ID_PATTERN } from '../../../shared/id-patterns.ts'
import {
  type JobFilter,
  type NodeId,
  type ProjectName,
  type ScheduleId,
  ShownStatus
} from '../../../shared/contract/index.ts'
import type { JobsSearch } from '../../state/search.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

export type FilterSearch = Pick<
  JobsSearch,
  'status' | 'project' | 'spider' | 'node' | 'schedule' | 'user' | 'text' | 'sinceHours'
>

/** The keys that can precede the colon. Aliases are accepted, too, and are replaced with these keys. */
export const FILTER_KEYS = ['status', 'project', 'spider', 'node', 'schedule', 'user', 'since'] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

export interface FilterTerm {
  readonly key: FilterKey
  readonly value: string
}

export interface FilterContext {
  readonly nodes: ReadonlyArray<{ id: NodeId; name: string }>
  /** Absent: `schedule:` accepts only ids. */
  readonly schedules?: ReadonlyArray<{ id: ScheduleId; name: string }>
  readonly nowMs: number
}

export interface ParsedFilter {
  readonly search: FilterSearch
  /** Messages for the line below the box. Terms with problems are not in `search`. */
  readonly problems: readonly string[]
}

/**
 * Parses the text of the filter box, such as `status:failed,running project:shop since:2d amazon`. Spaces separate the
 * terms. A term is `key:value` or a word, and a value with spaces needs double quotes. `status` takes several values,
 * separated by commas. If any other key occurs twice, the last value counts. All words together are one search string,
 * which must occur in the project, the spider or the job id.
 */
export function parseFilterText(text: string, context: FilterContext): ParsedFilter {
  const search: FilterSearch = {}
  const problems: string[] = []
  const words: string[] = []
  for (const { key: written, value } of tokensOf(text)) {
    const key = written === null ? null : ALIASES[written.toLowerCase()]
    if (key === null) words.push(value)
    else if (key === undefined) problems.push(texts.unknownFilter(written!, FILTER_KEYS.join(', ')))
    else if (key === 'status') addStatuses(search, value, problems)
    else if (key === 'node') addNode(search, value, context, problems)
    else if (key === 'schedule') addSchedule(search, value, context, problems)
    else if (key === 'since') addSince(search, value, context.nowMs, problems)
    else search[key] = value.slice(0, MAX_VALUE_CHARS) as ProjectName
  }
  if (words.length > 0) search.text = words.join(' ').slice(0, MAX_VALUE_CHARS)
  return { search, problems }
}

/** Splits off the terms that are complete (followed by a space). The rest stays in the box as search text. */
export function splitTyped(text: string): { whole: string; rest: string } {
  const whole: string[] = []
  const rest = text.replace(/(^|\s)([A-Za-z]+:(?:"[^"]+"|[^\s"]+))\s/g, (_match, before: string, term: string) => {
    whole.push(term)
    return before
  })
  return { whole: whole.join(' '), rest }
}

export function termsOfSearch(
  search: FilterSearch,
  nodes: FilterContext['nodes'],
  schedules: FilterContext['schedules'] = []
): FilterTerm[] {
  const nameOf = (known: ReadonlyArray<{ id: string; name: string }>, id: string | undefined) =>
    known.find((each) => each.id === id)?.name ?? id
  const values: Record<FilterKey, string | undefined> = {
    status: search.status?.join(',') || undefined,
    project: search.project,
    spider: search.spider,
    node: nameOf(nodes, search.node),
    schedule: nameOf(schedules, search.schedule),
    user: search.user,
    since: search.sinceHours === undefined ? undefined : formatSince(search.sinceHours)
  }
  return FILTER_KEYS.flatMap((key) => {
    const value = values[key]
    return value === undefined ? [] : [{ key, value }]
  })
}

export function formatTerm({ key, value }: FilterTerm): string {
  return `${key}:${/[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value}`
}

export function withoutTerm(search: FilterSearch, key: FilterKey): FilterSearch {
  return { ...search, [key === 'since' ? 'sinceHours' : key]: undefined }
}

/** The effect of a click on a facet: adds or removes one status, or sets, changes or clears a project or node. */
export function toggleFacet(search: FilterSearch, key: 'status' | 'project' | 'node', value: string): FilterSearch {
  if (key !== 'status') return { ...search, [key]: search[key] === value ? undefined : value }
  const before = search.status ?? []
  const status = value as ShownStatus
  const next = before.includes(status) ? before.filter((each) => each !== status) : [...before, status]
  return { ...search, status: next.length > 0 ? next : undefined }
}

/** The filter for the engine. `nowMs` should rarely change, because each change fetches the list again. */
export function filterOfSearch(
  { status, project, spider, node, schedule, user, text, sinceHours }: FilterSearch,
  nowMs: number
): JobFilter {
  return {
    ...(status?.length && { status }),
    ...(project !== undefined && { project }),
    ...(spider !== undefined && { spider }),
    ...(node !== undefined && { nodeId: node }),
    ...(schedule !== undefined && { scheduleId: schedule }),
    ...(user !== undefined && { userId: user }),
    ...(text !== undefined && { text }),
    ...(sinceHours !== undefined && { sinceMs: nowMs - sinceHours * HOUR_MS })
  }
}

export function isFiltering(search: FilterSearch): boolean {
  return Object.keys(filterOfSearch(search, 0)).length > 0
}

const MAX_VALUE_CHARS = 200
const HOUR_MS = 3_600_000

const ALIASES: Record<string, FilterKey | undefined> = {
  ...Object.fromEntries(FILTER_KEYS.map((key) => [key, key])),
  state: 'status',
  outcome: 'status'
}

/** Matches a key that has no value yet, or a value with or without a key. The value can be quoted. */
const TOKEN = /[A-Za-z]+:(?=\s|$)|(?:([A-Za-z]+):)?(?:"([^"]*)"?|([^\s"]\S*))/g

function tokensOf(text: string): Array<{ key: string | null; value: string }> {
  return [...text.matchAll(TOKEN)]
    .map(([, key, quoted, bare]) => ({ key: key ?? null, value: quoted ?? bare ?? '' }))
    .filter(({ value }) => value.trim() !== '')
}

function addStatuses(search: FilterSearch, value: string, problems: string[]): void {
  for (const word of value.split(',').filter((part) => part !== '')) {
    const status = ShownStatus.safeParse(word.toLowerCase())
    if (!status.success) problems.push(texts.unknownStatus(word, ShownStatus.options.join(', ')))
    else if (!search.status?.includes(status.data)) search.status = [...(search.status ?? []), status.data]
  }
}

function addNode(search: FilterSearch, value: string, { nodes }: FilterContext, problems: string[]): void {
  const known = nodes.find((node) => node.id === value || node.name.toLowerCase() === value.toLowerCase())
  if (known === undefined) problems.push(texts.unknownNode(value))
  else search.node = known.id
}

function addSchedule(search: FilterSearch, value: string, context: FilterContext, problems: string[]): void {
  const known = context.schedules?.find(({ name }) => name.toLowerCase() === value.toLowerCase())
  if (known !== undefined) search.schedule = known.id
  else if (RANDOM_ID_PATTERN.test(value)) search.schedule = value as ScheduleId
  else problems.push(texts.unknownSchedule(value))
}

const SINCE_UNIT_HOURS: Record<string, number> = { m: 1 / 60, min: 1 / 60, h: 1, d: 24, w: 168 }

/** Accepts a time before now (`30m`, `24h`, `2d`, `1w`), or a date, which becomes whole hours before now. */
function addSince(search: FilterSearch, value: string, nowMs: number, problems: string[]): void {
  const span = /^(\d{1,5})(m|min|h|d|w)$/.exec(value)
  if (span !== null) {
    search.sinceHours = Number(span[1]) * (SINCE_UNIT_HOURS[span[2] as string] as number)
    return
  }
  const atMs = /^\d{4}-\d\d-\d\d$/.test(value) ? new Date(`${value}T00:00`).getTime() : Number.NaN
  if (Number.isNaN(atMs) || atMs >= nowMs) problems.push(texts.sinceWrong(value))
  else search.sinceHours = Math.ceil((nowMs - atMs) / HOUR_MS)
}

function formatSince(hours: number): string {
  if (hours >= 24 && hours % 24 === 0) return `${hours / 24}d`
  return Number.isInteger(hours) ? `${hours}h` : `${Math.max(1, Math.round(hours * 60))}m`
}
