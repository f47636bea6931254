import { hostname } from 'node:os'
import type { Job, JobStatus } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { LOCAL_NODE_ID, sanitiseVersion } from '../../shared/ids.ts'
import { maskSecrets } from '../../shared/secret-values.ts'
import type { JobLogs } from '../nodes/job-logs.ts'
import type { Projects } from '../projects/projects.ts'
import type { Store, StoredJob } from '../store/store.ts'
import type { FleetAsScrapyd, ScrapydJobs, ScrapydState } from './fleet-as-scrapyd.ts'
import type { JobCommands } from './job-commands.ts'
import type { ProjectCommands } from './project-commands.ts'

export interface ScrapydCommandsParts {
  store: Store
  projects: Projects
  jobLogs: JobLogs
  jobCommands: JobCommands
  projectCommands: ProjectCommands
}

const ENDED: JobStatus[] = ['succeeded', 'failed', 'cancelled', 'lost']
const LIVE: JobStatus[] = ['queued', 'starting', 'running']
const FINISHED_LISTED = 100
const LIVE_LISTED_MAX = 10_000
// Scrapyd takes these arguments and loses them (scrapyd-protocol.md, 3.3); clients that send them are not refused.
const LOST_ARGUMENTS = new Set(['_project', '_spider', 'egg'])

/** The whole fleet as one Scrapyd: its verbs in terms of ours. */
export function createScrapydCommands(parts: ScrapydCommandsParts): FleetAsScrapyd {
  const { store, projects, jobLogs, jobCommands, projectCommands } = parts

  function requireProject(project: string): void {
    if (projects.versionNames(project) === null) {
      throw new ScrapdeckError('PROJECT_NOT_FOUND', `No node and no upload has a project "${project}"`)
    }
  }

  async function newestByJobid(jobid: string, project: string | null): Promise<StoredJob | null> {
    return (await store.findJobsByJobid(jobid, project))[0] ?? null
  }

  return {
    nodeName: hostname(),
    async daemonStatus() {
      const counts = await store.countByState()
      return { pending: counts.queued + counts.starting, running: counts.running, finished: counts.ended }
    },
    async addVersion(project, version, egg) {
      const stored = await projectCommands.upload(egg, { project, version })
      return { spiders: stored.spiders?.length ?? 0 }
    },
    async schedule(request) {
      const args = Object.fromEntries(Object.entries(request.args).filter(([name]) => !LOST_ARGUMENTS.has(name)))
      const [job] = await jobCommands.run(
        {
          project: request.project,
          version: request.version,
          spiders: [request.spider],
          settings: request.settings,
          args,
          priority: request.priority
        },
        { source: 'scrapyd', jobid: request.jobid ?? undefined }
      )
      return { jobid: job!.jobid }
    },
    async cancel({ project, jobid, signal }) {
      requireProject(project)
      const live = (await store.findJobsByJobid(jobid, project)).filter((job) => job.state !== 'ended')
      if (live.length === 0) return { prevstate: null }
      const prevstate = live.some((job) => job.state === 'running') ? 'running' : 'pending'
      // Scrapy stops gracefully on the first signal and at once on the second: a second call is a forced one.
      for (const job of live) {
        await jobCommands.cancel([job.id], { force: signal === 'KILL' || job.cancelAskedAtMs !== null })
      }
      return { prevstate }
    },
    async status({ jobid, project }) {
      if (project !== null) requireProject(project)
      const job = await newestByJobid(jobid, project)
      return { currstate: job === null ? null : (scrapydStateOf(job) ?? 'finished') }
    },
    listProjects: async () => projects.names(),
    listVersions: async (project) => (projects.versionNames(project) ?? []).map(sanitiseVersion),
    async listSpiders(project, version) {
      return projects.spidersOf(project, version)
    },
    async listJobs(project) {
      if (project !== null) requireProject(project)
      const filter = project === null ? {} : { project }
      // The filter takes `*`; a client means the name as it is.
      const isAsked = (job: StoredJob) => project === null || job.project === project
      const [live, ended] = await Promise.all([
        store.listJobs({ ...filter, status: LIVE }, { before: null, limit: LIVE_LISTED_MAX }),
        store.listJobs({ ...filter, status: ENDED }, { before: null, limit: FINISHED_LISTED })
      ])
      return {
        pending: live
          .filter((job) => job.state !== 'running' && isAsked(job))
          .sort(inQueueOrder)
          .map(pendingJob),
        running: await Promise.all(
          live
            .filter((job) => job.state === 'running' && isAsked(job))
            .reverse()
            .map((job) => runningJob(store, job))
        ),
        finished: ended
          .filter(isAsked)
          .sort((left, right) => right.endedAtMs! - left.endedAtMs!)
          .map((job) => ({
            jobid: job.jobid,
            project: job.project,
            spider: job.spider,
            startedAtMs: job.startedAtMs,
            endedAtMs: job.endedAtMs!,
            hasLog: job.attemptCount > 0
          }))
      }
    },
    async deleteVersion(project, version) {
      await projectCommands.deleteVersion(project, version)
    },
    async deleteProject(project) {
      await projectCommands.deleteProject(project)
    },
    async readLog({ project, spider, jobid }, range) {
      const job = (await store.findJobsByJobid(jobid, project)).find((candidate) => candidate.spider === spider)
      return job === undefined ? null : jobLogs.read(job.id, undefined, range)
    },
    async listLogs(project, spider) {
      if (project === null) return projects.names().map((name) => ({ name, sizeBytes: null }))
      if (spider === null) return (await projects.allSpidersOf(project)).map((name) => ({ name, sizeBytes: null }))
      const jobs = await store.listJobs(
        { project, spider, status: ['running', ...ENDED] },
        { before: null, limit: FINISHED_LISTED }
      )
      return jobs
        .filter((job) => job.project === project && job.spider === spider && job.attemptCount > 0)
        .map((job) => ({ name: job.jobid, sizeBytes: null }))
    }
  }
}

function scrapydStateOf(job: Pick<Job, 'state'>): ScrapydState | null {
  if (job.state === 'ended') return null
  return job.state === 'running' ? 'running' : 'pending'
}

function inQueueOrder(left: StoredJob, right: StoredJob): number {
  if (left.state !== right.state) return left.state === 'starting' ? -1 : 1
  return right.priority - left.priority || (left.id < right.id ? -1 : 1)
}

function pendingJob(job: StoredJob): ScrapydJobs['pending'][number] {
  const { jobid, project, spider, version, settings, args } = maskSecrets(job)
  return { jobid, project, spider, version, settings, args }
}

async function runningJob(store: Store, job: StoredJob): Promise<ScrapydJobs['running'][number]> {
  const attempt = (await store.listAttempts(job.id)).at(-1)
  // A pid means something to a Scrapyd client only on its own machine, which is ours.
  const pid = attempt?.nodeId === LOCAL_NODE_ID ? attempt.pid : null
  return { jobid: job.jobid, project: job.project, spider: job.spider, pid, startedAtMs: job.startedAtMs, hasLog: true }
}
