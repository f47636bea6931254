import type { Node, NodeRun, PythonState, UsageSample } from '../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { trueTime } from '../nodes/clock-offset.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import type { SeenJob } from '../nodes/node-client.ts'
import type { LiveAttempts } from './live-attempts.ts'

/** A node as clients see it: its row, what watching showed, and what runs there, ours and external. */
export function describeNode(
  node: FleetNode,
  live: LiveAttempts,
  localNode: { python(): PythonState; newestUsage(jobid: string): UsageSample | null } | null,
  stuckSinceMs: number | null
): Node {
  const { stored, status } = node
  const local = stored.id === LOCAL_NODE_ID ? localNode : null
  return {
    id: stored.id,
    name: stored.name,
    kind: stored.kind,
    url: stored.url,
    username: stored.username,
    hasPassword: stored.sealedPassword !== null,
    hasCaCertificate: stored.caCertificate !== null,
    slots: status.capacity.slots,
    slotsSource: status.capacity.source,
    slotsText: status.capacity.text,
    queueAhead: stored.queueAhead,
    giveUpAfterSeconds: stored.giveUpAfterSeconds,
    group: stored.group,
    tags: stored.tags,
    mode: stored.mode,
    health: status.health,
    problem: status.problem,
    scrapydVersion: stored.scrapydVersion,
    nodeName: status.nodeName,
    runs: runsOn(node, live, local),
    running: status.running,
    pending: status.pending,
    finished: status.finished,
    latencyMs: status.latencyMs,
    lastSeenAtMs: status.lastSeenAtMs,
    unreachableSinceMs: status.unreachableSinceMs,
    stuckSinceMs,
    clockOffsetMs: status.clockOffsetMs,
    addedAtMs: stored.addedAtMs,
    hasClientCertificate: stored.clientCertificate !== null,
    proxyUrl: node.proxyUrl,
    sourceId: stored.sourceId,
    python: pythonOf(local?.python() ?? null)
  }
}

function runsOn(
  node: FleetNode,
  live: LiveAttempts,
  local: { newestUsage(jobid: string): UsageSample | null } | null
): NodeRun[] {
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
      usage: local?.newestUsage(one.jobid) ?? null
    }))
  const external = (job: SeenJob, state: NodeRun['state']): NodeRun => ({
    jobId: null,
    jobid: job.jobid,
    project: job.project,
    spider: job.spider,
    state,
    sinceMs: trueTime(job.startTime, node.status.clockEstimate),
    usage: null
  })
  return [
    ...ours,
    ...node.status.external.running.map((job) => external(job, 'running')),
    ...node.status.external.pending.map((job) => external(job, 'starting'))
  ]
}

function pythonOf(python: PythonState | null): Node['python'] {
  if (python?.path == null || python.version === null || python.scrapyVersion === null) return null
  return { path: python.path, version: python.version, scrapyVersion: python.scrapyVersion, start: python.start }
}
