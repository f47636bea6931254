import { CrawlCommands } from '../commands/crawl-commands.ts'
import { FleetFiles } from '../fleet-file/fleet-file.ts'
import type { createConnection } from '../nodes/scrapyd/connection.ts'
import { probeNode } from '../nodes/scrapyd/probe.ts'
import type { Projects } from '../projects/projects.ts'
import { createRouter, type EngineRouter, type RouterParts } from '../router/router.ts'
import type { Base } from './base.ts'

/** The contract, and its operations that combine commands of several rooms: crawls and the fleet file. */
export function wireRouter(
  parts: Base &
    Omit<RouterParts, 'crawlCommands' | 'fleetFiles' | 'probe'> & {
      projects: Projects
      hasLocalNode: boolean
      crawlCacheSeconds: number
      connect: typeof createConnection | undefined
    }
): EngineRouter {
  const { scheduleCommands } = parts
  return createRouter({
    ...parts,
    probe: (address) => probeNode({ ...parts, address }),
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
