import type { Figures, NodeId, Problem, SpiderFindings } from '../../../../shared/contract/index.ts'
import { asParam, encode, type Message, messageOf, say } from '../../../../shared/texts/message.ts'
import { wordsOf } from '../../expectations/expectations.ts'
import type { LiveAttempt } from '../../../jobs/dispatch/live-attempts.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DiskState } from '../../../maintenance/retention/disk.ts'
import { type Signal, NO_LABELS, spiderSubject } from '../signal.ts'
import { isAway } from '../../../../shared/node-health.ts'

/** `unknown`: ids of nodes that have not been polled yet. */
export function nodeSignals(nodes: readonly FleetNode[]): { signals: Signal[]; unknown: Set<string> } {
  const unknown = nodes.filter(({ status }) => status.health === 'unknown').map(({ stored }) => stored.id)
  const known = nodes.filter(({ status }) => status.health !== 'unknown')
  return {
    signals: known.map(({ stored, status }) => ({
      watch: 'node_down',
      key: stored.id,
      value: isAway(status.health) ? 1 : 0,
      sinceMs: status.awaySinceMs ?? status.lastSeenAtMs ?? 0,
      subject: nodeSubject(stored),
      text: encode(stateOf(stored.name, status)),
      labels: { ...NO_LABELS, nodeId: stored.id, nodeTags: stored.tags }
    })),
    unknown: new Set(unknown)
  }
}

const nodeSubject = ({ name }: FleetNode['stored']): string => encode(say('alert_subject.node', { node: name }))

const stateOf = (node: string, { health, problem }: FleetNode['status']): Message =>
  isAway(health)
    ? say('alert.node_away', { node, health, problem: problem && asParam(problem) })
    : say('alert.node_up', { node })

export const stuckSignals = (nodes: readonly FleetNode[], stuckSinceMs: (id: NodeId) => number | null): Signal[] =>
  nodes.flatMap(({ stored }): Signal[] => {
    const sinceMs = stuckSinceMs(stored.id)
    if (sinceMs === null) return []
    return [
      {
        watch: 'node_stuck',
        key: stored.id,
        value: 1,
        sinceMs,
        subject: nodeSubject(stored),
        text: encode(say('alert.node_stuck', { node: stored.name })),
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
        watch: 'job_runs_long',
        key: jobId,
        value: 1,
        sinceMs: startedAtMs,
        subject: spiderSubject({ project, spider }),
        text: encode(say('alert.job_runs_long', { project, spider, node: node?.name ?? nodeId })),
        labels: { ...NO_LABELS, project, spider, jobId, nodeId, nodeTags: node?.tags ?? [] }
      }
    ]
  })

export const unusualSignals = (findings: readonly SpiderFindings[]): Signal[] =>
  findings.map(({ project, spider, jobId, endedAtMs, findings: found }) => ({
    watch: 'spider_unusual',
    key: `${project}/${spider}`,
    value: 1,
    sinceMs: endedAtMs,
    subject: spiderSubject({ project, spider }),
    text: encode(wordsOf(found)),
    labels: { ...NO_LABELS, project, spider, jobId }
  }))

const SERVICE = 'service'
const DAY_MS = 86_400_000

export const queueSignal = ({ queued, sampledAtMs }: Figures): Signal => ({
  watch: 'queue_length',
  key: SERVICE,
  value: queued,
  sinceMs: sampledAtMs,
  labels: NO_LABELS,
  subject: encode(say('alert_subject.queue')),
  text: encode(say('alert.queue_length', { jobs: queued }))
})

export const diskSignal = ({ totalBytes, freeBytes, atMs }: DiskState): Signal => {
  const percent = totalBytes === 0 ? 100 : Math.floor((1_000 * freeBytes) / totalBytes) / 10
  return {
    watch: 'disk_free',
    key: SERVICE,
    value: percent,
    sinceMs: atMs,
    labels: NO_LABELS,
    subject: encode(say('alert_subject.disk')),
    text: encode(say('alert.disk_free', { percent }))
  }
}

export const certificateSignal = (endsMs: number, nowMs: number, engine: string | null = null): Signal => ({
  watch: 'certificate_days',
  key: engine === null ? SERVICE : `engine ${engine}`,
  labels: NO_LABELS,
  value: Math.floor((endsMs - nowMs) / DAY_MS),
  sinceMs: nowMs,
  subject: encode(say('alert_subject.certificate', { engine })),
  text: encode(say(endsMs > nowMs ? 'alert.certificate_expires' : 'alert.certificate_expired', { engine, endsMs }))
})

export type SeenProblem = Problem & { sinceMs: number }

export const scheduleSignals = (problems: readonly SeenProblem[]): Signal[] =>
  problems
    .filter(({ id }) => /^(schedule-(refused|paused|missed)|chain-refused):/.test(id))
    .map((one) => ({
      watch: 'schedule_misses',
      ...ofProblem(one),
      labels: { ...NO_LABELS, project: one.project, scheduleId: one.scheduleId ?? null }
    }))

/**
 * Returns the signals of problems that no other watch covers: those not about a node, a project, a spider or a
 * schedule.
 */
export const serviceSignals = (problems: readonly SeenProblem[]): Signal[] =>
  problems
    .filter(
      ({ nodeId, project, spider, scheduleId }) =>
        nodeId === null && project === null && spider === null && scheduleId === undefined
    )
    .map((one) => ({ watch: 'service_problem', ...ofProblem(one), labels: NO_LABELS }))

function ofProblem(one: SeenProblem): Pick<Signal, 'key' | 'value' | 'sinceMs' | 'subject' | 'text'> {
  const title = messageOf({ text: one.title, code: one.titleCode, params: one.titleParams })
  const text = say('alert.problem', { title, text: messageOf(one) })
  return { key: one.id, value: 1, sinceMs: one.sinceMs, subject: encode(title), text: encode(text) }
}
