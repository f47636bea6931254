import type { NodeAddress } from '../../../shared/contract/index.ts'
import { requireAllNodesOfActor } from '../../access/acting.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { type NodeUrl, originOf, parseNodeUrl } from '../../nodes/scrapyd/node-url.ts'
import { DIRECT, parseProxyUrl } from '../../nodes/scrapyd/proxy.ts'
import type { StoredNode } from '../../model/records.ts'

const CLUSTER_FIELDS = ['url', 'proxyUrl', 'kubernetes', 'kubeconfig', 'kubeconfigContext'] as const

/**
 * Throws ROLE_REQUIRED if the actor may change only the nodes of some groups, and gives a node an address that uses
 * more than what is sent with it: the SSH keys of this machine, or what a cluster can name, which is files with
 * credentials here, the service account of the pod, and settings of all projects. `before`: the node that has it
 * already.
 */
export function requireOwnMeans(
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
 * A password or key belongs to the machine it was entered for, so it is never carried over to another address, and not
 * to a new proxy, which reads what is sent to an http node.
 */
export function isElsewhere(node: FleetNode, address: NodeUrl | null, proxyUrl: string | null | undefined): boolean {
  const isMoved = address !== null && originOf(address.url) !== originOf(node.stored.url)
  return isMoved || hasNewProxy(node, proxyUrl)
}

/** Whether requests would go through a proxy that they did not go through before. `shown`: as clients see it. */
function hasNewProxy({ proxyUrl: before }: FleetNode, shown: string | null | undefined): boolean {
  if (!shown || shown === before) return false
  const proxyUrl = parseProxyUrl(shown)
  if (proxyUrl === DIRECT) return false
  return before === null || before === DIRECT || new URL(proxyUrl).origin !== new URL(before).origin
}
