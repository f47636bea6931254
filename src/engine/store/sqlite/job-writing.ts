import type { Database } from 'better-sqlite3'
import type { ChangeLog } from './change-log.ts'
import type { Counters } from './counters.ts'
import type { Timeline } from './timeline.ts'

/** What everything that writes jobs needs: whoever changes one tells the log, its timeline and the counters. */
export interface JobWriting {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
}
