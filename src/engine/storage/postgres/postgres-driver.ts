import type { Logger } from '../../runtime/logger.ts'
import type { Driver } from '../sql/database.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { type Lease, ENGINE_LOCK, WRITE_LOCK } from '../lease-table.ts'
import { checkServer } from './check-server.ts'
import { Connection } from './connection.ts'
import { migrate } from './migrate.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { explainPostgresError, IN_USE } from './postgres-error.ts'

/** The statement timeout. On a working server, none of our statements takes this long. */
const STATEMENT_SECONDS = 60
const ANSWER_SECONDS = STATEMENT_SECONDS + 15
/** How long an engine can stall in a transaction before the server ends the transaction and releases its lock. */
const IDLE_IN_TRANSACTION_SECONDS = 5
const CONNECT_SECONDS = 10

export function connectTo({ url, schema, lease }: PostgresAddress): Connection {
  // Without a lease, one engine per namespace holds a lock, which the server releases when this connection ends.
  const useAlone = `DO $$ BEGIN IF NOT pg_try_advisory_lock(${ENGINE_LOCK}, hashtext('${schema}')) THEN
    RAISE EXCEPTION 'another engine' USING ERRCODE = '${IN_USE}'; END IF; END $$`
  return new Connection({
    url,
    connectSeconds: CONNECT_SECONDS,
    answerSeconds: ANSWER_SECONDS,
    setUp: [
      `SET search_path TO "${schema}"`,
      // Invariant I1 requires this, whatever the database's setting.
      'SET synchronous_commit TO on',
      `SET statement_timeout TO '${STATEMENT_SECONDS}s'`,
      `SET idle_in_transaction_session_timeout TO '${IDLE_IN_TRANSACTION_SECONDS}s'`,
      ...(lease === undefined ? [useAlone] : []),
      // Plans must not depend on values, and planning each call again takes longer than most calls.
      'SET plan_cache_mode TO force_generic_plan',
      // A new database soon has many more rows than its plans assume. All frequent statements have indexes, and also
      // run on SQLite, which has no hash or merge joins.
      ...['seqscan', 'hashjoin', 'mergejoin'].map((way) => `SET enable_${way} TO off`),
      // The settings above make a full scan seem so expensive that PostgreSQL would compile it.
      'SET jit TO off',
      // Nearly all pages are in memory. With a disk's costs, PostgreSQL would scan small tables without an index.
      'SET random_page_cost TO 1.1'
    ]
  })
}

/**
 * Throws DATABASE_UNUSABLE, DATA_FROM_NEWER_VERSION or DATA_TOO_OLD, and then changes nothing. Never closes a given
 * `connection`. If none is given, opens one, which `close` ends.
 */
export function openPostgresDriver(
  options: PostgresAddress & { logger: Logger; connection?: Connection | undefined }
): Driver {
  const { name, schema, lease, logger } = options
  const connection = options.connection ?? connectTo(options)
  const end = () => options.connection === undefined && connection.end()
  const explain = (error: unknown) => explainPostgresError(error, name)
  const lockSql = `SELECT pg_advisory_xact_lock(${WRITE_LOCK}, hashtext('${schema}'))`
  const beginSql = lease == null ? lockSql : beginAsLeader(schema, lease)
  try {
    for (const warning of checkServer(connection, name)) logger.warn({ database: name }, warning)
    migrate(connection, { schema, lockSql, name })
  } catch (error) {
    end()
    throw explain(error)
  }
  const database = new PostgresDatabase(connection, { name, lockSql: beginSql })
  const size = database
    .prepare<[], number>(
      `SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
         WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`
    )
    .pluck()
  return {
    database,
    changeCount: () => database.changeCount,
    explain,
    settle: () => database.settle(),
    committed: () => {},
    // PostgreSQL's own vacuum reuses free pages and truncates its files.
    size: () => ({ bytes: size.get() ?? 0, freeBytes: 0, canShrink: false }),
    shrink: () => 0,
    compact: () => {},
    close: end
  }
}

/** Waits for the writers' lock. Fails if another engine leads by then (migrations/0001-baseline.ts). */
const beginAsLeader = (schema: string, { holder, epoch }: Lease): string =>
  `SELECT begin_write(${WRITE_LOCK}, hashtext('${schema}'), '${holder}', ${epoch})`

/** Checks the server and migrates before there is a leader. Throws like openPostgresDriver. */
export function prepareDatabase(address: PostgresAddress, logger: Logger): void {
  const noLease = { holder: '', epoch: 0 }
  openPostgresDriver({ ...address, lease: noLease, logger }).close()
}
