import { type Clock, systemClock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { createSqlStore } from '../sql/sql-store.ts'
import type { RowStore } from '../thread/store-messages.ts'
import { openSqliteDriver } from './sqlite-driver.ts'

export interface SqliteStoreOptions {
  path: string
  clock: Clock
  logger: Logger
  /** Called when the database becomes unusable until another process opens it. */
  onDeath?: () => void
}

/** Like openSqliteStore (open-sqlite-store.ts), but in the caller's thread. */
export async function openSqliteStoreHere(
  options: SqliteStoreOptions & { scheduleFlush?: (flush: () => void) => void }
): Promise<RowStore> {
  const { path, clock, logger, scheduleFlush } = options
  // Only tests use a clock other than the system's, and idle time is meaningless there.
  const driver = openSqliteDriver({ path, logger, clock, isIdleUsed: clock === systemClock })
  try {
    return createSqlStore({ driver, clock, logger, scheduleFlush })
  } catch (error) {
    await driver.close()
    throw driver.explain(error)
  }
}
