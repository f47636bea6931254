/** A process of the simulation. Runs the stories that it receives one after the other and returns their results. */
import { mkdtempSync, rmSync } from 'node:fs'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MUTANTS } from './mutants.ts'
import { registerSimulationHooks } from './world/hooks.ts'
import { plant } from './world/mutations.ts'
import type { Death } from './world/life.ts'
import type { FaultKind } from './world/faults.ts'

export interface Task {
  seed: number
  death: Death | null
  engines: number
  losesAnswers: boolean
}

export interface Told {
  task: Task
  violations: string[]
  /** The log of the story, only if it failed. */
  story: string
  faults: Partial<Record<FaultKind, number>>
  jobs: number
  operations: Record<string, { ok: number; fail: number; unknown: number }>
  calls: number
  traceHash: string
  cpuMs: number
}

registerSimulationHooks()
await plant(MUTANTS.find(({ name }) => name === process.env['SIMULATION_MUTANT'])?.mutations ?? [])
const { simulate } = await import('./simulate.ts')
const { check } = await import('./check/check.ts')
const { describeFailure } = await import('./describe-failure.ts')
const { makeTemplate } = await import('./world/disk.ts')
const { countByKind } = await import('./world/faults.ts')

const base = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'scrapdeck-simulation-'))
const template = join(base, 'template', 'scrapdeck.sqlite')
await makeTemplate(template)
process.on('exit', () => rmSync(base, { recursive: true, force: true }))
// Ignores failures of work in progress when an engine loses its lease, as cli/serve-together.ts does.
let areSeveral = false
process.on('unhandledRejection', (error) => {
  const { code } = error as { code?: unknown }
  if (!areSeveral || (code !== 'NOT_LEADER' && code !== 'STOPPING')) throw error
})
process.on('disconnect', () => process.exit())
process.on('message', (task: Task) => {
  void tellOne(task).then((told) => process.send!(told))
})
process.send!('ready')

async function tellOne(task: Task): Promise<Told> {
  areSeveral = task.engines > 1
  const begun = process.cpuUsage()
  const told: Told = {
    task,
    violations: [],
    story: '',
    faults: {},
    jobs: 0,
    operations: {},
    calls: 0,
    traceHash: '',
    cpuMs: 0
  }
  try {
    const { history, callsOfFirstLife, traceHash } = await simulate({
      ...task,
      directory: join(base, 'story'),
      template
    })
    const violations = check(history)
    told.violations = violations.map(({ rule, text }) => `${rule}: ${text}`)
    if (violations.length > 0) told.story = describeFailure(history, violations)
    told.faults = countByKind(history.faults)
    told.jobs = history.jobs.length
    for (const { name, result } of history.operations) {
      const counts = (told.operations[name] ??= { ok: 0, fail: 0, unknown: 0 })
      counts[result] += 1
    }
    told.calls = callsOfFirstLife.length
    told.traceHash = traceHash
  } catch (error) {
    told.violations = [`broken: ${error instanceof Error ? error.message : String(error)}`]
    told.story = error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
  const used = process.cpuUsage(begun)
  told.cpuMs = (used.user + used.system) / 1000
  return told
}
