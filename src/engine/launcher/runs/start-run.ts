import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { childEnvironment } from '../processes/child-environment.ts'
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
  events: RunEvents
  /** Checked before a cold start: a warm one may have failed meanwhile. */
  mayStart: () => boolean
}): Promise<void> {
  const { runDirectory, events } = options
  const launch = planLaunch(options.spec, options)
  const pool = needsOwnPython(launch) ? null : options.pool
  if (await pool?.start({ do: 'start', directory: runDirectory, launch }, events)) return
  if (options.mayStart()) await startCold(runDirectory, launch, options.resourcesDirectory, events)
}

async function startCold(
  runDirectory: string,
  launch: LaunchPlan,
  resourcesDirectory: string,
  events: RunEvents
): Promise<void> {
  await writeWhole(runDirectory, 'launch.json', launch)
  const script = join(resourcesDirectory, 'python', 'supervisor.py')
  const supervisor = spawn(launch.python, ['-I', '-S', script, runDirectory], {
    env: childEnvironment(process.env),
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
