import { join } from 'node:path'
import { Evidence } from '../../monitoring/alerts/evidence/evidence.ts'
import type { EvidenceParts } from '../../monitoring/alerts/evidence/read-evidence.ts'
import type { RecordedFigure } from '../../monitoring/alerts/evidence/wanted.ts'
import { diskSignal, queueSignal } from '../../monitoring/alerts/signals/state-signals.ts'
import { JobCommands } from '../../api/commands/job-commands.ts'
import { NodeCommands } from '../../api/commands/node-commands.ts'
import { ProjectCommands } from '../../api/commands/project-commands.ts'
import { QueueCommands } from '../../api/commands/queue-commands.ts'
import { SystemCommands } from '../../api/commands/system-commands.ts'
import { News } from '../../api/change-feed/news.ts'
import { FiguresSampler } from '../../monitoring/health/figures.ts'
import { LifeSignal } from '../../monitoring/health/life-signal.ts'
import { createNameResolver } from '../../nodes/discovery/name-resolver.ts'
import { Inventories } from '../../nodes/inventories.ts'
import { ScheduleWatchdog } from '../../schedules/watchdog.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { stop, type Base } from '../../runtime/tools.ts'
import type { EngineOptions } from '../engine-options.ts'
import { wireRetention } from '../../maintenance/retention/open-retention.ts'
import { wireWebhooks } from '../../notify/webhooks/open-webhooks.ts'
import { measureDiskOf } from '../../maintenance/retention/disk.ts'
import type { WithWork } from './work.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { Discovery, type DiscoveryOptions } from '../../nodes/discovery/discovery.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { EventEmitter } from 'node:events'
import { actAs } from '../../access/acting.ts'
import { prepareJobs, type PrepareJobsParts, requireSpiders } from '../../api/commands/prepare-jobs.ts'
import { ScheduleCommands } from '../../api/commands/schedule-commands.ts'
import { ScheduleReads } from '../../api/commands/schedule-reads.ts'
import { openTemplate } from '../../api/commands/template-secrets.ts'
import { Scheduler } from '../../schedules/scheduler.ts'
import type { StoredFiring } from '../../model/records.ts'
import { ChainCommands } from '../../api/commands/chain-commands.ts'
import { checkTemplate } from '../../api/commands/check-template.ts'
import { type ChainFacts, ChainRunner } from '../../schedules/chains.ts'
import { checkTemplates, expandTemplates } from '../../schedules/template.ts'

export type WithOrders = WithWork & ReturnType<typeof openOrders>

/** Commands from people, programs, node sources, schedules and chains; and the delivery of events. */
export function openOrders(options: EngineOptions, below: WithWork, opened: AsyncDisposableStack) {
  const { base, credentials, plugins, webhookNetworks, projects, local, live, fleet, waiting, dispatch } = below
  const { store, clock, random, secretBox } = base
  const { seams = {} } = options
  const { distribution, atOnce, loopDelay, wakeDispatcher } = below
  const links = { base: options.publicUrl ?? null }
  const sending = { networks: webhookNetworks, post: seams.post, links, commands: options.alertCommands }
  const readLog: EvidenceParts['readLog'] = (jobId, wanted, signal) =>
    below.jobLogs.readChunk(jobId, undefined, wanted, signal)
  const figureOf = (watch: RecordedFigure): number | null => {
    if (watch === 'queue_length') return queueSignal(figures.current).value
    const measured = retention.state().disk
    return measured === null ? null : diskSignal(measured).value
  }
  const evidence = new Evidence({ ...base, figureOf, readLog })
  const { deliverer, webhookCommands, channels, post } = wireWebhooks({
    ...base,
    ...{ ...sending, plugins },
    readEvidence: (news) => evidence.forNews(news),
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
      const { buildEggFromFolder } = await import('../../projects/egg-builder.ts')
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
  const scheduler = schedules.scheduler
  const watchdog = opened.adopt(new ScheduleWatchdog({ clock, dueSinceMs: () => scheduler.dueSinceMs() }), stop)
  const { lifeSignal: life = null } = options
  const lifeSignal = life === null ? null : new LifeSignal({ ...base, ...life, post })
  opened.adopt(lifeSignal, (one) => one?.stop())
  const { disk, retention } = wireRetention({
    ...base,
    ...{
      archive: below.archive,
      itemBlobs: below.itemBlobs,
      searchIndex: below.indexesLogs ? below.logIndex : NO_INDEX
    },
    ...{ projects, projectCommands },
    // In a cluster, each engine prunes the files of its own local node.
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
    ...{
      evidence,
      deliverer,
      webhookCommands,
      channels,
      news,
      jobCommands,
      nodeCommands,
      inventories,
      discovery,
      projectCommands
    },
    ...{ systemCommands, queueCommands, figures, chains, schedules, watchdog, lifeSignal }
  }
}

/** Where archived logs are not indexed. */
const NO_INDEX = { sizeBytes: async () => 0, reclaim: async () => 0 }

/** Connects discovery to the fleet: discovery decides, and the node commands carry it out. */
function wireDiscovery(
  parts: Omit<DiscoveryOptions, 'fleet'> & { fleet: Fleet; nodeCommands: NodeCommands }
): Discovery {
  const { fleet, nodeCommands } = parts
  return new Discovery({
    ...parts,
    fleet: {
      list: () =>
        fleet
          .list()
          .filter(({ stored }) => stored.kind === 'scrapyd')
          .map(({ stored: { id, url, mode, sourceId } }) => ({ id, url, mode, sourceId })),
      // The Scrapyd version is detected when the node responds.
      add: (nodes) => nodeCommands.addMany(nodes.map((node) => ({ ...node, scrapydVersion: null }))),
      async setMode(nodeId, mode) {
        try {
          await nodeCommands.setMode(nodeId, mode)
        } catch (error) {
          // The node was removed in the meantime: there is nothing left to cordon.
          if (!isScrapdeckError(error, 'NODE_NOT_FOUND')) throw error
        }
      },
      releaseAllBut: (sourceIds) => nodeCommands.releaseAllBut(sourceIds)
    }
  })
}

/** Schedules: their commands, and the ticker that fires them. */
function wireSchedules(
  base: Base,
  parts: {
    preparing: PrepareJobsParts
    jobCommands: Pick<JobCommands, 'cancel'>
    wakeDispatcher: () => void
    slots: () => number
  }
) {
  const { secretBox } = base
  const { preparing, jobCommands, wakeDispatcher, slots } = parts
  /** `fired`: firings were recorded. `changed`: a schedule was changed, or it paused itself. */
  const events = new EventEmitter<{ fired: [firings: StoredFiring[]]; changed: [] }>()
  const scheduler = new Scheduler({
    ...base,
    prepare: (items, origin) => prepareJobs(items, origin, preparing),
    requireSpiders: (template) => requireSpiders(template, preparing.projects.catalog),
    openTemplate: (template) => openTemplate(template, secretBox),
    onJobs: wakeDispatcher,
    onFired: (firings) => events.emit('fired', firings),
    onPaused: () => events.emit('changed'),
    cancel: (jobIds) => actAs(null, () => jobCommands.cancel(jobIds, { force: false }))
  })
  const reads = new ScheduleReads({ ...base, scheduler, slots })
  const onChange = () => events.emit('changed')
  const commands = new ScheduleCommands({ ...base, scheduler, reads, fleet: preparing.fleet, onChange })
  return { scheduler, commands, reads, events }
}

/** Chains: their commands, and the runner that reacts when jobs end. */
function wireChains(base: Base, preparing: PrepareJobsParts, wakeDispatcher: () => void) {
  const { secretBox } = base
  /** `changed`: a chain was changed, or it reacted to the end of a job. */
  const events = new EventEmitter<{ changed: [] }>()
  const runner = new ChainRunner({
    ...base,
    openTemplate: (template) => openTemplate(template, secretBox),
    requireSpiders: (template) => requireSpiders(template, preparing.projects.catalog),
    expand: (template, facts) =>
      expandTemplates({ name: facts.chain, jobs: [template] }, placeholdersOf(facts), base.clock),
    prepare: (items) => prepareJobs(items, { source: 'chain' }, preparing),
    onJobs: wakeDispatcher,
    onAnswered: () => events.emit('changed')
  })
  const commands = new ChainCommands({
    ...base,
    async checkTemplate(template, name) {
      const allowed = checkTemplate(template, 'chain', preparing.fleet)
      await checkTemplates({ name, jobs: [allowed] }, 'UTC', base.clock)
      return allowed
    },
    async onChange() {
      events.emit('changed')
      await runner.refresh()
    }
  })
  return { runner, commands, events }
}

/** Chains have no nominal times: `{nominal}` is that of the previous job, or the time at which it ended. */
function placeholdersOf({ chain, job, stats, nowMs, zone }: ChainFacts) {
  return {
    nominalMs: job.nominalMs ?? job.endedAtMs ?? nowMs,
    previousMs: null,
    nowMs,
    zone: zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    schedule: chain,
    stats,
    job: job.id,
    outcome: job.outcome ?? ''
  }
}
