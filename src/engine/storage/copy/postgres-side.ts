import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Value } from '../postgres/connection-messages.ts'
import { type Connection } from '../postgres/connection.ts'
import { checkServer } from '../postgres/check-server.ts'
import { asJson, TYPES, withGivenSql } from '../postgres/given-rows.ts'
import { insertMany } from '../sql/table.ts'
import { migrate, MIGRATIONS } from '../postgres/migrate.ts'
import { connectTo } from '../postgres/postgres-driver.ts'
import { explainPostgresError } from '../postgres/postgres-error.ts'
import type { BatchLimits, Counters, Side, Source, Table, Target } from './side.ts'
import type { Cell } from '../sql/database.ts'
import { commonReads, COPY_OF, COPYING, quoted } from './side.ts'
import { requireNewestSchema } from '../schema-versions.ts'

/**
 * A lease that no engine has. A connection with a lease does not lock the namespace, so it can read a namespace that is
 * in use.
 */
const NO_LEASE = { holder: '', epoch: 0 }

/** Throws DATABASE_IN_USE while an engine uses the namespace. With `isInUse`, reads a snapshot instead. */
export function openPostgresSource(address: PostgresAddress, isInUse = false): Source {
  return opened(isInUse ? { ...address, lease: NO_LEASE } : address, (session) => {
    const { ask, schema } = session
    if (isInUse) {
      // Writing the other side can take a long time, and the transaction must not time out in the meantime.
      ask('SET idle_in_transaction_session_timeout TO 0')
      ask('SET default_transaction_isolation TO "repeatable read"')
      ask('BEGIN READ ONLY')
      session.isInTransaction = true
    }
    if (!hasTables(session, schema)) {
      throw new ScrapdeckError('BAD_INPUT', sentence('storage.namespace_without_store', { address: address.name }))
    }
    const [version] = ask(`SELECT version FROM "${schema}".schema_version`)[0]!
    requireNewestSchema(address.name, version as number, MIGRATIONS)
    return {
      ...sideOf(session, schema),
      counters() {
        const counters: Counters = new Map()
        for (const [table, sequence] of sequencesOf(session, schema)) {
          const [last, isCalled] = ask(`SELECT last_value, is_called FROM ${sequence}`)[0]!
          if (isCalled === 1) counters.set(table, last as number)
        }
        // Ignores positions of transactions that were rolled back, as in fragments.ts.
        const newest = `SELECT greatest((SELECT max(position) FROM "${schema}".changes),
          (SELECT position FROM "${schema}".last_forgotten_change))`
        counters.set('changes', ask(newest)[0]![0] as number)
        return counters
      }
    }
  })
}

/** Opens a new namespace under a temporary name. Throws STORE_NOT_EMPTY if the final namespace already has tables. */
export function openPostgresTarget(
  address: PostgresAddress,
  { logger, isRestarted }: { logger: Logger; isRestarted: boolean }
): Target {
  return opened(address, (session) => {
    const { ask, connection, schema } = session
    const draft = `${schema}-${COPYING}`
    for (const warning of checkServer(connection, address.name)) logger.warn({ database: address.name }, warning)
    if (ask(`SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('"${schema}"') LIMIT 1`).length > 0) {
      const what = `${address.name} is not empty: the schema ${schema} has tables.`
      throw new ScrapdeckError('STORE_NOT_EMPTY', sentence('storage.namespace_in_use', { what }))
    }
    if (isRestarted) ask(`DROP SCHEMA IF EXISTS "${draft}" CASCADE`)
    ask(`SET search_path TO "${draft}"`)
    // This session holds the namespace's lock, so no engine can migrate it in the meantime.
    migrate(connection, { schema: draft, lockSql: 'SELECT 1', name: address.name })
    const begun = ask(`SELECT to_regclass('"${draft}".${COPY_OF}') IS NOT NULL`)[0]![0] === 1
    return {
      ...sideOf(session, draft),
      begunFrom: begun ? String(ask(`SELECT source FROM "${draft}".${COPY_OF}`)[0]![0]) : null,
      begin(from, tables) {
        together(session, [
          ...tables.map(({ name }) => ({ text: `DELETE FROM "${draft}".${name}`, values: [] })),
          { text: `CREATE TABLE "${draft}".${COPY_OF} (source text NOT NULL)`, values: [] },
          { text: `INSERT INTO "${draft}".${COPY_OF} VALUES ($1)`, values: [from] }
        ])
      },
      write(table, rows) {
        const columns = Object.fromEntries(table.columns.map(({ name, kind }) => [name, kind]))
        ask(withGivenSql(insertMany(`"${draft}".${table.name}`, columns)), [asJson(rows)])
      },
      finish(counters, tables) {
        ask(`ANALYZE ${tables.map(({ name }) => `"${draft}".${name}`).join(', ')}`)
        const numbered = sequencesOf(session, draft).map(([table, sequence, column]) => ({
          text: `SELECT setval('${sequence}', greatest($1::bigint, (SELECT max("${column}") FROM "${draft}".${table})))`,
          values: [counters.get(table) ?? 0],
          isUsed: (counters.get(table) ?? 0) > 0 || ask(`SELECT 1 FROM "${draft}".${table} LIMIT 1`).length > 0
        }))
        together(session, [
          ...numbered.filter(({ isUsed }) => isUsed),
          {
            text: `UPDATE "${draft}".last_forgotten_change SET position = $1::bigint`,
            values: [counters.get('changes') ?? 0]
          },
          { text: `DROP TABLE "${draft}".${COPY_OF}`, values: [] },
          { text: `DROP SCHEMA IF EXISTS "${schema}"`, values: [] },
          { text: `ALTER SCHEMA "${draft}" RENAME TO "${schema}"`, values: [] }
        ])
      }
    }
  })
}

interface Session {
  connection: Connection
  /** Whether queries belong to a transaction. Such queries never run on a new connection. */
  isInTransaction: boolean
  ask(text: string, values?: Value[]): unknown[][]
  name: string
  schema: string
}

function opened<T>(address: PostgresAddress, work: (session: Session) => T): T {
  const connection = connectTo(address)
  const { name, schema } = address
  const ask = (text: string, values: Value[] = []) => {
    try {
      return connection.send({ text, values, isInTransaction: session.isInTransaction }).result().rows
    } catch (error) {
      throw explainPostgresError(error, name)
    }
  }
  const session: Session = { connection, ask, name, schema, isInTransaction: false }
  try {
    return work(session)
  } catch (error) {
    connection.end()
    throw explainPostgresError(error, name)
  }
}

function together({ connection, name }: Session, queries: { text: string; values: Value[] }[]): void {
  connection.send({ text: 'BEGIN', values: [] })
  try {
    for (const { text, values } of queries) connection.send({ text, values, isInTransaction: true })
    // If an earlier statement failed unnoticed, COMMIT would roll back without an error.
    connection.settle()
    connection.send({ text: 'COMMIT', values: [], isInTransaction: true }).result()
  } catch (error) {
    connection.forget()
    connection.send({ text: 'ROLLBACK', values: [], isInTransaction: true })
    connection.forget()
    throw explainPostgresError(error, name)
  }
}

const hasTables = ({ ask }: Session, schema: string): boolean =>
  ask(`SELECT to_regclass('"${schema}".schema_version') IS NOT NULL`)[0]![0] === 1

function sideOf({ connection, ask, name }: Session, schema: string): Side {
  return {
    name,
    kind: 'postgres',
    close: () => connection.end(),
    ...commonReads(ask, `"${schema}".`),
    read(table, after, limits) {
      const rows = ask(readSql(schema, table, { isFirst: after === null, limits }), (after ?? []) as Value[])
      return rows as Cell[][]
    }
  }
}

/**
 * Returns the SQL that reads a batch. The SQL sums the sizes of the preceding rows without reading their large values,
 * which are stored outside the table.
 */
function readSql(
  schema: string,
  { name, columns, key }: Table,
  { isFirst, limits }: { isFirst: boolean; limits: BatchLimits }
): string {
  const names = columns.map((column) => quoted(column.name)).join(', ')
  const order = key.length === 0 ? '' : `ORDER BY ${key.map(quoted)}`
  const places = key.map((column, index) => `$${index + 1}::${TYPES[columns.find((one) => one.name === column)!.kind]}`)
  const from = isFirst ? '' : `WHERE (${key.map(quoted)}) > (${places})`
  const sizes = columns
    .filter(({ kind }) => kind === 'TEXT' || kind === 'BLOB')
    .map((column) => `coalesce(octet_length(${quoted(column.name)}), 0)`)
  const size = [`${columns.length * 8}`, ...sizes].join(' + ')
  return `SELECT ${names} FROM (
      SELECT ${names}, sum(${size}) OVER (${order} ROWS UNBOUNDED PRECEDING) - (${size}) AS bytes_before FROM (
        SELECT ${names} FROM "${schema}".${name} ${from} ${order} LIMIT ${limits.rows}) AS page) AS page
    WHERE bytes_before < ${limits.bytes} ${order}`
}

const sequencesOf = ({ ask }: Session, schema: string) =>
  ask(
    `SELECT relname, pg_get_serial_sequence(format('%I.%I', '${schema}', relname), attname), attname
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = '"${schema}"'::regnamespace AND attidentity <> '' ORDER BY relname`
  ) as [table: string, sequence: string, column: string][]
