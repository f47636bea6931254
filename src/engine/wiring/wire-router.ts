import { CrawlCommands } from '../commands/crawl-commands.ts'
import { FleetFiles } from '../fleet-file/fleet-file.ts'
import type { Projects } from '../projects/projects.ts'
import { createRouter, type EngineRouter, type RouterParts } from '../router/router.ts'
import type { Base } from './base.ts'

/** The contract, and its operations that combine commands of several rooms: crawls and the fleet file. */
export function wireRouter(
  parts: Base &
    Omit<RouterParts, 'crawlCommands' | 'fleetFiles'> & {
      projects: Projects
      hasLocalNode: boolean
      crawlCacheSeconds: number
    }
): EngineRouter {
  const { scheduleCommands } = parts
  return createRouter({
    ...parts,
    crawlCommands: new CrawlCommands({
      ...parts,
      catalog: parts.projects.catalog,
      cacheSeconds: parts.crawlCacheSeconds
    }),
    fleetFiles: new FleetFiles({
      ...parts,
      nodes: parts.nodeCommands,
      projects: parts.projectCommands,
      deployed: parts.projects.catalog,
      queue: parts.queueCommands,
      schedules: scheduleCommands,
      chains: parts.chainCommands,
      webhooks: parts.webhookCommands
    })
  })
}
