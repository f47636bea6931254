import type { KeepPolicy, ProjectName, RetentionPolicy, StoragePolicy } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/storage.ts'

export const KIND_WORDS = { jobs: texts.jobs, logs: texts.logs, items: texts.items, eggs: texts.eggs } as const
export type Kind = keyof typeof KIND_WORDS
export const COUNT_WORDS: Record<Kind, (count: number) => string> = {
  jobs: texts.jobCount,
  logs: texts.logCount,
  items: texts.itemCount,
  eggs: texts.eggCount
}
export const KINDS = Object.keys(KIND_WORDS) as Kind[]
const GB = 1_000_000_000

/**
 * A row of the table. `project` is null for the defaults. `newest` is a number per spider or, for eggs, per project.
 */
export interface PolicyRow {
  project: ProjectName | null
  kind: Kind
  days: number | null
  newest: number | null
  gigabytes: number | null
}

export function rowsOf({ defaults, projects }: StoragePolicy): PolicyRow[] {
  const own = Object.entries(projects) as [ProjectName, Partial<RetentionPolicy>][]
  return [
    ...KINDS.map((kind) => rowOf(null, kind, defaults)),
    ...own.flatMap(([project, policy]) =>
      KINDS.flatMap((kind) => (policy[kind] === undefined ? [] : [rowOf(project, kind, policy)]))
    )
  ]
}

function rowOf(project: ProjectName | null, kind: Kind, policy: Partial<RetentionPolicy>): PolicyRow {
  if (kind === 'eggs') return { project, kind, days: policy.eggs!.days, newest: policy.eggs!.newest, gigabytes: null }
  const { days, perSpider, bytes } = policy[kind]!
  return { project, kind, days, newest: perSpider, gigabytes: bytes === null ? null : bytes / GB }
}

export function policyOfRows(before: StoragePolicy, rows: readonly PolicyRow[]): StoragePolicy {
  const partOf = (project: ProjectName | null): Partial<RetentionPolicy> =>
    Object.fromEntries(rows.filter((row) => row.project === project).map((row) => [row.kind, keepOf(row)]))
  const names = [...new Set(rows.flatMap(({ project }) => (project === null ? [] : [project])))]
  return {
    ...before,
    defaults: { ...before.defaults, ...partOf(null) },
    projects: Object.fromEntries(names.map((name) => [name, partOf(name)]))
  }
}

function keepOf({ kind, days, newest, gigabytes }: PolicyRow): KeepPolicy | RetentionPolicy['eggs'] {
  if (kind === 'eggs') return { days, newest: newest ?? 5 }
  return { days, perSpider: newest, bytes: gigabytes === null ? null : Math.max(1_000_000, Math.round(gigabytes * GB)) }
}
