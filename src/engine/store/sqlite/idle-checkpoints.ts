import type { Database } from 'better-sqlite3'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'

/** So long nothing was committed: nobody is likely to wait for what is copied now. */
const IDLE_MS = 20
/** Rows that were changed since the last copy: fewer are not worth the waits for the disk. */
const ROWS_MIN = 1_000

/**
 * Copies the write-ahead log into the database while nothing is asked, so that no commit has to: SQLite itself does it within the commit
 * that finds the log too long, and those who wait for that one wait several times as long. Where it is never idle, SQLite does as
 * before (wal_autocheckpoint). A copy that fails is tried again after the next commit.
 */
export function createIdleCheckpoints({
  database,
  clock,
  logger
}: {
  database: Database
  clock: Clock
  logger: Logger
}): { noteCommit(): void; stop(): void } {
  const totalChanges = database.prepare<[], number>('SELECT total_changes()').pluck()
  let copiedRows = 0
  let committedAtMs = 0
  let timer: Timer | null = null

  function look(): void {
    const idleMs = clock.monotonicMs() - committedAtMs
    timer = idleMs < IDLE_MS ? clock.setTimer(IDLE_MS - idleMs, look) : null
    if (timer === null) copy()
  }

  function copy(): void {
    const rows = totalChanges.get()!
    if (rows - copiedRows < ROWS_MIN) return
    try {
      database.pragma('wal_checkpoint(PASSIVE)')
      copiedRows = rows
    } catch (error) {
      logger.warn({ error, path: database.name }, 'The write-ahead log could not be copied into the database')
    }
  }

  return {
    noteCommit(): void {
      committedAtMs = clock.monotonicMs()
      timer ??= clock.setTimer(IDLE_MS, look)
    },
    stop: () => timer?.cancel()
  }
}
