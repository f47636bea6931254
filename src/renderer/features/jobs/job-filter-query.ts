import { type JobFilter, JobStatus } from '../../../shared/contract/index.ts'
import { NODE_ID_PATTERN } from '../../../shared/ids.ts'

/** What stands before the colon. Aliases are read but written back as these. */
export const FILTER_KEYS = ['status', 'project', 'spider', 'node', 'since'] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

/** One piece of the filter box: `status:failed,running`, or a word (`key` null). */
export interface FilterTerm {
  readonly key: FilterKey | null
  readonly value: string
}

export interface JobFilterQuery {
  readonly terms: readonly FilterTerm[]
  /** What the engine is asked for. Terms with a problem are left out of it. */
  readonly filter: JobFilter
  /** In words, for the line under the box. */
  readonly problems: readonly string[]
}

export interface JobFilterContext {
  /** Nodes by id and name, for `node:`. Undefined while they are loading: an id is then taken as it is. */
  readonly nodes?: ReadonlyArray<{ id: string; name: string }> | undefined
  readonly nowMs: number
}

/**
 * The filter box's grammar: terms parted by blanks; a term is `key:value` or a word; a value with blanks stands in
 * double quotes. `status` takes several values by comma; every other key takes one, and the last one given counts.
 * Words are one text, looked for in project, spider and job id.
 *
 *   status:failed,running project:shop spider:price* node:eu-1 since:2d amazon
 */
export function parseJobFilterQuery(query: string, context: JobFilterContext): JobFilterQuery {
  const terms = termsOf(query)
  const filter: JobFilter = {}
  const problems: string[] = []
  const words: string[] = []
  for (const { key, value } of terms) {
    if (key === null) words.push(value)
    else if (key === 'status') addStatuses(filter, value, problems)
    else if (key === 'node') addNode(filter, value, context, problems)
    else if (key === 'since') addSince(filter, value, context.nowMs, problems)
    else filter[key] = value.slice(0, 200)
  }
  for (const { key, value } of unknownTerms(query)) {
    problems.push(`There is no key “${key}” (of ${key}:${value}). Keys are ${FILTER_KEYS.join(', ')}; quote it to look for the text.`)
  }
  if (words.length > 0) filter.text = words.join(' ').slice(0, 200)
  return { terms, filter, problems }
}

/** The terms of a query, in their order, without those whose key is unknown. */
export function termsOf(query: string): FilterTerm[] {
  return tokensOf(query).flatMap((token) => {
    if (token.key === null) return [{ key: null, value: token.value }]
    const key = ALIASES[token.key.toLowerCase()]
    return key === undefined ? [] : [{ key, value: token.value }]
  })
}

/** The query in its normal form: what stands in the URL. */
export function formatJobFilterQuery(terms: readonly FilterTerm[]): string {
  return terms
    .map(({ key, value }) => {
      const quoted = /[\s":]/.test(value) || value === '' ? `"${value.replaceAll('"', '')}"` : value
      return key === null ? quoted : `${key}:${quoted}`
    })
    .join(' ')
}

/** Puts one value of a facet in or out of a query; status is a set, the other keys hold one value. */
export function toggleFilterValue(terms: readonly FilterTerm[], key: FilterKey, value: string): FilterTerm[] {
  const others = terms.filter((term) => term.key !== key)
  const before = valuesOf(terms, key)
  if (before.includes(value)) {
    const left = key === 'status' ? before.filter((each) => each !== value) : []
    return left.length === 0 ? others : [...others, { key, value: left.join(',') }]
  }
  return [...others, { key, value: key === 'status' ? [...before, value].join(',') : value }]
}

/** The values that a query holds for a key. */
export function valuesOf(terms: readonly FilterTerm[], key: FilterKey): string[] {
  const values = terms.filter((term) => term.key === key).map((term) => term.value)
  return key === 'status' ? values.flatMap((value) => value.split(',').filter((part) => part !== '')) : values.slice(-1)
}

const ALIASES: Record<string, FilterKey> = {
  status: 'status',
  state: 'status',
  outcome: 'status',
  project: 'project',
  spider: 'spider',
  node: 'node',
  since: 'since'
}

interface Token {
  readonly key: string | null
  readonly value: string
}

/** A key whose value is still to be typed; else key and value, the value quoted or bare. */
const TOKEN = /[A-Za-z]+:(?=\s|$)|(?:([A-Za-z]+):)?(?:"([^"]*)"?|([^\s"]\S*))/g

function tokensOf(query: string): Token[] {
  return [...query.matchAll(TOKEN)]
    .map(([, key, quoted, bare]) => ({ key: key ?? null, value: quoted ?? bare ?? '' }))
    .filter(({ value }) => value !== '')
}

function unknownTerms(query: string): Array<{ key: string; value: string }> {
  return tokensOf(query).filter(
    (token): token is { key: string; value: string } => token.key !== null && ALIASES[token.key.toLowerCase()] === undefined
  )
}

function addStatuses(filter: JobFilter, value: string, problems: string[]): void {
  for (const word of value.split(',').filter((part) => part !== '')) {
    const status = JobStatus.safeParse(word.toLowerCase())
    if (!status.success) problems.push(`“${word}” is no status. Statuses are ${JobStatus.options.join(', ')}.`)
    else if (!filter.status?.includes(status.data)) filter.status = [...(filter.status ?? []), status.data]
  }
}

function addNode(filter: JobFilter, value: string, { nodes }: JobFilterContext, problems: string[]): void {
  const known = nodes?.find((node) => node.id === value || node.name.toLowerCase() === value.toLowerCase())
  if (known !== undefined) filter.nodeId = known.id
  else if (nodes === undefined && NODE_ID_PATTERN.test(value)) filter.nodeId = value
  else if (nodes !== undefined) problems.push(`There is no node “${value}”.`)
}

const SINCE_UNIT_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** `30m`, `24h`, `2d`, `1w` back from now, or a date. */
function addSince(filter: JobFilter, value: string, nowMs: number, problems: string[]): void {
  const span = /^(\d{1,5})(?:min|([mhdw]))$/.exec(value)
  if (span !== null) {
    filter.sinceMs = nowMs - Number(span[1]) * (SINCE_UNIT_MS[span[2] ?? 'm'] as number)
    return
  }
  const atMs = /^\d{4}-\d\d-\d\d/.test(value) ? new Date(value.length === 10 ? `${value}T00:00` : value).getTime() : Number.NaN
  if (Number.isNaN(atMs)) problems.push(`“${value}” is no time. Write 30m, 24h, 2d, 1w or 2026-11-20.`)
  else filter.sinceMs = atMs
}
