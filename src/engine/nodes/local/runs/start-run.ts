import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Isolation, NO_ISOLATION } from '../isolation/isolation.ts'
import { type LaunchPlan, needsOwnPython, planLaunch, type RunDirectories, type RunSource } from './launch-plan.ts'
import { type RunSpec, writeWhole } from './run-directory.ts'
import { type RunEvents, readRunEvents } from './run-events.ts'
import type { WarmPool } from '../warm/warm-pool.ts'

/**
 * Starts a run: warm as a fork if a parent is ready, otherwise cold in a new Python process. A supervisor
 * (resources/python/supervisor.py) claims and watches the run and outlives the engine. The claim makes a second
 * start harmless.
 */
export async function startRun(options: {
  runDirectory: string
  spec: RunSpec
  python: string
  source: RunSource
  directories: RunDirectories
  resourcesDirectory: string
  pool: WarmPool | null
  isolation?: Isolation
  ownPython?: () => string | null
  events: RunEvents
  /** Checked before a cold start that follows a failed warm start. */
  mayStart: () => boolean
}): Promise<void> {
  const { runDirectory, events } = options
  const launch = await (options.isolation ?? NO_ISOLATION).plan(planLaunch(options.spec, options), runDirectory)
  await startLaunch(needsOwnPython(launch) ? { ...options, pool: null } : options, 'start', launch, events)
}

/** With isolation, the supervisor uses the operator's Python, so that no project code runs before it is isolated. */
export async function startLaunch(
  options: {
    runDirectory: string
    resourcesDirectory: string
    pool: WarmPool | null
    isolation?: Isolation
    ownPython?: () => string | null
    mayStart: () => boolean
  },
  what: 'start' | 'list',
  launch: LaunchPlan,
  events: RunEvents
): Promise<void> {
  const { runDirectory, resourcesDirectory, isolation = NO_ISOLATION, ownPython } = options
  let python = launch.python
  if (isolation.isOn) {
    const own = ownPython?.() ?? null
    if (own === null)
      throw new Error('A spider that is kept apart needs a main Python with Scrapy beside the one of its project.')
    python = own
  }
  const pool = launch.python === python ? options.pool : null
  // Every spider inherits the parent's memory, so the parent must not see the parameters of other projects.
  if (isolation.isOn && pool !== null)
    await writeFile(join(runDirectory, 'launch.json'), JSON.stringify(launch), { mode: 0o600 })
  const request = { do: what, directory: runDirectory, launch }
  if (await pool?.start(request, events)) return
  if (!options.mayStart()) return
  await writeWhole(runDirectory, 'launch.json', launch)
  const script = join(resourcesDirectory, 'python', 'supervisor.py')
  const supervisor = spawn(python, ['-I', '-S', script, runDirectory], {
    env: isolation.environment(),
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
