import type { Node, NodeRun, PythonState } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { writtenAs, writtenIfAny } from '../../../shared/texts/message.ts'
import type { LocalNode } from '../../nodes/local/local-node.ts'
import { trueTime } from '../../nodes/clock-offset.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { shownExternal } from '../../nodes/list-limits.ts'
import type { SeenJob } from '../../nodes/node-client.ts'
import type { LiveAttempts } from './live-attempts.ts'

export function describeNode(
  node: FleetNode,
  live: LiveAttempts,
  localNode: Pick<LocalNode, 'python' | 'usage'> | null,
  stuckSinceMs: number | null
): Node {
  const { stored, status } = node
  const local = stored.id === LOCAL_NODE_ID ? localNode : null
  // Lists the fields explicitly, so that secrets and engine internals are not exposed.
  const { id, name, kind, url, username, queueAhead, giveUpAfterSeconds, logsKept, group, tags, mode } = stored
  const { scrapydVersion, addedAtMs, sourceId } = stored
  const { health, problem, nodeName, running, pending, finished, latencyMs, lastSeenAtMs } = status
  const { unreachableSinceMs, clockOffsetMs, capacity } = status
  return {
    id,
    name,
    kind,
    url,
    username,
    queueAhead,
    giveUpAfterSeconds,
    logsKept,
    group,
    tags,
    mode,
    scrapydVersion,
    addedAtMs,
    sourceId,
    stuckSinceMs,
    proxyUrl: node.proxyUrl,
    health,
    ...writtenIfAny('problem', problem),
    nodeName,
    running,
    pending,
    finished,
    latencyMs,
    lastSeenAtMs,
    unreachableSinceMs,
    clockOffsetMs,
    hasPassword: stored.sealedPassword !== null,
    hasCaCertificate: stored.caCertificate !== null,
    hasClientCertificate: stored.clientCertificate !== null,
    slots: capacity.slots,
    slotsSource: capacity.source,
    ...writtenAs('slotsText', capacity.said),
    hasToken: stored.tokenHash !== null,
    runs: runsOn(node, live, local),
    kubernetes: stored.kubernetes,
    tunnel: node.client.tunnel?.status() ?? null,
    python: pythonOf(local?.python.state() ?? null)
  }
}

function runsOn(node: FleetNode, live: LiveAttempts, local: Pick<LocalNode, 'usage'> | null): NodeRun[] {
  const ours = live
    .ofNode(node.stored.id)
    .filter((one) => one.state !== 'finishing')
    .map((one) => ({
      jobId: one.jobId,
      jobid: one.jobid,
      project: one.project,
      spider: one.spider,
      state: one.state === 'running' ? ('running' as const) : ('starting' as const),
      sinceMs: one.startedAtMs ?? one.sentAtMs,
      pid: null,
      usage: local?.usage.newestUsage(one.jobid) ?? null
    }))
  const external = (job: SeenJob, state: NodeRun['state']): NodeRun => ({
    jobId: job.heldOf ?? null,
    ...(job.heldOf !== undefined && { isHeldOpen: true }),
    jobid: job.jobid,
    project: job.project,
    spider: job.spider,
    state,
    sinceMs: trueTime(job.startTime, node.status.clockEstimate),
    pid: job.pid,
    usage: null
  })
  const { running, pending } = shownExternal(node.status.external)
  return [
    ...ours,
    ...running.map((job) => external(job, 'running')),
    ...pending.map((job) => external(job, 'starting'))
  ]
}

function pythonOf(python: PythonState | null): Node['python'] {
  if (python?.path == null || python.version === null || python.scrapyVersion === null) return null
  return { path: python.path, version: python.version, scrapyVersion: python.scrapyVersion, start: python.start }
}
