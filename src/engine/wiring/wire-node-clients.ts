import type { Base } from './base.ts'
import type { EngineOptions } from './engine-options.ts'
import type { LocalNode } from '../launcher/local-node.ts'
import { absentNode } from '../nodes/absent-node.ts'
import type { NodeClient } from '../nodes/node-client.ts'
import { DIRECT } from '../nodes/scrapyd/proxy.ts'
import type { StoredNode } from '../store/records.ts'
import type { SealedText } from '../../shared/contract/index.ts'

/** Creates the client of each node; for a Scrapyd, with its secrets decrypted. */
export function wireNodeClients(
  parts: Base & {
    localNode: LocalNode | null
    /** The engine whose local node it is; null: this one's. */
    localNodeElsewhere: string | null
    seams: Pick<NonNullable<EngineOptions['seams']>, 'createNodeClient' | 'connect'>
  }
) {
  const { localNode, localNodeElsewhere, secretBox, clock, logger, seams } = parts

  return { createClient, proxyUrlOf }

  async function createClient(node: StoredNode): Promise<NodeClient> {
    if (node.kind === 'local') return localNode ?? absentNode(localNodeElsewhere!)
    const password = await openSecret(node, node.sealedPassword, 'password')
    if (seams.createNodeClient !== undefined) return seams.createNodeClient(node, password)
    const { name, url, username, caCertificate, clientCertificate } = node
    const clientKey = await openSecret(node, node.sealedClientKey, 'client key')
    const proxyUrl = await proxyUrlOf(node)
    // Loaded for the first remote node, with its HTTP client.
    const { createScrapydClient } = await import('../nodes/scrapyd/scrapyd-client.ts')
    return createScrapydClient({
      ...{ name, url, username, password, caCertificate, clientCertificate, clientKey, proxyUrl, clock, logger },
      connect: seams.connect
    })
  }

  async function proxyUrlOf(node: StoredNode): Promise<string | null> {
    const { sealedProxyUrl } = node
    return sealedProxyUrl === DIRECT ? DIRECT : openSecret(node, sealedProxyUrl, 'proxy')
  }

  /** null if the secret was sealed elsewhere (another machine's keychain): the engine must start anyway. */
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
