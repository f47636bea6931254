import type { Rooms } from './rooms.ts'

interface Start {
  room: string
  start: (rooms: Rooms) => void | Promise<void>
}

/**
 * The start sequence: leftovers of an earlier engine, the nodes, the queue, then the rooms that issue commands
 * themselves. Nothing is undone here: the stack that the rooms were opened on closes them, started or not.
 */
export const STARTS: readonly Start[] = [
  // Before any event that plugins must receive.
  { room: 'plugins', start: ({ plugins, base }) => plugins.subscribe(base.store) },
  { room: 'local node', start: ({ local }) => local.putRow() },
  { room: 'limits', start: ({ queueCommands }) => queueCommands.readLimits() },
  {
    room: 'dispatch',
    start: async ({ dispatch, systemCommands }) => dispatch.start({ paused: await systemCommands.readPaused() })
  },
  { room: 'fleet', start: addNodes },
  { room: 'collector', start: followTakenOver },
  { room: 'queue', start: beginDispatching },
  { room: 'Pythons', start: ({ local }) => local.start() },
  { room: 'discovery', start: ({ discovery }) => discovery.start() },
  { room: 'figures', start: ({ figures }) => figures.start() },
  { room: 'webhooks', start: ({ deliverer }) => deliverer.start() },
  { room: 'audit log', start: ({ auditStream }) => auditStream?.start() },
  { room: 'alerts', start: ({ alerts }) => alerts.start() },
  { room: 'signals for alerts', start: ({ signalWatch }) => signalWatch.start() },
  { room: 'reports', start: ({ digests }) => digests.start() },
  { room: 'chains', start: ({ chains }) => chains.runner.start() },
  { room: 'schedules', start: ({ schedules }) => schedules.scheduler.start() },
  { room: 'watchdog', start: ({ watchdog }) => watchdog.start() },
  // Last: it signals that the engine works.
  { room: 'life signal', start: ({ lifeSignal }) => lifeSignal?.start() },
  { room: 'expectations', start: ({ expectations }) => void expectations.start() },
  {
    room: 'retention',
    start: async ({ retention, disk }) => {
      await retention.start()
      disk.start()
    }
  },
  { room: 'blobs', start: ({ blobWatch }) => blobWatch.start() },
  { room: 'housekeeping', start: ({ housekeeping }) => housekeeping.start() },
  { room: 'index of logs', start: ({ logIndex, indexesLogs }) => void (indexesLogs && logIndex.start()) },
  { room: 'encryption', start: ({ resealing }) => resealing?.start() },
  { room: 'eggs', start: followTree }
]

async function addNodes({ base, local, formerLocalEngine, engineNodes, fleet }: Rooms): Promise<void> {
  await engineNodes?.look()
  for (const stored of await base.store.listNodes()) {
    if (stored.kind === 'local' && local.node === null && formerLocalEngine === null) continue
    // Without other engines, these nodes have no host.
    if (stored.kind !== 'engine' || engineNodes !== null) await fleet.add(stored)
  }
  engineNodes?.start()
}

/**
 * Runs that an earlier engine saw start: no event reports them again. After the nodes, which know whether a log is on
 * this machine.
 */
function followTakenOver({ live, collector }: Rooms): void {
  for (const one of live.all()) if (one.state === 'running') collector.follow(one)
}

async function beginDispatching({ dispatch }: Rooms): Promise<void> {
  await dispatch.abandonMissingNodes()
  dispatch.wake()
}

/** Adopts eggs that were copied into the tree, while the engine already works. */
function followTree({ base, projects, dispatch, stopping }: Rooms): void {
  projects
    .followTree()
    .then(() => dispatch.wake())
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) base.logger.error({ error }, 'the eggs directory could not be tidied')
    })
}
