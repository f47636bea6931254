import type { Database } from 'better-sqlite3'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { jobsAndFleet } from './migrations/0001-jobs-and-fleet.ts'
import { aFleetThatLosesNothing } from './migrations/0003-a-fleet-that-loses-nothing.ts'
import { aMillionJobs } from './migrations/0004-a-million-jobs.ts'
import { smallLogs } from './migrations/0005-small-logs.ts'
import { schedulesAndDoors } from './migrations/0006-schedules.ts'
import { firingsInBulk } from './migrations/0007-firings-in-bulk.ts'
import { filedLater } from './migrations/0008-filed-later.ts'
import { changedAfterFiring } from './migrations/0009-changed-after-firing.ts'
import { chainsThatForget } from './migrations/0010-chains-that-forget.ts'
import { nounsOfTheirOwn } from './migrations/0011-nouns-of-their-own.ts'
import { crawlOrders } from './migrations/0012-crawl-orders.ts'
import { environmentOfJobs } from './migrations/0013-environment-of-jobs.ts'
import { countedInIndexes } from './migrations/0014-counted-in-indexes.ts'
import { versionsThatRan } from './migrations/0015-versions-that-ran.ts'
import { historyByTime } from './migrations/0016-history-by-time.ts'
import { keptLogs } from './migrations/0017-kept-logs.ts'
import { whatLogsSay } from './migrations/0018-what-logs-say.ts'
import { unusualRuns } from './migrations/0019-unusual-runs.ts'
import { logBlocks } from './migrations/0020-log-blocks.ts'
import { retention } from './migrations/0021-retention.ts'
import { keptItems } from './migrations/0022-kept-items.ts'
import { nodesThatPull } from './migrations/0023-nodes-that-pull.ts'
import { kubernetesNodes } from './migrations/0024-kubernetes-nodes.ts'
import { usersAndTokens } from './migrations/0025-users-and-tokens.ts'
import { audit } from './migrations/0026-audit.ts'
import { rolesInProjects } from './migrations/0027-roles-in-projects.ts'
import { usersFromElsewhere } from './migrations/0028-users-from-elsewhere.ts'
import { customRoles } from './migrations/0029-custom-roles.ts'
import { groupsOfUsers } from './migrations/0030-groups-of-users.ts'
import { secondFactors } from './migrations/0031-second-factors.ts'
import { alerts } from './migrations/0032-alerts.ts'
import { factsOfThePast } from './migrations/0033-facts-of-the-past.ts'
import { backfillsThatGoFirst } from './migrations/0034-backfills-that-go-first.ts'
import { movedSchedules } from './migrations/0035-moved-schedules.ts'
import { truerOutcomes } from './migrations/0036-truer-outcomes.ts'
import { limitsAndSecrets } from './migrations/0002-limits-and-secrets.ts'

/**
 * In order; never change a released one, append a new one. They are modules and not `.sql` files so that the bundled
 * desktop app includes them without a copy step that could be forgotten.
 */
export const MIGRATIONS: readonly string[] = [
  jobsAndFleet,
  limitsAndSecrets,
  aFleetThatLosesNothing,
  aMillionJobs,
  smallLogs,
  schedulesAndDoors,
  firingsInBulk,
  filedLater,
  changedAfterFiring,
  chainsThatForget,
  nounsOfTheirOwn,
  crawlOrders,
  environmentOfJobs,
  countedInIndexes,
  versionsThatRan,
  historyByTime,
  keptLogs,
  whatLogsSay,
  unusualRuns,
  logBlocks,
  retention,
  keptItems,
  nodesThatPull,
  kubernetesNodes,
  usersAndTokens,
  audit,
  rolesInProjects,
  usersFromElsewhere,
  customRoles,
  groupsOfUsers,
  secondFactors,
  alerts,
  factsOfThePast,
  backfillsThatGoFirst,
  movedSchedules,
  truerOutcomes
]

/** Migrates to the newest schema in one transaction: if it fails, the older Scrapdeck can still open the database. */
export function migrate(database: Database, migrations = MIGRATIONS): void {
  const present = database.pragma('user_version', { simple: true }) as number
  if (present > migrations.length) {
    throw new ScrapdeckError(
      'DATA_FROM_NEWER_VERSION',
      `The database ${database.name} has schema version ${present}; this Scrapdeck supports versions up to ${migrations.length}. ` +
        'Start the newer Scrapdeck that wrote it, or choose another data directory.'
    )
  }
  if (present === migrations.length) return
  // Some change the text of a CHECK.
  database.unsafeMode(true)
  try {
    database.transaction(() => {
      for (const sql of migrations.slice(present)) database.exec(sql)
      database.pragma(`user_version = ${migrations.length}`)
    })()
  } finally {
    database.unsafeMode(false)
  }
}
