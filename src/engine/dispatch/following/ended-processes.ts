import type { JobId, NodeId } from '../../../shared/contract/index.ts'
import { NodeError, type SeenJob, type Snapshot } from '../../nodes/node-client.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'

/** A process that has just ended is still listed while its node reads the rest of its output. */
const CONFIRMED_AFTER_MS = 2_000
/** How long a spider may take to end after its log is complete, before its node is asked. Doubled each time. */
const QUIET_FIRST_MS = 30_000
const QUIET_MAX_MS = 600_000
/** Asks whether there is a process, and does nothing to it. Scrapyds that refuse it look for the process first. */
const NO_SIGNAL = 0

interface Asking {
  dueAtMs: number
  waitMs: number
}

/** Attempts and listed jobs are of the same run if project and jobid are. */
export const runKey = ({ project, jobid }: Pick<SeenJob, 'project' | 'jobid'>): string => `${project}\n${jobid}`

/**
 * Runs whose process has ended while their node lists them as running: a Scrapyd waits until the pipes of the process
 * are closed, and something that the spider started keeps them open. The proof is what the node says to a signal.
 *
 *   running --signal: "it has exited"--> said --still listed as running 2 s later--> finishing, judged by its log
 *      ^ the signal of a cancel; one without effect if the log is complete and the run has been listed for 30 s since
 *
 * It counts as an external run, which takes a slot, for as long as its node lists it as running.
 */
export class EndedProcesses {
  readonly #context: Pick<DispatchContext, 'live' | 'fleet' | 'clock' | 'collector' | 'logger'>
  /** Monotonic: when the node said that the process has ended. */
  readonly #saidAtMs = new WeakMap<LiveAttempt, number>()
  readonly #asking = new Map<LiveAttempt, Asking>()
  /** The jobs of such runs that their node still listed in its newest lists, by run. */
  readonly #held = new Map<NodeId, ReadonlyMap<string, JobId>>()

  constructor(context: Pick<DispatchContext, 'live' | 'fleet' | 'clock' | 'collector' | 'logger'>) {
    this.#context = context
  }

  /** It has ended. */
  forget(one: LiveAttempt): void {
    this.#asking.delete(one)
  }

  /** Only the lists show whether a run goes whose process has ended. */
  wantsSnapshot(nodeId: NodeId): boolean {
    return this.#context.live.hasOnNode(nodeId, (one) => this.#saidAtMs.has(one) && one.state !== 'finishing')
  }

  /** The node said that the process of this run has ended. */
  record(one: LiveAttempt): void {
    this.#asking.delete(one)
    this.#saidAtMs.set(one, this.#saidAtMs.get(one) ?? this.#context.clock.monotonicMs())
  }

  /** An earlier engine has seen that the process of this run, which has ended, is only held open. */
  hold(nodeId: NodeId, run: Pick<SeenJob, 'project' | 'jobid'>, jobId: JobId): void {
    this.#held.set(nodeId, new Map([...(this.#held.get(nodeId) ?? []), [runKey(run), jobId]]))
  }

  /** The runs without a process that these lists show as running, with their jobs. */
  heldIn(nodeId: NodeId, snapshot: Snapshot): ReadonlyMap<string, JobId> {
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

  /** The log of a running job was read. */
  noticeLog(jobId: JobId): void {
    const { live, fleet, clock, collector } = this.#context
    const one = live.ofJob(jobId)
    if (one?.state !== 'running' || this.#asking.has(one) || this.#saidAtMs.has(one)) return
    // A local node ends what a spider leaves behind.
    if (fleet.get(one.nodeId)?.client.traits.holdsLimits !== false) return
    if (collector.figuresOf(jobId)?.finishReason == null) return
    this.#asking.set(one, { dueAtMs: clock.monotonicMs() + QUIET_FIRST_MS, waitMs: QUIET_FIRST_MS })
  }

  /** Called every second. */
  askDue(): void {
    const nowMs = this.#context.clock.monotonicMs()
    for (const [one, asking] of this.#asking) {
      if (nowMs < asking.dueAtMs) continue
      asking.waitMs = Math.min(QUIET_MAX_MS, 2 * asking.waitMs)
      asking.dueAtMs = nowMs + asking.waitMs
      void this.#ask(one)
    }
  }

  async #ask(one: LiveAttempt): Promise<void> {
    const { fleet, logger } = this.#context
    const node = fleet.get(one.nodeId)
    if (node?.status.health !== 'up' || one.state !== 'running') return
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
