import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Apart, NOT_APART } from '../isolation/apart.ts'
import { type LaunchPlan, needsOwnPython, planLaunch, type RunDirectories, type RunSource } from './launch-plan.ts'
import { type RunSpec, writeWhole } from './run-directory.ts'
import { type RunEvents, readRunEvents } from './run-events.ts'
import type { WarmPool } from '../warm/warm-pool.ts'

/**
 * The only place that decides how a run is started: warm, by a fork of a ready parent, otherwise cold, by its own
 * Python process. Either way a supervisor (resources/python/supervisor.py) claims the run, watches it, and outlives us.
 * Resolves once there is a supervisor. The claim makes a second start of the same run harmless.
 */
export async function startRun(options: {
  runDirectory: string
  spec: RunSpec
  python: string
  source: RunSource
  directories: RunDirectories
  resourcesDirectory: string
  pool: WarmPool | null
  /** Default: the spider runs as we do. */
  apart?: Apart
  /** The operator's Python; null: there is none. */
  ownPython?: () => string | null
  events: RunEvents
  /** Checked before a cold start: a warm one may have failed meanwhile. */
  mayStart: () => boolean
}): Promise<void> {
  const { runDirectory, events } = options
  const launch = await (options.apart ?? NOT_APART).plan(planLaunch(options.spec, options), runDirectory)
  await startLaunch(needsOwnPython(launch) ? { ...options, pool: null } : options, 'start', launch, events)
}

/**
 * Starts a supervisor for the launch. Those that keep a spider apart run with the operator's Python, whatever the
 * project's is: nothing that a project chose is loaded before its spider has been kept apart.
 */
export async function startLaunch(
  options: {
    runDirectory: string
    resourcesDirectory: string
    pool: WarmPool | null
    apart?: Apart
    ownPython?: () => string | null
    mayStart: () => boolean
  },
  what: 'start' | 'list',
  launch: LaunchPlan,
  events: RunEvents
): Promise<void> {
  const { runDirectory, resourcesDirectory, apart = NOT_APART, ownPython } = options
  let python = launch.python
  if (apart.isOn) {
    const own = ownPython?.() ?? null
    if (own === null)
      throw new Error('A spider that is kept apart needs a main Python with Scrapy beside the one of its project.')
    python = own
  }
  const pool = launch.python === python ? options.pool : null
  // A parent hands its memory to every spider, so that it must not see what those of other projects start with.
  if (apart.isOn && pool !== null)
    await writeFile(join(runDirectory, 'launch.json'), JSON.stringify(launch), { mode: 0o600 })
  const request = { do: what, directory: runDirectory, launch }
  if (await pool?.start(request, events)) return
  if (!options.mayStart()) return
  await writeWhole(runDirectory, 'launch.json', launch)
  const script = join(resourcesDirectory, 'python', 'supervisor.py')
  const supervisor = spawn(python, ['-I', '-S', script, runDirectory], {
    env: apart.environment(),
    detached: true,
    windowsHide: true,
    stdio: ['ignore', 'pipe', 'ignore']
  })
  await new Promise<void>((resolve, reject) => {
    supervisor.once('spawn', resolve)
    supervisor.once('error', reject)
  })
  readRunEvents(supervisor.stdout, (event) => {
    if (event.event === 'child') events.child(event)
    if (event.event === 'exit') events.exit(event)
  })
  supervisor.once('exit', () => events.supervisorEnded())
  supervisor.unref()
}
