import type { Pair } from '../pair.ts'

/** A sequence of requests from an empty state; what it creates is removed afterwards. */
export interface Scenario {
  name: string
  /** Part of the short form in `npm run test:full`; `npm run test:long` runs all hand-written scenarios. */
  isShort?: boolean
  /** Damages or confuses its servers for later requests, so it gets its own pair. */
  needsOwnServers?: boolean
  /** Both sides prune by `jobs_to_keep`, on their own pair; without it they keep all files. */
  jobsToKeep?: number
  run(pair: Pair): Promise<void>
}
