import type {
  Change,
  Environment,
  Figures,
  Job,
  JobId,
  LimitRule,
  Node,
  Problem,
  ProjectName,
  Schedule,
  StoragePolicy,
  StoragePreview,
  StorageUsage
} from '../../shared/contract/index.ts'
import { parseLane } from '../store/lane.ts'
import type { OnlyProjects } from '../store/records.ts'
import type { JobReader } from '../store/store.ts'

/** The only projects that a caller may see; null: all. */
export type Seen = ReadonlySet<ProjectName> | null

/** For filters of the store. */
export const onlySeen = (seen: Seen): OnlyProjects => (seen === null ? {} : { onlyProjects: [...seen] })

export const isSeen = (seen: Seen, project: ProjectName): boolean => seen === null || seen.has(project)

/** A node is everybody's; what runs there is not. */
export function seenNode(node: Node, seen: Seen): Node {
  return seen === null ? node : { ...node, runs: node.runs.filter(({ project }) => seen.has(project)) }
}

/** Those of no project may name some in their words. */
export function seenProblems(problems: Problem[], seen: Seen): Problem[] {
  return seen === null ? problems : problems.filter(({ project }) => project !== null && seen.has(project))
}

export function seenEnvironments(environments: Environment[], seen: Seen): Environment[] {
  if (seen === null) return environments
  return environments
    .map((one) => ({ ...one, projects: one.projects.filter((project) => seen.has(project)) }))
    .filter(({ kind, projects }) => kind === 'main' || projects.length > 0)
}

export function seenLimits<Rule extends LimitRule>(limits: Rule[], seen: Seen): Rule[] {
  return limits.filter(({ project }) => project === null || isSeen(seen, project))
}

/** How much there is in total is no secret. */
export function seenUsage(usage: StorageUsage, seen: Seen): StorageUsage {
  return { ...usage, projects: usage.projects.filter(({ project }) => isSeen(seen, project)) }
}

export function seenPolicy(policy: StoragePolicy, seen: Seen): StoragePolicy {
  if (seen === null) return policy
  const projects = Object.entries(policy.projects).filter(([project]) => seen.has(project as ProjectName))
  return { ...policy, projects: Object.fromEntries(projects) }
}

export function seenPreview({ goes, ...preview }: StoragePreview, seen: Seen): StoragePreview {
  const rows = goes.filter(({ project }) => isSeen(seen, project))
  return {
    ...preview,
    goes: rows,
    protected: preview.protected.filter(({ project }) => isSeen(seen, project)),
    freesBytes: seen === null ? preview.freesBytes : rows.reduce((total, { bytes }) => total + bytes, 0)
  }
}

export const isScheduleSeen = (seen: Seen, { jobs }: Pick<Schedule, 'jobs'>): boolean =>
  jobs.every(({ project }) => isSeen(seen, project))

interface ChangeReads {
  store: Pick<JobReader, 'getJobs'>
  figuresOf: (seen: Seen) => Promise<Figures>
}

/** What of the change feed is for this caller. Ids of schedules that are gone name nothing. */
export async function seenChanges(changes: Change[], seen: Seen, reads: ChangeReads): Promise<Change[]> {
  if (seen === null) return changes
  const inProgress = changes.flatMap((change) => (change.kind === 'job_progress' ? [change.id] : []))
  const jobs = inProgress.length === 0 ? [] : await reads.store.getJobs(inProgress)
  const hidden = new Set<JobId>(jobs.filter(({ project }) => !seen.has(project)).map(({ id }) => id))
  const shown = await Promise.all(changes.map((change) => seenChange(change, seen, hidden, reads)))
  return shown.filter((change) => change !== null)
}

async function seenChange(
  change: Change,
  seen: ReadonlySet<ProjectName>,
  hidden: ReadonlySet<JobId>,
  { figuresOf }: ChangeReads
): Promise<Change | null> {
  const ifSeen = ({ project }: Pick<Job, 'project'>) => (seen.has(project) ? change : null)
  switch (change.kind) {
    case 'job':
      return ifSeen(change.job)
    case 'job_removed':
      // Nobody knows any more whose it was.
      return { kind: 'jobs' }
    case 'job_progress':
      return hidden.has(change.id) ? null : change
    case 'waiting':
      return ifSeen(parseLane(change.lane))
    case 'node':
      return { ...change, node: seenNode(change.node, seen) }
    case 'project':
      return ifSeen({ project: change.project.name })
    case 'project_removed':
      return ifSeen({ project: change.name as ProjectName })
    case 'schedule':
      return isScheduleSeen(seen, change.schedule) ? change : null
    case 'figures':
      return { ...change, figures: await figuresOf(seen) }
    case 'problems':
      return { ...change, problems: seenProblems(change.problems, seen) }
    case 'environments':
      return { ...change, environments: seenEnvironments(change.environments, seen) }
    default:
      return change
  }
}
