import { DEFAULT_CRAWL_CACHE_SECONDS, type JobId, type NodeId } from '../../shared/contract/index.ts'
import type { EngineAccess } from '../access/open-access.ts'
import type { StorePosition } from '../cluster/cache/store-position.ts'
import { engineAlone } from '../cluster/leadership/leadership.ts'
import type { Leadership } from '../cluster/leadership/leadership.ts'
import type { Jobs } from '../jobs/open-jobs.ts'
import type { Maintenance } from '../maintenance/open-maintenance.ts'
import type { Monitoring } from '../monitoring/open-monitoring.ts'
import type { Discovery } from '../nodes/discovery/discovery.ts'
import type { LocalLayout } from '../nodes/local/optional-local-node.ts'
import type { Nodes } from '../nodes/open-nodes.ts'
import type { Deliveries } from '../notify/deliveries/open-deliveries.ts'
import type { Distributing } from '../projects/open-projects.ts'
import type { Projects } from '../projects/projects.ts'
import type { Archives } from '../runs/open-archives.ts'
import type { Runs } from '../runs/open-runs.ts'
import type { Tools } from '../runtime/tools.ts'
import type { Schedules } from '../schedules/open-schedules.ts'
import { checkTemplates } from '../schedules/template.ts'
import type { Storage } from '../storage/open-storage.ts'
import { ChangeFeed } from './change-feed/change-feed.ts'
import { AlertCommands } from './commands/alert-commands.ts'
import { ChainCommands } from './commands/chain-commands.ts'
import { checkTemplate } from './commands/check-template.ts'
import type { Commands } from './commands/open-commands.ts'
import { RememberedAnswers } from './commands/remembered-answers.ts'
import { ScheduleCommands } from './commands/schedule-commands.ts'
import { ScheduleReads } from './commands/schedule-reads.ts'
import { WebhookCommands } from './commands/webhook-commands.ts'
import { describeStored, describeTouched } from './router/describe-changes.ts'
import { listRunning } from './router/list-running.ts'
import type { RouterOpening } from './router/open-router.ts'
import type { EngineRouter } from './router/router.ts'
import { ScrapydCommands } from './scrapyd-commands/scrapyd-commands.ts'

export interface ApiOptions {
  host: 'desktop' | 'service'
  scrapdeckVersion: string
  trustedEngines?: { name: string; url: string }[]
  /** How long an identical crawl order returns the existing job. 0: never. */
  crawlCacheSeconds?: number
}

interface ApiParts extends Tools, Pick<Storage, 'store' | 'secretBox' | 'incoming'> {
  position: StorePosition
  access: EngineAccess
  projects: Projects
  distribution: Distributing
  nodes: Nodes
  discovery: Discovery
  archives: Archives
  runs: Runs
  jobs: Jobs
  deliveries: Deliveries
  schedules: Schedules
  commands: Commands
  maintenance: Maintenance
  monitoring: Monitoring
  /** null if this is the only engine. */
  leadership: Leadership | null
  hasLocalNode: boolean
  layout: LocalLayout
  startedAtMs: number
}

export function openApi(opened: AsyncDisposableStack, options: ApiOptions, parts: ApiParts) {
  const { store, secretBox, incoming, projects, nodes, archives, runs, jobs, deliveries, commands } = parts
  const { distribution, schedules, maintenance, monitoring, hasLocalNode, layout, startedAtMs } = parts
  const { clock, random, logger } = parts
  const { scrapdeckVersion, host, trustedEngines = [], crawlCacheSeconds = DEFAULT_CRAWL_CACHE_SECONDS } = options
  const { fleet, local } = nodes
  const { waiting, describeNode } = jobs
  const { deliverer } = deliveries
  const tools = { clock, random, logger }
  const scheduleReads = new ScheduleReads({
    store,
    scheduler: schedules.scheduler,
    clock,
    slots: () => monitoring.figures.current.slotsTotal
  })
  const scheduleCommands = new ScheduleCommands({
    store,
    scheduler: schedules.scheduler,
    fleet,
    secretBox,
    clock,
    random,
    reads: scheduleReads,
    onChange: () => schedules.scheduleEvents.emit('changed')
  })
  const chainCommands = new ChainCommands({
    store,
    secretBox,
    clock,
    random,
    async checkTemplate(template, name) {
      const allowed = checkTemplate(template, 'chain', fleet)
      await checkTemplates({ name, jobs: [allowed] }, 'UTC', clock)
      return allowed
    },
    async onChange() {
      schedules.chainEvents.emit('changed')
      await schedules.chains.refresh()
    }
  })
  const webhookCommands = new WebhookCommands({
    ...deliveries,
    store,
    secretBox,
    clock,
    random,
    onChange: () => deliverer.events.emit('changed')
  })
  const alertCommands = new AlertCommands({
    store,
    secretBox,
    clock,
    random,
    deliverer,
    channels: deliveries.channels,
    alerts: monitoring.alerts,
    previews: monitoring.previews,
    onChange: () => {
      deliverer.events.emit('changed')
      monitoring.digests.refresh()
    }
  })
  const listNodes = () => fleet.list().map(describeNode)
  const reads = { store, waiting, scheduleReads, listNodes, listProjects: () => projects.describe() }
  const now = {
    figures: () => monitoring.figures.current,
    problems: () => monitoring.problems.current(),
    python: () => local.python(),
    environments: local.environments,
    waiting,
    progressOf: (jobId: JobId) => runs.collector.liveOf(jobId),
    findNode(id: NodeId) {
      const node = fleet.get(id)
      return node === undefined ? null : describeNode(node)
    }
  }
  const feed = new ChangeFeed({
    store,
    clock,
    runId: random.hex(6),
    describeStored: (things) => describeStored(things, reads),
    describeTouched: async (things) => describeTouched(things, now)
  })
  opened.adopt(feed, (one) => one.close())
  const routerParts: RouterOpening = {
    ...tools,
    ...parts.access,
    ...reads,
    ...commands,
    secretBox,
    incoming,
    feed,
    describeNode,
    scheduleCommands,
    chainCommands,
    webhookCommands,
    alertCommands,
    crawlCacheSeconds,
    hasLocalNode,
    projects,
    discovery: parts.discovery,
    fleet,
    probe: nodes.probe,
    hasEngines: nodes.engineNodes !== null,
    engines: parts.leadership ?? engineAlone({ scrapdeckVersion, startedAtMs, hasLocalNode }),
    archive: archives.archive,
    logIndex: archives.logIndex,
    searchThreads: archives.searchThreads,
    jobLogs: runs.jobLogs,
    jobFigures: runs.jobFigures,
    errorGroups: runs.errorGroups,
    retention: maintenance.retention,
    alerts: monitoring.alerts,
    reports: monitoring.reports,
    evidence: monitoring.evidence,
    expectations: monitoring.expectations,
    figures: monitoring.figures,
    problems: now.problems,
    environments: local.environments,
    usageOf: (jobId) => local.usageOf(jobId),
    listRunning: (seen) =>
      listRunning({ store, waiting, newestUsage: (jobid) => local.node?.usage.newestUsage(jobid) ?? null }, seen),
    status: () => ({
      scrapdeckVersion,
      startedAtMs,
      host,
      trustedEngines,
      address: commands.systemCommands.address,
      secrets: { store: secretBox.store, text: secretBox.description },
      python: local.python()
    })
  }
  let router: Promise<EngineRouter> | null = null
  // Loaded on first use, because the contract, items and search take a fifth of the startup time.
  const loadRouter = async () => {
    const { openRouter } = await import('./router/open-router.ts')
    return openRouter({ ...routerParts, jobItems: await runs.openItems() })
  }
  const scrapyd = new ScrapydCommands({
    store,
    clock,
    fleet,
    projects,
    position: parts.position,
    spiderLookup: distribution.spiderLookup,
    jobLogs: runs.jobLogs,
    itemsArchive: runs.itemsArchive,
    jobCommands: commands.jobCommands,
    projectCommands: commands.projectCommands,
    directories: { logs: layout.logs, items: layout.items }
  })
  return {
    feed,
    router: () => (router ??= loadRouter()),
    scrapyd,
    answers: new RememberedAnswers({ store, secretBox, clock, logger, newRunId: () => random.hex(6) }),
    crawlCacheSeconds,
    listNodes
  }
}
