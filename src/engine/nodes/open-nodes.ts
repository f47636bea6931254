import type { Attempt, NodeAddress, NodeId } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { limitWaitsOf, type CancelWaitsMs } from '../../shared/run-limits.ts'
import type { Leadership } from '../cluster/leadership/leadership.ts'
import type { EggNodes } from '../projects/open-projects.ts'
import type { Projects } from '../projects/projects.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import type { Store } from '../storage/store.ts'
import { type ConfiguredSource, type DiscoveredFleet, Discovery } from './discovery/discovery.ts'
import { createNameResolver, type NameResolver } from './discovery/name-resolver.ts'
import { Fleet } from './fleet.ts'
import { Inventories, type InventoriesParts } from './inventories.ts'
import { CredentialFiles } from './kubernetes/credential-files.ts'
import { StoredEggLinks } from './kubernetes/egg-links.ts'
import type { LocalNode } from './local/local-node.ts'
import { type LocalLayout, type LocalNodeSettings, OptionalLocalNode } from './local/optional-local-node.ts'
import { absoluteUnlessBare } from './local/pythons/python-environment.ts'
import { itemsFileOf } from './local/runs/launch-plan.ts'
import { importErrorOf } from './node-client.ts'
import { createNodeClients, type NodeClientParts } from './node-clients.ts'
import { EngineNodes } from './peers/engine-nodes.ts'
import { PullingNodes } from './pulling/pulling-nodes.ts'
import { SshTunnels } from './ssh/ssh-tunnels.ts'

export interface NodesOptions extends LocalNodeSettings {
  sshProgram?: string
  discovery?: readonly ConfiguredSource[]
  /** Directories with credential files that cluster URLs may refer to. */
  clusterCredentialDirectories?: readonly string[]
}

interface NodesParts extends Tools, Pick<NodeClientParts, 'liveOn' | 'connect' | 'createOwn'> {
  store: Store
  secretBox: SecretBox
  projects: Projects
  layout: LocalLayout
  isLive: (jobid: string) => boolean
  cancelWaitsMs: CancelWaitsMs
  /** null: this is the only engine. */
  leadership: Leadership | null
  /** null: the engine has no local node. undefined: openNodes opens one. */
  localNode: LocalNode | null | undefined
  /** Files and directories with the secrets of all users. No node URL is allowed to name them as a credential. */
  secretFiles: readonly string[]
}

export type Nodes = Awaited<ReturnType<typeof openNodes>>

/** Opens the fleet, which has no nodes yet, and everything that connects to nodes of each kind. */
export async function openNodes(opened: AsyncDisposableStack, options: NodesOptions, parts: NodesParts) {
  const { store, secretBox, projects, layout, isLive, leadership, clock, random, logger } = parts
  const { liveOn, connect, createOwn } = parts
  const formerLocalEngine = leadership === null ? null : await findFormerLocalEngine(leadership, store)
  const local = await OptionalLocalNode.open(options, {
    store,
    projects,
    layout,
    clock,
    random,
    logger,
    node: parts.localNode,
    isNeeded: isLive,
    limitWaitsMs: limitWaitsOf(parts.cancelWaitsMs)
  })
  opened.adopt(local, stop)
  const eggToSend: Projects['eggToSend'] = (project, version) => projects.eggToSend(project, version)
  const eggLinks = new StoredEggLinks({ store, secretBox, isLive, eggToSend, clock, random, logger })
  const engineNodes = opened.adopt(leadership && new EngineNodes({ engines: leadership, clock, logger }), stop)
  const rowOf = (id: NodeId) => fleet.get(id)?.stored
  const pulling = new PullingNodes(rowOf)
  const program = absoluteUnlessBare(options.sshProgram ?? 'ssh')
  const tunnels = opened.adopt(new SshTunnels({ program, clock, random, logger }), stop)
  const credentialFiles = new CredentialFiles({
    directories: options.clusterCredentialDirectories ?? [],
    never: parts.secretFiles
  })
  const clients = createNodeClients({
    secretBox,
    projects,
    tunnels,
    credentialFiles,
    pulling,
    eggLinks,
    formerLocalEngine,
    clock,
    random,
    logger,
    liveOn,
    connect,
    createOwn,
    localNode: local.node,
    engines: leadership && { ...leadership, nodes: engineNodes! },
    slotsOf: (id) => rowOf(id)?.slots ?? null,
    dataDirectory: options.dataDirectory
  })
  const fleet: Fleet = opened.adopt(new Fleet({ ...clients, clock, random, logger }), stop)
  return {
    fleet,
    local,
    formerLocalEngine,
    engineNodes,
    pulling,
    credentialFiles,
    eggLinks,
    eggNodes: eggNodesOf(fleet),
    async probe(address: NodeAddress) {
      if (!address.kubernetes) {
        const { probeNode } = await import('./scrapyd/probe.ts')
        return probeNode({ address, tunnels, connect, clock, logger })
      }
      const { resolveClusterAddress } = await import('./kubernetes/cluster-address.ts')
      const { probeCluster } = await import('./kubernetes/probe.ts')
      const resolved = await resolveClusterAddress({ ...address, kubernetes: address.kubernetes }, credentialFiles)
      return probeCluster({ address: resolved, files: credentialFiles, connect, clock, logger })
    },
    /** The items file of a run on the local node. null: the node writes no items to files. */
    localItemsOf: (run: Pick<Attempt, 'project' | 'spider' | 'jobid'>) =>
      itemsFileOf(layout.written.itemsDirectory, run)
  }
}

/** The engine that holds the former local node's runs and logs: the first leader after copy-store. null: none. */
async function findFormerLocalEngine({ name }: Leadership, store: Store): Promise<string | null> {
  if (!(await store.listNodes()).some(({ id }) => id === LOCAL_NODE_ID)) return null
  const known = await store.getSetting('local.engine')
  if (known === null) await store.putSetting('local.engine', name)
  return known ?? name
}

function eggNodesOf(fleet: Fleet): EggNodes {
  return {
    clientOf: (id) => fleet.get(id)?.client.eggTarget ?? null,
    fetchesEggs: (id) =>
      fleet.get(id)?.stored.kind === 'pulling' || (fleet.get(id)?.client.traits.fetchesEggs ?? false),
    importErrorOf,
    nodes() {
      const up = fleet.list().filter(({ status }) => status.health === 'up')
      return up.map(({ stored: { id, name, mode }, client }) => ({ id, name, isActive: mode === 'active', client }))
    },
    duringLongCall: (id, call) => fleet.get(id)?.observer.duringLongCall(call) ?? call,
    nodeIds: () => fleet.activeIds()
  }
}

interface DiscoveryParts extends Tools, Pick<InventoriesParts, 'projects' | 'recordScrapydVersion'> {
  store: Store
  secretBox: SecretBox
  fleet: Fleet
  discovered: DiscoveredFleet
  resolver: NameResolver | undefined
}

export function openDiscovery(
  opened: AsyncDisposableStack,
  { discovery: configured = [] }: NodesOptions,
  { discovered, resolver, fleet, ...parts }: DiscoveryParts
) {
  const inventories = opened.adopt(new Inventories({ ...parts, fleet }), stop)
  const found = { ...parts, fleet: discovered, configured }
  const discovery = new Discovery({ ...found, resolver: resolver ?? createNameResolver({ clock: parts.clock }) })
  return { inventories, discovery: opened.adopt(discovery, stop) }
}
