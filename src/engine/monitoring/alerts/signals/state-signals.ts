import type { Figures, NodeId, Problem, SpiderFindings } from '../../../../shared/contract/index.ts'
import type { LiveAttempt } from '../../../jobs/dispatch/live-attempts.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DiskState } from '../../../maintenance/retention/disk.ts'
import { type Signal, NO_LABELS } from '../signal.ts'

// Signals from the current state. All pure; texts contain no ages, because a changed text is written again.

/** `unknown`: keys of nodes that have not been polled yet. */
export function nodeSignals(nodes: readonly FleetNode[]): { signals: Signal[]; unknown: Set<string> } {
  const unknown = nodes.filter(({ status }) => status.health === 'unknown').map(({ stored }) => stored.id)
  const known = nodes.filter(({ status }) => status.health !== 'unknown')
  return {
    signals: known.map(({ stored, status }) => ({
      ...{ watch: 'node_down', key: stored.id, value: status.health === 'up' ? 0 : 1 },
      ...{ sinceMs: status.notUpSinceMs ?? status.lastSeenAtMs ?? 0, subject: stored.name },
      text: status.health === 'up' ? `${stored.name} responds` : `${stored.name} ${wordsOf(status)}`,
      labels: { ...NO_LABELS, nodeId: stored.id, nodeTags: stored.tags }
    })),
    unknown: new Set(unknown)
  }
}

function wordsOf({ health, problem }: FleetNode['status']): string {
  const words = {
    down: 'is down',
    unauthorized: 'rejects the credentials',
    invalid: 'sends invalid responses',
    ...{ unknown: '', up: '' }
  }[health]
  return problem === null ? words : `${words}: ${problem.replace(/\.$/, '')}`
}

export const stuckSignals = (nodes: readonly FleetNode[], stuckSinceMs: (id: NodeId) => number | null): Signal[] =>
  nodes.flatMap(({ stored }): Signal[] => {
    const sinceMs = stuckSinceMs(stored.id)
    if (sinceMs === null) return []
    return [
      {
        ...{ watch: 'node_stuck', key: stored.id, value: 1, sinceMs, subject: stored.name },
        text: `${stored.name} accepts jobs but starts none`,
        labels: { ...NO_LABELS, nodeId: stored.id, nodeTags: stored.tags }
      }
    ]
  })

export const runSignals = (
  live: readonly LiveAttempt[],
  nodeOf: (id: NodeId) => FleetNode['stored'] | undefined
): Signal[] =>
  live.flatMap(({ state, jobId, project, spider, nodeId, startedAtMs }): Signal[] => {
    if (state !== 'running' || startedAtMs === null) return []
    const node = nodeOf(nodeId)
    return [
      {
        ...{ watch: 'job_runs_long', key: jobId, value: 1, sinceMs: startedAtMs, subject: `${project}/${spider}` },
        text: `${project}/${spider} still runs on ${node?.name ?? nodeId}`,
        labels: { ...NO_LABELS, project, spider, jobId, nodeId, nodeTags: node?.tags ?? [] }
      }
    ]
  })

export const unusualSignals = (findings: readonly SpiderFindings[]): Signal[] =>
  findings.map(({ project, spider, jobId, endedAtMs, findings: found }) => ({
    ...{ watch: 'spider_unusual', key: `${project}/${spider}`, value: 1, sinceMs: endedAtMs },
    ...{ subject: `${project}/${spider}`, text: found.map(({ words }) => words).join('; ') },
    labels: { ...NO_LABELS, project, spider, jobId }
  }))

const SERVICE = 'service'
const DAY_MS = 86_400_000

export const queueSignal = ({ queued, sampledAtMs }: Figures): Signal => ({
  ...{ watch: 'queue_length', key: SERVICE, value: queued, sinceMs: sampledAtMs, subject: 'The queue' },
  ...{ text: `${queued.toLocaleString('en-US')} jobs wait`, labels: NO_LABELS }
})

export const diskSignal = ({ totalBytes, freeBytes, atMs }: DiskState): Signal => {
  const percent = totalBytes === 0 ? 100 : Math.floor((1_000 * freeBytes) / totalBytes) / 10
  return {
    ...{ watch: 'disk_free', key: SERVICE, value: percent, sinceMs: atMs, subject: 'The disk of the service' },
    ...{ text: `${percent} % of the disk of the service are free`, labels: NO_LABELS }
  }
}

/** `engine`: null for this engine. */
export const certificateSignal = (endsMs: number, nowMs: number, engine: string | null = null): Signal => {
  const day = new Date(endsMs).toISOString().slice(0, 10)
  const subject = `The certificate of ${engine === null ? 'the service' : `the engine ${engine}`}`
  return {
    ...{ watch: 'certificate_days', key: engine === null ? SERVICE : `engine ${engine}`, subject, labels: NO_LABELS },
    ...{ value: Math.floor((endsMs - nowMs) / DAY_MS), sinceMs: nowMs },
    text: `${subject} ${endsMs > nowMs ? 'expires' : 'expired'} on ${day}`
  }
}

export type SeenProblem = Problem & { sinceMs: number }

/** For schedules and chains that did not do what they should have done. */
export const scheduleSignals = (problems: readonly SeenProblem[]): Signal[] =>
  problems
    .filter(({ id }) => /^(schedule-(refused|paused|missed)|chain-refused):/.test(id))
    .map(({ id, title, text, sinceMs, project, scheduleId }) => ({
      ...{ watch: 'schedule_misses', key: id, value: 1, sinceMs, subject: title },
      ...{ text: `${title}: ${text}`, labels: { ...NO_LABELS, project, scheduleId: scheduleId ?? null } }
    }))

/** For problems without another watch: not about a node, a project, a spider or a schedule. */
export const serviceSignals = (problems: readonly SeenProblem[]): Signal[] =>
  problems
    .filter(
      ({ nodeId, project, spider, scheduleId }) =>
        nodeId === null && project === null && spider === null && scheduleId === undefined
    )
    .map(({ id, title, text, sinceMs }) => ({
      ...{ watch: 'service_problem', key: id, value: 1, sinceMs, subject: title },
      ...{ text: `${title}: ${text}`, labels: NO_LABELS }
    }))
