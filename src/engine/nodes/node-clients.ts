import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { engineOfAddress } from '../../shared/engine-address.ts'
import type { NodeId, ProjectName, SealedText, VersionName } from '../../shared/contract/index.ts'
import type { EngineCertificate } from '../cluster/leadership/leadership.ts'
import type { StoredNode } from '../model/records.ts'
import type { LIVE_STATES } from '../model/transitions.ts'
import type { Projects } from '../projects/projects.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { Tools } from '../runtime/tools.ts'
import type { CredentialFiles } from './kubernetes/credential-files.ts'
import type { EggLinks, StoredEggLinks } from './kubernetes/egg-links.ts'
import type { LocalNode } from './local/local-node.ts'
import type { NodeClient } from './node-client.ts'
import type { EngineNodes } from './peers/engine-nodes.ts'
import type { PullingNodes } from './pulling/pulling-nodes.ts'
import type { createConnection } from './scrapyd/connection.ts'
import { DIRECT } from './scrapyd/proxy.ts'
import type { SshTunnels } from './ssh/ssh-tunnels.ts'

interface LiveRun {
  readonly jobid: string
  readonly project: ProjectName
  readonly state: (typeof LIVE_STATES)[number]
  readonly sentAtMs: number
}

export interface NodeClientParts extends Tools {
  secretBox: Pick<SecretBox, 'open'>
  localNode: LocalNode | null
  /** null: this is the only engine. */
  engines: { nodes: Pick<EngineNodes, 'placeOf'>; secret: string; certificate: EngineCertificate | null } | null
  /** The engine that had the local node before that engine joined a cluster. */
  formerLocalEngine: string | null
  slotsOf: (id: NodeId) => number | null
  pulling: PullingNodes
  liveOn: (id: NodeId) => readonly LiveRun[]
  projects: Pick<Projects, 'eggToSend' | 'catalog' | 'settingsOf'>
  dataDirectory: string
  eggLinks: Pick<StoredEggLinks, 'load'>
  tunnels: SshTunnels
  credentialFiles: CredentialFiles
  connect: typeof createConnection | undefined
  /** Replaces the clients of remote nodes in tests. */
  createOwn: ((node: StoredNode, password: string | null) => NodeClient) | undefined
}

export function createNodeClients(parts: NodeClientParts) {
  const { localNode, pulling, engines, liveOn, projects, secretBox, clock, logger, connect } = parts
  const sha256Of = (project: ProjectName, version: VersionName) =>
    projects.catalog.find(project, version)?.sha256 ?? null
  let copies: Promise<string> | null = null

  return { createClient, proxyUrlOf }

  async function createClient(node: StoredNode): Promise<NodeClient> {
    if (node.kind === 'local')
      return localNode ?? createEngineNode(node, parts.formerLocalEngine!, { takesJobs: false })
    if (node.kind === 'engine') return createEngineNode(node, engineOfAddress(node.url)!, { takesJobs: true })
    if (node.kind === 'pulling') return pulling.get(node.id) ?? createPullingNode(node)
    const password = await openSecret(node, node.sealedPassword, 'password')
    if (parts.createOwn !== undefined) return parts.createOwn(node, password)
    if (node.kind === 'kubernetes') return createClusterClient(node, password)
    const { name, url, username, caCertificate, clientCertificate } = node
    const clientKey = await openSecret(node, node.sealedClientKey, 'client key')
    const proxyUrl = await proxyUrlOf(node)
    // This module is loaded with the first remote node, because it also loads an HTTP client.
    const { createScrapydClient } = await import('./scrapyd/scrapyd-client.ts')
    return createScrapydClient({
      name,
      url,
      username,
      password,
      caCertificate,
      clientCertificate,
      clientKey,
      proxyUrl,
      clock,
      logger,
      tunnels: parts.tunnels,
      connect
    })
  }

  async function createEngineNode(
    { id, name }: StoredNode,
    engine: string,
    { takesJobs }: { takesJobs: boolean }
  ): Promise<NodeClient> {
    const [{ EngineNode }, { createConnection }] = await Promise.all([
      import('./peers/engine-node.ts'),
      import('./scrapyd/connection.ts')
    ])
    const pythonOf = (project: ProjectName) => projects.settingsOf(project).python
    return new EngineNode({
      name,
      takesJobs,
      pythonOf,
      clock,
      connect: connect ?? createConnection,
      place: () => engines!.nodes.placeOf(engine),
      engine,
      secret: engines!.secret,
      certificate: engines!.certificate,
      isListed: (jobid) => takesJobs !== liveOn(LOCAL_NODE_ID).some((one) => one.jobid === jobid),
      slots: () => parts.slotsOf(id),
      projects: () => projects.catalog.names()
    })
  }

  async function createPullingNode({ id }: StoredNode): Promise<NodeClient> {
    const { PullingNode } = await import('./pulling/pulling-node.ts')
    const node = new PullingNode({
      name: () => pulling.nameOf(id),
      belief: {
        stateOf: ({ project, jobid }) =>
          liveOn(id).find((one) => one.jobid === jobid && one.project === project)?.state ?? null,
        oldestSentAtMs: () => liveOn(id).reduce<number | null>(older, null)
      },
      eggOf: (project, version) => (sha256Of(project, version) === null ? null : projects.eggToSend(project, version)),
      onNews: () => pulling.events.emit('news', id),
      onOpened: ({ scrapyd }) => pulling.events.emit('opened', id, scrapyd),
      onClosed: () => pulling.forget(id, node),
      clock
    })
    return pulling.put(id, node)
  }

  async function createClusterClient(node: StoredNode, token: string | null): Promise<NodeClient> {
    const { id, name, url, caCertificate, clientCertificate } = node
    const { openCluster } = await import('./kubernetes/open-cluster.ts')
    const links = await parts.eggLinks.load()
    return openCluster({
      nodeId: id,
      name,
      url,
      caCertificate,
      clientCertificate,
      token,
      clock,
      logger,
      settings: node.kubernetes!,
      files: parts.credentialFiles,
      clientKey: await openSecret(node, node.sealedClientKey, 'client key'),
      proxyUrl: await proxyUrlOf(node),
      eggOf(run: Parameters<EggLinks['sign']>[0]) {
        const sha256 = sha256Of(run.project, run.version)
        return sha256 === null ? null : { path: `kubernetes/eggs/${links.sign(run)}`, sha256 }
      },
      directory: join(await (copies ??= emptyCopies()), parts.random.hex(8)),
      connect
    })
  }

  /** Deletes the logs that an earlier engine copied. Reads fetch them again. */
  async function emptyCopies(): Promise<string> {
    const directory = join(parts.dataDirectory, 'kubernetes')
    await rm(directory, { recursive: true, force: true })
    return directory
  }

  async function proxyUrlOf(node: StoredNode): Promise<string | null> {
    const { sealedProxyUrl } = node
    return sealedProxyUrl === DIRECT ? DIRECT : openSecret(node, sealedProxyUrl, 'proxy')
  }

  /** null if the secret was sealed with a different key (another machine's keychain). The engine must start anyway. */
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

const older = (before: number | null, { sentAtMs }: LiveRun): number =>
  before === null ? sentAtMs : Math.min(before, sentAtMs)
