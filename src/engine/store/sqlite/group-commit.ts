import type { Database } from 'better-sqlite3'
import type { Clock } from '../../runtime/clock.ts'

export type GroupCommit = ReturnType<typeof createGroupCommit>

interface Operation {
  work: () => unknown
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

/**
 * One fsync for all writes of one turn of the event loop. Each write has a savepoint: if it fails, it is rolled back
 * and rejected alone. A single write has none, to avoid keeping its pages twice: it is rolled back with its
 * transaction. No write resolves before COMMIT; if COMMIT fails, all are rejected. `onCommit` runs after each COMMIT,
 * before the writes resolve, and must not throw.
 */
export function createGroupCommit(options: {
  database: Database
  clock: Clock
  /** Runs `flush` once this turn of the event loop has requested all its writes. */
  scheduleFlush: (flush: () => void) => void
  onCommit: (commit: { writes: number; tookMs: number }) => void
}) {
  const { database, clock, scheduleFlush, onCommit } = options
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const rollback = database.prepare('ROLLBACK')
  const savepoint = database.prepare('SAVEPOINT operation')
  const release = database.prepare('RELEASE operation')
  const rollbackOne = database.prepare('ROLLBACK TO operation')
  let waiting: Operation[] = []
  let idle: { promise: Promise<void>; resolve: () => void } | null = null

  /** Runs `work` in the next transaction; resolves with its value once that transaction is on disk. */
  function write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve, reject })
      if (idle === null) {
        idle = Promise.withResolvers<void>()
        scheduleFlush(flush)
      }
    })
  }

  function flush(): void {
    const operations = waiting
    const done = idle
    waiting = []
    idle = null
    const answers: (() => void)[] = []
    const startedMs = clock.monotonicMs()
    try {
      begin.run()
      for (const operation of operations)
        answers.push(operations.length === 1 ? runAlone(operation) : runOne(operation))
      commit.run()
      onCommit({ writes: operations.length, tookMs: clock.monotonicMs() - startedMs })
      for (const answer of answers) answer()
    } catch (error) {
      if (database.inTransaction) rollback.run()
      for (const operation of operations) operation.reject(error)
    }
    done?.resolve()
  }

  /** For the only write of a transaction: it is rolled back with the transaction. */
  function runAlone({ work, resolve }: Operation): () => void {
    const value = work()
    return () => resolve(value as never)
  }

  function runOne({ work, resolve, reject }: Operation): () => void {
    savepoint.run()
    try {
      const value = work()
      release.run()
      return () => resolve(value as never)
    } catch (error) {
      // On a full or failing disk SQLite rolls back the whole transaction itself: then no write took effect.
      if (!database.inTransaction) throw error
      rollbackOne.run()
      release.run()
      return () => reject(error)
    }
  }

  /** Resolves when all writes requested so far are on disk or have failed. */
  const drain = async (): Promise<void> => idle?.promise
  return { write, drain }
}
