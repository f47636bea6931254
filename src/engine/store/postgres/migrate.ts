import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Connection } from './connection.ts'
import { allTables } from './migrations/0001-all-tables.ts'
import { engines } from './migrations/0002-engines.ts'
import { longLanes } from './migrations/0003-long-lanes.ts'
import { nodesThatPull } from './migrations/0004-nodes-that-pull.ts'
import { kubernetesNodes } from './migrations/0005-kubernetes-nodes.ts'
import { localNodesOfEngines } from './migrations/0006-local-nodes-of-engines.ts'
import { placesOfBlobs } from './migrations/0007-places-of-blobs.ts'
import { usersAndTokens } from './migrations/0008-users-and-tokens.ts'
import { audit } from './migrations/0009-audit.ts'
import { rolesInProjects } from './migrations/0010-roles-in-projects.ts'
import { customRoles } from './migrations/0012-custom-roles.ts'
import { usersFromElsewhere } from './migrations/0011-users-from-elsewhere.ts'
import { groupsOfUsers } from './migrations/0013-groups-of-users.ts'
import { secondFactors } from './migrations/0014-second-factors.ts'
import { certificatesOfEngines } from './migrations/0015-certificates-of-engines.ts'
import { alerts } from './migrations/0016-alerts.ts'
import { factsOfThePast } from './migrations/0017-facts-of-the-past.ts'
import { backfillsThatGoFirst } from './migrations/0018-backfills-that-go-first.ts'
import { movedSchedules } from './migrations/0019-moved-schedules.ts'
import { truerOutcomes } from './migrations/0020-truer-outcomes.ts'

/** In order; never change a released one, append a new one. */
export const MIGRATIONS: readonly string[] = [
  ...[allTables, engines, longLanes, nodesThatPull, kubernetesNodes],
  ...[localNodesOfEngines, placesOfBlobs, usersAndTokens, audit, rolesInProjects, usersFromElsewhere],
  ...[customRoles, groupsOfUsers, secondFactors, certificatesOfEngines, alerts, factsOfThePast],
  ...[backfillsThatGoFirst, movedSchedules, truerOutcomes]
]

/**
 * Brings the schema of this namespace up to date, in one transaction that no other engine can be in at the same time.
 * Throws DATA_FROM_NEWER_VERSION, having changed nothing.
 */
export function migrate(
  connection: Connection,
  { schema, lockSql, name }: { schema: string; lockSql: string; name: string },
  migrations = MIGRATIONS
): void {
  const one = (text: string) => connection.send({ text, values: [] }).result().rows[0]
  const quoted = `"${schema}"`
  const present = one(`SELECT to_regclass('${quoted}.schema_version') IS NOT NULL`)![0] === 1
  const before = present ? (one('SELECT version FROM schema_version')![0] as number) : 0
  refuseNewer(before)
  if (before === migrations.length) return
  one('BEGIN')
  try {
    one(lockSql)
    one(`CREATE SCHEMA IF NOT EXISTS ${quoted}`)
    one('CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)')
    // Another engine may have been first.
    const now = (one('SELECT max(version) FROM schema_version')![0] as number | null) ?? 0
    refuseNewer(now)
    for (const sql of migrations.slice(now)) for (const statement of statementsOf(sql)) one(statement)
    one('DELETE FROM schema_version')
    one(`INSERT INTO schema_version VALUES (${migrations.length})`)
    one('COMMIT')
  } catch (error) {
    connection.forget()
    connection.send({ text: 'ROLLBACK', values: [] })
    connection.forget()
    throw error
  }

  function refuseNewer(version: number): void {
    if (version <= migrations.length) return
    throw new ScrapdeckError(
      'DATA_FROM_NEWER_VERSION',
      `The database ${name} has schema version ${version}; this Scrapdeck supports versions up to ${migrations.length}. ` +
        'Start the newer Scrapdeck that wrote it, or choose another namespace.'
    )
  }
}

/** One at a time: a prepared statement is one command. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/--.*$/gm, '')
    .split(/;\n/)
    .filter((statement) => statement.trim() !== '')
