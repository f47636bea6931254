import type { Pair } from '../pair.ts'

/** A sequence of requests from an empty state. What it creates is removed afterwards. */
export interface Scenario {
  name: string
  /** Whether `npm run test:full` runs it. `npm run test:long` runs all hand-written scenarios. */
  isShort?: boolean
  /** Whether the scenario leaves its servers in a state that would affect later requests, so it gets its own pair. */
  needsOwnServers?: boolean
  /** On their own pair, both sides prune by `jobs_to_keep`. By default they keep all files. */
  jobsToKeep?: number
  run(pair: Pair): Promise<void>
}
