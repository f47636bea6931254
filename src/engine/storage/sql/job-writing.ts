import type { Database } from './database.ts'
import type { ChangeLog } from './change-log.ts'
import type { Counters } from './counters.ts'
import type { Timeline } from './timeline.ts'

/** The dependencies of every writer of jobs: each change goes to the change log, the timeline and the counters. */
export interface JobWriting {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
}
