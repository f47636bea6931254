import type { PostgresAddress } from '../../../runtime/postgres-address.ts'
import type { Connection } from '../connection.ts'

const NEVER_EMPTY = [
  'schema_version',
  'state_counts',
  'queue_ends',
  'limit_revision',
  'last_forgotten_change',
  'engine_lease'
]

/** Empties the tables of this namespace, because migrating takes longer than most tests. */
export function emptySchema(connection: Connection, { schema }: PostgresAddress): void {
  const ask = (text: string) => connection.send({ text, values: [] }).result().rows
  const tables = ask(
    `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace('${schema}')
       AND relname NOT IN (${NEVER_EMPTY.map((name) => `'${name}'`).join(', ')})`
  )
  if (tables.length === 0) return
  // One commit without checking references. TRUNCATE is slower, because it creates new files.
  const send = (text: string) => connection.send({ text, values: [] })
  send('BEGIN')
  send('SET LOCAL session_replication_role TO replica')
  for (const [name] of tables) send(`DELETE FROM "${schema}"."${String(name)}"`)
  send(`UPDATE "${schema}".last_forgotten_change SET position = 0`)
  send(`ALTER TABLE "${schema}".changes ALTER COLUMN position RESTART`)
  send('COMMIT')
  connection.settle()
  ask(`UPDATE "${schema}".state_counts SET count = 0`)
  ask(`UPDATE "${schema}".queue_ends SET front = 0, back = 0`)
  ask(`UPDATE "${schema}".limit_revision SET revision = 0`)
}
