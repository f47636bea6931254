import { type Finding, newTally, Pair, type Tally } from './pair.ts'
import { accessScenarios } from './scenarios/access.ts'
import { fileScenarios } from './scenarios/files.ts'
import { generatedScenario } from './scenarios/generated.ts'
import { jobScenarios } from './scenarios/jobs.ts'
import { projectScenarios } from './scenarios/projects.ts'
import { reportScenarios } from './scenarios/reports.ts'
import { requestScenarios } from './scenarios/requests.ts'
import type { Scenario } from './scenarios/scenario.ts'

const HAND_WRITTEN: Scenario[] = [
  ...requestScenarios,
  ...accessScenarios,
  ...reportScenarios,
  ...projectScenarios,
  ...jobScenarios,
  ...fileScenarios
]

const GENERATED_SEQUENCES = 30

/**
 * Each generated sequence uses the run's seed plus the sequence's number. To replay a sequence, pass its own seed and
 * `--only`.
 */
export function wholeRun(seed: number, sequences = GENERATED_SEQUENCES): Scenario[] {
  const generated = Array.from({ length: sequences }, (_, index) => generatedScenario(seed + index))
  return [...HAND_WRITTEN, ...generated]
}

export interface RunOptions {
  scenarios: Scenario[]
  onScenario?: (scenario: Scenario) => void
  /** Called with each finding when its scenario has ended. */
  onFinding?: (finding: Finding) => void
  signal?: AbortSignal
}

/** Runs scenarios in order on one pair of servers, except those that need their own. */
export async function runScenarios({ scenarios, onScenario, onFinding, signal }: RunOptions): Promise<Tally> {
  const tally = newTally()
  let pair: Pair | null = null
  const end = async () => {
    const ending = pair
    pair = null
    await ending?.stop().catch((error: unknown) => {
      tally.brokenOff.push(`After "${ending.scenario}" a server could not be stopped: ${String(error)}`)
    })
  }
  signal?.addEventListener('abort', () => void end())
  try {
    for (const scenario of scenarios) {
      if (signal?.aborted) break
      onScenario?.(scenario)
      const before = tally.findings.length
      const { jobsToKeep } = scenario
      const needsOwnServers = scenario.needsOwnServers || jobsToKeep !== undefined
      if (needsOwnServers) await end()
      pair ??= await Pair.start(tally, jobsToKeep)
      pair.scenario = scenario.name
      try {
        await scenario.run(pair)
        if (!needsOwnServers) await pair.cleanUp()
      } catch (error) {
        if (signal?.aborted || pair === null) break
        tally.brokenOff.push(`"${scenario.name}" broke off: ${String(error)}\n  ${await pair.describeOurs()}`)
        await end()
      }
      for (const finding of tally.findings.slice(before)) onFinding?.(finding)
      if (needsOwnServers) await end()
    }
  } finally {
    await end()
  }
  return tally
}
