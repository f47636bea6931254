import type { KeepPolicy, ProjectName, RetentionPolicy, StoragePolicy } from '../../../shared/contract/index.ts'
import type { ProjectBounds } from '../../model/retention.ts'
import type { RetentionBounds } from '../../model/records.ts'

const DAY_MS = 86_400_000

/** Of one project; what its own policy leaves out is as in the defaults. */
export function policyOf({ defaults, projects }: StoragePolicy, project: string): RetentionPolicy {
  return { ...defaults, ...(Object.hasOwn(projects, project) ? projects[project as ProjectName] : undefined) }
}

/** `jobBytes`: what a job takes in the database on average: a bound by size becomes one by number. */
export function boundsOf(policy: StoragePolicy, nowMs: number, jobBytes: number): RetentionBounds {
  const bounds = ({ jobs, logs }: RetentionPolicy): ProjectBounds => ({
    jobs: {
      endedSinceMs: sinceOf(jobs, nowMs),
      newestPerSpider: jobs.perSpider,
      newestPerProject: jobs.bytes === null ? null : Math.max(1, Math.floor(jobs.bytes / Math.max(1, jobBytes)))
    },
    logs: { endedSinceMs: sinceOf(logs, nowMs), newestPerSpider: logs.perSpider, bytesPerProject: logs.bytes }
  })
  const names = Object.keys(policy.projects) as ProjectName[]
  return {
    nowMs,
    defaults: bounds(policy.defaults),
    projects: new Map(names.map((project) => [project, bounds(policyOf(policy, project))]))
  }
}

export const sinceOf = ({ days }: Pick<KeepPolicy, 'days'>, nowMs: number): number | null =>
  days === null ? null : nowMs - days * DAY_MS
