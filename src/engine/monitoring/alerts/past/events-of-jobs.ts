import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import { timeOfJobId } from '../../../../shared/ids.ts'
import type { NodeId, Outcome } from '../../../../shared/contract/index.ts'
import { encode, say } from '../../../../shared/texts/message.ts'
import { Heap } from '../../../runtime/heap.ts'
import { parseLane } from '../../../model/lane.ts'
import type { StoredJob, StoredNode } from '../../../model/records.ts'
import { type Signal, NO_LABELS, spiderSubject } from '../signal.ts'
import { signalsOfRuns, RUNS_READ, type RunRow } from '../signals/stored-signals.ts'
import type { PastEvent } from './replay.ts'

/** Only the fields of a job that a preview needs, because up to 50,000 jobs are in memory. */
export type PastJob = RunRow &
  Pick<StoredJob, 'lane' | 'priority' | 'startedAtMs' | 'notBeforeMs' | 'attemptCount'> & { isAfterOthers: boolean }

export function pastJobOf(job: StoredJob): PastJob {
  const { id, project, spider, nodeId, outcome, items, errors, queuedAtMs, startedAtMs, endedAtMs } = job
  const { killingLine, killingLineCode, killingLineParams, reason, reasonCode, reasonParams } = job
  const { lane, priority, notBeforeMs, attemptCount, after } = job
  return {
    id,
    project,
    spider,
    nodeId,
    outcome,
    items,
    errors,
    queuedAtMs,
    startedAtMs,
    endedAtMs,
    ...(reasonCode !== undefined && { reasonCode, reasonParams }),
    ...(killingLineCode !== undefined && { killingLineCode, killingLineParams }),
    killingLine,
    reason,
    lane,
    priority,
    notBeforeMs,
    attemptCount,
    isAfterOthers: after.length > 0
  }
}

interface Nodes {
  nodeOf: (id: NodeId) => StoredNode | undefined
}

/** Sorts in place. Fast for nearly sorted entries, as the store returns them. */
const byTime = <One extends { atMs: number }>(moves: One[]): One[] => moves.sort((one, other) => one.atMs - other.atMs)

/** Outcomes that are ignored, as in live signals (newestRuns). */
const SAYS_NOTHING: ReadonlySet<string> = new Set<Outcome>(['cancelled', 'unclear'])

/** Yields the signals of spiders after each run. Here and below, `jobs` are newest first. */
export function* eventsOfRuns(watch: AlertWatch, jobs: readonly PastJob[], nodes: Nodes): Generator<PastEvent> {
  const ends: { atMs: number; job: PastJob }[] = []
  for (const job of jobs.toReversed()) {
    if (job.endedAtMs !== null && job.outcome !== null && !SAYS_NOTHING.has(job.outcome))
      ends.push({ atMs: job.endedAtMs, job })
  }
  const runs = new Map<string, PastJob[]>()
  for (const { job, atMs } of byTime(ends)) {
    const subject = `${job.project}/${job.spider}`
    const those = [job, ...(runs.get(subject) ?? [])]
    // As in live signals, the newest run is the one queued last.
    if (those.length > 1 && those[1]!.id > job.id) those.sort((one, other) => (one.id < other.id ? 1 : -1))
    const newest = those.slice(0, RUNS_READ)
    runs.set(subject, newest)
    for (const signal of signalsOfRuns(newest, nodes)) if (signal.watch === watch) yield { atMs, signal }
  }
}

interface Move {
  atMs: number
  job: PastJob
  begins: boolean
}

/**
 * Returns the starts and ends of jobs, sorted by time. Skips a job if `timesOf` returns null. Ends are collected in a
 * separate list, because that makes sorting faster.
 */
function movesOf(
  jobs: readonly PastJob[],
  timesOf: (job: PastJob) => { fromMs: number; untilMs: number | null } | null
): Move[] {
  const moves: Move[] = []
  const ends: Move[] = []
  for (const job of jobs.toReversed()) {
    const times = timesOf(job)
    if (times === null) continue
    moves.push({ atMs: times.fromMs, job, begins: true })
    if (times.untilMs !== null) ends.push({ atMs: times.untilMs, job, begins: false })
  }
  for (const end of ends) moves.push(end)
  return byTime(moves)
}

export function* eventsOfRunning(jobs: readonly PastJob[], { nodeOf }: Nodes): Generator<PastEvent> {
  const moves = movesOf(jobs, ({ startedAtMs, endedAtMs }) =>
    startedAtMs === null ? null : { fromMs: startedAtMs, untilMs: endedAtMs }
  )
  for (const { atMs, job, begins } of moves) {
    const { id, project, spider, nodeId } = job
    const of: Pick<Signal, 'watch' | 'key'> = { watch: 'job_runs_long', key: id }
    if (!begins) {
      yield { atMs, gone: of }
      continue
    }
    const node = nodeId === null ? undefined : nodeOf(nodeId)
    yield {
      atMs,
      signal: {
        ...of,
        value: 1,
        sinceMs: atMs,
        subject: spiderSubject({ project, spider }),
        text: encode(say('alert.job_ran_long', { project, spider, node: node?.name ?? nodeId })),
        labels: { ...NO_LABELS, project, spider, jobId: id, nodeId, nodeTags: node?.tags ?? [] }
      }
    }
  }
}

const isWaitKnown = ({ isAfterOthers, attemptCount }: PastJob): boolean => !isAfterOthers && attemptCount <= 1

/** Yields the signals of waiting jobs. As in live signals, only the first job of each lane counts. */
export function* eventsOfWaiting(jobs: readonly PastJob[], nodes: Nodes): Generator<PastEvent> {
  const moves = movesOf(jobs, (job) => {
    const fromMs = Math.max(job.queuedAtMs, job.notBeforeMs ?? 0)
    const untilMs = job.startedAtMs ?? job.endedAtMs
    return isWaitKnown(job) && (untilMs === null || untilMs > fromMs) ? { fromMs, untilMs } : null
  })
  const lanes = new Map<string, Heap<PastJob>>()
  const left = new Set<string>()
  const heads = new Map<string, string>()
  for (const { atMs, job, begins } of moves) {
    const lane = lanes.get(job.lane) ?? new Heap<PastJob>([], goesBefore)
    lanes.set(job.lane, lane)
    if (begins) lane.push(job)
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
      yield { atMs, signal: waitOf(head, nodes) }
    }
  }
}

const goesBefore = (one: PastJob, other: PastJob): boolean =>
  one.priority === other.priority ? one.id < other.id : one.priority > other.priority

function waitOf({ id, lane, project, spider }: PastJob, { nodeOf }: Nodes): Signal {
  const { nodeId } = parseLane(lane).placement
  return {
    watch: 'job_waits_long',
    key: lane,
    value: 1,
    sinceMs: timeOfJobId(id),
    subject: spiderSubject({ project, spider }),
    text: encode(say('alert.job_waited_long', { project, spider })),
    labels: {
      ...NO_LABELS,
      project,
      spider,
      jobId: id,
      nodeId,
      nodeTags: (nodeId && nodeOf(nodeId)?.tags) || []
    }
  }
}
