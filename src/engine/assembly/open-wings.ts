import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { CANCEL_WAITS_MS, type CancelWaitsMs } from '../../shared/run-limits.ts'
import { auditTicket } from '../access/acting.ts'
import { openAccess } from '../access/open-access.ts'
import { openCommands } from '../api/commands/open-commands.ts'
import { openApi } from '../api/open-api.ts'
import { openCache } from '../cluster/cache/open-cache.ts'
import { LiveAttempts } from '../jobs/dispatch/live-attempts.ts'
import { openJobs } from '../jobs/open-jobs.ts'
import { openMaintenance } from '../maintenance/open-maintenance.ts'
import { openMonitoring } from '../monitoring/open-monitoring.ts'
import { checkConfiguredSources } from '../nodes/discovery/discovery.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { LocalNode } from '../nodes/local/local-node.ts'
import { checkNamedPython, layOutLocalNode } from '../nodes/local/optional-local-node.ts'
import { openDiscovery, openNodes } from '../nodes/open-nodes.ts'
import { Plugins } from '../notify/plugins/plugins.ts'
import { parseNetworks } from '../notify/deliveries/addresses.ts'
import { openDeliveries } from '../notify/deliveries/open-deliveries.ts'
import { WITHOUT_EGG } from '../projects/catalog.ts'
import { openDistribution, openProjects } from '../projects/open-projects.ts'
import type { SpiderLookup } from '../projects/spider-lookup.ts'
import { openArchives } from '../runs/open-archives.ts'
import { openRuns } from '../runs/open-runs.ts'
import { systemClock } from '../runtime/clock.ts'
import { silentLogger } from '../runtime/logger.ts'
import { watchLoopDelay } from '../runtime/loop-delay.ts'
import { systemRandom } from '../runtime/random.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import { openSchedules } from '../schedules/open-schedules.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { EngineOptions } from './engine-options.ts'

export type Wings = Awaited<ReturnType<typeof openWings>>

/**
 * Opens the wings from the bottom up. Each receives the parts of lower wings that it uses, and reaches higher wings
 * only through events (listeners.ts) and functions. `opened` closes all parts in reverse order, even those that were
 * never started.
 */
export async function openWings(opened: AsyncDisposableStack, given: EngineOptions, storeThread: Worker | null) {
  const { seams = {}, logger = silentLogger, leadership = null } = given
  const { clock = systemClock, random = systemRandom } = seams
  const tools: Tools = { clock, random, logger }
  // In a cluster, each engine hosts its own local node, regardless of which engine leads.
  const options = leadership === null ? given : { ...given, localSlots: 0 }
  const localNode = seams.localNode === undefined && options.localSlots === 0 ? null : seams.localNode
  const hasLocalNode = localNode !== null
  const layout = layOutLocalNode(options)
  const cancelWaitsMs = cancelWaitsOf(options)
  checkConfiguredSources(options.discovery ?? [])
  const networks = parseNetworks(options.webhookNetworks ?? '')
  const python = localNode === undefined ? checkNamedPython(options, clock) : Promise.resolve()
  python.catch(() => {})

  const plugins = opened.adopt(await Plugins.open(options.plugins ?? [], tools), stop)
  const storage = await openStorage(opened, options, {
    ...tools,
    storeThread,
    auditTicket,
    ownStore: seams.store,
    ownBlobs: seams.blobs,
    pluginBlobs: plugins.blobs,
    onUnknownCommit: () => leadership?.stepDown()
  })
  const { store, secretBox, blobs, keys, sealedBlobs, sharedBlobs, incoming, credentials } = storage
  const { dataDirectory } = options
  const ownArchive = seams.logArchive
  const archives = await openArchives(opened, { ...tools, dataDirectory, store, blobs, keys, sealedBlobs, ownArchive })
  const { archive, itemBlobs, logScans, logIndex } = archives
  const indexesLogs = seams.logIndex !== null
  const isStoreShared = (options.postgres ?? null) !== null
  const cache = await openCache(opened, options, { ...tools, store, isStoreShared, credentials })
  const access = await openAccess(opened, options, { ...tools, store, secretBox, ownerName: credentials.username })
  const startedAtMs = clock.nowMs()

  // The local node runs the eggs of projects and lists their spiders. It opens later, so calls wait for it.
  const above: { fleet?: Fleet } = {}
  const openedLocalNode = Promise.withResolvers<LocalNode>()
  const openedLookup = Promise.withResolvers<SpiderLookup>()
  const projects = await openProjects({
    clock,
    logger,
    store,
    blobs,
    incoming,
    tree: seams.eggTree,
    treeDirectory: layout.eggs,
    eggDirectory: join(layout.own, 'egg-files'),
    settingsProjects: hasLocalNode ? options.settingsProjects : undefined,
    listSpidersOfEgg: hasLocalNode
      ? async (eggPath, project) => (await openedLocalNode.promise).listSpidersOfEgg(eggPath, project)
      : null,
    listSpidersOfSettings: async (project) => (await openedLocalNode.promise).listSpiders(project, WITHOUT_EGG),
    listSpidersOnNodes: async (project, version) => (await openedLookup.promise).find(project, version),
    scrapydVersionOf: (id) => above.fleet?.get(id)?.stored.scrapydVersion ?? null,
    hasNode: (id) => above.fleet?.get(id) !== undefined
  })
  // Belongs to the jobs wing, but the local node and the node clients use it.
  const live = new LiveAttempts({ store, clock })
  const isLive = (jobid: string) => live.hasJobid(jobid)
  const nodes = await openNodes(opened, options, {
    ...tools,
    store,
    secretBox,
    projects,
    layout,
    isLive,
    cancelWaitsMs,
    leadership,
    localNode,
    liveOn: (id) => live.ofNode(id),
    connect: seams.connect,
    createOwn: seams.createNodeClient,
    secretFiles: secretFilesOf(options)
  })
  const { fleet, local, engineNodes, localItemsOf } = nodes
  above.fleet = fleet
  if (local.node !== null) openedLocalNode.resolve(local.node)
  await python

  const distribution = openDistribution(opened, { ...tools, projects, eggNodes: nodes.eggNodes })
  openedLookup.resolve(distribution.spiderLookup)
  const loopDelay = opened.adopt(seams.loopDelay ?? watchLoopDelay(), stop)
  const runs = openRuns(opened, options, {
    ...tools,
    store,
    archive,
    itemBlobs,
    logScans,
    fleet,
    localItemsOf,
    layout,
    projects,
    loopDelay,
    hasLocalNode: local.node !== null,
    recordLogKept: (attempt, entry) => live.record(attempt, { ...entry, from: ['ended'], kind: 'log_kept' })
  })
  const { collector, itemsArchive, jobLogs } = runs
  const jobs = openJobs(opened, {
    clock,
    logger,
    store,
    archive,
    itemsArchive,
    collector,
    fleet,
    local,
    live,
    projects,
    cancelWaitsMs,
    distribution: distribution.distribution,
    catalog: projects.catalog,
    secrets: secretBox,
    mayAct: leadership?.mayAct,
    beforeDispatch: plugins.beforeDispatch,
    chooseNodes: plugins.chooseNodes
  })
  const { dispatch, waiting, wakeDispatcher } = jobs
  const deliveries = openDeliveries(opened, options, {
    ...tools,
    store,
    secretBox,
    networks,
    plugins,
    post: seams.post,
    readEvidence: (news) => monitoring.evidence.forNews(news)
  })
  const commands = openCommands(opened, {
    ...tools,
    store,
    secretBox,
    projects,
    live,
    dispatch,
    waiting,
    wakeDispatcher,
    fleet,
    local,
    engineNodes,
    credentialFiles: nodes.credentialFiles,
    pulling: nodes.pulling,
    distribution: distribution.distribution,
    atOnce: distribution.atOnce,
    resourcesDirectory: options.resourcesDirectory
  })
  const { systemCommands, nodeCommands, projectCommands } = commands
  const discovery = openDiscovery(opened, options, {
    ...tools,
    store,
    secretBox,
    fleet,
    projects,
    discovered: commands.discovered,
    resolver: seams.resolver,
    recordScrapydVersion: ({ id, url }, version) => nodeCommands.recordScrapydVersion(id, url, version)
  })
  const schedules = openSchedules(opened, { ...tools, store, jobs: commands.scheduledJobs, onJobs: wakeDispatcher })
  const maintenance = openMaintenance(opened, options, {
    ...tools,
    store,
    archive,
    itemBlobs,
    reEncryption: archives.reEncryption,
    projects,
    sharedBlobs,
    fleet,
    logIndex: indexesLogs ? logIndex : null,
    layout: leadership === null ? layout : null,
    isNeeded: isLive,
    inventories: discovery.inventories,
    sweeps: runs.sweeps,
    deleteEgg: (project, version) => projectCommands.deleteVersion(project, version),
    checkProblems: () => monitoring.problems.scheduleCheck(),
    measureDisk: seams.measureDisk
  })
  const stopping = new AbortController()
  const monitoring = openMonitoring(opened, options, {
    ...tools,
    store,
    isStoreDead: storage.isStoreDead,
    sharedBlobs,
    cache: cache.cache,
    leadership,
    plugins,
    access: access.access,
    auditStream: access.auditStream,
    fleet,
    local,
    engineNodes,
    jobLogs,
    collector,
    dispatch,
    waiting,
    watchdog: schedules.watchdog,
    post: deliveries.post,
    projects,
    live,
    loopDelay,
    discovery: discovery.discovery,
    retention: maintenance.retention,
    system: systemCommands,
    countFilled: seams.itemCounts === null ? null : runs.countFilled,
    isStopping: () => stopping.signal.aborted
  })
  const api = openApi(opened, options, {
    ...tools,
    store,
    secretBox,
    incoming,
    position: cache.position,
    access,
    projects,
    distribution,
    nodes,
    archives,
    runs,
    jobs,
    deliveries,
    schedules,
    commands,
    maintenance,
    monitoring,
    leadership,
    hasLocalNode,
    layout,
    startedAtMs,
    discovery: discovery.discovery
  })
  // Aborted before any part closes, so that failures due to closing parts are not logged.
  opened.adopt(stopping, (one) => one.abort())
  return {
    logger,
    stopping,
    plugins,
    storage,
    archives,
    indexesLogs,
    cache,
    access,
    projects,
    live,
    nodes,
    distribution,
    runs,
    jobs,
    deliveries,
    commands,
    discovery,
    schedules,
    maintenance,
    monitoring,
    api
  }
}

function cancelWaitsOf({ cancelWaitsSeconds }: EngineOptions): CancelWaitsMs {
  if (cancelWaitsSeconds === undefined) return CANCEL_WAITS_MS
  const [first, second, last] = cancelWaitsSeconds
  return [first * 1000, second * 1000, last * 1000]
}

/** No address may name these paths as a credential, because they hold the secrets of all users. */
function secretFilesOf({ dataDirectory, secretKeyFile, encryption, secretFiles = [] }: EngineOptions): string[] {
  return [dataDirectory, secretKeyFile, encryption?.keyFile, ...secretFiles].filter((path) => path != null)
}
