import postgres from 'postgres'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import type { EngineRow, LeaseTable, SeenLease, Term } from '../lease-table.ts'
import { ENGINE_LOCK, WRITE_LOCK } from './locks.ts'

const CONNECT_SECONDS = 5
/** Shorter than a lease: whoever waits longer for an answer has lost it. */
const STATEMENT_SECONDS = 4
/** Rows of engines that nobody has heard of for so long are deleted. */
const FORGOTTEN_AFTER = '1 day'
const TERMS_KEPT = 100

/**
 * The lease of a namespace, on a connection of its own: the lock that this connection holds ends with it, however its
 * process ends. Throws what `postgres` throws.
 */
export function openLeaseTable(address: PostgresAddress, options: { onLost: () => void }): LeaseTable {
  const { url, schema } = address
  const sql = postgres(url, {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: CONNECT_SECONDS,
    fetch_types: false,
    // Two statements that wait for each other on one connection would make the second one late.
    prepare: true,
    onnotice: () => {},
    onclose: options.onLost,
    connection: {
      application_name: 'scrapdeck lease',
      search_path: schema,
      statement_timeout: STATEMENT_SECONDS * 1000,
      synchronous_commit: 'on'
    } as never
  })
  const lock = sql`${ENGINE_LOCK}::int, hashtext(${schema})`
  return {
    async clientAddress() {
      const [row] = await sql<{ address: string | null }[]>`SELECT host(inet_client_addr()) AS address`
      return row?.address ?? null
    },
    async common(name, value) {
      await sql`INSERT INTO engine_common (name, value) VALUES (${name}, ${value}) ON CONFLICT DO NOTHING`
      const [row] = await sql<{ value: string }[]>`SELECT value FROM engine_common WHERE name = ${name}`
      return row!.value
    },
    async look({ wantsLock }) {
      const [row] = await sql<(Omit<SeenLease, 'epoch'> & { epoch: string })[]>`
        SELECT l.epoch::text AS epoch, l.holder, l.has_lock AS "hasLock", l.expires_at < clock_timestamp() AS "isExpired",
          CASE WHEN l.next_until > clock_timestamp() THEN l.next END AS next,
          e.address AS "leaderAddress", e.name AS "leaderName",
          CASE WHEN ${wantsLock} THEN pg_try_advisory_lock(${lock}) ELSE false END AS "gotLock"
        FROM engine_lease l LEFT JOIN engines e ON e.id = l.holder`
      return { ...row!, epoch: Number(row!.epoch) }
    },
    async unlock() {
      await sql`SELECT pg_advisory_unlock(${lock})`
    },
    async take({ holder, name, hasLock, epoch, leaseMs, reason }) {
      if (!hasLock) await endFormer()
      const [row] = await sql<{ epoch: string }[]>`
        WITH taken AS (
          UPDATE engine_lease SET epoch = epoch + 1, holder = ${holder}, has_lock = ${hasLock}, next = NULL,
            expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
          WHERE epoch = ${epoch} RETURNING epoch
        ), term AS (
          INSERT INTO engine_terms SELECT epoch, ${name}, clock_timestamp(), ${reason} FROM taken
        ), forgotten AS (
          DELETE FROM engine_terms WHERE epoch < ${epoch - TERMS_KEPT}
        )
        SELECT epoch::text AS epoch FROM taken`
      return row === undefined ? null : Number(row.epoch)
    },
    async renew({ holder, epoch, hasLock, leaseMs }) {
      const { count } = await sql`
        UPDATE engine_lease SET expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond', has_lock = ${hasLock}
        WHERE holder = ${holder} AND epoch = ${epoch}`
      return count === 1
    },
    async release({ holder, epoch, next, graceMs }) {
      await sql`
        UPDATE engine_lease SET holder = NULL, has_lock = false, expires_at = clock_timestamp(), next = ${next},
          next_until = clock_timestamp() + ${graceMs} * interval '1 millisecond'
        WHERE holder = ${holder} AND epoch = ${epoch}`
    },
    async beat({ id, name, address: own, version }) {
      const [row] = await sql<{ isDrained: boolean }[]>`
        INSERT INTO engines (id, name, address, version, started_at, seen_at)
        VALUES (${id}, ${name}, ${own}, ${version}, clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), address = excluded.address
        RETURNING is_drained AS "isDrained"`
      return row!.isDrained
    },
    async leave(id) {
      await sql`DELETE FROM engines WHERE id = ${id}`
    },
    async setDrained(id, isDrained) {
      const { count } = await sql`UPDATE engines SET is_drained = ${isDrained} WHERE id = ${id}`
      return count === 1
    },
    async list() {
      await sql`DELETE FROM engines WHERE seen_at < clock_timestamp() - ${FORGOTTEN_AFTER}::interval`
      return sql<EngineRow[]>`
        SELECT id, name, address, version, is_drained AS "isDrained",
          (extract(epoch FROM started_at) * 1000)::float8 AS "startedAtMs",
          (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::float8 AS "silentMs"
        FROM engines ORDER BY started_at, id LIMIT 100`
    },
    async terms(limit) {
      return sql<Term[]>`
        SELECT epoch::float8 AS epoch, engine, reason, (extract(epoch FROM since) * 1000)::float8 AS "sinceMs"
        FROM engine_terms ORDER BY epoch DESC LIMIT ${limit}`
    },
    async close() {
      await sql.end({ timeout: 2 })
    }
  }

  /** A leader that stands still may hold locks in the middle of a transaction: they end with its connections. */
  async function endFormer(): Promise<void> {
    await sql`
      SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint IN (${ENGINE_LOCK}, ${WRITE_LOCK})
        AND objid::bigint = (hashtext(${schema})::bigint & 4294967295)`
  }
}
