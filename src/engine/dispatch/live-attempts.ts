import type { Attempt, RetryPolicy, RunLimits } from '../../shared/contract/index.ts'
import type { SeenExit } from '../nodes/node-client.ts'
import type { Absence, BelievedAttempt } from './reconcile.ts'

/** What the engine knows of an attempt that has not ended, beyond its row in the store. */
export interface LiveAttempt {
  key: string
  jobId: string
  number: number
  jobid: string
  nodeId: string
  project: string
  version: string
  spider: string
  state: BelievedAttempt['state']
  settledAtMs: number | null
  absence: Absence | null
  sentAtMs: number
  startedAtMs: number | null
  cancelAskedAtMs: number | null
  /** Its job's. */
  retry: RetryPolicy | null
  /** Its job's, not yet laid over its project's. */
  limits: RunLimits | null
  /** The limit that we stop it for, in words; on the local node `exit` tells. */
  limitHit: string | null
  /** How the process ended, where the node told (local node). */
  exit: SeenExit | null
  /** The node forgot the run but its log was there: how long the log has been, and since when it stands still. */
  orphan: { sizeBytes: number; silentSinceMs: number } | null
}

/** What the attempt's row does not tell. */
interface LiveOptions {
  settledAtMs: number | null
  cancelAskedAtMs: number | null
  retry?: RetryPolicy | null
  limits?: RunLimits | null
}

/** The attempts that have not ended, by node: the engine's belief. Loaded from the store once, kept in step with it. */
export class LiveAttempts {
  readonly #byKey = new Map<string, LiveAttempt>()
  readonly #byNode = new Map<string, Map<string, LiveAttempt>>()
  readonly #byJob = new Map<string, LiveAttempt>()
  /** Told of every attempt that is removed: it has ended. */
  onRemove: (live: LiveAttempt) => void = () => {}

  add(attempt: Attempt, options: LiveOptions): LiveAttempt {
    if (attempt.state === 'ended') throw new Error(`attempt ${attemptKey(attempt.jobId, attempt.number)} has ended`)
    const live: LiveAttempt = {
      key: attemptKey(attempt.jobId, attempt.number),
      jobId: attempt.jobId,
      number: attempt.number,
      jobid: attempt.jobid,
      nodeId: attempt.nodeId,
      project: attempt.project,
      version: attempt.version,
      spider: attempt.spider,
      state: attempt.state,
      settledAtMs: options.settledAtMs,
      absence: null,
      sentAtMs: attempt.sentAtMs,
      startedAtMs: attempt.startedAtMs,
      cancelAskedAtMs: options.cancelAskedAtMs,
      retry: options.retry ?? null,
      limits: options.limits ?? null,
      limitHit: attempt.limitHit,
      exit:
        attempt.exitCode === null && attempt.signal === null
          ? null
          : {
              code: attempt.exitCode,
              signal: attempt.signal,
              limit: attempt.limitHit,
              peakMemoryBytes: attempt.peakMemoryBytes,
              cpuSeconds: attempt.cpuSeconds
            },
      orphan: null
    }
    this.#byKey.set(live.key, live)
    this.#byJob.set(live.jobId, live)
    let ofNode = this.#byNode.get(live.nodeId)
    if (ofNode === undefined) this.#byNode.set(live.nodeId, (ofNode = new Map()))
    ofNode.set(live.key, live)
    return live
  }

  remove(live: LiveAttempt): void {
    if (!this.#byKey.delete(live.key)) return
    if (this.#byJob.get(live.jobId) === live) this.#byJob.delete(live.jobId)
    this.#byNode.get(live.nodeId)?.delete(live.key)
    this.onRemove(live)
  }

  get(key: string): LiveAttempt | undefined {
    return this.#byKey.get(key)
  }

  /** A job has one live attempt at most (I2). */
  ofJob(jobId: string): LiveAttempt | undefined {
    return this.#byJob.get(jobId)
  }

  ofNode(nodeId: string): LiveAttempt[] {
    return [...(this.#byNode.get(nodeId)?.values() ?? [])]
  }

  /** Attempts that hold a slot: all but those the node has finished. */
  slotsUsedOn(nodeId: string): number {
    let used = 0
    for (const live of this.#byNode.get(nodeId)?.values() ?? []) if (live.state !== 'finishing') used += 1
    return used
  }

  /** How many slots each project holds: what fairness weighs. */
  slotsByProject(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const live of this.#byKey.values()) {
      if (live.state !== 'finishing') counts.set(live.project, (counts.get(live.project) ?? 0) + 1)
    }
    return counts
  }

  all(): LiveAttempt[] {
    return [...this.#byKey.values()]
  }
}

export function attemptKey(jobId: string, number: number): string {
  return `${jobId}/${number}`
}
