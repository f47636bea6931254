import type { JobId, NodeId } from '../../shared/contract/index.ts'
import type { EngineAccess } from '../access/open-access.ts'
import type { EngineCache } from '../cluster/cache/open-cache.ts'
import type { Leadership } from '../cluster/leadership/leadership.ts'
import { otherCertificates } from '../cluster/leadership/leadership.ts'
import type { LiveAttempts } from '../jobs/dispatch/live-attempts.ts'
import type { Jobs } from '../jobs/open-jobs.ts'
import type { Retention } from '../maintenance/retention/retention.ts'
import type { Discovery } from '../nodes/discovery/discovery.ts'
import type { Nodes } from '../nodes/open-nodes.ts'
import type { Plugins } from '../notify/plugins/plugins.ts'
import type { Post } from '../notify/deliveries/post.ts'
import type { Projects } from '../projects/projects.ts'
import type { Runs } from '../runs/open-runs.ts'
import type { LoopDelay } from '../runtime/loop-delay.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import type { Schedules } from '../schedules/open-schedules.ts'
import type { Storage } from '../storage/open-storage.ts'
import { Alerts } from './alerts/alerts.ts'
import { Evidence } from './alerts/evidence/evidence.ts'
import { RulePreviews } from './alerts/past/preview.ts'
import { Digests } from './alerts/report/digests.ts'
import { Reports } from './alerts/report/reports.ts'
import { SignalWatch } from './alerts/signals/signal-watch.ts'
import { diskSignal, queueSignal } from './alerts/signals/state-signals.ts'
import { ExpectationWatch } from './expectations/expectation-watch.ts'
import { BlobWatch } from './health/blob-watch.ts'
import { FiguresSampler } from './health/figures.ts'
import { HealthWatch } from './health/health-watch.ts'
import { Heartbeat } from './health/heartbeat.ts'
import { Metrics } from './health/metrics.ts'
import { ProblemWatch } from './health/problem-watch.ts'

export interface MonitoringOptions {
  dataDirectory: string
  host: 'desktop' | 'service'
  scrapdeckVersion: string
  metricsPrefix?: string
  heartbeat?: { url: string; everySeconds: number } | null
}

interface MonitoringParts
  extends Tools,
    Pick<Storage, 'store' | 'isStoreDead' | 'sharedBlobs'>,
    Pick<EngineCache, 'cache'>,
    Pick<EngineAccess, 'access' | 'auditStream'>,
    Pick<Nodes, 'fleet' | 'local' | 'engineNodes'>,
    Pick<Runs, 'jobLogs' | 'collector'>,
    Pick<Jobs, 'dispatch' | 'waiting'>,
    Pick<Schedules, 'watchdog'> {
  leadership: Leadership | null
  plugins: Pick<Plugins, 'alertNames'>
  post: Post
  projects: Projects
  discovery: Discovery
  live: LiveAttempts
  retention: Pick<Retention, 'state'>
  loopDelay: LoopDelay
  countFilled: Runs['countFilled'] | null
  system: {
    readonly isPaused: boolean
    readonly plainHttpOn: string | null
    readonly certificate: { readonly endsAtMs: number } | null
  }
  isStopping: () => boolean
}

export type Monitoring = ReturnType<typeof openMonitoring>

export function openMonitoring(opened: AsyncDisposableStack, options: MonitoringOptions, parts: MonitoringParts) {
  const { store, sharedBlobs, access, auditStream, fleet, local, engineNodes, discovery, projects } = parts
  const { collector, live, dispatch, waiting, retention, watchdog, leadership, system } = parts
  const { clock, random, logger } = parts
  const { scrapdeckVersion, host, dataDirectory } = options
  const tools = { clock, random, logger }
  const stuckSinceMs = (id: NodeId) => dispatch.stuckSinceMs(id)
  const nodeOf = (id: NodeId) => fleet.get(id)?.stored
  const waitingOf = (lane: string) => waiting.of(lane)
  const figures = new FiguresSampler({
    ...tools,
    store,
    fleet,
    live,
    sampleLoopP99Ms: () => parts.loopDelay.sampleP99Ms(),
    isPaused: () => system.isPaused,
    isStuck: (id) => stuckSinceMs(id) !== null
  })
  opened.adopt(figures, stop)
  const life = options.heartbeat ?? null
  const heartbeat = life && new Heartbeat({ ...life, ...tools, store, post: parts.post })
  opened.adopt(heartbeat, stop)
  const isOn: ConstructorParameters<typeof ExpectationWatch>[0]['isOn'] = (project) =>
    projects.settingsOf(project).expectations
  const expectations = new ExpectationWatch({ ...tools, store, isOn, countFilled: parts.countFilled })
  opened.adopt(expectations, stop)
  const blobWatch = opened.adopt(new BlobWatch({ ...tools, blobs: sharedBlobs, engines: leadership }), stop)
  const problems = new ProblemWatch({
    ...tools,
    store,
    waitingOf,
    alertRules: () => alerts.rules(),
    alertPlugins: () => parts.plugins.alertNames(),
    gather: () => ({
      nodes: fleet.list(),
      live: live.all(),
      stuckSinceMs,
      python: local.node?.python.state() ?? null,
      environments: local.environments.list(),
      isPaused: system.isPaused,
      queued: figures.current.queued,
      sources: discovery.list(),
      orderWarnings: projects.orderWarnings(),
      findings: expectations.current(),
      storage: retention.state(),
      blobs: blobWatch.state(),
      cache: parts.cache?.state() ?? null,
      namesakeEngines: engineNodes?.namesakes() ?? [],
      plainHttpOn: system.plainHttpOn,
      syslogAway: auditStream?.away() ?? null,
      missingRoles: access.roles.missing(),
      notIsolated: local.node?.notIsolated ?? null,
      heartbeatFailure: heartbeat?.failure() ?? null,
      schedulesLateSinceMs: watchdog.lateSinceMs()
    })
  })
  opened.adopt(problems, stop)
  const cordonedNodes = () =>
    new Set(fleet.list().flatMap(({ stored: { id, mode } }) => (mode === 'active' ? [] : [id])))
  const alerts: Alerts = opened.adopt(new Alerts({ ...tools, store, cordonedNodes }), stop)
  const known = {
    nodes: () => fleet.list(),
    findings: () => expectations.current(),
    figures: () => figures.current,
    disk: () => retention.state().disk
  }
  const reports = new Reports({ ...known, store, clock })
  const digests = opened.adopt(new Digests({ ...tools, store, reports }), stop)
  const signalWatch = new SignalWatch({
    ...tools,
    ...known,
    store,
    alerts,
    nodeOf,
    stuckSinceMs,
    waitingOf,
    live: () => live.all(),
    certificateEndsMs: () => system.certificate?.endsAtMs ?? null,
    otherCertificates: async () => (leadership === null ? [] : otherCertificates(leadership)),
    problems: () => [...problems.current(), ...problems.ofSchedules()]
  })
  opened.adopt(signalWatch, stop)
  return {
    figures,
    heartbeat,
    expectations,
    blobWatch,
    problems,
    alerts,
    previews: new RulePreviews({ store, clock, nodeOf }),
    evidence: new Evidence({
      store,
      clock,
      readLog: (jobId: JobId, wanted, signal) => parts.jobLogs.readChunk(jobId, undefined, wanted, signal),
      figureOf(watch) {
        if (watch === 'queue_length') return queueSignal(figures.current).value
        const measured = known.disk()
        return measured === null ? null : diskSignal(measured).value
      }
    }),
    reports,
    digests,
    signalWatch,
    metrics: new Metrics({
      store,
      clock,
      collector,
      scrapdeckVersion,
      host,
      dataDirectory,
      prefix: options.metricsPrefix,
      nodeName: (id) => nodeOf(id)?.name
    }),
    healthWatch: new HealthWatch({
      clock,
      logger,
      store,
      dataDirectory,
      isStoreDead: parts.isStoreDead,
      isStopping: parts.isStopping,
      checkBlobs: async () => (await sharedBlobs?.check()) ?? null
    })
  }
}
