import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** If these started last, they would run alone at the end. A fresh checkout has no record of durations to sort by. */
const LONGEST = [
  // Waits most of the time: a job that a dead engine might have sent stays in doubt for a minute.
  'e2e/chaos/chaos.full.integration.test.ts',
  // Measures memory, so it runs beside two test files that mostly wait.
  'e2e/attack/attack.full.integration.test.ts',
  'e2e/claims/claims.full.integration.test.ts',
  'src/engine/filled-fields.full.integration.test.ts',
  'e2e/fleet/demo-fleet.full.integration.test.ts',
  'e2e/differential/differential.integration.test.ts',
  'e2e/logs/what-logs-say.full.integration.test.ts',
  'bench/benches.full.integration.test.ts',
  'src/engine/nodes/scrapyd/scrapyd-client.integration.test.ts',
  'src/engine/nodes/local/local-node.integration.test.ts',
  'src/engine/nodes/local/warm-start.full.integration.test.ts',
  'simulation/simulation.integration.test.ts',
  'simulation/mutants.full.integration.test.ts'
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = LONGEST.findIndex((file) => moduleId.endsWith(file))
      return rank === -1 ? LONGEST.length : rank
    }
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other))
  }
}
