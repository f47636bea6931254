import type {
  Chain,
  Change,
  EngineList,
  Environment,
  Figures,
  Firing,
  Job,
  JobId,
  LimitRule,
  Node,
  NodeId,
  Problem,
  ProjectName,
  PythonState,
  Schedule,
  ScheduleId,
  StoragePolicy,
  StoragePreview,
  StorageUsage,
  SystemStatus,
  Transition
} from '../../../shared/contract/index.ts'
import { type Message, jobsIn, say, waitingMessage, withoutJobs, written } from '../../../shared/texts/message.ts'
import { projectsAt, projectsOfChain, projectsOfTemplates } from '../../schedules/whose-past.ts'
import { parseLane } from '../../model/lane.ts'
import { type OnlyProjects, reasonOf } from '../../model/records.ts'
import type { JobReader, ScheduleReader } from '../../storage/store.ts'

/** null: all projects. */
export type Seen = ReadonlySet<ProjectName> | null

export const onlySeen = (seen: Seen): OnlyProjects => (seen === null ? {} : { onlyProjects: [...seen] })

export const isSeen = (seen: Seen, project: ProjectName): boolean => seen === null || seen.has(project)

/** Node tags. null: all nodes. */
export type SeenNodes = ReadonlySet<string> | null

export const isNodeSeen = (seen: SeenNodes, { tags }: { tags: readonly string[] }): boolean =>
  seen === null || tags.some((tag) => seen.has(tag))

export interface View {
  projects: Seen
  nodes: SeenNodes
  /** The tags of nodes that the caller has a role for. */
  ownNodes: ReadonlySet<string>
  tagsOf: (id: NodeId) => readonly string[] | undefined
}

export function seenNode(node: Node, seen: Seen): Node {
  if (seen === null) return node
  const { runs, kubernetes } = node
  return {
    ...node,
    runs: runs.filter(({ project }) => seen.has(project)),
    kubernetes: kubernetes && {
      ...kubernetes,
      projects: Object.fromEntries(
        Object.entries(kubernetes.projects).filter(([name]) => seen.has(name as ProjectName))
      )
    }
  }
}

/** A problem without a project can name hidden projects in its text, unless it belongs to a node. */
export function seenProblems(problems: Problem[], { projects, ownNodes, tagsOf }: View): Problem[] {
  if (projects === null) return problems
  return problems.filter(({ project, nodeId }) => {
    if (project !== null) return projects.has(project)
    return nodeId !== null && tagsOf(nodeId)?.some((tag) => ownNodes.has(tag)) === true
  })
}

/** Users who see only some nodes see no engines and no state of the local node. */
export const seenEngines = (list: EngineList, seen: SeenNodes): EngineList =>
  seen === null ? list : { ...list, engines: [], terms: [] }

/** The path of the key reveals the path of the data directory. */
export const seenSecrets = (secrets: SystemStatus['secrets'], seen: Seen): SystemStatus['secrets'] =>
  seen === null ? secrets : { ...secrets, text: 'Encrypted' }

export const HIDDEN_PYTHON: PythonState = {
  state: 'checking',
  path: null,
  version: null,
  scrapyVersion: null,
  problem: null,
  start: { mode: 'cold', text: '' }
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

export function seenUsage(usage: StorageUsage, seen: Seen): StorageUsage {
  const { encryption, projects } = usage
  return {
    ...usage,
    projects: projects.filter(({ project }) => isSeen(seen, project)),
    // The problem's text names a file, and the file name identifies a job.
    encryption: encryption && { ...encryption, problem: seen === null ? encryption.problem : null }
  }
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
  projectsOfTemplates(jobs).every((project) => isSeen(seen, project))

interface JobReads {
  store: Pick<JobReader, 'getJobs'>
}

const READ_AT_ONCE = 1_000

/** Omits deleted jobs, because their projects are unknown. */
async function nameable(
  ids: Iterable<JobId>,
  seen: ReadonlySet<ProjectName>,
  { store }: JobReads
): Promise<Set<JobId>> {
  const all = [...new Set(ids)]
  const shown = new Set<JobId>()
  for (let index = 0; index < all.length; index += READ_AT_ONCE) {
    for (const { id, project } of await store.getJobs(all.slice(index, index + READ_AT_ONCE))) {
      if (seen.has(project)) shown.add(id)
    }
  }
  return shown
}

/** Removes the ids of hidden jobs for which the visible jobs wait or waited. */
export async function seenJobs<One extends Job>(jobs: One[], seen: Seen, reads: JobReads): Promise<One[]> {
  if (seen === null) return jobs
  const messages = jobs.map((job) => ({
    job,
    waiting: job.waiting && waitingMessage(job.waiting),
    reason: reasonOf(job)
  }))
  const named = messages.flatMap(({ job: { after }, waiting, reason }) => [
    ...after.map(({ jobId }) => jobId),
    ...(waiting === null ? [] : jobsIn(waiting)),
    ...(reason === null ? [] : jobsIn(reason))
  ])
  const shown = await nameable(named, seen, reads)
  const isShown = (id: JobId) => shown.has(id)
  return messages.map(({ job, waiting, reason }) => {
    const after = job.after.filter(({ jobId }) => isShown(jobId))
    const kept = { ...job, ...(after.length < job.after.length && { after }) }
    if (waiting !== null && !jobsIn(waiting).every(isShown)) {
      kept.waiting = { ...job.waiting!, ...written(withoutJobs(waiting, isShown)), code: job.waiting!.code }
    }
    if (reason !== null && !jobsIn(reason).every(isShown)) {
      const { text, params } = written(withoutJobs(reason, isShown))
      Object.assign(kept, { reason: text, ...(job.reasonCode !== undefined && { reasonParams: params }) })
    }
    return kept
  })
}

export async function seenJob<One extends Job>(job: One, seen: Seen, reads: JobReads): Promise<One> {
  return (await seenJobs([job], seen, reads))[0]!
}

const BY_A_CHAIN = say('timeline.queued_by_chain', { jobId: null, chain: null, spider: null, outcome: null })

/** Hides the chain if the job that it watched is hidden. */
export async function seenTimeline(timeline: Transition[], seen: Seen, reads: JobReads): Promise<Transition[]> {
  if (seen === null) return timeline
  const inEvidence = ({ evidence }: Transition) =>
    [evidence['jobId'], evidence['retryOf']].filter((id) => typeof id === 'string') as JobId[]
  const named = (entry: Transition) => [...inEvidence(entry), ...jobsIn(entry as Message)]
  const shown = await nameable(timeline.flatMap(named), seen, reads)
  return timeline.map((entry) => {
    if (named(entry).every((id) => shown.has(id))) return entry
    const said = withoutJobs(entry as Message, (id) => shown.has(id))
    if (inEvidence(entry).every((id) => shown.has(id))) return { ...entry, ...written(said) }
    const { jobId: _jobId, retryOf: _retryOf, chainId, ...evidence } = entry.evidence
    // Older entries have no code and name the chain in their text.
    return { ...entry, ...written(entry.code === 'text' && chainId !== undefined ? BY_A_CHAIN : said), evidence }
  })
}

type ScheduleReads = JobReads & { store: Pick<ScheduleReader, 'getSchedules'> }

/**
 * Finds the firings that the caller may see. A firing from before the schedule moved to its current projects is visible
 * only if it has jobs and all of them are visible.
 */
async function seenPast(
  ids: Iterable<ScheduleId>,
  firings: readonly Firing[],
  seen: ReadonlySet<ProjectName>,
  reads: ScheduleReads
) {
  const stored = new Map((await reads.store.getSchedules([...new Set(ids)])).map((one) => [one.id, one]))
  const isFormer = (id: ScheduleId, atMs: number) => !stored.has(id) || projectsAt(stored.get(id)!, atMs) === null
  const former = firings.filter(({ scheduleId, atMs }) => isFormer(scheduleId, atMs))
  const shown = await nameable(
    former.flatMap(({ jobIds }) => jobIds),
    seen,
    reads
  )
  const hidden = new Set(former.filter(({ jobIds }) => jobIds.length === 0 || !jobIds.every((id) => shown.has(id))))
  return { isFormer, isShown: (firing: Firing) => !hidden.has(firing) }
}

export async function seenFiringsOf<Page extends { firings: Firing[] }>(
  page: Page,
  seen: Seen,
  reads: ScheduleReads
): Promise<Page> {
  if (seen === null) return page
  const ids = page.firings.map(({ scheduleId }) => scheduleId)
  const { isShown } = await seenPast(ids, page.firings, seen, reads)
  return { ...page, firings: page.firings.filter(isShown) }
}

export async function seenSchedules(schedules: Schedule[], seen: Seen, reads: ScheduleReads): Promise<Schedule[]> {
  if (seen === null) return schedules
  const ids = schedules.map(({ id }) => id)
  const firings = schedules.flatMap(({ recent }) => recent)
  const { isFormer, isShown } = await seenPast(ids, firings, seen, reads)
  return schedules.map((schedule) => ({
    ...schedule,
    // Users of the former projects may have written the note before the schedule moved.
    ...(isFormer(schedule.id, schedule.changedAtMs) && {
      pauseNote: null,
      pauseNoteCode: undefined,
      pauseNoteParams: undefined
    }),
    recent: schedule.recent.filter(isShown)
  }))
}

export async function seenSchedule(schedule: Schedule, seen: Seen, reads: ScheduleReads): Promise<Schedule> {
  return (await seenSchedules([schedule], seen, reads))[0]!
}

/** Removes the ids of hidden jobs. Such jobs ended before the chain was changed to watch a visible project. */
export async function seenChains(chains: Chain[], seen: Seen, reads: JobReads): Promise<Chain[]> {
  if (seen === null) return chains
  const all = chains.filter((chain) => projectsOfChain(chain).every((project) => seen.has(project)))
  const messages = all.map(({ problemCode: code, problemParams: params = {} }) => ({ code, params }) as Message)
  const shown = await nameable(messages.flatMap(jobsIn), seen, reads)
  return all.map((chain, index) => {
    if (jobsIn(messages[index]!).every((id) => shown.has(id))) return chain
    const { text, code, params } = written(withoutJobs(messages[index]!, (id) => shown.has(id)))
    return { ...chain, problem: text, problemCode: code, problemParams: params }
  })
}

interface ChangeReads {
  store: ScheduleReads['store']
  figuresOf: () => Promise<Figures>
}

/**
 * `nodes` contains at least the initially visible nodes. A node that leaves the caller's view is reported as removed.
 * Ids of removed schedules are passed on, because they reveal no data.
 */
export function seeChanges(
  view: View,
  nodes: readonly Node[],
  reads: ChangeReads
): (changes: Change[]) => Promise<Change[]> {
  const { projects, nodes: seenTags } = view
  if (projects === null) return async (changes) => changes
  const shown = new Set(nodes.filter((node) => isNodeSeen(seenTags, node)).map(({ id }) => id))
  const isOfNode = (change: Change): Change | null => {
    if (change.kind === 'node' && isNodeSeen(seenTags, change.node)) {
      shown.add(change.node.id)
      return change
    }
    if (change.kind !== 'node' && change.kind !== 'node_removed') return change
    const id = change.kind === 'node' ? change.node.id : change.id
    return shown.delete(id) ? { kind: 'node_removed', id } : null
  }
  return (changes) =>
    seenChanges(seenTags === null ? changes : changes.map(isOfNode).filter((one) => one !== null), view, reads)
}

async function seenChanges(changes: Change[], view: View, reads: ChangeReads): Promise<Change[]> {
  const seen = view.projects!
  const inProgress = changes.flatMap((change) => (change.kind === 'job_progress' ? [change.id] : []))
  const jobs = inProgress.length === 0 ? [] : await reads.store.getJobs(inProgress)
  const hidden = new Set<JobId>(jobs.filter(({ project }) => !seen.has(project)).map(({ id }) => id))
  const shown = await Promise.all(
    changes.map((change) => seenChange(change, { ...view, projects: seen }, hidden, reads))
  )
  return shown.filter((change) => change !== null)
}

async function seenChange(
  change: Change,
  view: View & { projects: ReadonlySet<ProjectName> },
  hidden: ReadonlySet<JobId>,
  reads: ChangeReads
): Promise<Change | null> {
  const { projects: seen, nodes } = view
  const ifAllNodes = nodes === null ? change : null
  const ifSeen = ({ project }: Pick<Job, 'project'>) => (seen.has(project) ? change : null)
  switch (change.kind) {
    case 'job':
      return seen.has(change.job.project) ? { ...change, job: await seenJob(change.job, seen, reads) } : null
    case 'job_removed':
      // The project of the removed job is unknown.
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
      if (!isScheduleSeen(seen, change.schedule)) return null
      return { ...change, schedule: await seenSchedule(change.schedule, seen, reads) }
    case 'figures':
      return { ...change, figures: await reads.figuresOf() }
    case 'problems':
      return { ...change, problems: seenProblems(change.problems, view) }
    case 'environments':
      return nodes === null ? { ...change, environments: seenEnvironments(change.environments, seen) } : null
    case 'python':
    case 'discovery':
    case 'limits':
      return ifAllNodes
    default:
      return change
  }
}
