import type { Base } from './base.ts'
import type { EngineOptions } from './engine-options.ts'
import type { LocalNode } from '../launcher/local-node.ts'
import { Pruner } from '../launcher/runs/prune-files.ts'
import type { NodeClient } from '../nodes/node-client.ts'
import { DIRECT } from '../nodes/scrapyd/proxy.ts'
import { createScrapydClient } from '../nodes/scrapyd/scrapyd-client.ts'
import type { StoredNode } from '../store/records.ts'
import type { SealedText } from '../../shared/contract/index.ts'

/** How each node is spoken to: with its secrets opened, and the local one removing old files at each start. */
export function wireNodeClients(
  parts: Base & {
    localNode: LocalNode | null
    /** `keep` null: nothing is removed. */
    pruned: { directories: string[]; keep: number | null; isNeeded: (jobid: string) => boolean }
    seams: Pick<NonNullable<EngineOptions['seams']>, 'createNodeClient' | 'connect'>
  }
) {
  const { localNode, pruned, secretBox, clock, logger, seams } = parts
  const pruner = pruned.keep === null ? null : new Pruner({ ...pruned, keep: pruned.keep, logger })

  return { createClient, proxyUrlOf }

  async function createClient(node: StoredNode): Promise<NodeClient> {
    if (node.kind === 'local') return clientOf(localNode!, pruner)
    const password = await openSecret(node, node.sealedPassword, 'password')
    if (seams.createNodeClient !== undefined) return seams.createNodeClient(node, password)
    const { name, url, username, caCertificate, clientCertificate } = node
    const clientKey = await openSecret(node, node.sealedClientKey, 'client key')
    const proxyUrl = await proxyUrlOf(node)
    return createScrapydClient({
      ...{ name, url, username, password, caCertificate, clientCertificate, clientKey, proxyUrl, clock, logger },
      connect: seams.connect
    })
  }

  async function proxyUrlOf(node: StoredNode): Promise<string | null> {
    const { sealedProxyUrl } = node
    return sealedProxyUrl === DIRECT ? DIRECT : openSecret(node, sealedProxyUrl, 'proxy')
  }

  /** What was sealed elsewhere (another machine's keychain) must not keep the engine from starting. */
  async function openSecret(node: StoredNode, sealed: SealedText | null, noun: string): Promise<string | null> {
    if (sealed === null) return null
    try {
      return await secretBox.open(sealed)
    } catch (error) {
      logger.warn({ node: node.name, error }, `the ${noun} of a node cannot be read here; enter it again`)
      return null
    }
  }
}

/** Each start is a time to remove what is too old. The node itself is closed by the room that opened it. */
function clientOf(local: NodeClient, files: Pruner | null): NodeClient {
  return {
    traits: local.traits,
    eggTarget: local.eggTarget,
    whyNotReady: (project) => local.whyNotReady?.(project) ?? null,
    daemonStatus: (signal) => local.daemonStatus(signal),
    listJobs: (signal) => local.listJobs(signal),
    schedule(request, signal) {
      files?.prune(request.project, request.spider)
      return local.schedule(request, signal)
    },
    cancel: (request, signal) => local.cancel(request, signal),
    listSpiders: (project, version, signal) => local.listSpiders(project, version, signal),
    readLog: (run, range, signal) => local.readLog(run, range, signal),
    readItems: (run, range, signal) => local.readItems(run, range, signal),
    close: async () => {}
  }
}
