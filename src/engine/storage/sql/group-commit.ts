import type { Database } from './database.ts'
import type { Clock } from '../../runtime/clock.ts'

export type GroupCommit = ReturnType<typeof createGroupCommit>

interface Operation {
  work: () => unknown
  isJoined: boolean
  ahead: (() => void) | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

/**
 * Commits all writes of one turn of the event loop with one fsync. Each write has a savepoint, so that a write that
 * fails is rolled back alone. A single write has no savepoint, because SQLite would then store its pages twice.
 * Adjacent *joined* writes count as one write unless one fails; then each is repeated alone. No write resolves before
 * COMMIT, and if COMMIT fails, all are rejected. `onCommit` runs after each COMMIT, before the writes resolve, and
 * must not throw.
 */
export function createGroupCommit(options: {
  database: Database
  clock: Clock
  /** Writes what a write or group has collected. The returned function is called after this has taken effect. */
  record: () => () => void
  /** Sends the queries that the joined writes need. Called once, after all of them have announced their reads. */
  ask?: () => void
  discard: () => void
  /** Waits until the statements of a write have taken effect. Throws if one of them failed. */
  settle?: () => void
  /** Called before each COMMIT, to write what all writes have in common and to send the queries for `onCommit`. */
  beforeCommit?: () => void
  onRollback?: () => void
  /** Runs `flush` after all writes of this turn of the event loop have been requested. */
  scheduleFlush: (flush: () => void) => void
  onCommit: (commit: { writes: number; tookMs: number }) => void
}) {
  const { database, clock, record, ask, discard, settle, beforeCommit, onRollback, scheduleFlush, onCommit } = options
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const rollback = database.prepare('ROLLBACK')
  const savepoint = database.prepare('SAVEPOINT operation')
  const release = database.prepare('RELEASE operation')
  const rollbackOne = database.prepare('ROLLBACK TO operation')
  let waiting: Operation[] = []
  let idle: { promise: Promise<void>; resolve: () => void } | null = null

  /**
   * Resolves when the transaction is on disk. `isJoined`: `work` can run twice, and before the collected rows of
   * earlier joined writes are recorded. `ahead`: sends the queries for what `work` will read, together with others.
   */
  function write<T>(
    work: () => T,
    { isJoined = false, ahead }: { isJoined?: boolean; ahead?: (() => void) | undefined } = {}
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, isJoined, ahead, resolve, reject })
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
    const startedMs = clock.monotonicMs()
    try {
      begin.run()
      const answers = runAll(operations)
      onCommit({ writes: operations.length, tookMs: clock.monotonicMs() - startedMs })
      for (const answer of answers) answer()
    } catch (error) {
      if (database.inTransaction) rollback.run()
      onRollback?.()
      for (const operation of operations) operation.reject(error)
    }
    done?.resolve()
  }

  function runAll(operations: Operation[]): (() => void)[] {
    const groups = joined(operations)
    if (groups.length > 1) return committed(groups.flatMap(runGroup))
    try {
      return run(operations, commitAll)
    } catch (error) {
      // A single write is rolled back with its transaction. If SQLite has ended the transaction, everything is
      // already rolled back.
      if (operations.length === 1 || !database.inTransaction) throw error
      rollback.run()
      onRollback?.()
      begin.run()
      return committed(operations.flatMap((operation) => runGroup([operation])))
    }
  }

  function commitAll(): void {
    beforeCommit?.()
    commit.run()
  }

  function committed(answers: (() => void)[]): (() => void)[] {
    commitAll()
    return answers
  }

  function runGroup(group: Operation[]): (() => void)[] {
    savepoint.run()
    try {
      const answers = run(group, settle)
      release.run()
      return answers
    } catch (error) {
      // On a full or failing disk, SQLite itself rolls back the whole transaction, so no write took effect.
      if (!database.inTransaction) throw error
      rollbackOne.run()
      release.run()
      onRollback?.()
      const [one, ...others] = group
      return others.length === 0 ? [() => one!.reject(error)] : group.flatMap((operation) => runGroup([operation]))
    }
  }

  /** `end` throws if one of the statements failed. COMMIT throws too, without a separate round trip. */
  function run(group: Operation[], end: (() => void) | undefined): (() => void)[] {
    try {
      for (const { ahead } of group) ahead?.()
      ask?.()
      const answers = group.map(({ work, resolve }) => {
        const value = work()
        return () => resolve(value as never)
      })
      const recorded = record()
      end?.()
      recorded()
      return answers
    } finally {
      discard()
    }
  }

  /** Resolves when all writes requested so far are on disk or have failed. */
  const drain = async (): Promise<void> => idle?.promise
  return { write, drain }
}

function joined(operations: Operation[]): Operation[][] {
  const groups: Operation[][] = []
  for (const operation of operations) {
    const last = groups.at(-1)
    if (operation.isJoined && last?.[0]?.isJoined === true) last.push(operation)
    else groups.push([operation])
  }
  return groups
}
