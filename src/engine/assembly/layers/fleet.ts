import { join } from 'node:path'
import { CANCEL_WAITS_MS, type CancelWaitsMs, limitWaitsOf } from '../../../shared/run-limits.ts'
import { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import type { LocalNode } from '../../nodes/local/local-node.ts'
import { absoluteUnlessBare } from '../../nodes/local/pythons/python-environment.ts'
import { Fleet } from '../../nodes/fleet.ts'
import { WITHOUT_EGG } from '../../projects/catalog.ts'
import { createEggThreads } from '../../projects/egg-thread.ts'
import { EggTree } from '../../projects/egg-tree.ts'
import { Projects } from '../../projects/projects.ts'
import { SpiderLookup } from '../../projects/spider-lookup.ts'
import { EngineNodes } from '../../nodes/peers/engine-nodes.ts'
import { CredentialFiles } from '../../nodes/kubernetes/credential-files.ts'
import { SshTunnels } from '../../nodes/ssh/ssh-tunnels.ts'
import { PullingNodes } from '../../nodes/pulling/pulling-nodes.ts'
import { stop } from '../../runtime/tools.ts'
import type { EngineOptions } from '../engine-options.ts'
import { wireEggLinks } from '../../nodes/kubernetes/wire-egg-links.ts'
import { hasLocalNode, layOutLocalNode, LocalNodeRoom } from '../../nodes/local/optional-local-node.ts'
import { wireNodeClients } from '../../nodes/node-clients.ts'
import type { Ground } from './ground.ts'

export type WithFleet = Ground & Awaited<ReturnType<typeof openFleet>>

/** Projects, and the nodes that run them. */
export async function openFleet(
  options: EngineOptions,
  below: Ground & { formerLocalEngine: string | null },
  opened: AsyncDisposableStack
) {
  const { base, blobs, incoming } = below
  const { logger } = base
  const { seams = {} } = options
  const layout = layOutLocalNode(options)
  const cancelWaitsMs = readCancelWaits(options)
  // The local node runs the projects' eggs and lists their spiders: calls before it is open wait for it.
  const localNode = Promise.withResolvers<LocalNode>()
  const spiderLookup = Promise.withResolvers<SpiderLookup>()
  const opening: { fleet?: Fleet } = {}
  const projects = await Projects.open({
    ...base,
    blobs,
    incoming,
    openEgg: createEggThreads(base.clock),
    eggDirectory: join(layout.own, 'egg-files'),
    tree: seams.eggTree ?? (await EggTree.open(layout.eggs, logger)),
    settingsProjects: hasLocalNode(options) ? options.settingsProjects : undefined,
    listSpidersOfEgg: hasLocalNode(options)
      ? async (eggPath, project) => (await localNode.promise).listSpidersOfEgg(eggPath, project)
      : null,
    listSpidersOnNodes: async (project, version) => (await spiderLookup.promise).find(project, version),
    scrapydVersionOf: (nodeId) => opening.fleet?.get(nodeId)?.stored.scrapydVersion ?? null,
    listSpidersOfSettings: async (project) => (await localNode.promise).listSpiders(project, WITHOUT_EGG),
    hasNode: (nodeId) => opening.fleet?.get(nodeId) !== undefined
  })
  const live = new LiveAttempts(base)
  const isNeeded = (jobid: string) => live.hasJobid(jobid)
  const local = await LocalNodeRoom.open(options, {
    ...{ ...base, layout, projects, isNeeded },
    limitWaitsMs: limitWaitsOf(cancelWaitsMs)
  })
  opened.adopt(local, stop)
  if (local.node !== null) localNode.resolve(local.node)
  const eggLinks = wireEggLinks({
    ...base,
    isLive: isNeeded,
    eggToSend: (project, version) => projects.eggToSend(project, version)
  })
  const engineNodes =
    options.leadership === undefined ? null : new EngineNodes({ ...base, engines: options.leadership })
  opened.adopt(engineNodes, (nodes) => nodes?.stop())
  const pulling = new PullingNodes((id) => opening.fleet?.get(id)?.stored)
  const program = absoluteUnlessBare(options.sshProgram ?? 'ssh')
  const tunnels = opened.adopt(new SshTunnels({ ...base, program }), stop)
  const credentialFiles = new CredentialFiles({
    directories: options.clusterCredentialDirectories ?? [],
    never: ownFiles(options)
  })
  const clients = wireNodeClients({
    ...base,
    tunnels,
    credentialFiles,
    ...{ localNode: local.node, pulling, live, projects, eggLinks, dataDirectory: options.dataDirectory },
    eggOf: (project, version) => projects.catalog.find(project, version)?.sha256 ?? null,
    formerLocalEngine: below.formerLocalEngine,
    engines: engineNodes === null ? null : { nodes: engineNodes, ...options.leadership! },
    slotsOf: (id) => opening.fleet?.get(id)?.stored.slots ?? null,
    seams
  })
  const fleet = opened.adopt(new Fleet({ ...base, ...clients }), stop)
  opening.fleet = fleet
  return {
    formerLocalEngine: below.formerLocalEngine,
    engineNodes,
    layout,
    cancelWaitsMs,
    projects,
    local,
    live,
    fleet,
    tunnels,
    credentialFiles,
    pulling,
    eggLinks,
    onSpiderLookup: spiderLookup.resolve
  }
}

/** Paths that no address may name as a credential: they hold the secrets of all users. */
function ownFiles({ dataDirectory, secretKeyFile, encryption, secretFiles = [] }: EngineOptions): string[] {
  return [dataDirectory, secretKeyFile, encryption?.keyFile, ...secretFiles].filter((path) => path != null)
}

function readCancelWaits({ cancelWaitsSeconds }: EngineOptions): CancelWaitsMs {
  if (cancelWaitsSeconds === undefined) return CANCEL_WAITS_MS
  const [first, second, last] = cancelWaitsSeconds
  return [first * 1000, second * 1000, last * 1000]
}
