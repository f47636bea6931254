import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { createSqlStore } from '../sql/sql-store.ts'
import type { RowStore } from '../thread/store-messages.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import type { Connection } from './connection.ts'
import { openPostgresDriver } from './postgres-driver.ts'

/** Opens the Store in a namespace of a PostgreSQL database, in the caller's thread, which waits for each response. */
export async function openPostgresStoreHere(options: {
  address: PostgresAddress
  clock: Clock
  logger: Logger
  scheduleFlush?: (flush: () => void) => void
  connection?: Connection
}): Promise<RowStore> {
  const { address, clock, logger, scheduleFlush, connection } = options
  const driver = openPostgresDriver({ ...address, logger, connection })
  return createSqlStore({ driver, clock, logger, scheduleFlush })
}
