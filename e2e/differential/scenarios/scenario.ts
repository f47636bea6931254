import type { Pair } from '../pair.ts'

/** A sequence of requests that leads from nothing to some state; what it made is removed after it. */
export interface Scenario {
  name: string
  /** Also in the short form, which is part of `npm test`; `npm run test:long` runs all that are written by hand. */
  isShort?: boolean
  /** Harms or confuses whoever is asked next: it gets a pair of servers for itself. */
  needsOwnServers?: boolean
  /** Both prune as `jobs_to_keep` says, on a pair of their own; without it they keep all files. */
  jobsToKeep?: number
  run(pair: Pair): Promise<void>
}
