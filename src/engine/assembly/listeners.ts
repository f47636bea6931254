import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { TouchedThing } from '../api/change-feed/change-feed.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import type { Wings } from './open-wings.ts'

/**
 * Connects the events of each wing to the wings above or beside it. Call this before the engine starts, so that no
 * event is missed.
 */
export function connectListeners(wings: Wings): void {
  const { logger, stopping, live, projects } = wings
  const { audit, auditStream } = wings.access
  const { fleet, local, engineNodes, pulling } = wings.nodes
  const { distribution, atOnce } = wings.distribution
  const { collector, errorGroups } = wings.runs
  const { dispatch } = wings.jobs
  const { deliverer } = wings.deliveries
  const { eventRecorder, nodeCommands, queueCommands } = wings.commands
  const { inventories, discovery } = wings.discovery
  const { scheduleEvents, chainEvents, watchdog } = wings.schedules
  const { retention } = wings.maintenance
  const { metrics, figures, heartbeat, expectations, blobWatch, problems, alerts, digests, signalWatch } =
    wings.monitoring
  const { feed } = wings.api

  const wake = () => dispatch.wake()
  const deliver = () => deliverer.wake()
  const spread = () => atOnce.scanSoon()
  const checkProblems = () => problems.scheduleCheck()
  const touch = (thing: TouchedThing) => () => feed.touch(thing)
  const cordonDrained = ({ stored: { id, name, mode } }: FleetNode) => {
    if (mode !== 'draining') return
    nodeCommands.cordonDrained(id).catch((error: unknown) => {
      if (!stopping.signal.aborted) logger.error({ error, node: name }, 'cordoning a drained node failed')
    })
  }
  const listMissingSpiders = () => {
    projects.listMissingSpiders().catch((error: unknown) => logger.error({ error }, 'listing spiders failed'))
  }

  // A role that the configuration names may have been added.
  wings.access.access.events.on('changed', checkProblems)
  wings.cache.cache?.events.on('changed', checkProblems)
  blobWatch.events.on('changed', checkProblems)
  fleet.events
    .on('changed', ({ stored, status }) => void (stored.id === LOCAL_NODE_ID && local.setSlots(status.capacity.slots)))
    .on('changed', ({ stored }) => feed.touch(`node:${stored.id}`))
    .on('changed', ({ stored: { id, mode } }, healthWas) => {
      problems.scheduleCheck()
      // Most changes are new figures. Alerts depend only on the node's health and on a cordon, which mutes them.
      if (healthWas !== undefined) signalWatch.lookSoon()
      alerts.noticeCordon(id, mode !== 'active')
    })
    .on('changed', cordonDrained)
    .on('changed', (node, healthWas) => inventories.followNode(node, healthWas))
    .on('changed', (node, healthWas) => void (healthWas !== undefined && eventRecorder.recordHealth(node, healthWas)))
    .on('changed', (_node, healthWas) => void (healthWas !== undefined && wake()))
  inventories.events.on('recorded', wake).on('recorded', spread).on('available', spread)
  distribution.events.on('changed', wake).on('changed', spread)

  engineNodes?.events.on('found', (engine) => {
    nodeCommands.addEngine(engine).catch((error: unknown) => {
      if (!stopping.signal.aborted) logger.error({ error, engine }, 'adding the local node of an engine failed')
    })
  })
  pulling.events
    .on('news', (id) => fleet.get(id)?.observer.poke())
    .on('opened', (id, scrapyd) => {
      nodeCommands.recordReportedVersion(id, scrapyd).catch((error: unknown) => {
        if (!stopping.signal.aborted) logger.error({ error, node: id }, 'recording the version of a node failed')
      })
    })

  local.events
    .on('changed', () => fleet.get(LOCAL_NODE_ID)?.observer.poke())
    .on('changed', checkProblems)
    .on('usage', touch(`node:${LOCAL_NODE_ID}`))
    .on('pythons', (isNewReady) => void (isNewReady && listMissingSpiders()))
    .on('pythons', wake)
    .on('pythons', touch('python'))
    .on('pythons', touch('environments'))
    .on('pythons', touch(`node:${LOCAL_NODE_ID}`))
    .on('pythons', checkProblems)

  live.events
    .on('begun', (attempts) => metrics.countBegun(attempts))
    .on('moved', (move) => metrics.countMove(move))
    .on('moved', ({ one, to }) => void (to === 'running' && collector.follow(one)))
    .on('joined', (one) => void (one.state === 'running' && collector.follow(one)))
    .on('ended', ({ one }) => {
      collector.forget(one)
      feed.forget(`progress:${one.jobId}`)
    })
    .on('ended', (end) => metrics.countEnd(end))
    .on('ended', ({ one }) => {
      const node = fleet.get(one.nodeId)
      if (node !== undefined) cordonDrained(node)
    })
    .on('ended', ({ one, jobOutcome }) => {
      if (jobOutcome === null) return problems.scheduleCheck()
      problems.refreshFailures()
      signalWatch.noteEnd(one)
    })
    .on('ended', ({ one, jobOutcome }) => void (jobOutcome === 'succeeded' && expectations.refresh(one)))
  dispatch.events
    .on('waiting', (lanes) => {
      for (const lane of lanes) feed.touch(`waiting:${lane}`)
    })
    .on('laneEmptied', (lane) => feed.forget(`waiting:${lane}`))
  collector.events.on('progressed', (jobIds) => {
    for (const id of jobIds) feed.touch(`progress:${id}`)
  })
  collector.events.on('recorded', () => errorGroups.noticeRecorded())
  errorGroups.events.on('changed', touch('errors'))
  expectations.events.on('changed', touch('findings')).on('changed', checkProblems)
  queueCommands.events.on('limitsChanged', touch('limits'))

  scheduleEvents
    .on('fired', (firings) => metrics.countFirings(firings))
    .on('fired', () => problems.refreshSchedules())
    .on('changed', () => problems.refreshSchedules())
  chainEvents.on('changed', touch('chains')).on('changed', () => problems.refreshSchedules())
  discovery.events.on('changed', touch('discovery')).on('changed', checkProblems)

  retention.events.on('changed', touch('storage')).on('changed', checkProblems)

  auditStream?.events.on('changed', checkProblems)
  audit.events.on('recorded', deliver).on('recorded', () => auditStream?.wake())
  eventRecorder.events.on('recorded', deliver)
  deliverer.events
    .on('changed', touch('webhooks'))
    .on('changed', () => problems.refreshChannels())
    .on('tried', (one) => metrics.countTry(one))

  figures.events.on('changed', touch('figures'))
  problems.events.on('changed', touch('problems')).on('changed', () => signalWatch.lookSoon())
  errorGroups.events.on('changed', () => signalWatch.noteErrors())
  alerts.events.on('configured', () => void signalWatch.catchUp()).on('configured', () => problems.refreshChannels())
  alerts.events.on('changed', touch('alerts')).on('recorded', deliver)
  digests.events.on('recorded', deliver)
  watchdog.events.on('changed', checkProblems)
  heartbeat?.events.on('changed', checkProblems)
}
