import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { Connection } from './connection.ts'

export const OLDEST_MAJOR = 14

export interface ServerFacts {
  versionNumber: number
  isReplica: boolean
  isReadOnly: boolean
  fsync: string
  fullPageWrites: string
  /** The database's default. Scrapdeck turns `synchronous_commit` on for each of its connections. */
  synchronousCommit: string
  encoding: string
  /** Whether the same server process handled two consecutive transactions of a connection. */
  keepsSession: boolean
}

export interface ServerVerdict {
  refusal: string | null
  warnings: string[]
}

export function judgeServer(facts: ServerFacts): ServerVerdict {
  const { versionNumber, isReplica, isReadOnly, fsync, fullPageWrites, synchronousCommit, encoding, keepsSession } =
    facts
  const refuse = (refusal: string): ServerVerdict => ({ refusal, warnings: [] })
  if (versionNumber < OLDEST_MAJOR * 10_000)
    return refuse(`it is PostgreSQL ${Math.floor(versionNumber / 10_000)}; ${OLDEST_MAJOR} or later is needed`)
  if (isReplica || isReadOnly) return refuse('it is a replica, or read-only. Connect to the primary')
  if (!keepsSession)
    return refuse(
      'there is a transaction pooler in between (PgBouncer in transaction mode). Connect to PostgreSQL itself, or use session mode'
    )
  if (fsync !== 'on') return refuse('fsync is off: a crash of its machine could lose or damage everything. Turn it on')
  if (encoding !== 'UTF8') return refuse(`its encoding is ${encoding}. Create the database with ENCODING 'UTF8'`)
  const warnings: string[] = []
  if (fullPageWrites !== 'on')
    warnings.push(
      'full_page_writes is off: a crash of its machine may damage the database unless its disk writes whole pages'
    )
  if (synchronousCommit === 'off')
    warnings.push('synchronous_commit is off for this database. Scrapdeck turns it on for its own connections')
  return { refusal: null, warnings }
}

/** Throws DATABASE_UNUSABLE or returns the warnings. */
export function checkServer(connection: Connection, name: string): string[] {
  const rows = (text: string) => connection.send({ text, values: [] }).result().rows[0]!
  const [versionNumber, isReplica, isReadOnly, fsync, fullPageWrites, encoding] = rows(
    `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
       current_setting('default_transaction_read_only') = 'on', current_setting('fsync'),
       current_setting('full_page_writes'), current_setting('server_encoding')`
  )
  const [synchronousCommit] = rows(
    `SELECT coalesce((SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), 'on')`
  )
  // Behind a transaction pooler, this connection would lose its settings and its lock.
  rows(`SELECT set_config('scrapdeck.session', '1', false)`)
  const [mark] = rows(`SELECT coalesce(current_setting('scrapdeck.session', true), '')`)
  const { refusal, warnings } = judgeServer({
    versionNumber: versionNumber as number,
    isReplica: isReplica === 1,
    isReadOnly: isReadOnly === 1,
    fsync: String(fsync),
    fullPageWrites: String(fullPageWrites),
    synchronousCommit: String(synchronousCommit),
    encoding: String(encoding),
    keepsSession: mark === '1'
  })
  if (refusal !== null)
    throw new ScrapdeckError('DATABASE_UNUSABLE', sentence('storage.server_unusable', { name, refusal }))
  return warnings
}
