import type { Database } from 'better-sqlite3'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { createFiling } from './filing.ts'

/** Time without a commit after which nobody is likely to wait for idle work. */
const IDLE_MS = 20
/** Per step, which takes some milliseconds including the fsync. */
const FIRINGS_FILED_AT_ONCE = 100
/** Minimum number of rows changed since the last checkpoint: fewer are not worth its fsyncs. */
const ROWS_MIN = 1_000

/**
 * Work that is deferred until the store is idle, so that no commit has to do it: files firings, a step at a time, then
 * checkpoints the write-ahead log. SQLite would checkpoint within the commit that finds the log too long, which makes
 * that commit several times slower. In a store that is never idle SQLite still does (wal_autocheckpoint), and firings
 * stay unfiled, where queries find them too. Failed work is retried after the next commit.
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
