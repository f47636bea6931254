import {
  type Attempt,
  DEFAULT_AUDIT_DAYS,
  DEFAULT_CRAWL_CACHE_SECONDS,
  type JobId,
  type NodeId,
  type ProjectName
} from '../../shared/contract/index.ts'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { CANCEL_WAITS_MS, type CancelWaitsMs, effectiveLimits, limitWaitsOf } from '../../shared/run-limits.ts'
import { sweepLeftHolds } from '../backup/held-files.ts'
import { JobCommands } from '../commands/job-commands.ts'
import { NodeCommands } from '../commands/node-commands.ts'
import { ProjectCommands } from '../commands/project-commands.ts'
import { QueueCommands } from '../commands/queue-commands.ts'
import { RememberedAnswers } from '../commands/remembered-answers.ts'
import { SystemCommands } from '../commands/system-commands.ts'
import { Access } from '../access/access.ts'
import { SecondFactors } from '../access/second-factor/second-factors.ts'
import { SignIns } from '../access/sign-ins.ts'
import { Audit } from '../audit/audit.ts'
import { SyslogStream } from '../audit/syslog.ts'
import { describeNode } from '../dispatch/describe-node.ts'
import { ErrorGroups } from '../collecting/error-groups.ts'
import { JobFigures } from '../collecting/job-figures.ts'
import { sweepLeftItems } from '../collecting/items-archive.ts'
import { sweepLeftCopies } from '../collecting/left-copies.ts'
import { sweepLocalLogs } from '../collecting/local-logs.ts'
import { sweepUnusedBlobs } from '../retention/unused-blobs.ts'
import { LogCollector } from '../collecting/log-collector.ts'
import { Dispatch } from '../dispatch/dispatch.ts'
import { LiveAttempts } from '../dispatch/live-attempts.ts'
import { ChangeFeed } from '../events/change-feed.ts'
import { News } from '../events/news.ts'
import { BlobWatch } from '../health/blob-watch.ts'
import { ExpectationWatch } from '../health/expectations/expectation-watch.ts'
import { FiguresSampler } from '../health/figures.ts'
import { HealthWatch } from '../health/health-watch.ts'
import { Metrics } from '../health/metrics.ts'
import { ProblemWatch } from '../health/problem-watch.ts'
import type { JobItems } from '../items/job-items.ts'
import { engineAlone } from '../leadership/engine-alone.ts'
import type { LocalNode } from '../launcher/local-node.ts'
import { requirePython } from '../launcher/pythons/check-python.ts'
import { absoluteUnlessBare } from '../launcher/pythons/python-environment.ts'
import { checkConfiguredSources } from '../nodes/discovery/discovery.ts'
import { createNameResolver } from '../nodes/discovery/name-resolver.ts'
import { Fleet, type FleetNode } from '../nodes/fleet.ts'
import { Inventories } from '../nodes/inventories.ts'
import { JobLogs } from '../nodes/job-logs.ts'
import { importErrorOf } from '../nodes/node-client.ts'
import { Alerts } from '../plugins/alerts.ts'
import { Plugins } from '../plugins/plugins.ts'
import { AtOnce } from '../projects/at-once.ts'
import { WITHOUT_EGG } from '../projects/catalog.ts'
import { Distribution } from '../projects/distribution.ts'
import { createEggThreads } from '../projects/egg-thread.ts'
import { EggTree } from '../projects/egg-tree.ts'
import { Projects } from '../projects/projects.ts'
import { type ListingNode, SpiderLookup } from '../projects/spider-lookup.ts'
import { WaitingReasons } from '../queue/waiting-reasons.ts'
import { listRunning } from '../router/list-running.ts'
import { describeStored, describeTouched } from '../router/describe-changes.ts'
import { systemClock } from '../runtime/clock.ts'
import { createJobIds } from '../runtime/ids.ts'
import { silentLogger } from '../runtime/logger.ts'
import { watchLoopDelay } from '../runtime/loop-delay.ts'
import { systemRandom } from '../runtime/random.ts'
import { EngineNodes } from '../nodes/engines/engine-nodes.ts'
import { SshTunnels } from '../nodes/ssh/ssh-tunnels.ts'
import { PullingNodes } from '../nodes/pulling/pulling-nodes.ts'
import type { EngineRouter } from '../router/router.ts'
import { ScrapydCommands } from '../scrapyd-commands/scrapyd-commands.ts'
import { parseNetworks } from '../webhooks/addresses.ts'
import type { Base } from './base.ts'
import type { EngineOptions } from './engine-options.ts'
import { Housekeeping } from './housekeeping.ts'
import { openData } from './open-data.ts'
import { wireCache } from './wire-cache.ts'
import { wireChains } from './wire-chains.ts'
import { wireEggLinks } from './wire-egg-links.ts'
import { wireDiscovery } from './wire-discovery.ts'
import { wireItemsArchive } from './wire-items-archive.ts'
import { formerLocalEngine, hasLocalNode, layOutLocalNode, LocalNodeRoom } from './wire-local-node.ts'
import { wireRetention } from './wire-retention.ts'
import { CredentialFiles } from '../nodes/kubernetes/credential-files.ts'
import { wireNodeClients } from './wire-node-clients.ts'
import type { wireRouter } from './wire-router.ts'
import { wireSchedules } from './wire-schedules.ts'
import { wireWebhooks } from './wire-webhooks.ts'
import { measureDiskOf } from '../retention/disk.ts'

export type Rooms = Awaited<ReturnType<typeof openRooms>>

/**
 * The rooms of an engine, from the ground floor up: each floor gets those below it and calls them; it reports to those
 * above with events, which listeners.ts connects. Whatever must be closed is adopted by `opened` where it is created:
 * the stack closes in reverse order, including rooms that were never or only partly started.
 */
export async function openRooms(given: EngineOptions, storeThread: Worker | null, opened: AsyncDisposableStack) {
  // Each of several engines hosts its local node itself, whoever leads.
  const options = given.leadership === undefined ? given : { ...given, localSlots: 0 }
  const python = checkNamedPython(options)
  const ground = await openGround(given, storeThread, opened)
  const former = await formerLocalEngine(given, ground.base.store)
  const fleet = await openFleet(options, { ...ground, formerLocalEngine: former }, opened)
  await python
  const work = openWork(options, { ...ground, ...fleet }, opened)
  const orders = openOrders(options, { ...ground, ...fleet, ...work }, opened)
  const health = openHealth(options, { ...ground, ...fleet, ...work, ...orders }, opened)
  const doors = openDoors(options, { ...ground, ...fleet, ...work, ...orders, ...health }, opened)
  return { ...ground, ...fleet, ...work, ...orders, ...health, ...doors }
}

const stop = (room: { stop(): Promise<void> | void }) => room.stop()

type Ground = Awaited<ReturnType<typeof openGround>>
type WithFleet = Ground & Awaited<ReturnType<typeof openFleet>>
type WithWork = WithFleet & ReturnType<typeof openWork>
type WithOrders = WithWork & ReturnType<typeof openOrders>
type WithHealth = WithOrders & ReturnType<typeof openHealth>

/** Runs beside the opening of the rooms, and is awaited after it. Rejects with PYTHON_MISSING. */
function checkNamedPython(options: EngineOptions): Promise<void> | null {
  const { pythonPath, resourcesDirectory, seams } = options
  if (pythonPath === undefined || seams?.localNode !== undefined || !hasLocalNode(options)) return null
  const clock = seams?.clock ?? systemClock
  const check = requirePython(absoluteUnlessBare(pythonPath), { directory: resourcesDirectory, clock })
  // If something else fails first, that is reported.
  check.catch(() => {})
  return check
}

/** Clock, randomness, plugins, and the data directory. */
async function openGround(options: EngineOptions, storeThread: Worker | null, opened: AsyncDisposableStack) {
  const { seams = {}, logger = silentLogger } = options
  const { clock = systemClock, random = systemRandom } = seams
  checkConfiguredSources(options.discovery ?? [])
  const webhookNetworks = parseNetworks(options.webhookNetworks ?? '')
  const plugins = opened.adopt(await Plugins.open(options.plugins ?? [], { clock, logger }), stop)
  const data = await openData(options, { clock, random, logger, pluginBlobs: plugins.blobs, storeThread }, opened)
  const { store, secretBox } = data
  const base: Base = { store, clock, random, logger, secretBox }
  const cacheRoom = await wireCache(options, base, data.credentials)
  opened.adopt(cacheRoom.cache, (cache) => cache?.stop())
  const access = opened.adopt(await Access.open({ ...base, ownerName: data.credentials.username }), stop)
  const secondFactors = await SecondFactors.open({ ...base, access })
  const audit = opened.adopt(new Audit({ ...base, tokenName: (id) => access.tokenName(id) }), stop)
  const syslog = options.audit?.syslog ?? null
  const auditStream = syslog === null ? null : new SyslogStream({ ...base, address: syslog, hostName: hostname() })
  opened.adopt(auditStream, (stream) => stream?.stop())
  return {
    ...data,
    access,
    secondFactors,
    signIns: new SignIns({ access, clock }),
    audit,
    auditStream,
    ...cacheRoom,
    base,
    plugins,
    webhookNetworks,
    startedAtMs: clock.nowMs()
  }
}

/** Projects, and the nodes that run them. */
async function openFleet(
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

/** What nobody may name as a credential: it holds those of everybody. */
function ownFiles({ dataDirectory, secretKeyFile, encryption }: EngineOptions): string[] {
  return [dataDirectory, secretKeyFile, encryption?.keyFile].filter((path) => path != null)
}

/** What makes jobs run: distribution of eggs to nodes, and dispatch. */
function openWork(options: EngineOptions, below: WithFleet, opened: AsyncDisposableStack) {
  const { base, archive, plugins, cancelWaitsMs, projects, local, live, fleet } = below
  const clientOf = (nodeId: NodeId) => fleet.get(nodeId)?.client.eggTarget ?? null
  const fetchesEggs = (nodeId: NodeId) =>
    fleet.get(nodeId)?.stored.kind === 'pulling' || (fleet.get(nodeId)?.client.traits.fetchesEggs ?? false)
  const distribution = opened.adopt(new Distribution({ ...base, projects, clientOf, fetchesEggs, importErrorOf }), stop)
  const spiderLookup = new SpiderLookup({
    ...{ projects, distribution, importErrorOf, clock: base.clock },
    nodes: () => listingNodes(fleet),
    duringLongCall: (nodeId, call) => fleet.get(nodeId)?.observer.duringLongCall(call) ?? call
  })
  below.onSpiderLookup(spiderLookup)
  const atOnce = opened.adopt(new AtOnce({ ...base, projects, distribution, nodeIds: () => fleet.activeIds() }), stop)
  const itemsArchive = wireItemsArchive(options, below)
  const loopDelay = opened.adopt(options.seams?.loopDelay ?? watchLoopDelay(), stop)
  const collector = new LogCollector({
    ...{ ...base, archive, fleet },
    limitsOf: ({ project, limits }) => effectiveLimits(projects.settingsOf(project).limits, limits),
    loopShare: () => loopDelay.sampleShare()
  })
  opened.adopt(collector, (one) => one.stop())
  const errorGroups = opened.adopt(new ErrorGroups(base), stop)
  const waiting = new WaitingReasons(
    (nodeId) => fleet.get(nodeId)?.status.unreachableSinceMs ?? null,
    (jobId) => collector.liveOf(jobId),
    ({ id, nodeId }) => {
      const node = nodeId === null ? undefined : fleet.get(nodeId)
      const jobid = node?.client.whyPending === undefined ? undefined : live.ofJob(id)?.jobid
      const text = jobid === undefined ? null : (node?.client.whyPending?.(jobid) ?? null)
      return text === null ? null : `pending on ${node!.stored.name}: ${text}`
    }
  )
  const { beforeDispatch } = plugins
  const dispatch = new Dispatch({
    ...base,
    ...{
      archive,
      itemsArchive,
      collector,
      fleet,
      live,
      waiting,
      projects,
      distribution,
      cancelWaitsMs,
      beforeDispatch
    },
    catalog: projects.catalog,
    secrets: base.secretBox,
    mayAct: options.leadership?.mayAct
  })
  opened.adopt(dispatch, stop)
  const describe = (node: FleetNode) => describeNode(node, live, local.node, dispatch.stuckSinceMs(node.stored.id))
  const metrics = new Metrics({
    ...base,
    ...{ scrapdeckVersion: options.scrapdeckVersion, host: options.host, dataDirectory: options.dataDirectory },
    prefix: options.metricsPrefix,
    nodeName: (nodeId) => fleet.get(nodeId)?.stored.name,
    collector
  })
  return {
    distribution,
    spiderLookup,
    atOnce,
    waiting,
    itemsArchive,
    collector,
    loopDelay,
    errorGroups,
    dispatch,
    metrics,
    describe,
    wakeDispatcher: () => dispatch.wake()
  }
}

/** Commands from people, programs, node sources, schedules and chains; and the delivery of events. */
function openOrders(options: EngineOptions, below: WithWork, opened: AsyncDisposableStack) {
  const { base, credentials, plugins, webhookNetworks, projects, local, live, fleet, waiting, dispatch } = below
  const { store, clock, random, secretBox } = base
  const { seams = {} } = options
  const { distribution, atOnce, loopDelay, wakeDispatcher } = below
  const sending = { networks: webhookNetworks, post: seams.post }
  const { deliverer, webhookCommands } = wireWebhooks({
    ...base,
    ...sending,
    sendToPlugin: (webhook, delivery) => plugins.send(webhook, delivery)
  })
  opened.adopt(deliverer, stop)
  const news = opened.adopt(new News(base), stop)
  const preparing = { fleet, projects, secretBox, clock, newJobId: createJobIds(clock, random) }
  const jobCommands = new JobCommands({ ...preparing, store, dispatch, waiting })
  const nodeCommands = new NodeCommands({
    ...preparing,
    store,
    live,
    dispatch,
    distribution,
    random,
    engineNodes: below.engineNodes,
    credentialFiles: below.credentialFiles,
    pulling: below.pulling
  })
  const inventories = new Inventories({
    ...base,
    fleet,
    projects,
    recordScrapydVersion: ({ id, url }, version) => nodeCommands.recordScrapydVersion(id, url, version)
  })
  opened.adopt(inventories, stop)
  const discovery = wireDiscovery({
    ...base,
    fleet,
    nodeCommands,
    resolver: seams.resolver ?? createNameResolver({ clock }),
    configured: options.discovery ?? []
  })
  opened.adopt(discovery, stop)
  const projectCommands = new ProjectCommands({
    ...base,
    fleet,
    projects,
    distribution,
    environments: local.environments,
    wakeDispatcher,
    spreadAtOnce: () => atOnce.scanSoon(),
    onUploaded: (version) => news.recordUpload(version)
  })
  const systemCommands = new SystemCommands({
    ...{ store, dispatch, projects, jobCommands, projectCommands, localNode: local.node, credentials },
    buildDemoEgg: async () => {
      const { buildEggFromFolder } = await import('../projects/egg-builder.ts')
      return buildEggFromFolder(join(options.resourcesDirectory, 'demo'))
    }
  })
  const queueCommands = new QueueCommands({ store, live, fleet, waiting, wakeDispatcher })
  const figures = new FiguresSampler({
    ...base,
    fleet,
    live,
    sampleLoopP99Ms: () => loopDelay.sampleP99Ms(),
    isPaused: () => systemCommands.isPaused,
    isStuck: (nodeId) => dispatch.stuckSinceMs(nodeId) !== null
  })
  opened.adopt(figures, stop)
  const chains = wireChains(base, preparing, wakeDispatcher)
  opened.adopt(chains.runner, stop)
  const slots = () => figures.current.slotsTotal
  const schedules = wireSchedules(base, { preparing, jobCommands, wakeDispatcher, slots })
  opened.adopt(schedules.scheduler, stop)
  const { disk, retention } = wireRetention({
    ...base,
    ...{
      archive: below.archive,
      itemBlobs: below.itemBlobs,
      searchIndex: below.indexesLogs ? below.logIndex : NO_INDEX
    },
    ...{ projects, projectCommands },
    // Of several engines, each keeps the files of its local node in order itself.
    layout: below.engineNodes === null ? below.layout : { writtenLogs: null, itemFiles: null },
    isNeeded: (jobid) => live.hasJobid(jobid),
    encryption: () => below.resealing?.state() ?? null,
    measureDisk: seams.measureDisk ?? measureDiskOf(options.dataDirectory),
    onSample: () => retention.events.emit('changed')
  })
  opened.adopt(disk, stop)
  opened.adopt(retention, stop)
  return {
    ...{ disk, retention },
    ...{ deliverer, webhookCommands, news, jobCommands, nodeCommands, inventories, discovery, projectCommands },
    ...{ systemCommands, queueCommands, figures, chains, schedules }
  }
}

/** Where archived logs are not indexed. */
const NO_INDEX = { sizeBytes: async () => 0, reclaim: async () => 0 }

/** State derived from several rooms, and background work. */
function openHealth(options: EngineOptions, below: WithOrders, opened: AsyncDisposableStack) {
  const { base, isStoreDead, plugins, projects, local, live, fleet, waiting, dispatch, inventories, discovery } = below
  const { systemCommands, figures, retention } = below
  const isOn = (project: ProjectName) => projects.settingsOf(project).expectations
  let items: Promise<JobItems> | null = null
  const loadItems = async () =>
    (await import('./wire-items.ts')).wireItems(options, {
      ...base,
      fleet,
      layout: below.layout,
      itemsArchive: below.itemsArchive
    })
  const openItems = () => (items ??= loadItems())
  opened.defer(async () => (await items)?.stop())
  const countsItems = options.seams?.itemCounts !== null
  const countFilled = async (jobId: JobId, signal: AbortSignal) => (await openItems()).countFilled({ jobId }, signal)
  const expectations = opened.adopt(
    new ExpectationWatch({ ...base, isOn, countFilled: countsItems ? countFilled : null }),
    stop
  )
  const { leadership } = options
  const blobWatch = new BlobWatch({
    ...{ ...base, blobs: below.sharedBlobs },
    engines: leadership ?? null
  })
  opened.adopt(blobWatch, stop)
  const problems = new ProblemWatch({
    ...base,
    waitingOf: (lane) => waiting.of(lane),
    gather: () => ({
      nodes: fleet.list(),
      live: live.all(),
      stuckSinceMs: (nodeId) => dispatch.stuckSinceMs(nodeId),
      python: local.node?.python.state() ?? null,
      environments: local.environments.list(),
      isPaused: systemCommands.isPaused,
      queued: figures.current.queued,
      sources: discovery.list(),
      orderWarnings: projects.orderWarnings(),
      findings: expectations.current(),
      storage: retention.state(),
      blobs: blobWatch.state(),
      cache: below.cache?.state() ?? null,
      namesakeEngines: below.engineNodes?.namesakes() ?? [],
      plainHttpOn: systemCommands.plainHttpOn,
      syslogAway: below.auditStream?.away() ?? null,
      missingRoles: below.access.roles.missing(),
      notApart: local.node?.notApart ?? null
    })
  })
  opened.adopt(problems, stop)
  const alerts = plugins.wantsAlerts ? new Alerts({ ...base, problems: () => problems.current() }) : null
  opened.adopt(alerts, (one) => one?.stop())
  const sweeps = [
    ...openLocalLogs(options, below),
    openLeftCopies(below),
    openLeftItems(below),
    sweepLeftHolds({ ...base, directory: options.dataDirectory }),
    ...openUnusedBlobs(below)
  ]
  for (const sweep of sweeps) opened.adopt(sweep, stop)
  const housekeeping = opened.adopt(
    new Housekeeping({
      ...{ ...base, fleet, problems, inventories, sweeps },
      auditDays: options.audit?.days ?? DEFAULT_AUDIT_DAYS
    }),
    stop
  )
  const stopping = new AbortController()
  const isStopping = () => stopping.signal.aborted
  const healthWatch = new HealthWatch({
    ...base,
    ...{ dataDirectory: options.dataDirectory, isStoreDead, isStopping },
    checkBlobs: async () => (await below.sharedBlobs?.check()) ?? null
  })
  return { openItems, problems, expectations, alerts, housekeeping, blobWatch, healthWatch, stopping }
}

/** What src/server serves. */
function openDoors(options: EngineOptions, below: WithHealth, opened: AsyncDisposableStack) {
  const { base, incoming, layout, projects, local, fleet, waiting, describe, schedules, figures, problems } = below
  const { jobCommands, projectCommands, systemCommands, stopping } = below
  const { store, random, secretBox } = base
  const { environments } = local
  const jobFigures = new JobFigures({ store, collector: below.collector })
  const formatOf = (attempt: Attempt) => jobFigures.formatOf(attempt)
  const jobLogs = new JobLogs({ ...base, archive: below.archive, scans: below.logScans, fleet, formatOf })
  const reads = {
    store,
    waiting,
    scheduleCommands: schedules.commands,
    scheduleReads: schedules.reads,
    listNodes: () => fleet.list().map(describe),
    listProjects: () => projects.describe()
  }
  const now = {
    figures: () => figures.current,
    problems: () => problems.current(),
    python: () => local.python(),
    environments,
    waiting,
    progressOf: (jobId: JobId) => below.collector.liveOf(jobId),
    findNode(id: NodeId) {
      const node = fleet.get(id)
      return node === undefined ? null : describe(node)
    }
  }
  const feed = new ChangeFeed({
    ...base,
    runId: random.hex(6),
    describeStored: (things) => describeStored(things, reads),
    describeTouched: async (things) => describeTouched(things, now)
  })
  opened.adopt(feed, (one) => one.close())
  const { crawlCacheSeconds = DEFAULT_CRAWL_CACHE_SECONDS } = options
  const routerParts: Omit<Parameters<typeof wireRouter>[0], 'jobItems'> = {
    ...base,
    ...reads,
    ...below,
    hasLocalNode: local.node !== null,
    hasEngines: below.engineNodes !== null,
    crawlCacheSeconds,
    chainCommands: below.chains.commands,
    ...{ jobLogs, jobFigures },
    errorGroups: below.errorGroups,
    listRunning: (seen) =>
      listRunning({ store, waiting, newestUsage: (jobid) => local.node?.usage.newestUsage(jobid) ?? null }, seen),
    feed,
    incoming,
    describeNode: describe,
    engines:
      options.leadership ??
      engineAlone({ ...options, startedAtMs: below.startedAtMs, hasLocalNode: hasLocalNode(options) }),
    environments,
    usageOf: (jobId) => local.usageOf(jobId),
    connect: options.seams?.connect,
    problems: now.problems,
    status: () => ({
      scrapdeckVersion: options.scrapdeckVersion,
      startedAtMs: below.startedAtMs,
      address: systemCommands.address,
      host: options.host,
      trustedEngines: options.trustedEngines ?? [],
      secrets: { store: secretBox.store, text: secretBox.description },
      python: local.python()
    })
  }
  let router: Promise<EngineRouter> | null = null
  // The contract, items and the search are a fifth of what a start loads, and no other door needs them.
  const loadRouter = async () => {
    const { wireRouter } = await import('./wire-router.ts')
    return wireRouter({ ...routerParts, jobItems: await below.openItems() })
  }
  const directories = { logs: layout.logs, items: layout.itemFiles }
  const { itemsArchive, spiderLookup } = below
  const commands = { jobCommands, projectCommands, spiderLookup, itemsArchive }
  const scrapyd = new ScrapydCommands({
    ...{ ...base, ...commands, fleet, projects, jobLogs, directories },
    position: below.position
  })
  const answers = new RememberedAnswers({ ...base, newRunId: () => random.hex(6) })
  // Aborted first on stop: from here on, failures are expected because rooms are closing.
  opened.adopt(stopping, (one) => one.abort())
  return {
    feed,
    router: () => (router ??= loadRouter()),
    scrapyd,
    answers,
    crawlCacheSeconds,
    listNodes: reads.listNodes
  }
}

/** None: there is no local node, or its logs go somewhere else. */
function openLocalLogs({ directories }: EngineOptions, { base, archive, layout, local }: WithOrders) {
  if (local.node === null || layout.logs === null) return []
  return [sweepLocalLogs({ ...base, archive, directory: layout.logs, deletesFiles: directories?.logs === undefined })]
}

function openLeftCopies({ base, archive, fleet, live }: WithOrders) {
  const record: Parameters<typeof sweepLeftCopies>[0]['record'] = (attempt, entry) =>
    live.record(attempt, { ...entry, from: ['ended'], kind: 'log_kept' })
  return sweepLeftCopies({ ...base, archive, fleet, record })
}

function openLeftItems({ base, itemBlobs, itemsArchive }: WithOrders) {
  return sweepLeftItems({ ...base, archive: itemBlobs, items: itemsArchive })
}

/** None: what is in the data directory is one engine's alone, and goes at once. */
function openUnusedBlobs({ base, sharedBlobs, projects }: WithOrders) {
  return sharedBlobs === null ? [] : [sweepUnusedBlobs({ ...base, projects, blobs: sharedBlobs.store })]
}

/** Nodes that respond now. */
function listingNodes(fleet: Fleet): ListingNode[] {
  const up = fleet.list().filter(({ status }) => status.health === 'up')
  return up.map(({ stored: { id, name, mode }, client }) => ({ id, name, isActive: mode === 'active', client }))
}

function readCancelWaits({ cancelWaitsSeconds }: EngineOptions): CancelWaitsMs {
  if (cancelWaitsSeconds === undefined) return CANCEL_WAITS_MS
  const [first, second, last] = cancelWaitsSeconds
  return [first * 1000, second * 1000, last * 1000]
}
