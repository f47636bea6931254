import type { Attempt, LimitRule, RetryPolicy, RunLimits } from '../../shared/contract/index.ts'
import type { SeenExit } from '../nodes/node-client.ts'
import { LimitBook } from '../queue/limits.ts'
import type { Absence, BelievedAttempt } from './decide/reconcile.ts'

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
  /** See reconcile.ts. */
  isTakenOverUnresolved: boolean
  /** Its node has shown its end: it holds no slot any more, though that may not have been written down yet. */
  isOver: boolean
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
  /** Monotonic; it is being taken out of its node's queue (stuck-nodes.ts): being seen there in lists begun earlier is no news. */
  takenBackAtMs: number
  /** What is to be told of how it was sent, by whoever learns first what became of that: plugins that changed it, limits not held. */
  sendNotes: Readonly<Record<string, unknown>>
  /** How the process ended, where the node told (local node). */
  exit: SeenExit | null
  /** The node forgot the run but its log was there: how long the log has been, and since when it stands still. */
  orphan: { sizeBytes: number; silentSinceMs: number } | null
}

/** What the attempt's row does not tell. */
interface LiveOptions {
  settledAtMs: number | null
  cancelAskedAtMs: number | null
  isTakenOverUnresolved?: boolean
  retry?: RetryPolicy | null
  limits?: RunLimits | null
}

/** The attempts that have not ended, by node: the engine's belief. Loaded from the store once, kept in step with it. */
export class LiveAttempts {
  readonly #byKey = new Map<string, LiveAttempt>()
  readonly #byNode = new Map<string, Map<string, LiveAttempt>>()
  readonly #byJob = new Map<string, LiveAttempt>()
  /** Those that hold a slot. */
  readonly #holding = new Set<LiveAttempt>()
  readonly #slotsByNode = new Map<string, number>()
  readonly #slotsByProject = new Map<string, number>()
  readonly #jobids = new Map<string, number>()
  /** What counts against each limit: the attempts that hold a slot. */
  readonly limits: LimitBook
  /** Told of every attempt that is removed: it has ended. */
  onRemove: (live: LiveAttempt) => void = () => {}
  /** Told when `slotsUsedOn` is another number. */
  onSlots: (nodeId: string) => void = () => {}

  constructor(limits: LimitBook = new LimitBook()) {
    this.limits = limits
  }

  add(attempt: Attempt, options: LiveOptions): LiveAttempt {
    if (attempt.state === 'ended') throw new Error(`attempt ${attemptKey(attempt.jobId, attempt.number)} has ended`)
    let { state } = attempt
    const moveTo = (next: LiveAttempt['state']) => {
      state = next
      this.#settle(live)
    }
    const live: LiveAttempt = {
      key: attemptKey(attempt.jobId, attempt.number),
      jobId: attempt.jobId,
      number: attempt.number,
      jobid: attempt.jobid,
      nodeId: attempt.nodeId,
      project: attempt.project,
      version: attempt.version,
      spider: attempt.spider,
      get state() {
        return state
      },
      set state(next) {
        moveTo(next)
      },
      settledAtMs: options.settledAtMs,
      isTakenOverUnresolved: options.isTakenOverUnresolved ?? false,
      isOver: false,
      absence: null,
      sentAtMs: attempt.sentAtMs,
      startedAtMs: attempt.startedAtMs,
      cancelAskedAtMs: options.cancelAskedAtMs,
      retry: options.retry ?? null,
      limits: options.limits ?? null,
      sendNotes: {},
      limitHit: attempt.limitHit,
      takenBackAtMs: Number.NEGATIVE_INFINITY,
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
    change(this.#jobids, live.jobid, 1)
    this.#settle(live)
    return live
  }

  /** Its slot is free from now on: that the node has ended the run is so, whatever becomes of writing it down. */
  noteOver(live: LiveAttempt): void {
    live.isOver = true
    this.#settle(live)
  }

  remove(live: LiveAttempt): void {
    if (!this.#byKey.delete(live.key)) return
    change(this.#jobids, live.jobid, -1)
    this.#settle(live)
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
    return this.#slotsByNode.get(nodeId) ?? 0
  }

  /** How many slots a project holds: what fairness weighs. */
  slotsOfProject(project: string): number {
    return this.#slotsByProject.get(project) ?? 0
  }

  hasJobid(jobid: string): boolean {
    return this.#jobids.has(jobid)
  }

  /** Other limits from now on. */
  replaceLimits(rules: readonly LimitRule[]): void {
    this.limits.replace(rules, this.#holding)
  }

  all(): LiveAttempt[] {
    return [...this.#byKey.values()]
  }

  /** Counts it, or counts it no more, where it began or ceased to hold a slot. */
  #settle(live: LiveAttempt): void {
    const holdsSlot = this.#byKey.get(live.key) === live && live.state !== 'finishing' && !live.isOver
    if (holdsSlot === this.#holding.has(live)) return
    if (holdsSlot) this.#holding.add(live)
    else this.#holding.delete(live)
    const by = holdsSlot ? 1 : -1
    change(this.#slotsByNode, live.nodeId, by)
    change(this.#slotsByProject, live.project, by)
    this.limits.count(live, by)
    this.onSlots(live.nodeId)
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

export function attemptKey(jobId: string, number: number): string {
  return `${jobId}/${number}`
}
