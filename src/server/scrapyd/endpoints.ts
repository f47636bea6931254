import { posix } from 'node:path'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import type { Permission } from '../../shared/permissions.ts'
import type { IncomingFile } from '../../engine/storage/blobs/incoming-files.ts'
import type { FleetAsScrapyd } from '../../engine/api/scrapyd-commands/scrapyd-commands.ts'
import { areOfStore, describeJobs } from './describe-jobs.ts'
import type { FormValues } from '../forms/urlencoded.ts'
import {
  LONGEST_NAME_BYTES,
  ScrapydAnswerError,
  popAll,
  popBytes,
  popConverted,
  popOptional,
  popRequired
} from './parameters.ts'
import { decodeUtf8, parsePythonFloat, type PythonJsonValue } from './python-text.ts'
import type { ScrapydEndpointSettings } from './settings.ts'
import type { ScrapydSignal } from '../../engine/api/scrapyd-commands/scrapyd-shapes.ts'

export interface Endpoint {
  method: 'GET' | 'POST'
  permission: Permission
  /** The endpoint's class in Scrapyd. The response to HEAD names it if the endpoint accepts only POST. */
  resource?: string
  /** `answer` returns the same object while nothing has changed, so its encoded text is cached. */
  isCached?: true
  /** Set if engines on the same store share responses. `keyOf` returns null if sharing is not worth it. */
  shared?: {
    keyOf(args: FormValues, scrapyd: FleetAsScrapyd): string | null
    /** Whether all engines on the store would respond with these fields. */
    isSame(fields: Record<string, PythonJsonValue>): boolean
  }
  /** Returns the fields of a successful response in Scrapyd's order, without the envelope. */
  answer(
    scrapyd: FleetAsScrapyd,
    args: FormValues,
    settings: ScrapydEndpointSettings,
    files: ReadonlyMap<string, IncomingFile>
  ): Promise<Record<string, PythonJsonValue>>
}

const projectsField = fieldOf('projects')
const spidersField = fieldOf('spiders')

/** Wraps a list in an object with one field. Returns the same object for the same list. */
function fieldOf(name: string): (list: readonly string[]) => Record<string, readonly string[]> {
  const kept = new WeakMap<readonly string[], Record<string, readonly string[]>>()
  return (list) => {
    const fields = kept.get(list) ?? { [name]: list }
    kept.set(list, fields)
    return fields
  }
}

/** The endpoints of Scrapyd 1.6 (scrapyd-protocol.md, 3). The order of parameters decides which error is returned. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'daemonstatus.json': {
    method: 'GET',
    permission: 'read',
    isCached: true,
    shared: { keyOf: () => '', isSame: () => true },
    answer: (scrapyd, _args, { finishedToKeep }) => scrapyd.daemonStatus(finishedToKeep)
  },
  'addversion.json': {
    method: 'POST',
    permission: 'eggs.deploy',
    resource: 'AddVersion',
    async answer(scrapyd, args, _settings, files) {
      const project = popProject(args)
      const version = popRequired(args, 'version') as VersionName
      const egg = files.get('egg') ?? popBytes(args, 'egg')
      const name = directoryOf(project)
      refuseEveryProject(name, project)
      if (version === '') throw new ScrapydAnswerError('version is invalid: it is empty')
      const { spiders, pinned } = await scrapyd.addVersion(name, version, egg)
      const warning = `${project} stays pinned to version ${pinned}: jobs without _version run that one`
      return { project, version, spiders, ...(pinned !== null && { warning }) }
    }
  },
  'schedule.json': {
    method: 'POST',
    permission: 'jobs.run',
    resource: 'Schedule',
    async answer(scrapyd, args) {
      const project = popProject(args)
      const spider = popRequired(args, 'spider')
      const version = (popOptional(args, '_version') || null) as VersionName | null
      const jobid = popOptional(args, 'jobid')
      const priority = popConverted(args, 'priority', parsePythonFloat)
      const pairs = popAll(args, 'setting', decodeUtf8)
      const readOrder = () => {
        const spiderArguments = readSpiderArguments(args)
        const settings = readSettings(pairs)
        refuseTakenNames(spiderArguments)
        refuseUnsafeJobid(jobid)
        return { jobid, priority: priority === null ? null : toFinite(priority), settings, args: spiderArguments }
      }
      return { jobid: (await scrapyd.schedule({ project, version, spider }, readOrder)).jobid }
    }
  },
  'cancel.json': {
    method: 'POST',
    permission: 'jobs.cancel',
    resource: 'Cancel',
    async answer(scrapyd, args) {
      const project = popProject(args)
      const jobid = popRequired(args, 'job')
      const signal = readSignal(popOptional(args, 'signal'))
      return { prevstate: (await scrapyd.cancel({ project, jobid, signal })).prevstate }
    }
  },
  'status.json': {
    method: 'GET',
    permission: 'read',
    async answer(scrapyd, args) {
      const jobid = popRequired(args, 'job')
      const project = popOptional(args, 'project') as ProjectName | null
      return { currstate: (await scrapyd.status({ jobid, project })).currstate }
    }
  },
  'listprojects.json': {
    method: 'GET',
    permission: 'read',
    isCached: true,
    answer: async (scrapyd) => projectsField(await scrapyd.listProjects())
  },
  'listversions.json': {
    method: 'GET',
    permission: 'read',
    async answer(scrapyd, args) {
      const project = directoryOf(popProject(args))
      return { versions: await scrapyd.listVersions(project) }
    }
  },
  'listspiders.json': {
    method: 'GET',
    permission: 'read',
    isCached: true,
    async answer(scrapyd, args) {
      const project = popProject(args)
      const version = (popOptional(args, '_version') || null) as VersionName | null
      return spidersField(await scrapyd.listSpiders(project, version))
    }
  },
  'listjobs.json': {
    method: 'GET',
    permission: 'read',
    isCached: true,
    shared: { keyOf: keyOfProject, isSame: areOfStore },
    async answer(scrapyd, args, settings) {
      const project = popOptional(args, 'project') as ProjectName | null
      return describeJobs(await scrapyd.listJobs(project, settings.finishedToKeep), settings)
    }
  },
  'delversion.json': {
    method: 'POST',
    permission: 'projects.delete',
    resource: 'DeleteVersion',
    async answer(scrapyd, args) {
      const project = popProject(args)
      const version = popRequired(args, 'version') as VersionName
      const name = directoryOf(project)
      if ((await scrapyd.listVersions(name)).length === 0)
        throw new ScrapydAnswerError(`version '${version}' not found`)
      await scrapyd.deleteVersion(name, version)
      return {}
    }
  },
  'delproject.json': {
    method: 'POST',
    permission: 'projects.delete',
    resource: 'DeleteProject',
    async answer(scrapyd, args) {
      const project = popProject(args)
      const name = directoryOf(project)
      refuseEveryProject(name, project)
      await scrapyd.deleteProject(name)
      return {}
    }
  }
}

/** Checks the project here, not in the cache, because an engine can know projects that are not in the store yet. */
function keyOfProject(args: FormValues, scrapyd: FleetAsScrapyd): string | null {
  const values = args.get('project')
  if (values === undefined) return ''
  const name = values[0]!.toString('utf8')
  // Do not cache requests that will be rejected.
  if (values.length > 1 || name.length > LONGEST_NAME_BYTES || !Buffer.from(name).equals(values[0]!)) return null
  scrapyd.requireProject(name as ProjectName)
  return `project ${name}`
}

function popProject(args: FormValues): ProjectName {
  return popRequired(args, 'project') as ProjectName
}

/** The name of a project's directory in Scrapyd 1.6. Empty for the eggs directory itself. */
function directoryOf(project: ProjectName): ProjectName {
  if (project.includes('\0')) throw new ScrapydAnswerError('ValueError: embedded null byte')
  const name = posix.normalize(project).replace(/(?<=.)\/$/, '')
  if (name === '..' || name.includes('/')) throw new ScrapydAnswerError(`DirectoryTraversalError: ${project}`)
  return (name === '.' ? '' : name) as ProjectName
}

/** In Scrapyd, the empty name and `.` mean the eggs directory, so delproject deletes every egg (3.9). */
function refuseEveryProject(directory: string, project: ProjectName): void {
  if (directory === '') throw new ScrapydAnswerError(`DirectoryTraversalError: ${project}`)
}

/**
 * Scrapyd does not reject unsafe jobids. If it cannot create a job's files, it loses the job and one of its slots
 * (6.4).
 */
function refuseUnsafeJobid(jobid: string | null): void {
  if (jobid === null) return
  if (jobid === '..' || /[/\0]/.test(jobid)) throw new ScrapydAnswerError(`DirectoryTraversalError: ${jobid}`)
}

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

function readSpiderArguments(args: FormValues): Record<string, string> {
  const found: [string, string][] = []
  for (const [latin1Name, values] of args) {
    found.push([decodeOrRefuse(Buffer.from(latin1Name, 'latin1')), decodeOrRefuse(values[0] as Buffer)])
  }
  return Object.fromEntries(found)
}

/** Rejects arguments with a name that Scrapyd's own calls use, in the order in which Python detects them (3.3). */
function refuseTakenNames(args: Record<string, string>): void {
  const names = Object.keys(args)
  const schedule = 'SpiderScheduler.schedule() got multiple values for'
  const keyword = names.find((name) => name === 'settings' || name === '_job')
  if (keyword !== undefined) {
    throw new ScrapydAnswerError(`TypeError: scrapyd.scheduler.${schedule} keyword argument '${keyword}'`)
  }
  const positional = names.find((name) => name === 'self' || name === 'spider_name')
  if (positional !== undefined) throw new ScrapydAnswerError(`TypeError: ${schedule} argument '${positional}'`)
  if (names.includes('name')) {
    throw new ScrapydAnswerError("TypeError: SqliteSpiderQueue.add() got multiple values for argument 'name'")
  }
}

/** Like Scrapyd, reports a bad spider argument as the bare Python error. */
function decodeOrRefuse(bytes: Buffer): string {
  try {
    return decodeUtf8(bytes)
  } catch (error) {
    throw new ScrapydAnswerError(`UnicodeDecodeError: ${(error as Error).message}`, { cause: error })
  }
}

/** Scrapyd accepts `inf` and `nan` and sorts nan last, but our queue needs finite numbers. */
function toFinite(priority: number): number {
  if (Number.isNaN(priority)) return -Number.MAX_VALUE
  return Math.min(Math.max(priority, -Number.MAX_VALUE), Number.MAX_VALUE)
}

const NAMES = ['HUP', 'INT', 'KILL', 'STOP', 'TERM'] as const
/** The highest signal on Linux. If macOS or Windows lacks it, the node reports the error. */
const HIGHEST = 64

/**
 * Parses `signal` like Scrapyd 1.6: one of five names, or digits. For any other text, returns Python's error as
 * `refuse`. Scrapyd raises it only if there is a process to signal.
 */
function readSignal(text: string | null): ScrapydSignal | null {
  if (text === null) return null
  const name = NAMES.find((one) => one === text)
  if (name !== undefined) return { send: name }
  if (!/^\d+$/.test(text)) return { refuse: "TypeError: 'str' object cannot be interpreted as an integer" }
  const number = BigInt(text.slice(0, 100))
  if (number <= HIGHEST) return { send: Number(number) }
  if (number < 2n ** 63n) return { refuse: 'OSError: [Errno 22] Invalid argument' }
  return { refuse: 'OverflowError: Python int too large to convert to C ssize_t' }
}
