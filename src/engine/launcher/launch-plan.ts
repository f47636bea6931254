import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { RunSpec } from './run-directory.ts'

/** What the supervisor reads from launch.json. */
export interface LaunchPlan {
  command: string[]
  /** Added to the supervisor's environment. */
  environment: Record<string, string>
  workingDirectory: string
  logFile: string
  /** Made before the start. */
  directories: string[]
}

/**
 * The command, environment and files of a run, as Scrapyd 1.6 makes them (scrapyd-protocol.md, 6.4): the user's
 * settings, then LOG_FILE and FEEDS, which thereby win; `_job` first of the arguments and `_version` last.
 */
export function planLaunch(
  spec: RunSpec,
  paths: { python: string; runner: string; egg: string; dataDirectory: string }
): LaunchPlan {
  const logFile = logFileOf(paths.dataDirectory, spec)
  const itemsFile = join(paths.dataDirectory, 'items', spec.project, spec.spider, `${spec.jobid}.jl`)
  const feeds = JSON.stringify({ [pathToFileURL(itemsFile).href]: { format: 'jsonlines' } })
  const settings = [...Object.entries(spec.settings), ['LOG_FILE', logFile], ['FEEDS', feeds]]
  const args = [['_job', spec.jobid], ...Object.entries(spec.args), ['_version', spec.version]]
  // Relative paths in a project mean the same folder in every run, as with Scrapyd, but not one that holds our own data.
  const workingDirectory = join(paths.dataDirectory, 'work', spec.project)
  return {
    command: [
      paths.python,
      paths.runner,
      paths.egg,
      'crawl',
      spec.spider,
      ...settings.flatMap(([name, value]) => ['-s', `${name}=${value}`]),
      ...args.flatMap(([name, value]) => ['-a', `${name}=${value}`])
    ],
    environment: { SCRAPY_PROJECT: spec.project, SCRAPYD_EGG_VERSION: spec.version },
    workingDirectory,
    logFile,
    directories: [dirname(logFile), dirname(itemsFile), workingDirectory]
  }
}

export function logFileOf(dataDirectory: string, run: { project: string; spider: string; jobid: string }): string {
  return join(dataDirectory, 'logs', run.project, run.spider, `${run.jobid}.log`)
}
