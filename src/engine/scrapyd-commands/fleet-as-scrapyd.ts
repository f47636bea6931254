import type { Readable } from 'node:stream'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import type { NodeSignal } from '../nodes/node-client.ts'

/**
 * The verbs behind the Scrapyd-compatible door: the whole fleet as one Scrapyd. Plain data in
 * and out; the server turns it into Scrapyd's own shapes. Failures are ScrapdeckErrors (PROJECT_NOT_FOUND,
 * VERSION_NOT_FOUND, SPIDER_NOT_FOUND, EGG_…), which the server words as Scrapyd 1.6 does.
 */
export interface FleetAsScrapyd {
  /** This host's. */
  nodeName: string
  daemonStatus(finishedToKeep: number): Promise<{ pending: number; running: number; finished: number }>
  /** Validates, stores, lists: the spider count. Replaces a version, also one in use. A version that fails is not kept. */
  addVersion(project: ProjectName, version: VersionName, egg: Uint8Array): Promise<{ spiders: number }>
  /** Rejects where `schedule` would for what is named here: Scrapyd looks at these before it reads settings and arguments. */
  requireSpider(project: ProjectName, version: VersionName | null, spider: string): Promise<void>
  /** Returns the jobid the client will know it by: its own, or the job's id. Any text; where it cannot name a file, the run has another. */
  schedule(request: ScrapydScheduleRequest): Promise<{ jobid: string }>
  /**
   * Removes what is pending and signals what runs. `signal` null: one step of the ladder a call, as Scrapy takes INT: the
   * first asks, a second forces. `refuse`: the message (BAD_INPUT) for what is no signal, once a running job matches.
   */
  cancel(request: {
    project: ProjectName
    jobid: string
    signal: ScrapydSignal | null
  }): Promise<{ prevstate: ScrapydState | null }>
  /** Of several with this jobid a finished one counts first, then a running one, as in Scrapyd. */
  status(request: {
    jobid: string
    project: ProjectName | null
  }): Promise<{ currstate: ScrapydState | 'finished' | null }>
  listProjects(): Promise<string[]>
  /** Sanitised, ascending, latest last; empty for an unknown project, as Scrapyd answers. */
  listVersions(project: ProjectName): Promise<string[]>
  /** Asks for them where they are not known. */
  listSpiders(project: ProjectName, version: VersionName | null): Promise<string[]>
  /** Finished: the newest `finishedToKeep` of all projects, newest end first; of those the ones of `project`. Secrets masked. */
  listJobs(project: ProjectName | null, finishedToKeep: number): Promise<ScrapydJobs>
  /** Also while jobs need it: running ones keep their egg, queued ones wait for another. */
  deleteVersion(project: ProjectName, version: VersionName): Promise<void>
  deleteProject(project: ProjectName): Promise<void>
  /**
   * What stands at a path under /logs/ or /items/: a file of this machine, the log or the items of a run on another node, or
   * a directory; null: nothing. Segments are decoded and hold no slash. Nothing outside the two directories is ever found.
   */
  openFile(tree: FileTree, segments: string[]): Promise<ScrapydFile | ScrapydDirectory | null>
}

export type ScrapydSignal = { send: NodeSignal } | { refuse: string }

export type ScrapydState = 'pending' | 'running'

export interface ScrapydScheduleRequest {
  project: ProjectName
  spider: string
  /** null: latest at start. */
  version: VersionName | null
  jobid: string | null
  priority: number
  settings: Record<string, string>
  args: Record<string, string>
}

/** The same object, or at least the same arrays, come again while nothing has changed: what was made of them can be kept. */
export interface ScrapydJobs {
  pending: {
    jobid: string
    project: ProjectName
    spider: string
    version: VersionName | null
    settings: Record<string, string>
    args: Record<string, string>
  }[]
  running: (ScrapydRun & { pid: number | null; startedAtMs: number | null })[]
  finished: (ScrapydRun & { startedAtMs: number | null; endedAtMs: number })[]
}

export interface ScrapydRun {
  jobid: string
  project: ProjectName
  spider: string
  /** Names in the run's directory of logs and of items; null where there is no file now. */
  logFile: string | null
  itemsFile: string | null
}

export type FileTree = 'logs' | 'items'

export interface ScrapydFile {
  kind: 'file'
  sizeBytes: number
  /** null: not known. */
  modifiedAtMs: number | null
  /** The bytes from `start` up to, not including, `stop`; breaks off with an error where the file has become shorter. */
  read(start: number, stop: number): Readable
}

export interface ScrapydDirectory {
  kind: 'directory'
  /** In the order of their names. */
  entries: { name: string; isDirectory: boolean; sizeBytes: number | null; modifiedAtMs: number | null }[]
}
