import type { FleetAsScrapyd, ScrapydJobs } from '../../engine/commands/fleet-as-scrapyd.ts'
import type { FormValues } from './form-values.ts'
import { ScrapydAnswerError, takeAll, takeBytes, takeConverted, takeOptional, takeRequired } from './parameters.ts'
import type { PythonJsonValue } from './python-json.ts'
import { decodeUtf8, parsePythonFloat } from './python-text.ts'

export interface Endpoint {
  method: 'GET' | 'POST'
  /** The fields of a success, in Scrapyd's order, without the envelope. */
  answer(fleet: FleetAsScrapyd, args: FormValues): Promise<Record<string, PythonJsonValue>>
}

/**
 * The endpoints of Scrapyd 1.6 over the fleet (scrapyd-protocol.md, 3). Parameters are taken in Scrapyd's own order, because
 * the first bad one is the one it names.
 */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'daemonstatus.json': {
    method: 'GET',
    async answer(fleet) {
      const { pending, running, finished } = await fleet.daemonStatus()
      return { pending, running, finished }
    }
  },
  'addversion.json': {
    method: 'POST',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      const version = takeRequired(args, 'version')
      const egg = takeBytes(args, 'egg')
      refuseTraversal(project)
      if (version === '') throw new ScrapydAnswerError('version is invalid: it is empty')
      const { spiders } = await fleet.addVersion(project, version, egg)
      return { project, version, spiders }
    }
  },
  'schedule.json': {
    method: 'POST',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      const spider = takeRequired(args, 'spider')
      const version = takeOptional(args, '_version') || null
      const jobid = takeOptional(args, 'jobid')
      const priority = takeConverted(args, 'priority', parsePythonFloat) ?? 0
      const settings = readSettings(takeAll(args, 'setting', decodeUtf8))
      const request = {
        project,
        spider,
        version,
        jobid,
        priority: toFinite(priority),
        settings,
        args: readSpiderArguments(args)
      }
      return { jobid: (await fleet.schedule(request)).jobid }
    }
  },
  'cancel.json': {
    method: 'POST',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      const jobid = takeRequired(args, 'job')
      const signal = takeOptional(args, 'signal')
      if (signal !== null && !/^(HUP|INT|KILL|STOP|TERM|\d{1,3})$/.test(signal)) {
        throw new ScrapydAnswerError("TypeError: 'str' object cannot be interpreted as an integer")
      }
      return { prevstate: (await fleet.cancel({ project, jobid, signal })).prevstate }
    }
  },
  'status.json': {
    method: 'GET',
    async answer(fleet, args) {
      const jobid = takeRequired(args, 'job')
      const project = takeOptional(args, 'project')
      return { currstate: (await fleet.status({ jobid, project })).currstate }
    }
  },
  'listprojects.json': {
    method: 'GET',
    async answer(fleet) {
      return { projects: await fleet.listProjects() }
    }
  },
  'listversions.json': {
    method: 'GET',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      refuseTraversal(project)
      return { versions: await fleet.listVersions(project) }
    }
  },
  'listspiders.json': {
    method: 'GET',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      const version = takeOptional(args, '_version') || null
      return { spiders: await fleet.listSpiders(project, version) }
    }
  },
  'listjobs.json': {
    method: 'GET',
    async answer(fleet, args) {
      const project = takeOptional(args, 'project')
      return describeJobs(await fleet.listJobs(project))
    }
  },
  'delversion.json': {
    method: 'POST',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      const version = takeRequired(args, 'version')
      refuseTraversal(project)
      await fleet.deleteVersion(project, version)
      return {}
    }
  },
  'delproject.json': {
    method: 'POST',
    async answer(fleet, args) {
      const project = takeRequired(args, 'project')
      refuseTraversal(project)
      await fleet.deleteProject(project)
      return {}
    }
  }
}

/**
 * Scrapyd 1.5+ refuses names that leave its eggs directory. Unlike Scrapyd, we refuse the empty name and `.` as well: there
 * they mean the eggs directory itself, and delproject deletes every egg (scrapyd-protocol.md, 3.9).
 */
function refuseTraversal(project: string): void {
  if (project.includes('\0')) throw new ScrapydAnswerError('ValueError: embedded null byte')
  if (project === '' || project === '.' || project === '..' || project.includes('/') || project.includes('\\')) {
    throw new ScrapydAnswerError(`DirectoryTraversalError: ${project}`)
  }
}

/** `KEY=VALUE`, split at the first `=`; the last of a key wins. */
function readSettings(pairs: string[]): Record<string, string> {
  const settings: [string, string][] = pairs.map((pair, index) => {
    const equals = pair.indexOf('=')
    if (equals === -1) {
      throw new ScrapydAnswerError(
        `ValueError: dictionary update sequence element #${index} has length 1; 2 is required`
      )
    }
    return [pair.slice(0, equals), pair.slice(equals + 1)]
  })
  return Object.fromEntries(settings)
}

/** What is left over; but not the names that Scrapyd's own call has taken (scrapyd-protocol.md, 3.3). */
function readSpiderArguments(args: FormValues): Record<string, string> {
  const found: [string, string][] = []
  for (const [latin1Name, values] of args) {
    const name = decodeOrRefuse(Buffer.from(latin1Name, 'latin1'))
    if (['name', 'settings', '_job', 'spider_name', 'self'].includes(name)) {
      throw new ScrapydAnswerError(`TypeError: schedule() got multiple values for keyword argument '${name}'`)
    }
    found.push([name, decodeOrRefuse(values[0] as Buffer)])
  }
  return Object.fromEntries(found)
}

/** Scrapyd words a bad spider argument as the bare Python error. */
function decodeOrRefuse(bytes: Buffer): string {
  try {
    return decodeUtf8(bytes)
  } catch (error) {
    throw new ScrapydAnswerError(`UnicodeDecodeError: ${(error as Error).message}`, { cause: error })
  }
}

/** Scrapyd takes `inf` and `nan`; it sorts nan last. Our queue orders by finite numbers. */
function toFinite(priority: number): number {
  if (Number.isNaN(priority)) return -Number.MAX_VALUE
  return Math.min(Math.max(priority, -Number.MAX_VALUE), Number.MAX_VALUE)
}

function describeJobs(jobs: ScrapydJobs): Record<string, PythonJsonValue> {
  return {
    pending: jobs.pending.map(({ jobid, project, spider, version, settings, args }) => ({
      id: jobid,
      project,
      spider,
      version,
      settings,
      args
    })),
    running: jobs.running.map((job) => ({
      id: job.jobid,
      project: job.project,
      spider: job.spider,
      pid: job.pid,
      start_time: formatLocalTime(job.startedAtMs),
      log_url: logUrl(job),
      items_url: null
    })),
    finished: jobs.finished.map((job) => ({
      id: job.jobid,
      project: job.project,
      spider: job.spider,
      // A job that ended before a node ever showed it running has no start: clients expect a time here.
      start_time: formatLocalTime(job.startedAtMs ?? job.endedAtMs),
      end_time: formatLocalTime(job.endedAtMs),
      log_url: logUrl(job),
      items_url: null
    }))
  }
}

/** Host-relative and, as in Scrapyd, not percent-encoded. */
function logUrl(job: { project: string; spider: string; jobid: string; hasLog: boolean }): string | null {
  return job.hasLog ? `/logs/${job.project}/${job.spider}/${job.jobid}.log` : null
}

/** `2026-11-19 18:10:00.123000`, local time without a zone; the fraction is left out when it is zero (2.2). */
export function formatLocalTime(atMs: number | null): string | null {
  if (atMs === null) return null
  const time = new Date(atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
  const fraction = time.getMilliseconds()
  return fraction === 0 ? `${date} ${clock}` : `${date} ${clock}.${String(fraction).padStart(3, '0')}000`
}
