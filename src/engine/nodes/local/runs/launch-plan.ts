import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ProjectName } from '../../../../shared/contract/index.ts'
import { secretValues } from '../../../../shared/secret-values.ts'
import { isWithoutFiles } from '../../../access/run-rights.ts'
import { type ResourceLimits, resourceLimitsOf } from './run-limits.ts'
import type { RunSpec } from './run-directory.ts'

export type RunSource = { egg: string } | { settingsModule: string; path: string[] }

/** Runs write their files to PROJECT/SPIDER/ below these directories. */
export interface RunDirectories {
  logsDirectory: string
  /** A folder, a URL (`s3://bucket/prefix`), or null: no feed. */
  itemsDirectory: string | null
  /** null: JOBDIR is not set. */
  jobsDirectory: string | null
  /** Spiders run in PROJECT/ below this directory. */
  workDirectory: string
}

/** How to isolate a spider. resources/python/apart.py applies the plan and documents the fields. */
export interface IsolationPlan {
  user: number | null
  group: number | null
  readable: Record<string, string>
  passable: string[]
  private: string[]
  files: string[]
  sandbox: string[] | null
  temporary: string | null
}

/** What starts a run: launch.json of a cold start, or the request of a warm start. */
export interface LaunchPlan {
  id: string
  python: string
  project: ProjectName
  spider: string
  /** sys.argv[1:] of the spider. */
  arguments: string[]
  source: RunSource
  environment: Record<string, string>
  workingDirectory: string
  logFile: string
  directories: string[]
  secrets: string[]
  /** `url`: our feed, which the arguments also contain, as with Scrapyd. `asked`: the job's own FEEDS setting. */
  feed?: { url: string; asked: string | null }
  /** Scrapy gets no handlers for `file:`, `s3:` and `ftp:` (access/run-rights.ts). */
  isWithoutFiles?: true
  resourceLimits: ResourceLimits | null
  isolation?: IsolationPlan
  lists?: true
}

/**
 * The command, environment and files of a run, as in Scrapyd 1.6 (scrapyd-protocol.md, 6.4). The order matters:
 * the user's settings, then LOG_FILE, FEEDS and JOBDIR, then `_job`, the arguments and `_version`.
 */
export function planLaunch(
  spec: RunSpec,
  { python, source, directories }: { python: string; source: RunSource; directories: RunDirectories }
): LaunchPlan {
  const logFile = logFileOf(directories.logsDirectory, spec)
  const feed = feedOf(directories.itemsDirectory, spec)
  const settings: Record<string, string> = { ...spec.settings, LOG_FILE: logFile }
  // Passed as a flag instead, so that crawls of every kind keep the `http:` handlers of the installed Scrapy.
  if (isWithoutFiles(spec.settings)) delete settings.DOWNLOAD_HANDLERS_BASE
  if (feed !== null) settings.FEEDS = `{${asciiJson(feed.url)}: {"format": "jsonlines"}}`
  const jobs = jobDirectoryOf(directories.jobsDirectory, spec)
  if (jobs !== null) settings.JOBDIR = jobs
  const version: [string, string][] = spec.isVersionAsked ? [['_version', spec.version]] : []
  const args = [['_job', spec.jobid], ...Object.entries(spec.args), ...version]
  // As with Scrapyd, relative paths refer to the same folder in every run of a project. The folder contains none of
  // our data.
  const workingDirectory = join(directories.workDirectory, spec.project)
  return {
    id: spec.jobid,
    python,
    project: spec.project,
    spider: spec.spider,
    arguments: [
      'crawl',
      spec.spider,
      ...Object.entries(settings).flatMap(([name, value]) => ['-s', `${name}=${value}`]),
      ...args.flatMap(([name, value]) => ['-a', `${name}=${value}`])
    ],
    source,
    environment: {
      ...spec.env,
      SCRAPY_PROJECT: spec.project,
      ...(spec.isVersionAsked && { SCRAPYD_EGG_VERSION: spec.version })
    },
    workingDirectory,
    logFile,
    directories: [dirname(logFile), ...(feed?.file ? [dirname(feed.file)] : []), workingDirectory],
    secrets: secretValues(spec),
    ...(feed !== null && { feed: { url: feed.url, asked: spec.settings.FEEDS ?? null } }),
    ...(isWithoutFiles(spec.settings) && { isWithoutFiles: true as const }),
    resourceLimits: resourceLimitsOf(spec.limits)
  }
}

const READ_AT_START = /^(PYTHON|LD_|LC_|LANG$|MALLOC_|GLIBC_TUNABLES$|OPENSSL_CONF$)/

/** Python reads some variables only when it starts, so a run that sets them cannot be a fork. */
export function needsOwnPython({ environment }: Pick<LaunchPlan, 'environment'>): boolean {
  return Object.keys(environment).some((name) => READ_AT_START.test(name))
}

export type RunNames = Pick<RunSpec, 'project' | 'spider' | 'jobid'>

export function logFileOf(logsDirectory: string, run: RunNames): string {
  return join(logsDirectory, run.project, run.spider, `${run.jobid}.log`)
}

export function jobDirectoryOf(jobsDirectory: string | null, run: RunNames): string | null {
  return jobsDirectory === null ? null : join(jobsDirectory, run.project, run.spider, run.jobid)
}

const FILE_URL = /^file:(?:\/\/[^/?#]*)?([^?#]*)/i
const URL_PARTS = /^([a-z][a-z0-9+.-]+:)(\/\/[^/?#]*)?([^?#]*)(.*)$/is

export function itemsFileOf(itemsDirectory: string | null, run: RunNames): string | null {
  return feedOf(itemsDirectory, run)?.file ?? null
}

/** Where a run's items go, named as in Scrapyd: below a folder (`file` is the path) or a URL. */
function feedOf(
  itemsDirectory: string | null,
  { project, spider, jobid }: RunNames
): { url: string; file: string | null } | null {
  if (itemsDirectory === null) return null
  const folder = FILE_URL.exec(itemsDirectory)?.[1] ?? itemsDirectory
  const [, scheme, host = '', path = '', rest = ''] = URL_PARTS.exec(folder) ?? []
  if (scheme === undefined) {
    const file = resolve(folder, project, spider, `${jobid}.jl`)
    return { url: fileUrlOf(file), file }
  }
  const start = path.endsWith('/') || (path === '' && host === '') ? path : `${path}/`
  return { url: `${scheme.toLowerCase()}${host}${start}${project}/${spider}/${jobid}.jl${rest}`, file: null }
}

/** Returns a file URL. Except on Windows, encodes it as Python does: everything except letters, digits and `_.-~/`. */
function fileUrlOf(file: string): string {
  if (process.platform === 'win32') return pathToFileURL(file).href
  const quote = (part: string) =>
    encodeURIComponent(part).replace(/[!*'()]/g, (one) => `%${hexOf(one, 2).toUpperCase()}`)
  return `file://${file.split('/').map(quote).join('/')}`
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (one) => `\\u${hexOf(one, 4)}`)
}

function hexOf(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0')
}
