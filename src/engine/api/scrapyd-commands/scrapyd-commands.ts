import { hostname } from 'node:os'
import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { sanitiseVersion } from '../../../shared/ids.ts'
import type { ItemsArchive } from '../../runs/log-collector/items-archive.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { JobLogs } from '../../runs/logs/job-logs.ts'
import { ENDING_SIGNALS } from '../../nodes/node-client.ts'
import type { Archive } from '../../projects/egg-intake.ts'
import type { Projects } from '../../projects/projects.ts'
import type { CacheFigures } from '../../runtime/cache-figures.ts'
import type { SpiderLookup } from '../../projects/spider-lookup.ts'
import type { StorePosition } from '../../cluster/cache/store-position.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { StoredJob } from '../../model/records.ts'
import type { AttemptReader, ChangeNotifier, JobReader } from '../../storage/store.ts'
import type {
  FileTree,
  ScrapydDirectory,
  ScrapydFile,
  ScrapydJobs,
  ScrapydOrder,
  ScrapydSignal,
  ScrapydSpider,
  ScrapydState
} from './scrapyd-shapes.ts'
import { ScrapydFiles } from './scrapyd-files.ts'
import type { JobCommands } from '../commands/job-commands.ts'
import type { ProjectCommands } from '../commands/project-commands.ts'
import { ScrapydJobLists } from './job-lists.ts'

export interface ScrapydCommandsParts {
  store: JobReader & AttemptReader & ChangeNotifier
  fleet: Fleet
  projects: Projects
  spiderLookup: Pick<SpiderLookup, 'find'>
  jobLogs: JobLogs
  itemsArchive: Pick<ItemsArchive, 'sizeBytes' | 'read' | 'whyGone'>
  jobCommands: JobCommands
  projectCommands: ProjectCommands
  /** null: there is no such directory. */
  directories: Record<FileTree, string | null>
  clock: Clock
  position: StorePosition
}

/**
 * Presents the whole fleet as one Scrapyd. Rejects with PROJECT_NOT_FOUND, VERSION_NOT_FOUND, SPIDER_NOT_FOUND and
 * EGG_…, which the server reports in the wording of Scrapyd 1.6.
 */
export class ScrapydCommands {
  readonly nodeName = hostname()
  readonly #parts: ScrapydCommandsParts
  readonly #files: ScrapydFiles
  readonly #lists: ScrapydJobLists

  constructor(parts: ScrapydCommandsParts) {
    this.#parts = parts
    this.#files = new ScrapydFiles(parts)
    this.#lists = new ScrapydJobLists({ ...parts, files: this.#files })
  }

  cacheFigures(): CacheFigures {
    return this.#lists.cacheFigures()
  }

  daemonStatus(finishedToKeep: number): Promise<{ pending: number; running: number; finished: number }> {
    return this.#lists.count(finishedToKeep)
  }

  /**
   * Replaces even a version in use. Does not keep an invalid egg, but keeps one whose spiders cannot be listed
   * (SPIDERS_UNKNOWN). `pinned`: the pinned version if it is a different one. Jobs without a version run it instead.
   */
  async addVersion(
    project: ProjectName,
    version: VersionName,
    egg: Archive
  ): Promise<{ spiders: number; pinned: VersionName | null }> {
    const { projects, projectCommands } = this.#parts
    const stored = await projectCommands.upload(egg, { project, version }, { inUse: 'allow' })
    if (stored.spiders === null) {
      throw new ScrapdeckError(
        'SPIDERS_UNKNOWN',
        sentence('api.version_added_spiders_unknown', { version: stored.version, project: stored.project })
      )
    }
    const { pinnedVersion = null } = projects.settingsOf(project)
    return { spiders: stored.spiders.length, pinned: projects.isPinned(stored) ? null : pinnedVersion }
  }

  requireProject(project: ProjectName): void {
    this.#parts.projects.catalog.requireProject(project)
  }

  /**
   * Queues a job. Returns the client's own jobid, which can be any text, or the job's id. Calls `readOrder`, which may
   * throw, only if the spider exists, because Scrapyd checks project, version and spider before the rest.
   */
  async schedule(
    { project, version, spider }: ScrapydSpider,
    readOrder: () => ScrapydOrder
  ): Promise<{ jobid: string }> {
    this.#parts.projects.catalog.resolve(project, version, spider)
    const { settings, args, priority, jobid } = readOrder()
    const [job] = await this.#parts.jobCommands.queue(
      { project, version, spiders: [spider], settings, args, ...(priority !== null && { priority }) },
      { source: 'scrapyd', jobid: jobid ?? undefined, isSpiderKnown: true }
    )
    return { jobid: job!.jobid }
  }

  /**
   * Removes pending jobs and signals running ones. With `signal: null`, the first call stops a run gracefully and the
   * second by force, like INT in Scrapy. `refuse` is the message (BAD_INPUT) for an invalid signal, thrown only if a
   * running job matches.
   */
  async cancel(request: {
    project: ProjectName
    jobid: string
    signal: ScrapydSignal | null
  }): Promise<{ prevstate: ScrapydState | null }> {
    const { project, jobid, signal } = request
    const { store, jobCommands } = this.#parts
    this.#parts.projects.catalog.requireProject(project)
    const live = (await store.findJobsByJobid(project, jobid)).filter((job) => job.state !== 'ended')
    const running = live.filter((job) => job.state === 'running')
    const pending = live.filter((job) => job.state !== 'running').map(({ id }) => id)
    if (pending.length > 0) await jobCommands.cancel(pending, { force: false })
    if (running.length === 0) return { prevstate: pending.length > 0 ? 'pending' : null }
    if (signal === null) {
      for (const job of running) await jobCommands.cancel([job.id], { force: job.cancelAskedAtMs !== null })
    } else if ('refuse' in signal) {
      throw new ScrapdeckError('BAD_INPUT', signal.refuse)
    } else {
      const ids = running.map(({ id }) => id)
      await jobCommands.signal(ids, signal.send, { isCancel: ENDING_SIGNALS.has(signal.send) })
    }
    return { prevstate: 'running' }
  }

  /** Among jobs with the same jobid, a finished one takes precedence, then a running one, as in Scrapyd. */
  async status({ jobid, project }: { jobid: string; project: ProjectName | null }): Promise<{
    currstate: ScrapydState | 'finished' | null
  }> {
    if (project !== null) this.#parts.projects.catalog.requireProject(project)
    const jobs = await this.#parts.store.findJobsByJobid(project, jobid)
    if (jobs.some(hasFinished)) return { currstate: 'finished' }
    const states = jobs.map(scrapydStateOf)
    return { currstate: states.includes('running') ? 'running' : states.includes('pending') ? 'pending' : null }
  }

  async listProjects(): Promise<readonly string[]> {
    return this.#parts.projects.catalog.names()
  }

  /** Returns sanitized versions, ascending, latest last. Empty for an unknown project, as in Scrapyd. */
  async listVersions(project: ProjectName): Promise<string[]> {
    return (this.#parts.projects.catalog.versionNames(project) ?? []).map(sanitiseVersion)
  }

  /** If the spiders are unknown, a node lists them. Rejects with EGG_IMPORT_FAILED or SPIDERS_UNKNOWN. */
  async listSpiders(project: ProjectName, version: VersionName | null): Promise<readonly string[]> {
    const stored = this.#parts.projects.catalog.requireVersion(project, version)
    return stored.spiders ?? this.#parts.spiderLookup.find(project, stored.version)
  }

  /**
   * Takes the newest `finishedToKeep` ended runs of all projects, newest first, then filters by project. Masks secrets.
   */
  async listJobs(project: ProjectName | null, finishedToKeep: number): Promise<ScrapydJobs> {
    if (project !== null) this.#parts.projects.catalog.requireProject(project)
    return this.#lists.list(project, finishedToKeep)
  }

  /** Allowed while jobs need the version: running jobs keep their egg, and queued jobs wait for a new upload. */
  async deleteVersion(project: ProjectName, version: VersionName): Promise<void> {
    await this.#parts.projectCommands.deleteVersion(project, version, { inUse: 'allow' })
  }

  async deleteProject(project: ProjectName): Promise<void> {
    await this.#parts.projectCommands.deleteProject(project, { inUse: 'allow' })
  }

  /**
   * Opens a path under /logs/ or /items/: a local file, a file of a run on another node, or a directory. Returns null
   * if there is none. Segments are decoded and contain no slash. Never leaves the two directories.
   */
  openFile(tree: FileTree, segments: string[]): Promise<ScrapydFile | ScrapydDirectory | null> {
    return this.#files.open(tree, segments)
  }
}

export type FleetAsScrapyd = Omit<Pick<ScrapydCommands, keyof ScrapydCommands>, 'cacheFigures'>

function scrapydStateOf(job: Pick<StoredJob, 'state'>): ScrapydState | null {
  if (job.state === 'ended') return null
  return job.state === 'running' ? 'running' : 'pending'
}

/** In Scrapyd, a job that was cancelled before it started leaves no trace. */
function hasFinished(job: StoredJob): boolean {
  return job.state === 'ended' && job.attemptCount > 0 && (job.outcome !== 'cancelled' || job.startedAtMs !== null)
}
