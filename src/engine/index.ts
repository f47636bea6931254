import { join } from 'node:path'
import type { NodeHealth } from '../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../shared/ids.ts'
import { CANCEL_WAITS_MS, type CancelWaitsMs } from '../shared/run-limits.ts'
import { DiscoveryCommands } from './commands/discovery-commands.ts'
import { JobCommands } from './commands/job-commands.ts'
import { NodeCommands } from './commands/node-commands.ts'
import { ProjectCommands } from './commands/project-commands.ts'
import { QueueCommands } from './commands/queue-commands.ts'
import { createRememberedAnswers } from './commands/remembered-answers.ts'
import { createScrapydCommands } from './scrapyd-commands/scrapyd-commands.ts'
import { SystemCommands } from './commands/system-commands.ts'
import { describeNode } from './dispatch/describe-node.ts'
import { Dispatch } from './dispatch/dispatch.ts'
import { attemptKey, LiveAttempts } from './dispatch/live-attempts.ts'
import type { Engine, EngineOptions } from './wiring/engine-options.ts'
import { ChangeFeed } from './events/change-feed.ts'
import { createNews } from './events/news.ts'
import { createHealthWatch } from './health/health-watch.ts'
import { keepHouse } from './wiring/keep-house.ts'
import { checkConfiguredSources } from './nodes/discovery/discovery.ts'
import { createNameResolver } from './nodes/discovery/name-resolver.ts'
import { Fleet, type FleetNode } from './nodes/fleet.ts'
import { JobLogs } from './nodes/job-logs.ts'
import { probeNode } from './nodes/scrapyd/probe.ts'
import { buildEggFromFolder } from './projects/egg-builder.ts'
import { openEggTree } from './projects/egg-tree.ts'
import { openData } from './wiring/open-data.ts'
import { openPlugins } from './plugins/plugins.ts'
import { WITHOUT_EGG } from './projects/catalog.ts'
import { createProjects } from './projects/projects.ts'
import { WaitingReasons } from './queue/waiting-reasons.ts'
import { describeStored, describeVolatile } from './router/describe-changes.ts'
import { FiguresSampler } from './health/figures.ts'
import { Metrics } from './health/metrics.ts'
import { systemClock } from './runtime/clock.ts'
import { createJobIds } from './runtime/ids.ts'
import { silentLogger } from './runtime/logger.ts'
import { watchLoopDelay } from './runtime/loop-delay.ts'
import { systemRandom } from './runtime/random.ts'
import type { Store } from './store/store.ts'
import { wireChains } from './wiring/wire-chains.ts'
import { parseNetworks } from './webhooks/addresses.ts'
import { wireDiscovery } from './wiring/wire-discovery.ts'
import { wireEggs } from './wiring/wire-eggs.ts'
import { hasLocalNode, layOutLocalNode, wireLocalNode } from './wiring/wire-local-node.ts'
import { wireNodeClients } from './wiring/wire-node-clients.ts'
import { wireProblems } from './wiring/wire-problems.ts'
import { wireRouter } from './wiring/wire-router.ts'
import { wireSchedules } from './wiring/wire-schedules.ts'
import { wireWebhooks } from './wiring/wire-webhooks.ts'

export type { Engine, EngineOptions } from './wiring/engine-options.ts'

/**
 * The only door of the engine: opens the data directory, wires the rooms (ARCHITECTURE.md draws them) and starts to work.
 * Rejects with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE or DATA_FROM_NEWER_VERSION, having changed nothing.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { resourcesDirectory, seams = {} } = options
  const clock = seams.clock ?? systemClock
  const random = seams.random ?? systemRandom
  const logger = options.logger ?? silentLogger
  const [first, second, last] = options.cancelWaitsSeconds ?? []
  const cancelWaitsMs: CancelWaitsMs =
    first === undefined ? CANCEL_WAITS_MS : [first * 1000, second! * 1000, last! * 1000]

  checkConfiguredSources(options.discovery ?? [])
  const networks = parseNetworks(options.webhookNetworks ?? '')
  const plugins = await openPlugins(options.plugins ?? [], { clock, logger })
  const data = await openData(options, { clock, random, logger, pluginBlobs: plugins.blobs })
  const { blobs, credentials, secretBox } = data
  const metrics: Metrics = new Metrics({
    clock,
    scrapdeckVersion: options.scrapdeckVersion,
    host: options.host,
    attemptOf: (jobId, number) => live.get(attemptKey(jobId, number)),
    nodeName: (nodeId) => fleet.get(nodeId)?.stored.name,
    listNodes: () => fleet.list().map(describe),
    figures: () => figures.current
  })
  const store: Store = metrics.watch(data.store)
  const base = { store, clock, random, logger, secretBox }
  const wakeDispatcher = () => dispatch.wake()

  // --- rooms, from the foundations up; what a room needs of one above it is a function ---------------------------
  const layout = layOutLocalNode(options)
  const projects = await createProjects({
    ...base,
    blobs,
    eggDirectory: join(layout.own, 'egg-files'),
    tree: seams.eggTree ?? (await openEggTree(layout.eggs, logger)),
    settingsProjects: hasLocalNode(options) ? options.settingsProjects : undefined,
    listSpidersOfEgg: hasLocalNode(options)
      ? (eggPath, project) => localNode!.listSpidersOfEgg(eggPath, project)
      : null,
    listSpidersOfSettings: (project) => localNode!.listSpiders(project, WITHOUT_EGG)
  })
  const local = await wireLocalNode(options, { ...base, layout, projects, cancelWaitsMs })
  const { localNode, environments } = local

  const live = new LiveAttempts(base)
  const waiting = new WaitingReasons()
  const fleet: Fleet = new Fleet({
    ...base,
    ...wireNodeClients({
      ...base,
      localNode,
      pruned: {
        directories: [layout.writtenLogs, ...(layout.itemFiles === null ? [] : [layout.itemFiles])],
        keep: options.jobsToKeep ?? null,
        isNeeded: (jobid) => live.hasJobid(jobid)
      },
      seams
    })
  })
  fleet.events.on('changed', noteStatus)
  const eggs = wireEggs({
    ...base,
    projects,
    fleet,
    wakeDispatcher,
    noteScrapydVersion: ({ id, url }, version) => nodeCommands.noteScrapydVersion(id, url, version)
  })
  const { distribution } = eggs
  const dispatch = new Dispatch({
    ...base,
    blobs,
    fleet,
    live,
    waiting,
    projects,
    distribution,
    cancelWaitsMs,
    secrets: secretBox,
    beforeDispatch: plugins.beforeDispatch
  })
  dispatch.events.on('waiting', (lanes) => {
    for (const lane of lanes) feed.touch(`waiting:${lane}`)
  })
  dispatch.events.on('laneGone', (lane) => feed.forget(`waiting:${lane}`))
  live.events.on('ended', ({ one, jobOutcome }) => {
    const node = fleet.get(one.nodeId)
    if (node?.stored.mode === 'draining') noteDrained(node)
    if (jobOutcome === null) problems.settle()
    else problems.noteJobEnded()
  })
  waiting.askUnknownSince((nodeId) => fleet.get(nodeId)?.status.unreachableSinceMs ?? null)
  const jobLogs = new JobLogs({ ...base, blobs, fleet })

  // --- the doors' side -------------------------------------------------------------------------------------------
  let address: string | null = null
  const preparing = { fleet, projects, secretBox, clock, newJobId: createJobIds(clock, random) }
  const jobCommands = new JobCommands({ ...preparing, store, dispatch, waiting })
  const nodeCommands = new NodeCommands({ ...preparing, store, live, dispatch, random })
  const discovery = wireDiscovery({
    ...base,
    fleet,
    nodeCommands,
    resolver: seams.resolver ?? createNameResolver({ clock }),
    configured: options.discovery ?? [],
    onChange() {
      feed.touch('discovery')
      problems.settle()
    }
  })
  const projectCommands = new ProjectCommands({
    ...base,
    fleet,
    projects,
    distribution,
    environments,
    wakeDispatcher,
    spreadAtOnce: () => eggs.atOnce.scanSoon(),
    onDeployed: (version) => news.noteDeployed(version),
    listMissingSpiders
  })
  const systemCommands = new SystemCommands({
    store,
    dispatch,
    projects,
    jobCommands,
    projectCommands,
    localNode,
    credentials,
    address: () => address,
    buildDemoEgg: () => buildEggFromFolder(join(resourcesDirectory, 'demo'))
  })
  const chains = wireChains({
    ...base,
    preparing,
    wakeDispatcher,
    onChange() {
      feed.touch('chains')
      problems.noteSchedules()
    }
  })
  const queueCommands = new QueueCommands({
    store,
    live,
    fleet,
    waiting,
    wakeDispatcher,
    onLimitsChanged: () => feed.touch('limits')
  })
  const { deliverer, webhookCommands } = wireWebhooks({
    ...base,
    networks,
    post: seams.post,
    tellPlugin: plugins.tell,
    onChange: () => feed.touch('webhooks')
  })
  const news = createNews({ ...base, onEvents: () => deliverer.wake() })
  const schedules = wireSchedules({
    ...base,
    preparing,
    jobCommands,
    wakeDispatcher,
    slots: () => figures.current.slotsTotal,
    onFired: (firings) => metrics.noteFirings(firings),
    onChange: () => problems.noteSchedules()
  })
  const describe = (node: FleetNode) => describeNode(node, live, localNode, dispatch.stuckSinceMs(node.stored.id))
  const reads = {
    store,
    waiting,
    scheduleCommands: schedules.commands,
    scheduleReads: schedules.reads,
    listNodes: () => fleet.list().map(describe),
    listProjects: () => projects.describe()
  }
  const loopDelay = seams.loopDelay ?? watchLoopDelay()
  const figures = new FiguresSampler({
    ...base,
    fleet,
    live,
    sampleLoopP99Ms: () => loopDelay.sampleP99Ms(),
    isPaused: () => systemCommands.isPaused,
    isStuck: (nodeId) => dispatch.stuckSinceMs(nodeId) !== null,
    onChange: () => feed.touch('figures')
  })
  const { problems, alerts } = wireProblems({
    ...base,
    feed: () => feed,
    wantsAlerts: plugins.wantsAlerts,
    onEvents: () => deliverer.wake(),
    waitingOf: (lane) => waiting.of(lane),
    gather: () => ({
      nodes: fleet.list(),
      live: live.all(),
      stuckSinceMs: (nodeId) => dispatch.stuckSinceMs(nodeId),
      python: localNode?.python() ?? null,
      environments: environments.list(),
      isPaused: systemCommands.isPaused,
      queued: figures.current.queued,
      sources: discovery.list(),
      orderWarnings: projects.orderWarnings()
    })
  })
  const feed: ChangeFeed = new ChangeFeed({
    store,
    clock,
    runId: random.hex(6),
    describeStored: (things) => describeStored(things, reads),
    describeVolatile: async (things) =>
      describeVolatile(things, {
        figures: () => figures.current,
        problems: () => problems.current(),
        python: local.python,
        environments,
        waiting,
        findNode(id) {
          const node = fleet.get(id)
          return node === undefined ? null : describe(node)
        }
      })
  })
  const router = wireRouter({
    ...base,
    ...reads,
    projects,
    hasLocalNode: localNode !== null,
    jobCommands,
    nodeCommands,
    projectCommands,
    systemCommands,
    discoveryCommands: new DiscoveryCommands({ discovery }),
    queueCommands,
    chainCommands: chains.commands,
    webhookCommands,
    jobLogs,
    feed,
    figures,
    describeNode: describe,
    environments,
    usageOf: local.usageOf,
    probe: (nodeAddress) => probeNode({ address: nodeAddress, clock, logger, connect: seams.connect }),
    problems: () => problems.current(),
    status: () => ({
      scrapdeckVersion: options.scrapdeckVersion,
      startedAtMs,
      address,
      host: options.host,
      secrets: { store: secretBox.store, text: secretBox.description },
      python: local.python()
    })
  })

  // --- what is derived from several rooms ------------------------------------------------------------------------
  const startedAtMs = clock.nowMs()

  function noteStatus(node: FleetNode, healthWas?: NodeHealth): void {
    if (node.stored.id === LOCAL_NODE_ID) local.setSlots(node.status.capacity.slots)
    feed.touch(`node:${node.stored.id}`)
    problems.settle()
    if (node.stored.mode === 'draining') noteDrained(node)
    eggs.noteStatus(node, healthWas)
    if (healthWas === undefined) return
    news.noteHealth(node, healthWas)
    // Up or down: what jobs wait for is another thing now.
    dispatch.wake()
  }

  function noteDrained(node: FleetNode): void {
    nodeCommands.noteDrained(node.stored.id).catch((error: unknown) => {
      if (!isStopping) logger.error({ error, node: node.stored.name }, 'cordoning a drained node failed')
    })
  }

  function notePythons(isNewReady: boolean): void {
    if (isNewReady) listMissingSpiders()
    dispatch.wake()
    feed.touch('python')
    feed.touch('environments')
    feed.touch(`node:${LOCAL_NODE_ID}`)
    problems.settle()
  }

  /** Eggs that came before Python did. */
  function listMissingSpiders(): void {
    projects.listMissingSpiders().catch((error: unknown) => logger.error({ error }, 'listing spiders failed'))
  }

  // --- start: first what an earlier engine left, then the nodes, then the queue ------------------------------------
  let isStopping = false
  let stopped: Promise<void> | null = null
  // Before anything happens that they are to be told of.
  await plugins.subscribe(store)
  await local.putRow()
  const nodes = (await store.listNodes()).filter((node) => node.kind !== 'local' || localNode !== null)
  await queueCommands.readLimits()
  await dispatch.start({ paused: await systemCommands.readPaused() })
  for (const node of nodes) await fleet.add(node)
  await dispatch.abandonMissingNodes()
  dispatch.wake()
  local.follow({
    onChange() {
      fleet.get(LOCAL_NODE_ID)?.observer.poke()
      problems.settle()
    },
    onUsage: () => feed.touch(`node:${LOCAL_NODE_ID}`),
    onPythons: notePythons
  })
  await discovery.start()
  await figures.start()
  await deliverer.start()
  alerts?.start()
  await chains.runner.start()
  await schedules.scheduler.start()
  const house = keepHouse({ ...base, fleet, problems, readInventory: eggs.readInventory })
  projects
    .followTree()
    .then(() => dispatch.wake())
    .catch((error: unknown) => {
      if (!isStopping) logger.error({ error }, 'the tree of eggs could not be put in order')
    })

  return {
    router,
    scrapyd: createScrapydCommands({
      ...base,
      fleet,
      projects,
      jobLogs,
      jobCommands,
      projectCommands,
      directories: { logs: layout.logs, items: layout.itemFiles }
    }),
    answers: createRememberedAnswers({ ...base, newRunId: () => random.hex(6) }),
    credentials,
    setAddress: (text) => {
      address = text
    },
    health: createHealthWatch({
      ...base,
      dataDirectory: options.dataDirectory,
      isStoreDead: data.isStoreDead,
      isStopping: () => isStopping
    }),
    metrics: () => metrics.read(),
    localRunningCount: () => localNode?.runningCount() ?? 0,
    stopLocalSpiders: async () => localNode?.stopAll(),
    stop() {
      stopped ??= (async () => {
        isStopping = true
        news.stop()
        house.stop()
        problems.stop()
        figures.stop()
        feed.close()
        loopDelay.stop()
        eggs.stop()
        await discovery.stop()
        await schedules.scheduler.stop()
        await chains.runner.stop()
        await dispatch.stop()
        await fleet.stop()
        await alerts?.stop()
        await deliverer.stop()
        await plugins.stop()
        await store.close()
      })()
      return stopped
    }
  }
}
