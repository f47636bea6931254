import postgres from 'postgres'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { type EngineRow, type LeaseTable, type SeenLease, type Term, ENGINE_LOCK, WRITE_LOCK } from '../lease-table.ts'

const CONNECT_SECONDS = 5
const RECONNECT_SECONDS = 0.1
/** The statement timeout. Shorter than a lease, because an engine that waits longer has lost its lease. */
const STATEMENT_SECONDS = 4
const FORGOTTEN_AFTER = '1 day'
const TERMS_KEPT = 100

/**
 * Uses a separate connection, which also holds the lock, so the lock ends with the process. Throws `postgres` errors.
 */
export function openLeaseTable(address: PostgresAddress, options: { onLost: () => void }): LeaseTable {
  const { url, schema } = address
  const connect = (): postgres.Sql => {
    const client: postgres.Sql = postgres(url, {
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: CONNECT_SECONDS,
      // The default backoff grows to 20 s. A recovered database would have no leader for that long.
      backoff: () => RECONNECT_SECONDS,
      fetch_types: false,
      // Unprepared statements are not pipelined. Each would wait for the previous result, and could be late.
      prepare: true,
      onnotice: () => {},
      // The close event of an abandoned connection can arrive late and does not concern the newest one.
      onclose: () => client === sql && options.onLost(),
      connection: {
        application_name: 'scrapdeck lease',
        search_path: schema,
        statement_timeout: STATEMENT_SECONDS * 1000,
        synchronous_commit: 'on'
      } as never
    })
    return client
  }
  let sql = connect()
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
          l.expires_at::text AS renewal,
          CASE WHEN l.next_until > clock_timestamp() THEN l.next END AS next,
          e.address AS "leaderAddress", e.name AS "leaderName", e.certificate AS "leaderCertificate",
          CASE WHEN ${wantsLock} THEN pg_try_advisory_lock(${ENGINE_LOCK}::int, hashtext(${schema})) ELSE false END AS "gotLock"
        FROM engine_lease l LEFT JOIN engines e ON e.id = l.holder`
      return { ...row!, epoch: Number(row!.epoch) }
    },
    async unlock() {
      await sql`SELECT pg_advisory_unlock(${ENGINE_LOCK}::int, hashtext(${schema}))`
    },
    async take({ holder, name, hasLock, epoch, renewal, leaseMs, reason }) {
      if (!hasLock) await endWriters({ epoch, renewal })
      const [row] = await sql<{ epoch: string }[]>`
        WITH taken AS (
          UPDATE engine_lease SET epoch = epoch + 1, holder = ${holder}, has_lock = ${hasLock}, next = NULL,
            expires_at = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
          WHERE epoch = ${epoch} AND expires_at::text = ${renewal} RETURNING epoch
        ), term AS (
          INSERT INTO engine_terms SELECT epoch, ${name}, clock_timestamp(), ${reason} FROM taken
        ), forgotten AS (
          DELETE FROM engine_terms WHERE epoch < ${epoch - TERMS_KEPT}
        )
        SELECT epoch::text AS epoch FROM taken`
      if (row === undefined) return null
      if (!hasLock) await endOthers(ENGINE_LOCK)
      return Number(row.epoch)
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
    async beat({ id, name, address: own, version, hasLocalNode, blobs, certificate }) {
      const [row] = await sql<{ isDrained: boolean }[]>`
        INSERT INTO engines (id, name, address, version, has_local_node, blobs, certificate, started_at, seen_at)
        VALUES (${id}, ${name}, ${own}, ${version}, ${hasLocalNode}, ${blobs}, ${certificate}, clock_timestamp(),
          clock_timestamp())
        ON CONFLICT (id) DO UPDATE
          SET seen_at = clock_timestamp(), address = excluded.address, certificate = excluded.certificate
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
        SELECT id, name, address, version, has_local_node AS "hasLocalNode", blobs, certificate,
          is_drained AS "isDrained",
          (extract(epoch FROM started_at) * 1000)::float8 AS "startedAtMs",
          (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::float8 AS "silentMs"
        FROM (SELECT * FROM engines ORDER BY seen_at DESC, id LIMIT 100) AS newest ORDER BY started_at, id`
    },
    async terms(limit) {
      return sql<Term[]>`
        SELECT epoch::float8 AS epoch, engine, reason, (extract(epoch FROM since) * 1000)::float8 AS "sinceMs"
        FROM engine_terms ORDER BY epoch DESC LIMIT ${limit}`
    },
    reset() {
      const former = sql
      sql = connect()
      former.end({ timeout: 0 }).catch(() => {})
      options.onLost()
    },
    async close() {
      await sql.end({ timeout: 2 })
    }
  }

  /**
   * Ends the connections of a stalled leader, because they can lock the lease's row. Does nothing if the lease has been
   * renewed or taken.
   */
  async function endWriters({ epoch, renewal }: { epoch: number; renewal: string }): Promise<void> {
    const [seen] = await sql`SELECT 1 FROM engine_lease WHERE epoch = ${epoch} AND expires_at::text = ${renewal}`
    if (seen !== undefined) await endOthers(WRITE_LOCK)
  }

  async function endOthers(lock: number): Promise<void> {
    await sql`
      SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint = ${lock} AND objid::bigint = (hashtext(${schema})::bigint & 4294967295)`
  }
}
