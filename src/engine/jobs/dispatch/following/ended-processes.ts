import type { JobId, NodeId } from '../../../../shared/contract/index.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { NodeError, type SeenJob, type Snapshot } from '../../../nodes/node-client.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'

/** How long a run may stay listed after its process has ended, while the node reads the rest of the output. */
const CONFIRMED_AFTER_MS = 2_000
/** How long a process may run after its log is complete before we ask the node about it. Doubles with each request. */
const QUIET_FIRST_MS = 30_000
/** How long a log may stay unchanged before we ask the node whether the process still exists. */
const QUIET_MAX_MS = 600_000
/** Signal 0 only tests whether the process exists. Scrapyds that refuse the signal still look for the process first. */
const NO_SIGNAL = 0

interface Asking {
  dueAtMs: number
  waitMs: number
  isComplete: boolean
  logBytes: number
}

export const runKey = ({ project, jobid }: Pick<SeenJob, 'project' | 'jobid'>): string => `${project}\n${jobid}`

/**
 * Detects runs whose process ended although the node still lists them as running. Scrapyd waits until the pipes of
 * the process are closed, and something that the spider started can keep them open. The node's response to a signal
 * proves that the process ended.
 *
 *   running --signal: "it has exited"--> said --still listed as running 2 s later--> finishing, judged by its log
 *
 * The signal comes from a cancel, or is signal 0 if the log has been complete for 30 s or has not grown for 10 min.
 * While the node lists the ended run as running, it counts as an external run that takes a slot.
 */
export class EndedProcesses {
  readonly #context: Pick<DispatchContext, 'live' | 'fleet' | 'clock' | 'collector' | 'logger'>
  readonly #newest = new WeakMap<FleetNode, Snapshot>()
  readonly #saidAtMs = new WeakMap<LiveAttempt, number>()
  readonly #asking = new Map<LiveAttempt, Asking>()
  /** By node: the job ids of the held runs in its newest lists, by `runKey`. */
  readonly #held = new Map<NodeId, ReadonlyMap<string, JobId>>()

  constructor(context: Pick<DispatchContext, 'live' | 'fleet' | 'clock' | 'collector' | 'logger'>) {
    this.#context = context
  }

  forget(one: LiveAttempt): void {
    this.#asking.delete(one)
  }

  /**
   * Whether to fetch the lists. We ask about a run only if it is in the newest lists, and only they show whether a run
   * whose process ended is still listed.
   */
  wantsSnapshot(nodeId: NodeId): boolean {
    const nowMs = this.#context.clock.monotonicMs()
    const isWanted = (one: LiveAttempt) =>
      this.#saidAtMs.has(one) || nowMs >= (this.#asking.get(one)?.dueAtMs ?? Number.POSITIVE_INFINITY)
    return this.#context.live.hasOnNode(nodeId, (one) => one.state !== 'finishing' && isWanted(one))
  }

  watch(one: LiveAttempt): void {
    const dueAtMs = this.#context.clock.monotonicMs() + QUIET_MAX_MS
    this.#asking.set(one, { dueAtMs, waitMs: QUIET_MAX_MS, isComplete: false, logBytes: 0 })
  }

  /** Call this after the node reported that the process of this run had ended. */
  record(one: LiveAttempt): void {
    this.#asking.delete(one)
    this.#saidAtMs.set(one, this.#saidAtMs.get(one) ?? this.#context.clock.monotonicMs())
  }

  /** Call this for a run if an earlier engine saw its process end. */
  hold(nodeId: NodeId, run: Pick<SeenJob, 'project' | 'jobid'>, jobId: JobId): void {
    this.#held.set(nodeId, new Map([...(this.#held.get(nodeId) ?? []), [runKey(run), jobId]]))
  }

  heldIn(node: FleetNode, snapshot: Snapshot): ReadonlyMap<string, JobId> {
    this.#newest.set(node, snapshot)
    const nodeId = node.stored.id
    const known = new Map(this.#held.get(nodeId))
    for (const one of this.#context.live.ofNode(nodeId)) {
      const saidAtMs = this.#saidAtMs.get(one)
      if (saidAtMs !== undefined && snapshot.begunAtMs - saidAtMs > CONFIRMED_AFTER_MS)
        known.set(runKey(one), one.jobId)
    }
    if (known.size === 0) return known
    const running = new Set(snapshot.running.map(runKey))
    const held = new Map([...known].filter(([key]) => running.has(key)))
    if (held.size > 0) this.#held.set(nodeId, held)
    else this.#held.delete(nodeId)
    return held
  }

  /** Call this after reading the log of a running job. */
  noticeLog(jobId: JobId): void {
    const { live, clock, collector } = this.#context
    const one = live.ofJob(jobId)
    const asking = one && this.#asking.get(one)
    const figures = collector.figuresOf(jobId)
    if (asking === undefined || asking.isComplete || figures === null) return
    asking.isComplete = figures.finishReason !== null
    if (!asking.isComplete && figures.bytes === asking.logBytes) return
    asking.logBytes = figures.bytes
    asking.waitMs = asking.isComplete ? QUIET_FIRST_MS : QUIET_MAX_MS
    asking.dueAtMs = clock.monotonicMs() + asking.waitMs
  }

  askDue(): void {
    const { clock, fleet } = this.#context
    const nowMs = clock.monotonicMs()
    for (const [one, asking] of this.#asking) {
      if (nowMs < asking.dueAtMs) continue
      const node = fleet.get(one.nodeId)
      // A local node kills what a spider leaves behind, so we need not ask it.
      if (node?.client.traits.holdsLimits === true) {
        this.#asking.delete(one)
        continue
      }
      // Checks the newest lists first, because a cancel with any signal removes a pending job. Another Scrapdeck may be
      // retrying the job under the same jobid.
      const lists = node && this.#newest.get(node)
      if (node === undefined || lists === undefined || lists.begunAtMs < asking.dueAtMs) continue
      asking.waitMs = Math.min(QUIET_MAX_MS, 2 * asking.waitMs)
      asking.dueAtMs = nowMs + asking.waitMs
      const isSame = (job: SeenJob) => runKey(job) === runKey(one)
      if (lists.running.some(isSame) && !lists.pending.some(isSame)) void this.#ask(node, one)
    }
  }

  async #ask(node: FleetNode, one: LiveAttempt): Promise<void> {
    const { logger } = this.#context
    if (node.status.health !== 'up' || one.state !== 'running') return
    try {
      await node.client.cancel({ project: one.project, jobid: one.jobid, signal: NO_SIGNAL })
    } catch (error) {
      if (!(error instanceof NodeError)) return logger.error({ error, jobId: one.jobId }, 'asking for a process failed')
      if (error.refusal !== 'process_ended') return
      this.record(one)
      node.observer.poke()
    }
  }
}
