import { CrawlCommands } from '../commands/crawl-commands.ts'
import type { CredentialFiles } from '../../nodes/kubernetes/credential-files.ts'
import { LogZips } from '../../runs/logs/log-zips.ts'
import { FleetFiles } from '../fleet-file/fleet-file.ts'
import type { createConnection } from '../../nodes/scrapyd/connection.ts'
import type { SshTunnels } from '../../nodes/ssh/ssh-tunnels.ts'
import { probeNode } from '../../nodes/scrapyd/probe.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { Projects } from '../../projects/projects.ts'
import { createRouter, type EngineRouter, type RouterParts } from './router.ts'
import type { ThreadPool } from '../../runtime/thread-pool.ts'
import { FleetSearch } from '../../runs/search/fleet-search.ts'
import type { LogIndex } from '../../runs/search/log-index.ts'
import type { Base } from '../../runtime/tools.ts'

/** The contract, and what only its operations use: crawls, the fleet file, searches, several logs as one file. */
export function wireRouter(
  parts: Base &
    Omit<RouterParts, 'crawlCommands' | 'fleetFiles' | 'fleetSearch' | 'logZips' | 'probe'> & {
      projects: Projects
      archive: LogArchivePort
      logIndex: LogIndex
      searchThreads: ThreadPool
      hasLocalNode: boolean
      hasEngines: boolean
      crawlCacheSeconds: number
      connect: typeof createConnection | undefined
      tunnels: SshTunnels
      credentialFiles: CredentialFiles
    }
): EngineRouter {
  const { scheduleCommands, credentialFiles: files } = parts
  const probe: RouterParts['probe'] = async (address) => {
    if (!address.kubernetes) return probeNode({ ...parts, address })
    const { resolveClusterAddress } = await import('../../nodes/kubernetes/cluster-address.ts')
    const { probeCluster } = await import('../../nodes/kubernetes/probe.ts')
    const resolved = await resolveClusterAddress({ ...address, kubernetes: address.kubernetes }, files)
    return probeCluster({ ...parts, files, address: resolved })
  }
  return createRouter({
    ...parts,
    logZips: new LogZips(parts),
    fleetSearch: new FleetSearch({
      ...{ ...parts, index: parts.logIndex, threads: parts.searchThreads },
      liveFileOf: (run) => parts.jobLogs.fileHere(run)
    }),
    probe: (address) => probe(address),
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
      webhooks: parts.webhookCommands,
      alerts: parts.alertCommands
    })
  })
}
