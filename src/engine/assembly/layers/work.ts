import type { Attempt, NodeId } from '../../../shared/contract/index.ts'
import { effectiveLimits } from '../../../shared/run-limits.ts'
import { describeNode } from '../../jobs/dispatch/describe-node.ts'
import { ErrorGroups } from '../../runs/log-collector/error-groups.ts'
import { JobFigures } from '../../runs/log-collector/job-figures.ts'
import { LogCollector } from '../../runs/log-collector/log-collector.ts'
import { Dispatch } from '../../jobs/dispatch/dispatch.ts'
import { Metrics } from '../../monitoring/health/metrics.ts'
import { Fleet, type FleetNode } from '../../nodes/fleet.ts'
import { JobLogs } from '../../runs/logs/job-logs.ts'
import { importErrorOf } from '../../nodes/node-client.ts'
import { AtOnce } from '../../projects/at-once.ts'
import { Distribution } from '../../projects/distribution.ts'
import { type ListingNode, SpiderLookup } from '../../projects/spider-lookup.ts'
import { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { watchLoopDelay } from '../../runtime/loop-delay.ts'
import { stop, type Base } from '../../runtime/tools.ts'
import type { EngineOptions } from '../engine-options.ts'
import type { WithFleet } from './fleet.ts'
import { rm } from 'node:fs/promises'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { ItemsArchive } from '../../runs/log-collector/items-archive.ts'
import { itemsFileOf } from '../../nodes/local/runs/launch-plan.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { LocalLayout } from '../../nodes/local/optional-local-node.ts'

export type WithWork = WithFleet & ReturnType<typeof openWork>

/** The rooms that run jobs: distribution of eggs to nodes, and dispatch. */
export function openWork(options: EngineOptions, below: WithFleet, opened: AsyncDisposableStack) {
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
  const jobFigures = new JobFigures({ ...base, collector })
  const formatOf = (attempt: Attempt) => jobFigures.formatOf(attempt)
  const jobLogs = new JobLogs({ ...base, archive, scans: below.logScans, fleet, formatOf })
  const errorGroups = opened.adopt(new ErrorGroups(base), stop)
  const waiting = new WaitingReasons(
    (nodeId) => fleet.get(nodeId)?.status.unreachableSinceMs ?? null,
    (jobId) => collector.liveOf(jobId),
    ({ id, nodeId }) => {
      const node = nodeId === null ? undefined : fleet.get(nodeId)
      const jobid = node?.client.whyPending === undefined ? undefined : live.ofJob(id)?.jobid
      const why = jobid === undefined ? null : (node?.client.whyPending?.(jobid) ?? null)
      return why === null ? null : { node: node!.stored.name, why }
    }
  )
  const { beforeDispatch, chooseNodes } = plugins
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
      beforeDispatch,
      chooseNodes
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
    jobFigures,
    jobLogs,
    loopDelay,
    errorGroups,
    dispatch,
    metrics,
    describe,
    wakeDispatcher: () => dispatch.wake()
  }
}

/** Nodes that respond now. */
function listingNodes(fleet: Fleet): ListingNode[] {
  const up = fleet.list().filter(({ status }) => status.health === 'up')
  return up.map(({ stored: { id, name, mode }, client }) => ({ id, name, isActive: mode === 'active', client }))
}

/** The items files kept here. The originals of runs on the local node are deleted, unless others read them there. */
function wireItemsArchive(
  { directories }: EngineOptions,
  { base, itemBlobs, layout }: { base: Base; itemBlobs: LogArchivePort; layout: LocalLayout }
): ItemsArchive {
  return new ItemsArchive({
    ...base,
    archive: itemBlobs,
    async deleteLocal(run) {
      const file = run.nodeId === LOCAL_NODE_ID ? itemsFileOf(layout.items, run) : null
      if (file !== null && directories?.items === undefined) await rm(file, { force: true })
    }
  })
}
