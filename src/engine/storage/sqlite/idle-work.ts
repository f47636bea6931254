import type { Database } from 'better-sqlite3'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'

/** After this long without a commit, idle work is unlikely to delay the next commit. */
const IDLE_MS = 20
/** After this long without a commit, the store is expected to stay idle. */
const QUIET_MS = 500
/**
 * The number of changed rows that justifies the fsyncs of a checkpoint. It is higher between two commits, because the
 * next commits change the same pages again.
 */
const ROWS_MIN = 1_000
const ROWS_MIN_BETWEEN_COMMITS = 8_000

/**
 * Checkpoints the write-ahead log while the store is idle. Otherwise, SQLite checkpoints in a commit
 * (wal_autocheckpoint), which then takes several times as long. A store that is never idle still checkpoints in
 * commits. A failed checkpoint is retried after the next commit.
 */
export function createIdleWork({ database, clock, logger }: { database: Database; clock: Clock; logger: Logger }): {
  postpone(): void
  stop(): void
} {
  const totalChanges = database.prepare<[], number>('SELECT total_changes()').pluck()
  let copiedRows = 0
  let committedAtMs = 0
  let timer: Timer | null = null
  let isWaitingForQuiet = false

  function workWhenIdle(): void {
    timer = null
    const idleMs = clock.monotonicMs() - committedAtMs
    if (idleMs < IDLE_MS) return workAfter(IDLE_MS - idleMs)
    try {
      const isQuiet = idleMs >= QUIET_MS
      copy(isQuiet ? ROWS_MIN : ROWS_MIN_BETWEEN_COMMITS)
      isWaitingForQuiet = !isQuiet
      if (isWaitingForQuiet) workAfter(QUIET_MS - idleMs)
    } catch (error) {
      logger.warn({ error, path: database.name }, 'Idle maintenance of the database failed')
    }
  }

  function copy(rowsMin: number): void {
    const rows = totalChanges.get()!
    if (rows - copiedRows < rowsMin) return
    database.pragma('wal_checkpoint(PASSIVE)')
    copiedRows = rows
  }

  function workAfter(delayMs: number): void {
    timer = clock.setTimer(delayMs, workWhenIdle)
  }

  function postpone(): void {
    committedAtMs = clock.monotonicMs()
    if (timer !== null && !isWaitingForQuiet) return
    timer?.cancel()
    isWaitingForQuiet = false
    workAfter(IDLE_MS)
  }

  return { postpone, stop: () => timer?.cancel() }
}
