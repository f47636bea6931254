import { join } from 'node:path'
import type { ItemsArchive } from '../log-collector/items-archive.ts'
import { ItemsCache } from './items-cache.ts'
import { JobItems, type JobItemsParts } from './job-items.ts'
import { itemsFileOf } from '../../nodes/local/runs/launch-plan.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { toClientError } from '../../nodes/node-failure.ts'
import type { EngineOptions } from '../../assembly/engine-options.ts'
import type { LocalLayout } from '../../nodes/local/optional-local-node.ts'

/** The desktop's main process cannot fork a plain Node, and DuckDB's buffers do not fit Electron's memory cage. */
const NOT_IN_THE_DESKTOP =
  'The desktop app does not load DuckDB. Sorting, statistics, differences and Parquet work in a browser with the service'

/** The items of jobs. They do not depend on nodes: the reader for nodes is passed in here. */
export function wireItems(
  { dataDirectory, host }: EngineOptions,
  {
    fleet,
    layout,
    itemsArchive,
    ...parts
  }: Omit<JobItemsParts, 'cache' | 'localFileOf' | 'readRange' | 'archive' | 'whyNoDuckdb'> & {
    fleet: Fleet
    layout: LocalLayout
    itemsArchive: ItemsArchive
  }
): JobItems {
  return new JobItems({
    ...parts,
    cache: ItemsCache.open(join(dataDirectory, 'items-cache')),
    archive: itemsArchive,
    whyNoDuckdb: host === 'desktop' ? NOT_IN_THE_DESKTOP : null,
    localFileOf: (attempt) => itemsFileOf(layout.items, attempt),
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
