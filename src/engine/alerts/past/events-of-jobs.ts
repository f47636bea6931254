import type { AlertWatch } from '../../../shared/alert-watches.ts'
import { timeOfJobId } from '../../../shared/ids.ts'
import type { NodeId } from '../../../shared/contract/index.ts'
import { Heap } from '../../runtime/heap.ts'
import { parseLane } from '../../store/lane.ts'
import type { StoredJob, StoredNode } from '../../store/records.ts'
import { type Fact, NO_LABELS } from '../fact.ts'
import { factsOfRuns, RUNS_READ, type RunRow } from '../facts/stored-facts.ts'
import type { PastEvent } from './replay.ts'

// What jobs of the past say, as it would have been said then. All pure.

/** What is kept of a job while its past is looked at: 50,000 of them are in memory at once. */
export type PastJob = RunRow &
  Pick<StoredJob, 'lane' | 'priority' | 'startedAtMs' | 'notBeforeMs' | 'attemptCount'> & { isAfterOthers: boolean }

export function pastJobOf(job: StoredJob): PastJob {
  const { id, project, spider, nodeId, outcome, items, errors, queuedAtMs, startedAtMs, endedAtMs } = job
  const { killingLine, reason, lane, priority, notBeforeMs, attemptCount, after } = job
  return {
    ...{ id, project, spider, nodeId, outcome, items, errors, queuedAtMs, startedAtMs, endedAtMs },
    ...{ killingLine, reason, lane, priority, notBeforeMs, attemptCount, isAfterOthers: after.length > 0 }
  }
}

interface Nodes {
  nodeOf: (id: NodeId) => StoredNode | undefined
}

const byTime = <One extends { atMs: number }>(events: One[]): One[] =>
  events.sort((one, other) => one.atMs - other.atMs)

/** The facts of spiders after each of their runs. */
export function* eventsOfRuns(watch: AlertWatch, jobs: readonly PastJob[], nodes: Nodes): Generator<PastEvent> {
  const ends = jobs.flatMap((job) =>
    job.endedAtMs === null || job.outcome === null || job.outcome === 'cancelled' ? [] : [{ job, atMs: job.endedAtMs }]
  )
  const runs = new Map<string, PastJob[]>()
  for (const { job, atMs } of byTime(ends)) {
    const subject = `${job.project}/${job.spider}`
    const those = [job, ...(runs.get(subject) ?? [])]
    // Newest are those that were queued last, as in the live facts.
    if (those.length > 1 && those[1]!.id > job.id) those.sort((one, other) => (one.id < other.id ? 1 : -1))
    const newest = those.slice(0, RUNS_READ)
    runs.set(subject, newest)
    for (const fact of factsOfRuns(newest, nodes)) if (fact.watch === watch) yield { atMs, fact }
  }
}

/** That jobs run, from their start to their end. */
export function eventsOfRunning(jobs: readonly PastJob[], { nodeOf }: Nodes): PastEvent[] {
  const events = jobs.flatMap((job): PastEvent[] => {
    const { id, project, spider, nodeId, startedAtMs, endedAtMs } = job
    if (startedAtMs === null) return []
    const node = nodeId === null ? undefined : nodeOf(nodeId)
    const fact: Fact = {
      ...{ watch: 'job_runs_long', key: id, value: 1, sinceMs: startedAtMs, subject: `${project}/${spider}` },
      text: `${project}/${spider} ran on ${node?.name ?? nodeId ?? 'a node'}`,
      labels: { ...NO_LABELS, project, spider, jobId: id, nodeId, nodeTags: node?.tags ?? [] }
    }
    const ends = endedAtMs === null ? [] : [{ atMs: endedAtMs, gone: { watch: fact.watch, key: id } }]
    return [{ atMs: startedAtMs, fact }, ...ends]
  })
  return byTime(events)
}

/** Whether it is known when a job began and stopped to wait. */
const isWaitKnown = ({ isAfterOthers, attemptCount }: PastJob): boolean => !isAfterOthers && attemptCount <= 1

/** That jobs wait: of each lane the first one, as in the live facts. */
export function* eventsOfWaiting(jobs: readonly PastJob[], nodes: Nodes): Generator<PastEvent> {
  const moves = jobs.filter(isWaitKnown).flatMap((job) => {
    const fromMs = Math.max(job.queuedAtMs, job.notBeforeMs ?? 0)
    const untilMs = job.startedAtMs ?? job.endedAtMs
    if (untilMs !== null && untilMs <= fromMs) return []
    const leaves = untilMs === null ? [] : [{ atMs: untilMs, job, enters: false }]
    return [{ atMs: fromMs, job, enters: true }, ...leaves]
  })
  const lanes = new Map<string, Heap<PastJob>>()
  const left = new Set<string>()
  const heads = new Map<string, string>()
  for (const { atMs, job, enters } of byTime(moves)) {
    const lane = lanes.get(job.lane) ?? new Heap<PastJob>([], goesBefore)
    lanes.set(job.lane, lane)
    if (enters) lane.push(job)
    else left.add(job.id)
    for (let first = lane.first(); first !== undefined && left.has(first.id); first = lane.first()) {
      lane.removeFirst()
      left.delete(first.id)
    }
    const head = lane.first()
    if (head?.id === heads.get(job.lane)) continue
    if (head === undefined) {
      heads.delete(job.lane)
      lanes.delete(job.lane)
      yield { atMs, gone: { watch: 'job_waits_long', key: job.lane } }
    } else {
      heads.set(job.lane, head.id)
      yield { atMs, fact: waitOf(head, nodes) }
    }
  }
}

const goesBefore = (one: PastJob, other: PastJob): boolean =>
  one.priority === other.priority ? one.id < other.id : one.priority > other.priority

function waitOf({ id, lane, project, spider }: PastJob, { nodeOf }: Nodes): Fact {
  const { nodeId } = parseLane(lane).placement
  return {
    ...{ watch: 'job_waits_long', key: lane, value: 1, sinceMs: timeOfJobId(id), subject: `${project}/${spider}` },
    text: `${project}/${spider} waited`,
    labels: {
      ...{ ...NO_LABELS, project, spider, jobId: id, nodeId },
      nodeTags: (nodeId && nodeOf(nodeId)?.tags) || []
    }
  }
}
