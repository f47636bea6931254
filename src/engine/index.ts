import { mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Change, NodeHealth, PythonState, UsageSample } from '../shared/contract/index.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { LOCAL_NODE_ID } from '../shared/ids.ts'
import { CANCEL_WAITS_MS, type CancelWaitsMs } from '../shared/run-limits.ts'
import { openFilesystemBlobStore } from './blobs/filesystem/filesystem-blob-store.ts'
import { CrawlCommands } from './commands/crawl-commands.ts'
import { DiscoveryCommands } from './commands/discovery-commands.ts'
import { JobCommands } from './commands/job-commands.ts'
import { NodeCommands } from './commands/node-commands.ts'
import { ProjectCommands } from './commands/project-commands.ts'
import { QueueCommands } from './commands/queue-commands.ts'
import { createRememberedAnswers } from './commands/remembered-answers.ts'
import { createScrapydCommands } from './commands/scrapyd-commands.ts'
import { SystemCommands } from './commands/system-commands.ts'
import { describeNode } from './dispatch/describe-node.ts'
import { createDispatch } from './dispatch/dispatch.ts'
import { attemptKey, LiveAttempts } from './dispatch/live-attempts.ts'
import type { Engine, EngineOptions } from './engine-options.ts'
import { ChangeFeed } from './events/change-feed.ts'
import { FleetFiles } from './fleet-file/fleet-file.ts'
import { type Environments, NO_ENVIRONMENTS } from './launcher/environments.ts'
import { openLocalNode, type LocalNode } from './launcher/local-node.ts'
import { localNodeRow, takeConfiguredSlots } from './local-node-row.ts'
import { checkConfiguredSources } from './nodes/discovery/discovery.ts'
import { createNameResolver } from './nodes/discovery/name-resolver.ts'
import { Fleet, type FleetNode } from './nodes/fleet.ts'
import { JobLogs } from './nodes/job-logs.ts'
import { probeNode } from './nodes/scrapyd/probe.ts'
import { buildEggFromFolder } from './projects/egg-builder.ts'
import { openEggTree } from './projects/egg-tree.ts'
import { openPlugins } from './plugins/plugins.ts'
import { Alerts } from './plugins/alerts.ts'
import { WITHOUT_EGG } from './projects/catalog.ts'
import { createProjects } from './projects/projects.ts'
import { WaitingReasons } from './queue/waiting-reasons.ts'
import { FiguresSampler } from './router/figures.ts'
import { Metrics } from './router/metrics.ts'
import { ProblemWatch } from './router/problem-watch.ts'
import { createRouter, describeChanges } from './router/router.ts'
import { systemClock, type Timer } from './runtime/clock.ts'
import { readOrCreateCredentials } from './runtime/credentials-file.ts'
import { openFileSecretBox } from './runtime/file-secret-box.ts'
import { createJobIds } from './runtime/ids.ts'
import { silentLogger } from './runtime/logger.ts'
import { watchLoopDelay } from './runtime/loop-delay.ts'
import { systemRandom } from './runtime/random.ts'
import { openSqliteStore } from './store/sqlite/sqlite-store.ts'
import type { Store, StoredVersion } from './store/store.ts'
import { wireChains } from './wire-chains.ts'
import { parseNetworks } from './webhooks/addresses.ts'
import { wireDiscovery } from './wire-discovery.ts'
import { wireEggs } from './wire-eggs.ts'
import { wireNodeClients } from './wire-node-clients.ts'
import { wireSchedules } from './wire-schedules.ts'
import { wireWebhooks } from './wire-webhooks.ts'

export type { Engine, EngineOptions } from './engine-options.ts'

const CHANGES_KEPT = 100_000
const HOUSEKEEPING_EVERY_MS = 600_000

/**
 * The only door of the engine: opens the data directory, wires the rooms (ARCHITECTURE.md draws them) and starts to work.
 * Rejects with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE or DATA_FROM_NEWER_VERSION, having changed nothing.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { dataDirectory, resourcesDirectory, seams = {} } = options
  const clock = seams.clock ?? systemClock
  const random = seams.random ?? systemRandom
  const logger = options.logger ?? silentLogger
  const [first, second, last] = options.cancelWaitsSeconds ?? []
  const cancelWaitsMs: CancelWaitsMs =
    first === undefined ? CANCEL_WAITS_MS : [first * 1000, second! * 1000, last! * 1000]

  checkConfiguredSources(options.discovery ?? [])
  const networks = parseNetworks(options.webhookNetworks ?? '')
  const plugins = await openPlugins(options.plugins ?? [], { clock, logger })
  makeDataDirectory(dataDirectory)
  let isStoreDead = false
  const onDeath = () => {
    isStoreDead = true
  }
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  const metrics: Metrics = new Metrics({
    clock,
    scrapdeckVersion: options.scrapdeckVersion,
    host: options.host,
    attemptOf: (jobId, number) => live.get(attemptKey(jobId, number)),
    nodeName: (nodeId) => fleet.get(nodeId)?.stored.name,
    listNodes: () => fleet.list().map(describe),
    figures: () => figures.current
  })
  const store: Store = metrics.watch(seams.store ?? (await openSqliteStore({ path, clock, logger, onDeath })))
  const credentials = readOrCreateCredentials(dataDirectory, random, options.credentials)
  const blobs = seams.blobs ?? plugins.blobs ?? (await openFilesystemBlobStore(join(dataDirectory, 'blobs')))
  const secretBox = options.secretBox ?? (await openFileSecretBox(join(dataDirectory, 'secret.key')))

  // --- rooms, from the foundations up; what a room needs of one above it is a function ---------------------------
  const hasLocalNode = seams.localNode === undefined ? options.localSlots !== 0 : seams.localNode !== null
  const ownDirectory = join(dataDirectory, 'local')
  const directories = {
    eggs: join(ownDirectory, 'eggs'),
    logs: join(ownDirectory, 'logs'),
    items: join(ownDirectory, 'items'),
    jobs: null,
    ...options.directories
  }
  // What is not a path is a storage elsewhere.
  const itemFiles = isAbsolute(directories.items ?? '') ? directories.items : null
  const projects = await createProjects({
    store,
    blobs,
    eggDirectory: join(ownDirectory, 'egg-files'),
    tree: seams.eggTree ?? (await openEggTree(directories.eggs, logger)),
    settingsProjects: hasLocalNode ? options.settingsProjects : undefined,
    listSpidersOfEgg: hasLocalNode ? (eggPath, project) => localNode!.listSpidersOfEgg(eggPath, project) : null,
    listSpidersOfSettings: (project) => localNode!.listSpiders(project, WITHOUT_EGG),
    clock,
    logger
  })
  const storedLocal = (await store.listNodes()).find(({ id }) => id === LOCAL_NODE_ID)
  const setSlots =
    options.localSlots ?? (await takeConfiguredSlots(store, options.configuredSlots)) ?? storedLocal?.slots
  let localSlots = setSlots ?? availableParallelism()
  const localNode: LocalNode | null =
    seams.localNode !== undefined
      ? seams.localNode
      : options.localSlots === 0
        ? null
        : await openLocalNode({
            directory: ownDirectory,
            resourcesDirectory,
            slots: () => localSlots,
            pythonPath: options.pythonPath,
            projectPythons: {
              names: () => projects.names(),
              of: (project) => projects.settingsOf(project).python
            },
            source: projects.source,
            directories: {
              // Without logs_dir nobody is shown logs; outcomes are judged by them all the same.
              logsDirectory: directories.logs ?? join(ownDirectory, 'logs'),
              itemsDirectory: directories.items,
              jobsDirectory: directories.jobs
            },
            cancelWaitsMs,
            clock,
            logger
          })

  const environments: Environments = localNode?.environments ?? NO_ENVIRONMENTS

  const live = new LiveAttempts()
  const waiting = new WaitingReasons()
  const fleet: Fleet = new Fleet({
    clock,
    random,
    logger,
    ...wireNodeClients({
      localNode,
      pruned: {
        directories: [directories.logs ?? join(ownDirectory, 'logs'), ...(itemFiles === null ? [] : [itemFiles])],
        keep: options.jobsToKeep ?? null,
        isNeeded: (jobid) => live.hasJobid(jobid)
      },
      secretBox,
      clock,
      logger,
      seams
    }),
    isBusy: (nodeId) => dispatch.isBusy(nodeId),
    slotsUsedOn: (nodeId) => live.slotsUsedOn(nodeId),
    wantsSnapshot: (nodeId) => dispatch.wantsSnapshot(nodeId),
    onSnapshot: (node, snapshot) => dispatch.takeSnapshot(node, snapshot),
    onStatus: noteStatus
  })
  const eggs = wireEggs({
    projects,
    fleet,
    clock,
    logger,
    wakeDispatcher: () => dispatch.wake(),
    noteScrapydVersion: ({ id, url }, version) => nodeCommands.noteScrapydVersion(id, url, version)
  })
  const { distribution } = eggs
  const dispatch = createDispatch({
    store,
    blobs,
    fleet,
    live,
    waiting,
    clock,
    logger,
    projects,
    distribution,
    cancelWaitsMs,
    secrets: secretBox,
    beforeDispatch: plugins.beforeDispatch,
    whyNotReady: (nodeId, project) => (nodeId === LOCAL_NODE_ID ? (localNode?.whyNotReady(project) ?? null) : null),
    onWaitingChanged: (lanes) => {
      for (const lane of lanes) feed.touch(`waiting:${lane}`)
    },
    onLaneGone: (lane) => feed.forget(`waiting:${lane}`),
    onJobEnded: ({ nodeId }) => {
      const node = fleet.get(nodeId)
      if (node?.stored.mode === 'draining') noteDrained(node)
      problems.noteJobEnded()
    }
  })
  waiting.askUnknownSince((nodeId) => fleet.get(nodeId)?.status.unreachableSinceMs ?? null)
  const jobLogs = new JobLogs({ store, blobs, fleet, clock })

  // --- the doors' side -------------------------------------------------------------------------------------------
  let address: string | null = null
  const newJobId = createJobIds(clock, random)
  const jobCommands = new JobCommands({ store, fleet, projects, dispatch, waiting, secretBox, clock, newJobId })
  const nodeCommands = new NodeCommands({ store, projects, fleet, live, dispatch, secretBox, clock, random, newJobId })
  const discovery = wireDiscovery({
    store,
    fleet,
    nodeCommands,
    resolver: seams.resolver ?? createNameResolver({ clock }),
    secretBox,
    configured: options.discovery ?? [],
    clock,
    random,
    logger,
    onChange() {
      feed.touch('discovery')
      problems.settle()
    }
  })
  const projectCommands = new ProjectCommands({
    store,
    fleet,
    projects,
    distribution,
    environments,
    clock,
    wakeDispatcher: () => dispatch.wake(),
    spreadAtOnce: () => eggs.atOnce.look(),
    onDeployed: noteDeployed,
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
    store,
    secretBox,
    clock,
    random,
    logger,
    preparing: { fleet, projects, secretBox, clock, newJobId },
    wakeDispatcher: () => dispatch.wake(),
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
    wakeDispatcher: () => dispatch.wake(),
    onLimitsChanged: () => feed.touch('limits')
  })
  const { deliverer, webhookCommands } = wireWebhooks({
    store,
    clock,
    random,
    logger,
    secretBox,
    networks,
    post: seams.post,
    tellPlugin: plugins.tell,
    onChange: () => feed.touch('webhooks')
  })
  const schedules = wireSchedules({
    store,
    secretBox,
    clock,
    random,
    logger,
    preparing: { fleet, projects, secretBox, clock, newJobId },
    jobCommands,
    wakeDispatcher: () => dispatch.wake(),
    slots: () => figures.current.slotsTotal,
    onFired: (firings) => metrics.noteFirings(firings),
    onChange: () => problems.noteSchedules()
  })
  const describe = (node: FleetNode) => describeNode(node, live, localNode, dispatch.stuckSinceMs(node.stored.id))
  const reads = {
    store,
    waiting,
    scheduleCommands: schedules.commands,
    listNodes: () => fleet.list().map(describe),
    listProjects: () => projects.describe()
  }
  const loopDelay = seams.loopDelay ?? watchLoopDelay()
  const figures = new FiguresSampler({
    store,
    logger,
    fleet,
    live,
    clock,
    sampleLoopP99Ms: () => loopDelay.sampleP99Ms(),
    isPaused: () => systemCommands.isPaused,
    isStuck: (nodeId) => dispatch.stuckSinceMs(nodeId) !== null,
    onChange: () => feed.touch('figures')
  })
  const problems = new ProblemWatch({
    store,
    clock,
    logger,
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
    }),
    onChange() {
      feed.touch('problems')
      alerts?.note()
    }
  })
  const alerts = plugins.wantsAlerts
    ? new Alerts({ store, clock, logger, problems: () => problems.current(), onEvents: () => deliverer.wake() })
    : null
  const feed: ChangeFeed = new ChangeFeed({
    store,
    clock,
    runId: random.hex(6),
    describeStored: (things) => describeChanges(things, reads),
    async describeVolatile(things) {
      return things.flatMap((thing): Change[] => {
        if (thing === 'figures') return [{ kind: 'figures', figures: figures.current }]
        if (thing === 'problems') return [{ kind: 'problems', problems: problems.current() }]
        if (thing === 'python') return [{ kind: 'python', python: pythonState() }]
        if (thing === 'discovery') return [{ kind: 'discovery' }]
        if (thing === 'limits') return [{ kind: 'limits' }]
        if (thing === 'webhooks') return [{ kind: 'webhooks' }]
        if (thing === 'chains') return [{ kind: 'chains' }]
        if (thing === 'environments') return [{ kind: 'environments', environments: environments.list() }]
        if (thing.startsWith('waiting:')) {
          const lane = thing.slice('waiting:'.length)
          return [{ kind: 'waiting', lane, waiting: waiting.of(lane) }]
        }
        const node = fleet.get(thing.slice('node:'.length))
        return node === undefined ? [] : [{ kind: 'node', node: describe(node) }]
      })
    }
  })
  const discoveryCommands = new DiscoveryCommands({ discovery })
  const fleetFiles = new FleetFiles({
    store,
    hasLocalNode: localNode !== null,
    nodes: nodeCommands,
    discovery: discoveryCommands,
    projects: projectCommands,
    queue: queueCommands,
    schedules: schedules.commands,
    chains: chains.commands,
    webhooks: webhookCommands,
    secretBox,
    random
  })
  const router = createRouter({
    ...reads,
    jobCommands,
    crawlCommands: new CrawlCommands({
      jobCommands,
      projects,
      clock,
      findSchedule: (name) => schedules.commands.findByName(name),
      createSchedule: (settings) => schedules.commands.create(settings)
    }),
    nodeCommands,
    projectCommands,
    systemCommands,
    discoveryCommands,
    fleetFiles,
    queueCommands,
    chainCommands: chains.commands,
    webhookCommands,
    jobLogs,
    feed,
    figures,
    describeNode: describe,
    environments,
    usageOf,
    probe: (nodeAddress) => probeNode({ address: nodeAddress, clock, logger, connect: seams.connect }),
    problems: () => problems.current(),
    status: () => ({
      scrapdeckVersion: options.scrapdeckVersion,
      startedAtMs,
      address,
      host: options.host,
      secrets: { store: secretBox.store, text: secretBox.description },
      python: pythonState()
    })
  })

  // --- what is derived from several rooms ------------------------------------------------------------------------
  const startedAtMs = clock.nowMs()

  function pythonState(): PythonState {
    return (
      localNode?.python() ?? {
        state: 'missing',
        path: null,
        version: null,
        scrapyVersion: null,
        start: { mode: 'cold', text: 'The local node is turned off' },
        problem: 'The local node is turned off'
      }
    )
  }

  /** Of the job's newest run on the local node. */
  async function usageOf(jobId: string): Promise<UsageSample[]> {
    if ((await store.getJob(jobId)) === null) {
      throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${jobId}; it may have been deleted`)
    }
    const attempt = (await store.listAttempts(jobId)).findLast(({ nodeId }) => nodeId === LOCAL_NODE_ID)
    return attempt === undefined ? [] : (localNode?.usageOf(attempt.jobid) ?? [])
  }

  function noteStatus(node: FleetNode, healthWas?: NodeHealth): void {
    if (node.stored.id === LOCAL_NODE_ID) localSlots = node.status.capacity.slots
    feed.touch(`node:${node.stored.id}`)
    problems.settle()
    if (node.stored.mode === 'draining') noteDrained(node)
    eggs.noteStatus(node, healthWas)
    if (healthWas !== undefined) noteHealth(node, healthWas)
    // Up or down: what jobs wait for is another thing now.
    if (healthWas !== undefined) dispatch.wake()
  }

  /** For webhooks and plugins. A node that is asked for the first time is not news, but for one that cannot be used. */
  function noteHealth({ stored, status }: FleetNode, healthWas: NodeHealth): void {
    const isUp = status.health === 'up'
    if (status.health === 'unknown' || isUp === (healthWas === 'up') || (isUp && healthWas === 'unknown')) return
    const { id, name, url } = stored
    const data = { node: { id, name, url, health: status.health, problem: status.problem } }
    store.noteEvents([{ event: isUp ? 'node.up' : 'node.down', project: null, atMs: clock.nowMs(), data }]).then(
      () => deliverer.wake(),
      (error: unknown) => {
        if (!isStopping) logger.error({ error, node: name }, 'noting that a node went or came failed')
      }
    )
  }

  function noteDeployed({ project, version, sha256, spiders }: StoredVersion): void {
    const data = { project, version, sha256, spiders }
    store.noteEvents([{ event: 'deploy', project, atMs: clock.nowMs(), data }]).then(
      () => deliverer.wake(),
      (error: unknown) => {
        if (!isStopping) logger.error({ error, project, version }, 'noting a deploy failed')
      }
    )
  }

  function noteDrained(node: FleetNode): void {
    nodeCommands.noteDrained(node.stored.id).catch((error: unknown) => {
      if (!isStopping) logger.error({ error, node: node.stored.name }, 'cordoning a drained node failed')
    })
  }

  /** A Python was found or made, was lost, or gets on with being made. */
  function notePythons(): void {
    const ready = new Set(environments.list().flatMap(({ path, state }) => (state === 'ready' ? [path] : [])))
    if ([...ready].some((path) => !readyPythons.has(path))) listMissingSpiders()
    readyPythons = ready
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

  function keepHouse(): void {
    housekeeping = clock.setTimer(HOUSEKEEPING_EVERY_MS, () => {
      problems.settle()
      store
        .pruneChanges(CHANGES_KEPT)
        .catch((error: unknown) => logger.error({ error }, 'pruning the change log failed'))
      for (const node of fleet.list()) {
        if (node.stored.kind === 'scrapyd' && node.status.health === 'up') void eggs.readInventory(node)
      }
      keepHouse()
    })
  }

  // --- start: first what an earlier engine left, then the nodes, then the queue ------------------------------------
  let isStopping = false
  let housekeeping: Timer | null = null
  let readyPythons = new Set<string | null>()
  let stopped: Promise<void> | null = null
  // Before anything happens that they are to be told of.
  await plugins.subscribe(store)
  if (localNode !== null) await store.putNode(localNodeRow(storedLocal, setSlots ?? null, clock))
  const nodes = (await store.listNodes()).filter((node) => node.kind !== 'local' || localNode !== null)
  await queueCommands.readLimits()
  await dispatch.start({ paused: await systemCommands.readPaused() })
  for (const node of nodes) await fleet.add(node)
  await dispatch.abandonMissingNodes()
  dispatch.wake()
  if (localNode !== null) {
    localNode.onChange(() => {
      fleet.get(LOCAL_NODE_ID)?.observer.poke()
      problems.settle()
    })
    localNode.onPythons(notePythons)
    notePythons()
  }
  localNode?.onUsage(() => feed.touch(`node:${LOCAL_NODE_ID}`))
  await discovery.start()
  await figures.start()
  await deliverer.start()
  alerts?.start()
  await chains.runner.start()
  await schedules.scheduler.start()
  keepHouse()
  projects
    .followTree()
    .then(() => dispatch.wake())
    .catch((error: unknown) => {
      if (!isStopping) logger.error({ error }, 'the tree of eggs could not be put in order')
    })

  return {
    router,
    scrapyd: createScrapydCommands({
      store,
      fleet,
      projects,
      jobLogs,
      jobCommands,
      projectCommands,
      directories: { logs: directories.logs, items: itemFiles },
      clock
    }),
    answers: createRememberedAnswers({ store, secretBox, newRunId: () => random.hex(6), clock, logger }),
    credentials,
    setAddress: (text) => {
      address = text
    },
    health() {
      // Whoever watches the service must restart it: nothing in it works any more.
      if (isStoreDead)
        return { live: false, ready: false, reasons: ['The database cannot be used any more: restart Scrapdeck'] }
      return { live: true, ready: !isStopping, reasons: isStopping ? ['Scrapdeck is stopping'] : [] }
    },
    metrics: () => metrics.read(),
    localRunningCount: () => localNode?.runningCount() ?? 0,
    stopLocalSpiders: async () => localNode?.stopAll(),
    stop() {
      stopped ??= (async () => {
        isStopping = true
        housekeeping?.cancel()
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

function makeDataDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new ScrapdeckError(
      'DATA_DIRECTORY_UNUSABLE',
      `The data directory ${directory} cannot be made (${(error as Error).message}). Choose another with --data`,
      { cause: error }
    )
  }
}
