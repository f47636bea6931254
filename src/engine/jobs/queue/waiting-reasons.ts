import type { Job, JobId, LiveFigures, NodeId, Waiting } from '../../../shared/contract/index.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { type Message, waitFor } from '../../../shared/texts/message.ts'
import { givenDedupeKey } from '../../storage/dedupe-key.ts'
import { parseLane } from '../../model/lane.ts'
import type { StoredJob } from '../../model/records.ts'
import { lineKey } from './queue-view.ts'

/**
 * Why jobs wait. `everything` overrides all other reasons. A lane's reason overrides the reason of its line (by key).
 */
export interface WaitingPlan {
  everything: Waiting | null
  lines: Map<string, Waiting>
  lanes: Map<string, Waiting>
}

interface PendingOnNode {
  node: string
  why: Message | string
}

/**
 * All jobs of a lane wait for the same reason, so reasons are kept by lane and line. Reading a job's reason takes
 * two lookups, regardless of the length of the queue.
 */
export class WaitingReasons {
  #plan: WaitingPlan = { everything: null, lines: new Map(), lanes: new Map() }
  readonly #unknownSince: (nodeId: NodeId) => number | null
  readonly #pendingOf: (job: StoredJob) => PendingOnNode | null
  readonly #progressOf: (jobId: JobId) => LiveFigures | null

  /**
   * `unknownSince` returns the time since which a node has been unreachable (null: it responds). `progressOf` returns
   * what the log of a running job shows. `pendingOf` returns why a node has not started a job that it accepted.
   */
  constructor(
    unknownSince: (nodeId: NodeId) => number | null = () => null,
    progressOf: (jobId: JobId) => LiveFigures | null = () => null,
    pendingOf: (job: StoredJob) => PendingOnNode | null = () => null
  ) {
    this.#pendingOf = pendingOf
    this.#unknownSince = unknownSince
    this.#progressOf = progressOf
  }

  replace(plan: WaitingPlan, lanesOfLine: (key: string) => Iterable<string>): string[] {
    const before = this.#plan
    this.#plan = plan
    const suspects = new Set<string>()
    const changed = (one: Waiting | null | undefined, other: Waiting | null | undefined) => one?.text !== other?.text
    if (changed(before.everything, plan.everything)) {
      for (const key of new Set([...before.lines.keys(), ...plan.lines.keys()]))
        for (const lane of lanesOfLine(key)) suspects.add(lane)
    }
    for (const [key, waiting] of plan.lines) {
      if (changed(before.lines.get(key), waiting)) for (const lane of lanesOfLine(key)) suspects.add(lane)
    }
    for (const key of before.lines.keys()) {
      if (!plan.lines.has(key)) for (const lane of lanesOfLine(key)) suspects.add(lane)
    }
    for (const [lane, waiting] of plan.lanes) if (changed(before.lanes.get(lane), waiting)) suspects.add(lane)
    for (const lane of before.lanes.keys()) if (!plan.lanes.has(lane)) suspects.add(lane)
    return [...suspects]
  }

  merge(plan: WaitingPlan, lanesOfLine: (key: string) => Iterable<string>): string[] {
    return this.replace(
      {
        everything: plan.everything,
        lines: new Map([...this.#plan.lines, ...plan.lines]),
        lanes: new Map([...this.#plan.lanes, ...plan.lanes])
      },
      lanesOfLine
    )
  }

  of(lane: string): Waiting {
    const { everything, lines, lanes } = this.#plan
    if (everything !== null) return everything
    return lanes.get(lane) ?? (lines.size === 0 ? undefined : lines.get(lineKey(parseLane(lane)))) ?? NEXT_IN_LINE
  }

  #whyPending(job: StoredJob): Waiting | null {
    const pending = job.state === 'starting' ? this.#pendingOf(job) : null
    return pending && waitFor('pending_on_node', pending)
  }

  /** The job as clients see it: with its waiting reason, without its secrets. */
  describeJob(job: StoredJob): Job {
    const isLive = job.state === 'starting' || job.state === 'running'
    return {
      ...NO_RATES,
      ...maskSecrets(job),
      dedupeKey: givenDedupeKey(job.project, job.dedupeKey),
      ...(isLive && this.#progressOf(job.id)),
      waiting: job.state === 'queued' ? (whyHeld(job) ?? this.of(job.lane)) : this.#whyPending(job),
      unknownSinceMs: isLive && job.nodeId !== null ? this.#unknownSince(job.nodeId) : null
    }
  }
}

const NO_RATES = { pagesPerMinute: null, itemsPerMinute: null }

const NEXT_IN_LINE = waitFor('next_in_line')

function whyHeld({ hold, notBeforeMs, after, spider }: StoredJob): Waiting | null {
  if (hold === null) return null
  if (hold === 'overlap') return waitFor('overlap', { spider })
  if (hold === 'dependency') {
    const [first, ...others] = after
    return waitFor('dependency', { jobId: first?.jobId ?? null, on: first?.on ?? 'ended', others: others.length })
  }
  const waiting = waitFor(hold === 'retry' ? 'retry_wait' : 'not_before', { untilMs: notBeforeMs })
  return notBeforeMs === null ? waiting : { ...waiting, untilMs: notBeforeMs }
}
