import type { Wings } from './open-wings.ts'

interface Start {
  part: string
  start: (wings: Wings) => void | Promise<void>
}

/** The start sequence. A failure need not undo earlier steps, because the stack closes all parts, started or not. */
export const STARTS: readonly Start[] = [
  // Must precede any event that plugins must receive.
  { part: 'plugins', start: ({ plugins, storage }) => plugins.subscribe(storage.store) },
  { part: 'local node', start: ({ nodes }) => nodes.local.putRow() },
  { part: 'limits', start: ({ commands }) => commands.queueCommands.readLimits() },
  {
    part: 'dispatch',
    start: async ({ jobs, commands }) => jobs.dispatch.start({ paused: await commands.systemCommands.readPaused() })
  },
  { part: 'fleet', start: addNodes },
  { part: 'collector', start: followTakenOver },
  { part: 'queue', start: beginDispatching },
  { part: 'Pythons', start: ({ nodes }) => nodes.local.start() },
  { part: 'discovery', start: ({ discovery }) => discovery.discovery.start() },
  { part: 'figures', start: ({ monitoring }) => monitoring.figures.start() },
  { part: 'webhooks', start: ({ deliveries }) => deliveries.deliverer.start() },
  { part: 'audit log', start: ({ access }) => access.auditStream?.start() },
  { part: 'alerts', start: ({ monitoring }) => monitoring.alerts.start() },
  { part: 'signals for alerts', start: ({ monitoring }) => monitoring.signalWatch.start() },
  { part: 'reports', start: ({ monitoring }) => monitoring.digests.start() },
  { part: 'chains', start: ({ schedules }) => schedules.chains.start() },
  { part: 'schedules', start: ({ schedules }) => schedules.scheduler.start() },
  { part: 'watchdog', start: ({ schedules }) => schedules.watchdog.start() },
  // Must come after the parts above, because it signals that they work.
  { part: 'heartbeat', start: ({ monitoring }) => monitoring.heartbeat?.start() },
  { part: 'expectations', start: ({ monitoring }) => void monitoring.expectations.start() },
  {
    part: 'retention',
    start: async ({ maintenance }) => {
      await maintenance.retention.start()
      maintenance.disk.start()
    }
  },
  { part: 'blobs', start: ({ monitoring }) => monitoring.blobWatch.start() },
  { part: 'housekeeping', start: ({ maintenance }) => maintenance.housekeeping.start() },
  { part: 'index of logs', start: ({ archives, indexesLogs }) => void (indexesLogs && archives.logIndex.start()) },
  { part: 'encryption', start: ({ archives }) => archives.reEncryption?.start() },
  { part: 'eggs', start: followTree }
]

async function addNodes({ storage, nodes }: Wings): Promise<void> {
  const { local, formerLocalEngine, engineNodes, fleet } = nodes
  await engineNodes?.look()
  for (const stored of await storage.store.listNodes()) {
    if (stored.kind === 'local' && local.node === null && formerLocalEngine === null) continue
    if (stored.kind !== 'engine' || engineNodes !== null) await fleet.add(stored)
  }
  engineNodes?.start()
}

/**
 * Follows the logs of runs that an earlier engine started, which no event reports again. Must come after the nodes,
 * which know whether a log is on this machine.
 */
function followTakenOver({ live, runs }: Wings): void {
  for (const one of live.all()) if (one.state === 'running') runs.collector.follow(one)
}

async function beginDispatching({ jobs: { dispatch } }: Wings): Promise<void> {
  await dispatch.abandonMissingNodes()
  dispatch.wake()
}

/** Imports eggs that were copied into the tree. Runs in the background, while the engine already works. */
function followTree({ logger, projects, jobs, stopping }: Wings): void {
  projects
    .followTree()
    .then(() => jobs.wakeDispatcher())
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) logger.error({ error }, 'the eggs directory could not be tidied')
    })
}
