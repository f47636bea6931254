import { hostname } from 'node:os'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { JobLogs } from '../nodes/job-logs.ts'
import { NodeError, type NodeSignal } from '../nodes/node-client.ts'
import type { Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredJob } from '../store/records.ts'
import type { AttemptReader, ChangeNotifier, JobReader } from '../store/store.ts'
import type { FileTree, FleetAsScrapyd, ScrapydState } from './fleet-as-scrapyd.ts'
import { ScrapydFiles } from './scrapyd-files.ts'
import type { JobCommands } from '../commands/job-commands.ts'
import type { ProjectCommands } from '../commands/project-commands.ts'
import { ScrapydJobLists } from './scrapyd-jobs.ts'

export interface ScrapydCommandsParts {
  store: JobReader & AttemptReader & ChangeNotifier
  fleet: Fleet
  projects: Projects
  jobLogs: JobLogs
  jobCommands: JobCommands
  projectCommands: ProjectCommands
  /** Where this machine's runs leave their logs and items; null: nowhere. */
  directories: Record<FileTree, string | null>
  clock: Clock
}

/** The signals that end a spider, gracefully or not: HUP, INT, QUIT, KILL, TERM. Others do what they do, and it goes on. */
const ENDING_SIGNALS = new Set<NodeSignal>(['HUP', 'INT', 'KILL', 'TERM', 1, 2, 3, 9, 15])

/** The whole fleet as one Scrapyd: its verbs in terms of ours. */
export function createScrapydCommands(parts: ScrapydCommandsParts): FleetAsScrapyd {
  const { store, fleet, projects, jobCommands, projectCommands } = parts
  const files = new ScrapydFiles(parts)
  const lists = new ScrapydJobLists({ ...parts, files })

  function requireProject(project: string): void {
    if (projects.versionNames(project) === null) {
      throw new ScrapdeckError('PROJECT_NOT_FOUND', `No node and no upload has a project "${project}"`)
    }
  }

  /** Of a version that nobody has listed yet: a node that has it is asked. */
  async function listSpidersOnNodes(project: string, version: string): Promise<void> {
    for (const { nodeId, state } of projects.find(project, version)?.deployments ?? []) {
      const node = fleet.get(nodeId)
      if (node === undefined || state !== 'present') continue
      try {
        return await projects.recordSpiders(project, version, await node.client.listSpiders(project, version))
      } catch (error) {
        // The next node may know; where none does, the list stays empty, and any spider may be run.
        if (!(error instanceof NodeError) && !(error instanceof ScrapdeckError)) throw error
      }
    }
  }

  return {
    nodeName: hostname(),
    daemonStatus: (finishedToKeep) => lists.count(finishedToKeep),
    async addVersion(project, version, egg) {
      const stored = await projectCommands.upload(egg, { project, version }, { inUse: 'allow' })
      return { spiders: stored.spiders?.length ?? 0 }
    },
    async requireSpider(project, version, spider) {
      projects.resolve(project, version, spider)
    },
    async schedule(request) {
      const [job] = await jobCommands.queue(
        {
          project: request.project,
          version: request.version,
          spiders: [request.spider],
          settings: request.settings,
          args: request.args,
          priority: request.priority
        },
        { source: 'scrapyd', jobid: request.jobid ?? undefined }
      )
      return { jobid: job!.jobid }
    },
    async cancel({ project, jobid, signal }) {
      requireProject(project)
      const live = (await store.findJobsByJobid(jobid, project)).filter((job) => job.state !== 'ended')
      const running = live.filter((job) => job.state === 'running')
      const pending = live.filter((job) => job.state !== 'running').map(({ id }) => id)
      if (pending.length > 0) await jobCommands.cancel(pending, { force: false })
      if (running.length === 0) return { prevstate: pending.length > 0 ? 'pending' : null }
      if (signal === null) {
        // Scrapy stops gracefully on the first signal and at once on the second: a second call is a forced one.
        for (const job of running) await jobCommands.cancel([job.id], { force: job.cancelAskedAtMs !== null })
      } else if ('refuse' in signal) {
        throw new ScrapdeckError('BAD_INPUT', signal.refuse)
      } else {
        const isCancel = ENDING_SIGNALS.has(signal.send)
        await jobCommands.signal(
          running.map(({ id }) => id),
          signal.send,
          { isCancel }
        )
      }
      return { prevstate: 'running' }
    },
    async status({ jobid, project }) {
      if (project !== null) requireProject(project)
      const jobs = await store.findJobsByJobid(jobid, project)
      if (jobs.some(hasFinished)) return { currstate: 'finished' }
      const states = jobs.map(scrapydStateOf)
      return { currstate: states.includes('running') ? 'running' : states.includes('pending') ? 'pending' : null }
    },
    listProjects: async () => projects.names(),
    listVersions: async (project) => (projects.versionNames(project) ?? []).map(sanitiseVersion),
    async listSpiders(project, version) {
      const stored = projects.requireVersion(project, version)
      if (stored.spiders === null) await listSpidersOnNodes(project, stored.version)
      return projects.spidersOf(project, version)
    },
    async listJobs(project, finishedToKeep) {
      if (project !== null) requireProject(project)
      return lists.list(project, finishedToKeep)
    },
    async deleteVersion(project, version) {
      await projectCommands.deleteVersion(project, version, { inUse: 'allow' })
    },
    async deleteProject(project) {
      await projectCommands.deleteProject(project, { inUse: 'allow' })
    },
    openFile: (tree, segments) => files.open(tree, segments)
  }
}

function scrapydStateOf(job: Pick<StoredJob, 'state'>): ScrapydState | null {
  if (job.state === 'ended') return null
  return job.state === 'running' ? 'running' : 'pending'
}

/** To a Scrapyd, what was cancelled before it started was never there. */
function hasFinished(job: StoredJob): boolean {
  return job.state === 'ended' && job.attemptCount > 0 && (job.outcome !== 'cancelled' || job.startedAtMs !== null)
}
