import type { NodeAddress } from '../../../shared/contract/index.ts'
import { requireAllNodesOfActor } from '../../access/acting.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { type NodeUrl, originOf, parseNodeUrl } from '../../nodes/scrapyd/node-url.ts'
import { DIRECT, parseProxyUrl } from '../../nodes/scrapyd/proxy.ts'
import type { StoredNode } from '../../model/records.ts'

const CLUSTER_FIELDS = ['url', 'proxyUrl', 'kubernetes', 'kubeconfig', 'kubeconfigContext'] as const

/**
 * Throws ROLE_REQUIRED if the actor may not change all nodes and the address uses something that the client does not
 * send: SSH keys of this machine, credential files or the pod's service account. `before` is the node to change, or
 * null for a new node.
 */
export function requireRightsForAddress(
  address: Partial<NodeAddress>,
  before: Pick<StoredNode, 'kind' | 'url'> | null = null
): void {
  if (before?.kind === 'kubernetes') {
    if (CLUSTER_FIELDS.some((field) => address[field] !== undefined)) requireAllNodesOfActor(CLUSTERS)
    return
  }
  if (address.kubernetes || address.kubeconfig) requireAllNodesOfActor(CLUSTERS)
  const url = address.url === undefined ? undefined : parseNodeUrl(address.url).url
  if (url !== undefined && url !== before?.url && url.startsWith('ssh:')) {
    requireAllNodesOfActor('An address over SSH uses the keys and the configuration of the service')
  }
}

const CLUSTERS = 'The connection of a cluster can name files and accounts of the service'

/**
 * Whether to drop passwords and keys, because they were entered for another machine. A new proxy counts as another
 * machine, because it can read requests to an http node.
 */
export function isElsewhere(node: FleetNode, address: NodeUrl | null, proxyUrl: string | null | undefined): boolean {
  const isMoved = address !== null && originOf(address.url) !== originOf(node.stored.url)
  return isMoved || hasNewProxy(node, proxyUrl)
}

/** `shown` is the URL without credentials, as clients see it. */
function hasNewProxy({ proxyUrl: before }: FleetNode, shown: string | null | undefined): boolean {
  if (!shown || shown === before) return false
  const proxyUrl = parseProxyUrl(shown)
  if (proxyUrl === DIRECT) return false
  return before === null || before === DIRECT || new URL(proxyUrl).origin !== new URL(before).origin
}
