import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { childEnvironment } from './child-environment.ts'
import { planLaunch } from './launch-plan.ts'
import { type RunSpec, writeWhole } from './run-directory.ts'

/**
 * The one place that decides how a job is started: now always cold, by a supervisor of its own, which is detached so
 * that it and the spider outlive us. Resolves once the supervisor process exists; the claim in the run directory
 * (supervisor.py) makes a second start of the same run harmless.
 */
export async function startRun(options: {
  runDirectory: string
  spec: RunSpec
  python: string
  egg: string
  dataDirectory: string
  resourcesDirectory: string
}): Promise<ChildProcess> {
  const scripts = join(options.resourcesDirectory, 'python')
  const plan = planLaunch(options.spec, { ...options, runner: join(scripts, 'crawl.py') })
  await writeWhole(options.runDirectory, 'launch.json', plan)
  const supervisor = spawn(options.python, ['-I', '-S', join(scripts, 'supervisor.py'), options.runDirectory], {
    env: childEnvironment(process.env),
    detached: true,
    windowsHide: true,
    stdio: 'ignore'
  })
  await new Promise<void>((resolve, reject) => {
    supervisor.once('spawn', resolve)
    supervisor.once('error', reject)
  })
  supervisor.unref()
  return supervisor
}
