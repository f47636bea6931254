import { DEFAULT_AUDIT_DAYS, type JobId, type NodeId, type ProjectName } from '../../../shared/contract/index.ts'
import { sweepLeftHolds } from '../../maintenance/backup/held-files.ts'
import { sweepLeftItems } from '../../runs/log-collector/items-archive.ts'
import { sweepLeftCopies } from '../../runs/log-collector/left-copies.ts'
import { sweepLocalLogs } from '../../runs/log-collector/local-logs.ts'
import { sweepUnusedBlobs } from '../../maintenance/retention/unused-blobs.ts'
import { BlobWatch } from '../../monitoring/health/blob-watch.ts'
import { ExpectationWatch } from '../../monitoring/expectations/expectation-watch.ts'
import { HealthWatch } from '../../monitoring/health/health-watch.ts'
import { SignalWatch } from '../../monitoring/alerts/signals/signal-watch.ts'
import { otherCertificates } from '../../cluster/leadership/other-certificates.ts'
import { RulePreviews } from '../../monitoring/alerts/past/preview.ts'
import { Digests } from '../../monitoring/alerts/report/digests.ts'
import { Reports } from '../../monitoring/alerts/report/reports.ts'
import { AlertCommands } from '../../api/commands/alert-commands.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { ProblemWatch } from '../../monitoring/health/problem-watch.ts'
import type { JobItems } from '../../runs/items/job-items.ts'
import { Alerts } from '../../monitoring/alerts/alerts.ts'
import { stop } from '../../runtime/tools.ts'
import type { EngineOptions } from '../engine-options.ts'
import { Housekeeping } from '../../maintenance/housekeeping.ts'
import type { WithOrders } from './orders.ts'

export type WithHealth = WithOrders & ReturnType<typeof openHealth>

/** State derived from several rooms, and background work. */
export function openHealth(options: EngineOptions, below: WithOrders, opened: AsyncDisposableStack) {
  const { base, isStoreDead, plugins, projects, local, live, fleet, waiting, dispatch, inventories, discovery } = below
  const { systemCommands, figures, retention } = below
  const isOn = (project: ProjectName) => projects.settingsOf(project).expectations
  let items: Promise<JobItems> | null = null
  const loadItems = async () =>
    (await import('../../runs/items/open-items.ts')).wireItems(options, {
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
    alertRules: () => alerts.rules(),
    alertPlugins: () => plugins.alertNames(),
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
      notApart: local.node?.notApart ?? null,
      lifeFailure: below.lifeSignal?.failure() ?? null,
      schedulesLateSinceMs: below.watchdog.lateSinceMs()
    })
  })
  opened.adopt(problems, stop)
  const isCordoned = ({ stored }: FleetNode) => stored.mode !== 'active'
  const cordonedNodes = () =>
    new Set(
      fleet
        .list()
        .filter(isCordoned)
        .map(({ stored }) => stored.id)
    )
  const alerts = opened.adopt(new Alerts({ ...base, cordonedNodes }), stop)
  const nodeOf = (nodeId: NodeId) => fleet.get(nodeId)?.stored
  const alertCommands = new AlertCommands({
    ...base,
    ...{
      alerts,
      previews: new RulePreviews({ ...base, nodeOf }),
      deliverer: below.deliverer,
      channels: below.channels
    },
    onChange: () => {
      below.deliverer.events.emit('changed')
      digests.refresh()
    }
  })
  const known = {
    nodes: () => fleet.list(),
    findings: () => expectations.current(),
    figures: () => figures.current,
    disk: () => retention.state().disk
  }
  const reports = new Reports({ ...base, ...known })
  const digests = opened.adopt(new Digests({ ...base, reports }), stop)
  const signalWatch = opened.adopt(
    new SignalWatch({
      ...{ ...base, ...known, alerts, nodeOf, stuckSinceMs: (nodeId) => dispatch.stuckSinceMs(nodeId) },
      live: () => live.all(),
      certificateEndsMs: () => systemCommands.certificate?.endsAtMs ?? null,
      otherCertificates: async () => (leadership === undefined ? [] : otherCertificates(leadership)),
      problems: () => [...problems.current(), ...problems.ofSchedules()],
      waitingOf: (lane) => waiting.of(lane)
    }),
    stop
  )
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
  return {
    openItems,
    problems,
    expectations,
    signalWatch,
    alerts,
    alertCommands,
    reports,
    digests,
    housekeeping,
    blobWatch,
    healthWatch,
    stopping
  }
}

/** None without a local node, or if its logs go elsewhere. */
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

/** None in the data directory: its blobs belong to one engine, and are deleted at once. */
function openUnusedBlobs({ base, sharedBlobs, projects }: WithOrders) {
  return sharedBlobs === null ? [] : [sweepUnusedBlobs({ ...base, projects, blobs: sharedBlobs.store })]
}
