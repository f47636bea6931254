/**
 * The verbs behind the Scrapyd-compatible door: the whole fleet as one Scrapyd (design.md, chapter 8). Plain data in
 * and out; the server turns it into Scrapyd's own shapes. Failures are ScrapdeckErrors (PROJECT_NOT_FOUND,
 * VERSION_NOT_FOUND, SPIDER_NOT_FOUND, EGG_…), which the server words as Scrapyd 1.6 does.
 */
export interface FleetAsScrapyd {
  nodeName: string
  daemonStatus(): Promise<{ pending: number; running: number; finished: number }>
  /** Validates, stores, lists: the spider count. A version that fails is not kept. */
  addVersion(project: string, version: string, egg: Uint8Array): Promise<{ spiders: number }>
  /** Returns the jobid the client will know it by: its own, or the job's id. */
  schedule(request: ScrapydScheduleRequest): Promise<{ jobid: string }>
  /** One call = one step of the ladder, as in Scrapyd: the first asks, a second forces. */
  cancel(request: {
    project: string
    jobid: string
    signal: string | null
  }): Promise<{ prevstate: ScrapydState | null }>
  status(request: { jobid: string; project: string | null }): Promise<{ currstate: ScrapydState | 'finished' | null }>
  listProjects(): Promise<string[]>
  /** Sanitised, ascending, latest last; empty for an unknown project, as Scrapyd answers. */
  listVersions(project: string): Promise<string[]>
  listSpiders(project: string, version: string | null): Promise<string[]>
  /** Finished: the newest 100 of the history, newest end first. */
  listJobs(project: string | null): Promise<ScrapydJobs>
  deleteVersion(project: string, version: string): Promise<void>
  deleteProject(project: string): Promise<void>
  /** The log of the newest run known by this jobid, wherever it is; null when there is none. Negative offset: from the end. */
  readLog(
    run: { project: string; spider: string; jobid: string },
    range: { offset: number; limitBytes: number }
  ): Promise<{ offset: number; sizeBytes: number; bytes: Uint8Array } | null>
  /** What /logs/ lists: projects; with a project its spiders; with both its jobids with sizes (null: unknown). */
  listLogs(project: string | null, spider: string | null): Promise<{ name: string; sizeBytes: number | null }[]>
}

export type ScrapydState = 'pending' | 'running'

export interface ScrapydScheduleRequest {
  project: string
  spider: string
  /** null: latest at start. */
  version: string | null
  jobid: string | null
  priority: number
  settings: Record<string, string>
  args: Record<string, string>
}

export interface ScrapydJobs {
  pending: {
    jobid: string
    project: string
    spider: string
    version: string | null
    settings: Record<string, string>
    args: Record<string, string>
  }[]
  running: {
    jobid: string
    project: string
    spider: string
    pid: number | null
    startedAtMs: number | null
    hasLog: boolean
  }[]
  finished: {
    jobid: string
    project: string
    spider: string
    startedAtMs: number | null
    endedAtMs: number
    hasLog: boolean
  }[]
}
