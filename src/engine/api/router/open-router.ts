import type { Projects } from '../../projects/projects.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { ThreadPool } from '../../runtime/thread-pool.ts'
import type { Tools } from '../../runtime/tools.ts'
import { LogZips } from '../../runs/logs/log-zips.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import { FleetSearch } from '../../runs/search/fleet-search.ts'
import type { LogIndex } from '../../runs/search/log-index.ts'
import type { Store } from '../../storage/store.ts'
import { CrawlCommands } from '../commands/crawl-commands.ts'
import { FleetFiles } from '../fleet-file/fleet-file.ts'
import { createRouter, type EngineRouter, type RouterParts } from './router.ts'

type Opened = 'crawlCommands' | 'fleetFiles' | 'fleetSearch' | 'logZips'

export interface RouterOpening extends Tools, Omit<RouterParts, Opened | 'jobItems' | 'store'> {
  store: Store
  secretBox: SecretBox
  projects: Projects
  archive: LogArchivePort
  logIndex: LogIndex
  searchThreads: ThreadPool
  hasLocalNode: boolean
  hasEngines: boolean
  crawlCacheSeconds: number
}

export function openRouter(parts: RouterOpening & Pick<RouterParts, 'jobItems'>): EngineRouter {
  const { projects, jobLogs } = parts
  return createRouter({
    ...parts,
    logZips: new LogZips(parts),
    fleetSearch: new FleetSearch({
      ...parts,
      index: parts.logIndex,
      threads: parts.searchThreads,
      liveFileOf: (run) => jobLogs.fileHere(run)
    }),
    crawlCommands: new CrawlCommands({ ...parts, catalog: projects.catalog, cacheSeconds: parts.crawlCacheSeconds }),
    fleetFiles: new FleetFiles({
      ...parts,
      nodes: parts.nodeCommands,
      projects: parts.projectCommands,
      deployed: projects.catalog,
      queue: parts.queueCommands,
      schedules: parts.scheduleCommands,
      chains: parts.chainCommands,
      webhooks: parts.webhookCommands,
      alerts: parts.alertCommands
    })
  })
}
