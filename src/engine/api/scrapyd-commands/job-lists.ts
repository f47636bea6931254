import type { ProjectName } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import type { CacheFigures } from '../../runtime/cache-figures.ts'
import type { Clock } from '../../runtime/clock.ts'
import { largeBytesOf, type FinishedRun, type StoredJob } from '../../model/records.ts'
import type { AttemptReader, ChangeNotifier, JobReader } from '../../storage/store.ts'
import type { ScrapydJobs, ScrapydRun } from './scrapyd-shapes.ts'
import type { StorePosition } from '../../cluster/cache/store-position.ts'
import type { ScrapydFiles } from './scrapyd-files.ts'

const LIVE_LISTED_MAX = 1_000_000
const LIVE_MAX_BYTES = 16_000_000
/**
 * How long the list of log and items files of finished runs is reused. The files rarely change, but clients can poll a
 * thousand times a second.
 */
const FILES_SEEN_FOR_MS = 1_000

/** The run of a job. `itemsKept` is absent while the run is live, because its items are not archived yet. */
type Run = Omit<FinishedRun['run'], 'itemsKept'> & { itemsKept?: boolean }
interface Live {
  pending: ScrapydJobs['pending']
  running: { job: StoredJob; pid: number | null; run: Run | null }[]
}
interface Finished {
  seenAtMs: number
  isOfStore: boolean
  jobs: ScrapydJobs['finished']
  ofProject: Map<string, ScrapydJobs['finished']>
}

/** Caches store reads until the store changes, so polling needs no query. */
export class ScrapydJobLists {
  readonly #store: JobReader & AttemptReader & ChangeNotifier
  readonly #files: Pick<ScrapydFiles, 'hasLocal'>
  readonly #clock: Clock
  readonly #position: StorePosition
  /** Cleared on every store change. */
  readonly #kept = new Map<string, Promise<unknown>>()
  readonly #figures = { hits: 0, misses: 0 }
  #keptAt = 0
  #finished: { runs: FinishedRun[]; described: Promise<Finished> } | null = null
  /** By project. null: all projects. */
  readonly #answers = new Map<string | null, { live: Live; finished: Finished; jobs: ScrapydJobs }>()

  constructor(parts: {
    store: JobReader & AttemptReader & ChangeNotifier
    files: Pick<ScrapydFiles, 'hasLocal'>
    clock: Clock
    position: StorePosition
  }) {
    this.#store = parts.store
    this.#files = parts.files
    this.#clock = parts.clock
    this.#position = parts.position
    parts.store.onChange(() => this.#forget())
  }

  cacheFigures(): CacheFigures {
    return { ...this.#figures, entries: this.#kept.size, bytes: null }
  }

  /** Returns the same object until the store changes. */
  async count(finishedToKeep: number): Promise<{ pending: number; running: number; finished: number }> {
    await this.#followStore()
    return this.#keep(`counts ${finishedToKeep}`, async () => {
      const [counts, finished] = await Promise.all([this.#store.countByState(), this.#finishedRuns(finishedToKeep)])
      return { pending: counts.queued + counts.starting, running: counts.running, finished: finished.length }
    })
  }

  async list(project: ProjectName | null, finishedToKeep: number): Promise<ScrapydJobs> {
    await this.#followStore()
    const [live, runs] = await Promise.all([
      this.#keep('live', () => this.#readLive()),
      this.#finishedRuns(finishedToKeep)
    ])
    const finished = await this.#describeFinished(runs)
    const kept = this.#answers.get(project)
    if (kept?.live === live && kept.finished === finished) return kept.jobs
    const jobs = await this.#select(project, live, finished)
    // Lists with jobs running on this machine are not cached, because their log files can appear at any time.
    if (jobs.running.length === 0 || jobs.isOfStore) this.#answers.set(project, { live, finished, jobs })
    return jobs
  }

  async #select(project: ProjectName | null, live: Live, finished: Finished): Promise<ScrapydJobs> {
    // Filters the jobs of all projects, because reading those of one project would cost more.
    const isOfStore = finished.isOfStore && !live.running.some(({ run }) => run?.nodeId === LOCAL_NODE_ID)
    if (project === null) {
      const running = await this.#describeRunning(live.running)
      return { pending: live.pending, running, finished: finished.jobs, isOfStore }
    }
    const isOfIt = (job: { project: ProjectName }) => job.project === project
    let ofProject = finished.ofProject.get(project)
    if (ofProject === undefined) finished.ofProject.set(project, (ofProject = finished.jobs.filter(isOfIt)))
    return {
      pending: live.pending.filter(isOfIt),
      running: await this.#describeRunning(live.running.filter(({ job }) => isOfIt(job))),
      finished: ofProject,
      isOfStore
    }
  }

  /** Changes by other engines are not announced here, so compare the store's position. */
  async #followStore(): Promise<void> {
    const asked = this.#position.current()
    const position = typeof asked === 'number' ? asked : await asked
    if (position !== this.#keptAt) this.#forget()
    this.#keptAt = position
  }

  #forget(): void {
    this.#kept.clear()
    this.#answers.clear()
  }

  #finishedRuns(limit: number): Promise<FinishedRun[]> {
    return this.#keep(`finished ${limit}`, () => this.#store.listFinishedRuns(limit))
  }

  #keep<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) as Promise<T> | undefined
    this.#figures[kept === undefined ? 'misses' : 'hits'] += 1
    if (kept !== undefined) return kept
    const reading = read()
    this.#kept.set(name, reading)
    reading.catch(() => this.#kept.delete(name))
    return reading
  }

  async #readLive(): Promise<Live> {
    const [jobs, attempts] = await Promise.all([
      this.#store.listJobs(
        { status: ['queued', 'starting', 'running'] },
        { before: null, limit: LIVE_LISTED_MAX, maxBytes: LIVE_MAX_BYTES }
      ),
      this.#store.listLiveAttempts()
    ])
    // A shorter list would look as if the other jobs had ended.
    if (largeBytesOf(jobs) >= LIVE_MAX_BYTES) {
      throw new ScrapdeckError(
        'ANSWER_TOO_LARGE',
        sentence('api.live_jobs_too_large', { liveMaxBytes: LIVE_MAX_BYTES })
      )
    }
    const attemptOf = new Map(attempts.map((attempt) => [attempt.jobId, attempt]))
    const running = jobs
      .filter((job) => job.state === 'running')
      .map((job) => {
        const attempt = attemptOf.get(job.id)
        // A pid is useful to a Scrapyd client only on its own machine, so only local pids are reported.
        const pid = attempt?.nodeId === LOCAL_NODE_ID ? attempt.pid : null
        return { job, pid, run: attempt ?? null }
      })
    return {
      pending: jobs
        .filter((job) => job.state !== 'running')
        .sort(inQueueOrder)
        .map(pendingJob),
      running: running.sort(
        ({ job: one }, { job: other }) => one.startedAtMs! - other.startedAtMs! || (one.id < other.id ? -1 : 1)
      )
    }
  }

  #describeRunning(running: Live['running']): Promise<ScrapydJobs['running']> {
    return Promise.all(
      running.map(async ({ job, pid, run }) => ({
        ...(await this.#describeRun(job, run)),
        pid,
        startedAtMs: job.startedAtMs
      }))
    )
  }

  #describeFinished(runs: FinishedRun[]): Promise<Finished> {
    if (this.#finished?.runs !== runs) {
      const described = this.#readFinished(runs)
      this.#finished = { runs, described }
      described.catch(() => {
        if (this.#finished?.described === described) this.#finished = null
      })
      return described
    }
    const { described } = this.#finished
    return described.then((finished) => {
      if (this.#clock.monotonicMs() - finished.seenAtMs < FILES_SEEN_FOR_MS) return finished
      if (this.#finished?.described === described) this.#finished = null
      return this.#describeFinished(runs)
    })
  }

  async #readFinished(runs: FinishedRun[]): Promise<Finished> {
    const seenAtMs = this.#clock.monotonicMs()
    const jobs = await Promise.all(
      runs.map(async (finished) => ({
        ...(await this.#describeRun(finished, finished.run)),
        startedAtMs: finished.startedAtMs,
        endedAtMs: finished.endedAtMs
      }))
    )
    const isOfStore = !runs.some(({ run }) => run?.nodeId === LOCAL_NODE_ID)
    return { seenAtMs, isOfStore, jobs, ofProject: new Map() }
  }

  /** For a remote run, only its node knows whether there are items that are not archived. */
  async #describeRun(
    job: Pick<StoredJob, 'id' | 'jobid' | 'project' | 'spider'>,
    run: Run | null
  ): Promise<ScrapydRun> {
    const { id, jobid, project, spider } = job
    const names = { jobid, project, spider }
    if (run === null) return { ...names, logFile: null, itemsFile: null }
    const archivedAs = run.jobid === jobid ? jobid : id
    const archivedItems = run.itemsKept === true ? `${archivedAs}.jl` : null
    if (run.nodeId !== LOCAL_NODE_ID) return { ...names, logFile: `${archivedAs}.log`, itemsFile: archivedItems }
    const file = { project, spider, jobid: run.jobid }
    const [hasLog, hasItems] = await Promise.all([
      this.#files.hasLocal('logs', file),
      this.#files.hasLocal('items', file)
    ])
    const archivedLog = run.logArchived ? `${archivedAs}.log` : null
    return {
      ...names,
      logFile: hasLog ? `${run.jobid}.log` : archivedLog,
      itemsFile: hasItems ? `${run.jobid}.jl` : archivedItems
    }
  }
}

/** Within a project, jobs that a node has accepted come first, then jobs by priority and queue order. */
function inQueueOrder(one: StoredJob, other: StoredJob): number {
  if (one.project !== other.project) return one.project < other.project ? -1 : 1
  if (one.state !== other.state) return one.state === 'starting' ? -1 : 1
  return other.priority - one.priority || one.rank - other.rank || (one.id < other.id ? -1 : 1)
}

function pendingJob(job: StoredJob): ScrapydJobs['pending'][number] {
  const { jobid, project, spider, version, settings, args } = maskSecrets(job)
  return { jobid, project, spider, version, settings, args }
}
