import type { Database } from 'better-sqlite3'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { createFiling } from './filing.ts'

/** So long nothing was committed: nobody is likely to wait for what is done now. */
const IDLE_MS = 20
/** Of a step: some milliseconds, with the wait for the disk. */
const FIRINGS_FILED_AT_ONCE = 100
/** Rows that were changed since the last copy: fewer are not worth the waits for the disk. */
const ROWS_MIN = 1_000

/**
 * What can wait until nothing is asked, so that no commit has to do it: firings are filed, a step at a time; then the
 * write-ahead log is copied into the database. SQLite copies within the commit that finds the log too long, and that
 * one takes several times as long. In a store that is never idle SQLite does so as before (wal_autocheckpoint), and
 * firings stay where they were written, which is found as well. What fails is tried again after the next commit.
 */
export function createIdleWork({ database, clock, logger }: { database: Database; clock: Clock; logger: Logger }): {
  postpone(): void
  stop(): void
} {
  const totalChanges = database.prepare<[], number>('SELECT total_changes()').pluck()
  const file = createFiling(database)
  let copiedRows = 0
  let committedAtMs = 0
  let timer: Timer | null = null

  function workWhenIdle(): void {
    const idleMs = clock.monotonicMs() - committedAtMs
    timer = idleMs < IDLE_MS ? clock.setTimer(IDLE_MS - idleMs, workWhenIdle) : null
    if (timer !== null) return
    try {
      if (file(FIRINGS_FILED_AT_ONCE) > 0) postpone()
      else copy()
    } catch (error) {
      logger.warn({ error, path: database.name }, 'Idle maintenance of the database failed')
    }
  }

  function copy(): void {
    const rows = totalChanges.get()!
    if (rows - copiedRows < ROWS_MIN) return
    database.pragma('wal_checkpoint(PASSIVE)')
    copiedRows = rows
  }

  function postpone(): void {
    committedAtMs = clock.monotonicMs()
    timer ??= clock.setTimer(IDLE_MS, workWhenIdle)
  }

  return { postpone, stop: () => timer?.cancel() }
}
