import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Begun last they would run alone at the end. Elsewhere nobody remembers how long files took, and these are short to
 * read.
 */
const LONGEST = [
  // Mostly waits: what a dead engine may have sent is doubted for a minute.
  'e2e/chaos/chaos.integration.test.ts',
  'e2e/fleet/demo-fleet.integration.test.ts',
  'e2e/differential/differential.integration.test.ts',
  'bench/benches.integration.test.ts',
  'src/engine/nodes/scrapyd/scrapyd-client.integration.test.ts',
  'src/engine/launcher/local-node.integration.test.ts',
  'src/engine/launcher/warm-start.integration.test.ts',
  'simulation/simulation.integration.test.ts'
]

/** Vitest's own order, but for the longest files of tests, which come first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = LONGEST.findIndex((file) => moduleId.endsWith(file))
      return rank === -1 ? LONGEST.length : rank
    }
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other))
  }
}
