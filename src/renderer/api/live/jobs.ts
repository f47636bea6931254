import type { Job, JobFilter, LiveFigures, RunningJob, Waiting, ShownStatus } from '../../../shared/contract/index.ts'
import type { Api } from '../api.tsx'
import { type DataOf, type NounUpdates, type Pages, patch, patchPages, refetch, refetchIf } from './query-updates.ts'
import { UNKNOWN_STATUS } from '../../../shared/choices.ts'
import { matchesGlob } from '../../../shared/glob.ts'

/** The maximum length of the first page in an infinite list. */
const LIST_ROWS_MAX = 2000
const PAGE_ROWS = 100

type JobPage = DataOf<Api['query']['jobs']['list']>
/** The filter as the UI sends it. The contract also accepts a single status, and numbers as text. */
type ListInput = JobFilter & { before?: string | undefined; limit?: number | undefined }
type ById = ReadonlyMap<string, Job | null>
type ByLane = ReadonlyMap<string, Waiting>

export const jobs: NounUpdates<'jobs'> = {
  thingOf(change) {
    if (change.kind === 'jobs') return 'all'
    if (change.kind === 'waiting') return `lane:${change.lane}`
    if (change.kind === 'job_progress') return `progress:${change.id}`
    return change.kind === 'job' ? change.job.id : change.id
  },
  updates(changes, query) {
    const byId = new Map<string, Job | null>()
    const byLane = new Map<string, Waiting>()
    const progress = new Map<string, LiveFigures>()
    let areMany = false
    for (const change of changes) {
      if (change.kind === 'job') byId.set(change.job.id, change.job)
      else if (change.kind === 'job_removed') byId.set(change.id, null)
      else if (change.kind === 'waiting') byLane.set(change.lane, change.waiting)
      else if (change.kind === 'job_progress') progress.set(change.id, change.progress)
      else areMany = true
    }
    const { list, facets, get, count, figures, running } = query.jobs
    const { lanes, limits } = query.queue
    const ofJobs = [
      patchPages(
        list,
        (data, input) => updateList(data, input as ListInput, byId),
        (data, input) => lacksRows(data, input as ListInput)
      ),
      patch(
        get,
        (data, { id }) => ({ ...data, job: byId.get(id) ?? data.job }),
        (_data, { id }) => byId.has(id)
      ),
      patch(
        running,
        (data) => ({ ...data, jobs: data.jobs.flatMap((job) => stillRunning(job, byId.get(job.id))) }),
        // The change does not include the job's process, so refetch the row.
        ({ jobs }) => startedIn(byId, jobs)
      ),
      // When the run ends, its figures are final.
      refetchIf(figures, ({ id }) => byId.get(id)?.state === 'ended'),
      ...refetch(facets)
    ]
    const ofLanes = [
      patchPages(
        list,
        (data) => pagesOf(data, (job) => withWaiting(job, byLane)),
        () => false
      ),
      patch(get, (data) => ({ ...data, job: withWaiting(data.job, byLane) }))
    ]
    const ofProgress = [
      patchPages(
        list,
        (data) => pagesOf(data, (job) => withProgress(job, progress)),
        () => false
      ),
      patch(get, (data) => ({ ...data, job: withProgress(data.job, progress) })),
      patch(running, (data) => ({ ...data, jobs: data.jobs.map((job) => withProgress(job, progress)) })),
      refetchIf(figures, ({ id }) => progress.has(id))
    ]
    return [
      ...(progress.size > 0 ? ofProgress : []),
      ...(byId.size > 0 ? ofJobs : []),
      ...(byLane.size > 0 ? ofLanes : []),
      ...(areMany ? refetch(list, facets, get, count, running, lanes, limits) : [])
    ]
  }
}

/** A change contains one waiting reason per lane, which applies to all queued jobs of the lane. */
function withWaiting(job: Job, byLane: ByLane): Job {
  const waiting = job.state === 'queued' ? byLane.get(job.lane) : undefined
  return waiting === undefined ? job : { ...job, waiting }
}

function withProgress<One extends Job | RunningJob>(job: One, progress: ReadonlyMap<string, LiveFigures>): One {
  const now = job.state === 'ended' ? undefined : progress.get(job.id)
  return now === undefined ? job : { ...job, ...now }
}

const isOnNode = ({ state }: Job) => state === 'starting' || state === 'running'

function stillRunning(row: RunningJob, job: Job | null | undefined): RunningJob[] {
  if (job === undefined) return [row]
  if (job === null || !isOnNode(job)) return []
  const { state, status, attemptCount, cancelAskedAtMs, unknownSinceMs, startedAtMs, sentVersion } = job
  return [{ ...row, state, status, attemptCount, cancelAskedAtMs, unknownSinceMs, startedAtMs, sentVersion }]
}

/** Whether any job on a node is missing from the rows, or its row shows another node or no process. */
function startedIn(byId: ById, rows: readonly RunningJob[]): boolean {
  const shown = new Map(rows.map((row) => [row.id as string, row]))
  return [...byId].some(([id, job]) => {
    if (job === null || !isOnNode(job)) return false
    const row = shown.get(id)
    return row === undefined || row.nodeId !== job.nodeId || (job.state === 'running' && row.pid === null)
  })
}

function pagesOf(data: Pages<JobPage>, updateJob: (job: Job) => Job): Pages<JobPage> {
  const updatePageOf = (page: JobPage): JobPage => ({ ...page, jobs: page.jobs.map(updateJob) })
  return 'pages' in data ? { ...data, pages: data.pages.map(updatePageOf) } : updatePageOf(data)
}

function updateList(data: Pages<JobPage>, input: ListInput, jobs: ById): Pages<JobPage> {
  if (!('pages' in data)) return trimPage(updatePage(data, input, jobs, input.before ?? null), input.limit ?? PAGE_ROWS)
  // New rows go to the first page. Every other page keeps its range, which ends at its last row.
  let above: string | null = null
  const pages = data.pages.map((page) => {
    const updated = updatePage(page, input, jobs, above)
    above = page.nextBefore
    return updated
  })
  if (pages.every((page, index) => page === data.pages[index])) return data
  // Trim a list that stays open for days. Otherwise, it would grow without bound. Scrolling refetches distant rows.
  const [first] = pages
  if (first && first.jobs.length > LIST_ROWS_MAX) {
    return { pages: [trimPage(first, LIST_ROWS_MAX / 2)], pageParams: data.pageParams.slice(0, 1) }
  }
  return { ...data, pages }
}

/** Whether a full page has lost rows, so that rows from below must move up into it. */
function lacksRows(data: Pages<JobPage>, { limit = PAGE_ROWS }: ListInput): boolean {
  return !('pages' in data) && data.nextBefore !== null && data.jobs.length < limit
}

function trimPage(page: JobPage, rows: number): JobPage {
  if (page.jobs.length <= rows) return page
  const jobs = page.jobs.slice(0, rows)
  return { jobs, nextBefore: jobs.at(-1)?.id ?? null }
}

/** Job ids sort by time and rows are sorted newest first, so an id determines the row's position. */
function updatePage(page: JobPage, filter: JobFilter, jobs: ById, above: string | null): JobPage {
  const present = new Set<string>()
  let changed = false
  const rows: Job[] = []
  for (const row of page.jobs) {
    const change = jobs.get(row.id)
    if (change === undefined) rows.push(row)
    else {
      changed = true
      if (change !== null && jobMatches(change, filter)) rows.push(change)
    }
    present.add(row.id)
  }
  for (const [id, job] of jobs) {
    if (job === null || present.has(id) || !jobMatches(job, filter)) continue
    if ((above !== null && id >= above) || (page.nextBefore !== null && id < page.nextBefore)) continue
    changed = true
    rows.push(job)
  }
  if (!changed) return page
  return { ...page, jobs: rows.sort((left, right) => (left.id < right.id ? 1 : left.id > right.id ? -1 : 0)) }
}

/** Whether a job matches a list's filter. Must use the same rules as the engine's `jobs.list`. */
export function jobMatches(job: Job, filter: JobFilter): boolean {
  const isStatus = (status: ShownStatus) =>
    status === UNKNOWN_STATUS ? job.unknownSinceMs !== null : status === job.status
  if (filter.status?.length && !filter.status.some(isStatus)) return false
  if (!matchesGlob(filter.project ?? null, job.project) || !matchesGlob(filter.spider ?? null, job.spider)) return false
  if (filter.nodeId !== undefined && job.nodeId !== filter.nodeId) return false
  if (filter.scheduleId !== undefined && job.scheduleId !== filter.scheduleId) return false
  if (filter.jobid !== undefined && job.jobid !== filter.jobid) return false
  if (filter.userId !== undefined && job.userId !== filter.userId) return false
  if (filter.sinceMs !== undefined && job.queuedAtMs < filter.sinceMs) return false
  if (filter.text) {
    const text = filter.text.toLowerCase()
    return [job.project, job.spider, job.id, job.jobid].some((value) => value.toLowerCase().includes(text))
  }
  return true
}
