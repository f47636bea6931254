import { join } from 'node:path'
import type { Fleet } from '../../nodes/fleet.ts'
import { toClientError } from '../../nodes/node-failure.ts'
import type { LocalNodeSettings } from '../../nodes/local/optional-local-node.ts'
import type { ItemsArchive } from '../log-collector/items-archive.ts'
import { ItemsCache } from './items-cache.ts'
import { JobItems, type JobItemsParts } from './job-items.ts'

/** Electron's main process cannot fork plain Node, and DuckDB's buffers do not fit in Electron's memory cage. */
const NOT_IN_THE_DESKTOP =
  'The desktop app does not load DuckDB. Sorting, statistics, differences and Parquet work in a browser with the service'

interface Parts extends Pick<JobItemsParts, 'store' | 'localFileOf' | 'clock' | 'random' | 'logger'> {
  fleet: Fleet
  itemsArchive: ItemsArchive
}

export function openJobItems(
  { dataDirectory, host }: LocalNodeSettings,
  { fleet, itemsArchive, ...parts }: Parts
): JobItems {
  return new JobItems({
    ...parts,
    cache: ItemsCache.open(join(dataDirectory, 'items-cache')),
    archive: itemsArchive,
    whyNoDuckdb: host === 'desktop' ? NOT_IN_THE_DESKTOP : null,
    async readRange(attempt, range, signal) {
      const kept = await itemsArchive.read(attempt, range)
      if (kept !== null) return kept
      const node = fleet.get(attempt.nodeId)
      if (node === undefined) return null
      try {
        return await node.client.readItems(attempt, range, signal)
      } catch (error) {
        throw toClientError(error)
      }
    }
  })
}
