/**
 * Keeps the query cache true: one stream of changes from the engine, written into whatever is cached.
 *
 *   connecting ──first batch──▶ live ──stream ends or breaks──▶ reconnecting ──first batch──▶ live
 *
 * What must stay true: after a drop the stream goes on at the cursor of the last batch received, so nothing is lost
 * and nothing is sent whole again; a fresh or expired cursor makes everything cached be fetched anew; a fetch that was
 * under way while changes came in does not undo them.
 */
import type { InfiniteData, Query, QueryClient, QueryKey } from '@tanstack/react-query'
import type {
  Change,
  ChangeBatch,
  Environment,
  Figures,
  Job,
  JobDetail,
  JobFilter,
  Node,
  Project,
  Schedule,
  SystemStatus,
  Waiting
} from '../../shared/contract/index.ts'
import type { Connection } from '../state/connection.ts'
import type { Api } from './api.tsx'
import { jobMatches } from './job-filter.ts'

interface FollowChangesOptions {
  api: Api
  queryClient: QueryClient
  onConnection: (state: Connection['state']) => void
  /** Runs a flush later: once per drawn frame. */
  onNextFrame?: (flush: () => void) => void
  /** Time before a details query is fetched again after its job changed; further changes in between add nothing. */
  refetchAfterMs?: number
  /** First wait before connecting again; doubles up to 30 times this, with jitter. */
  retryAfterMs?: number
}

/** Rows that the first page of an endless list may grow to. */
const LIST_ROWS_MAX = 2000

/** Changes that only say what is no longer true: what is shown of it is asked for again. */
const OUTDATED_BY = {
  jobs: ['jobs.list', 'jobs.facets', 'jobs.get', 'jobs.count', 'queue.lanes', 'queue.limits'],
  limits: ['queue.limits', 'queue.lanes'],
  discovery: ['discovery.list'],
  chains: ['chains.list'],
  webhooks: ['webhooks.list', 'webhooks.deliveries']
} as const

/** Of a schedule that changed: its moments may be others, and it may have a new row of history. */
const OUTDATED_BY_SCHEDULE = ['schedules.firings', 'schedules.calendar', 'schedules.load'] as const

type SchedulePage = { schedules: Schedule[]; nextAfter: string | null; total: number }
type JobPage = { jobs: Job[]; nextBefore: string | null }

/** Follows until `stop()`. */
export function followChanges(options: FollowChangesOptions): { stop(): void } {
  const { api, queryClient, onConnection, onNextFrame = nextFrame, refetchAfterMs = 400, retryAfterMs = 500 } = options
  const abort = new AbortController()
  const cache = queryClient.getQueryCache()
  let pending: Change[] = []
  let resetAsked = false
  let flushPlanned = false
  const refetches = new Map<string, ReturnType<typeof setTimeout>>()

  // Changes that came while fetches were under way, and where in that row each fetch began.
  let sinceFetches: Change[] = []
  const fetchBegan = new Map<string, number>()
  const unsubscribe = cache.subscribe((event) => {
    if (event.type === 'removed') fetchBegan.delete(event.query.queryHash)
    if (event.type !== 'updated') return
    const { query, action } = event
    if (action.type === 'fetch') fetchBegan.set(query.queryHash, sinceFetches.length)
    if (action.type === 'success' && action.manual !== true) {
      const missed = sinceFetches.slice(fetchBegan.get(query.queryHash) ?? sinceFetches.length)
      if (missed.length > 0) applyTo([query], missed)
    }
    if (action.type === 'error' || (action.type === 'success' && action.manual !== true))
      fetchBegan.delete(query.queryHash)
    if (fetchBegan.size === 0) sinceFetches = []
  })

  void connect()
  return {
    stop() {
      abort.abort()
      unsubscribe()
      for (const timer of refetches.values()) clearTimeout(timer)
      refetches.clear()
    }
  }

  async function connect(): Promise<void> {
    let cursor: string | undefined
    let failures = 0
    while (!abort.signal.aborted) {
      try {
        const fresh = cursor === undefined
        const batches = await api.client.events.subscribe({ after: cursor }, { signal: abort.signal })
        let first = true
        for await (const batch of batches) {
          if (abort.signal.aborted) return
          take(batch, batch.reset || (first && fresh))
          first = false
          failures = 0
          cursor = batch.cursor
          onConnection('live')
        }
      } catch (error) {
        // Whatever broke the stream, the answer is the same: say so and connect again.
        if (abort.signal.aborted) return
        console.warn('The stream of changes broke', error)
      }
      if (abort.signal.aborted) return
      onConnection('reconnecting')
      const limitMs = retryAfterMs * Math.min(30, 2 ** failures++)
      await sleep(limitMs * (0.5 + Math.random() / 2), abort.signal)
    }
  }

  function take(batch: ChangeBatch, reset: boolean): void {
    pending.push(...batch.changes)
    resetAsked ||= reset
    if (flushPlanned) return
    flushPlanned = true
    onNextFrame(flush)
  }

  function flush(): void {
    flushPlanned = false
    if (abort.signal.aborted) return
    const changes = newestOfEach(pending)
    pending = []
    if (fetchBegan.size > 0) sinceFetches.push(...changes)
    if (changes.length > 0) applyTo(cache.getAll(), changes)
    if (!resetAsked) return
    resetAsked = false
    void queryClient.invalidateQueries()
  }

  function applyTo(queries: readonly Query[], changes: readonly Change[]): void {
    const jobs = new Map<string, Job | null>()
    const nodes = new Map<string, Node | null>()
    const projects = new Map<string, Project | null>()
    const schedules = new Map<string, Schedule | null>()
    const waiting = new Map<string, Waiting>()
    const status: Partial<SystemStatus> = {}
    let environments: Environment[] | null = null
    const outdated = new Set<string>()
    for (const change of changes) {
      if (change.kind === 'job') jobs.set(change.job.id, change.job)
      else if (change.kind === 'job_removed') jobs.set(change.id, null)
      else if (change.kind === 'waiting') waiting.set(change.lane, change.waiting)
      else if (change.kind === 'node') nodes.set(change.node.id, change.node)
      else if (change.kind === 'node_removed') nodes.set(change.id, null)
      else if (change.kind === 'project') projects.set(change.project.name, change.project)
      else if (change.kind === 'project_removed') projects.set(change.name, null)
      else if (change.kind === 'schedule') schedules.set(change.schedule.id, change.schedule)
      else if (change.kind === 'schedule_removed') schedules.set(change.id, null)
      else if (change.kind === 'figures') status.figures = change.figures
      else if (change.kind === 'problems') status.problems = change.problems
      else if (change.kind === 'python') status.python = change.python
      else if (change.kind === 'environments') environments = change.environments
      else for (const name of OUTDATED_BY[change.kind]) outdated.add(name)
    }
    if (schedules.size > 0) for (const name of OUTDATED_BY_SCHEDULE) outdated.add(name)
    for (const query of queries) {
      const [path, options] = query.queryKey as [readonly string[] | undefined, { input?: unknown } | undefined]
      const name = Array.isArray(path) ? path.join('.') : ''
      const data = query.state.data
      const input = (options?.input ?? {}) as Record<string, unknown>
      if (outdated.has(name) || (name === 'jobs.facets' && jobs.size > 0)) refetchSoon(query)
      if (data === undefined) continue
      if (name === 'jobs.list' && jobs.size > 0) {
        const updated = updateJobList(data as JobPage | InfiniteData<JobPage>, input, jobs)
        write(query, updated)
        if (lacksRows(updated, input)) refetchSoon(query)
      }
      if (name === 'jobs.list' && waiting.size > 0)
        write(query, tellWaitingInList(query.state.data as JobPage | InfiniteData<JobPage>, waiting))
      if (name === 'jobs.get') {
        const job = jobs.get(String(input['id']))
        if (job) write(query, { ...(data as JobDetail), job })
        if (job !== undefined) refetchSoon(query)
        if (waiting.size > 0) write(query, tellWaiting(query.state.data as JobDetail, waiting))
      } else if (name === 'schedules.list' && schedules.size > 0) {
        const list = updateScheduleList(data as SchedulePage | InfiniteData<SchedulePage>, schedules)
        write(query, list.data)
        if (list.lacksRows) refetchSoon(query)
      } else if (name === 'schedules.get') write(query, schedules.get(String(input['id'])) ?? data)
      else if (name === 'nodes.list' && nodes.size > 0)
        write(query, { nodes: mergeList((data as { nodes: Node[] }).nodes, nodes, ({ id }) => id) })
      else if (name === 'nodes.get') write(query, nodes.get(String(input['id'])) ?? data)
      else if (name === 'projects.list' && projects.size > 0) {
        write(query, {
          projects: mergeList((data as { projects: Project[] }).projects, projects, (project) => project.name)
        })
      } else if (name === 'projects.get') write(query, projects.get(String(input['project'])) ?? data)
      else if (name === 'environments.list' && environments !== null) write(query, { environments })
      else if (name === 'system.status' && Object.keys(status).length > 0)
        write(query, { ...(data as SystemStatus), ...status })
      else if (name === 'system.history' && status.figures)
        write(query, { samples: addSample((data as { samples: Figures[] }).samples, status.figures) })
    }
  }

  function write(query: Query, data: unknown): void {
    if (data !== query.state.data) queryClient.setQueryData(query.queryKey as QueryKey, data)
  }

  function refetchSoon(query: Query): void {
    if (refetches.has(query.queryHash)) return
    const timer = setTimeout(() => {
      refetches.delete(query.queryHash)
      // One that is under way may have been answered before the change, and to break it off each time would never let it end.
      if (query.state.fetchStatus === 'fetching') return refetchSoon(query)
      void queryClient.invalidateQueries({ queryKey: query.queryKey, exact: true })
    }, refetchAfterMs)
    refetches.set(query.queryHash, timer)
  }
}

/** Several changes of one thing within one frame: only the newest is drawn. */
function newestOfEach(changes: readonly Change[]): Change[] {
  const newest = new Map<string, Change>()
  for (const change of changes) {
    const key = keyOf(change)
    newest.delete(key)
    newest.set(key, change)
  }
  return [...newest.values()]
}

function keyOf(change: Change): string {
  if (change.kind === 'job') return `job ${change.job.id}`
  if (change.kind === 'job_removed') return `job ${change.id}`
  if (change.kind === 'waiting') return `waiting ${change.lane}`
  if (change.kind === 'node') return `node ${change.node.id}`
  if (change.kind === 'node_removed') return `node ${change.id}`
  if (change.kind === 'schedule') return `schedule ${change.schedule.id}`
  if (change.kind === 'schedule_removed') return `schedule ${change.id}`
  if (change.kind === 'project') return `project ${change.project.name}`
  if (change.kind === 'project_removed') return `project ${change.name}`
  return change.kind
}

/** Rows stand by name: where a new or renamed one belongs, and whether it fits the filter, only the engine knows. */
function updateScheduleList(
  data: SchedulePage | InfiniteData<SchedulePage>,
  schedules: ReadonlyMap<string, Schedule | null>
): { data: unknown; lacksRows: boolean } {
  const unseen = new Set([...schedules].flatMap(([id, schedule]) => (schedule === null ? [] : [id])))
  let isRenamed = false
  const update = (page: SchedulePage): SchedulePage => {
    const rows = page.schedules.flatMap((row) => {
      const change = schedules.get(row.id)
      unseen.delete(row.id)
      if (change === undefined) return [row]
      if (change !== null && change.name !== row.name) isRenamed = true
      return change === null ? [] : [change]
    })
    if (rows.length === page.schedules.length && rows.every((row, index) => row === page.schedules[index])) return page
    return { ...page, schedules: rows }
  }
  if (!('pages' in data)) return { data: lessTotal(update(data), data), lacksRows: unseen.size > 0 || isRenamed }
  const pages = data.pages.map(update)
  const isSame = pages.every((page, index) => page === data.pages[index])
  const gone = count(data.pages) - count(pages)
  const told = gone === 0 ? pages : pages.map((page) => ({ ...page, total: page.total - gone }))
  return { data: isSame ? data : { ...data, pages: told }, lacksRows: unseen.size > 0 || isRenamed }
}

const count = (pages: readonly SchedulePage[]) => pages.reduce((sum, { schedules }) => sum + schedules.length, 0)
const lessTotal = (page: SchedulePage, before: SchedulePage): SchedulePage =>
  page === before ? page : { ...page, total: before.total - before.schedules.length + page.schedules.length }

/** What a lane waits for is told once for all its queued jobs. */
function tellWaiting<T extends { job: Job }>(data: T, waiting: ReadonlyMap<string, Waiting>): T {
  const news = data.job.state === 'queued' ? waiting.get(data.job.lane) : undefined
  return news === undefined ? data : { ...data, job: { ...data.job, waiting: news } }
}

function tellWaitingInList(
  data: JobPage | InfiniteData<JobPage>,
  waiting: ReadonlyMap<string, Waiting>
): JobPage | InfiniteData<JobPage> {
  const update = (page: JobPage): JobPage => ({
    ...page,
    jobs: page.jobs.map((job) => tellWaiting({ job }, waiting).job)
  })
  return 'pages' in data ? { ...data, pages: data.pages.map(update) } : update(data)
}

function updateJobList(
  data: JobPage | InfiniteData<JobPage>,
  input: JobFilter & { before?: string; limit?: number },
  jobs: ReadonlyMap<string, Job | null>
): unknown {
  if (!('pages' in data)) return trimPage(updateJobPage(data, input, jobs, input.before ?? null), input.limit ?? 100)
  // The first page takes what is new; every page keeps its own rows and the gap down to its last one.
  let above: string | null = null
  const pages = data.pages.map((page) => {
    const updated = updateJobPage(page, input, jobs, above)
    above = page.nextBefore
    return updated
  })
  if (pages.every((page, index) => page === data.pages[index])) return data
  // Left open for days, the list would grow without end: what is far down is fetched again when somebody scrolls there.
  const [first] = pages
  if (first && first.jobs.length > LIST_ROWS_MAX) {
    return { pages: [trimPage(first, LIST_ROWS_MAX / 2)], pageParams: data.pageParams.slice(0, 1) }
  }
  return { ...data, pages }
}

/** Rows went out of a page that ended at its limit: those that stood below it belong into it now. */
function lacksRows(data: unknown, { limit = 100 }: { limit?: number }): boolean {
  const { jobs, nextBefore } = data as Partial<JobPage>
  return jobs !== undefined && nextBefore != null && jobs.length < limit
}

function trimPage(page: JobPage, rows: number): JobPage {
  if (page.jobs.length <= rows) return page
  const jobs = page.jobs.slice(0, rows)
  return { jobs, nextBefore: jobs.at(-1)?.id ?? null }
}

/** Rows stand newest first, and ids sort by time, so a job's place in a page follows from its id. */
function updateJobPage(
  page: JobPage,
  filter: JobFilter,
  jobs: ReadonlyMap<string, Job | null>,
  above: string | null
): JobPage {
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

function mergeList<T>(list: readonly T[], changes: ReadonlyMap<string, T | null>, idOf: (item: T) => string): T[] {
  const present = new Set(list.map(idOf))
  const kept = list
    .map((item) => (changes.has(idOf(item)) ? changes.get(idOf(item)) : item))
    .filter((item) => item != null)
  return [
    ...kept,
    ...[...changes].filter(([id, item]) => item !== null && !present.has(id)).map(([, item]) => item as T)
  ]
}

const SAMPLE_EVERY_MS = 10_000
const SAMPLES_KEPT = 360

/** The newest figures are always the last sample; the row grows by one each 10 s. */
function addSample(samples: readonly Figures[], figures: Figures): Figures[] {
  const [before, last] = [samples.at(-2), samples.at(-1)]
  if (last && figures.sampledAtMs < last.sampledAtMs) return [...samples]
  const replaces = before !== undefined && last !== undefined && last.sampledAtMs - before.sampledAtMs < SAMPLE_EVERY_MS
  return [...(replaces ? samples.slice(0, -1) : samples), figures].slice(-SAMPLES_KEPT)
}

// A hidden window draws no frames; its cache is kept true by a timer.
function nextFrame(flush: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(flush)
  else setTimeout(flush, 250)
}

function sleep(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, durationMs)
    signal.addEventListener('abort', done, { once: true })
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
