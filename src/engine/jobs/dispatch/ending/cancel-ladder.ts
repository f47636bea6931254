import pLimit, { type LimitFunction } from 'p-limit'
import { type CancelWaitsMs, limitWaitsOf } from '../../../../shared/run-limits.ts'
import { LAST_STEP, signalOfStep, waitAfterStep } from '../../../../shared/stop-ladder.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { NodeError, type NodeSignal } from '../../../nodes/node-client.ts'
import { failure } from '../../../nodes/node-failure.ts'
import type { Timer } from '../../../runtime/clock.ts'
import type { DispatchContext } from '../context.ts'
import type { EndedProcesses } from '../following/ended-processes.ts'
import type { LiveAttempt } from '../live-attempts.ts'

const NODE_MISSING_MS = 200
/** The minimum delay before a failed step is repeated, because the step's own wait can be 0 s. */
const REPEAT_MS = 1_000
/** The maximum number of cancels in flight to one node. Leaves one of the node's four connections to polling. */
const AT_ONCE_ON_NODE = 3
const AT_ONCE_MAX = 500

interface Climb {
  step: number
  /** How long the run may take to finish after the first INT. Null: the request did not specify a time. */
  firstWaitMs: number | null
  timer: Timer | null
  /**
   * Whether the next step waits for its turn at the node. The delay that follows the step begins only when the step is
   * sent.
   */
  isWaitingForTurn: boolean
}

/**
 * Cancels live attempts by the stop ladder (shared/stop-ladder.ts) and records each step. An attempt counts as
 * cancelled only when the node shows that it ended (follower.ts) or reports that it was pending and was removed.
 */
export class CancelLadder {
  readonly #context: DispatchContext
  readonly #endedProcesses: Pick<EndedProcesses, 'record'>
  readonly #climbing = new Map<string, Climb>()
  readonly #gateOfAll = pLimit(AT_ONCE_MAX)
  readonly #gateOfNode = new WeakMap<FleetNode, LimitFunction>()
  #stopped = false

  constructor(context: DispatchContext, endedProcesses: Pick<EndedProcesses, 'record'>) {
    this.#context = context
    this.#endedProcesses = endedProcesses
  }

  /**
   * Starts the ladder when the POST's result is known. With `force`, skips the first step, or the wait for the next
   * one.
   */
  cancel(one: LiveAttempt, options: { force: boolean; waitSeconds?: number | undefined }): void {
    if (this.#stopped || one.state === 'finishing') return
    const climb = this.#climbing.get(one.key)
    if (climb === undefined) {
      this.#climbing.set(one.key, beginAt(options.force ? 1 : 0, options.waitSeconds ?? null))
      if (isSettled(one)) void this.#step(one)
      return
    }
    if (!options.force) return
    void this.#recordForce(one)
    climb.step = Math.max(climb.step, 1)
    climb.timer?.cancel()
    if (isSettled(one)) void this.#step(one)
  }

  async signal(one: LiveAttempt, signal: NodeSignal): Promise<void> {
    const node = this.#context.fleet.get(one.nodeId)
    try {
      if (node === undefined) throw failure('unreachable', say('node_error.not_in_fleet'), 'no')
      const { wasState } = await this.#inTurn(node, () =>
        node.client.cancel({ project: one.project, jobid: one.jobid, signal })
      )
      await this.#recordStep(one, { signal, message: say('timeline.signal_sent', { signal }) }, wasState)
      if (wasState === 'pending') await this.#concludeRemoved(one)
      node.observer.poke()
    } catch (error) {
      if (isProcessEnded(error)) return this.#recordEnded(one, signal)
      this.#context.logger.warn({ error, jobId: one.jobId, signal }, 'a signal did not reach its job')
    }
  }

  /** Call this after the attempt's state has changed. Sends a cancel that waited for the POST's result. */
  sendWaiting(one: LiveAttempt): void {
    // Responses still arrive while the engine stops. The next engine resumes the cancel.
    if (this.#stopped) return
    const climb = this.#climbing.get(one.key)
    if (
      (one.cancelAskedAtMs !== null || one.limitHit !== null) &&
      (climb === undefined || climb.timer === null) &&
      isSettled(one)
    ) {
      if (climb === undefined) this.#climbing.set(one.key, beginAt(0, null))
      void this.#step(one)
    }
  }

  resume(one: LiveAttempt): void {
    const { store, logger } = this.#context
    store.listTimeline(one.jobId).then(
      (timeline) => {
        const ofIt = timeline.filter((entry) => entry.kind === 'cancel_sent' && entry.attemptNumber === one.number)
        const asked = timeline.filter(({ kind }) => kind === 'cancel_asked')
        const isForced = asked.some(({ evidence }) => evidence['force'] === true)
        const waitSeconds = asked.map(({ evidence }) => evidence['waitSeconds']).find(isNumber)
        this.#continue(one, ofIt.length, ofIt.at(-1)?.atMs ?? null, { isForced, waitSeconds: waitSeconds ?? null })
      },
      (error: unknown) =>
        logger.error({ error, jobId: one.jobId }, 'a cancel of an earlier engine could not be resumed')
    )
  }

  #continue(
    one: LiveAttempt,
    sent: number,
    lastAtMs: number | null,
    { isForced, waitSeconds }: { isForced: boolean; waitSeconds: number | null }
  ): void {
    const { clock } = this.#context
    if (this.#stopped || one.state === 'finishing' || this.#climbing.has(one.key)) return
    const climb = beginAt(Math.min(Math.max(sent, Number(isForced)), LAST_STEP), waitSeconds)
    this.#climbing.set(one.key, climb)
    const waitMs = lastAtMs === null ? 0 : waitAfterStep(sent - 1, this.#waitsFor(one, climb))
    const leftMs = Math.min(waitMs, waitMs - (clock.nowMs() - (lastAtMs ?? 0)))
    // A force skips the delay unless its step was already sent.
    const isDue = leftMs <= 0 || (isForced && sent < 2)
    if (!isDue) climb.timer = clock.setTimer(leftMs, () => void this.#step(one))
    else if (isSettled(one)) void this.#step(one)
  }

  /** A run that exceeded a limit gets less time than a cancelled one. */
  #waitsFor(one: LiveAttempt, { firstWaitMs }: Climb): CancelWaitsMs {
    const { cancelWaitsMs, projects } = this.#context
    if (one.cancelAskedAtMs === null) return limitWaitsOf(cancelWaitsMs)
    const ofProject = projects.settingsOf(one.project).cancelWaitSeconds
    const [first, second, last] = cancelWaitsMs
    return [firstWaitMs ?? (ofProject == null ? first : ofProject * 1000), second, last]
  }

  /** Records a force, which must survive a crash. If the first request was forced, the job already records this. */
  async #recordForce(one: LiveAttempt): Promise<void> {
    const { live, logger } = this.#context
    try {
      await live.record(one, {
        from: ['sending', 'accepted', 'uncertain', 'running'],
        kind: 'cancel_asked',
        message: say('timeline.immediate_stop_requested', { by: null }),
        evidence: { force: true }
      })
    } catch (error) {
      logger.error({ error, jobId: one.jobId }, 'recording that a cancel was forced failed')
    }
  }

  /** Call this after the attempt has ended. If it is found again, the ladder starts over. */
  forget(one: LiveAttempt): void {
    this.#climbing.get(one.key)?.timer?.cancel()
    this.#climbing.delete(one.key)
  }

  stop(): void {
    this.#stopped = true
    for (const climb of this.#climbing.values()) climb.timer?.cancel()
    this.#climbing.clear()
  }

  async #step(one: LiveAttempt): Promise<void> {
    const climb = this.#climbingOf(one)
    if (climb === undefined || climb.isWaitingForTurn) return
    const node = this.#context.fleet.get(one.nodeId)
    if (node === undefined) {
      // On startup, the attempts are loaded before the nodes, so try again soon.
      climb.timer = this.#context.clock.setTimer(NODE_MISSING_MS, () => void this.#step(one))
      return
    }
    climb.isWaitingForTurn = true
    await this.#inTurn(node, async () => {
      climb.isWaitingForTurn = false
      if (this.#climbingOf(one) === climb) await this.#send(node, one, climb)
    })
  }

  #climbingOf(one: LiveAttempt): Climb | undefined {
    // If the attempt was found again, a new object with its own climb has replaced `one`.
    if (this.#context.live.get(one.key) !== one) return undefined
    if (one.state === 'finishing') this.#climbing.delete(one.key)
    return this.#climbing.get(one.key)
  }

  #inTurn<T>(node: FleetNode, task: () => Promise<T>): Promise<T> {
    let gate = this.#gateOfNode.get(node)
    if (gate === undefined) this.#gateOfNode.set(node, (gate = pLimit(AT_ONCE_ON_NODE)))
    return gate(() => this.#gateOfAll(task))
  }

  async #send(node: FleetNode, one: LiveAttempt, climb: Climb): Promise<void> {
    const { step } = climb
    const signal = signalOfStep(step)
    const waits = this.#waitsFor(one, climb)
    const waitMs = waitAfterStep(step, waits)
    const nextAtMs = this.#context.clock.nowMs() + waitMs
    // Sets the timer before the request, so that a force during the request does not start the ladder twice.
    const wait = (ms: number) => {
      climb.timer?.cancel()
      climb.timer = this.#context.clock.setTimer(ms, () => void this.#step(one))
    }
    wait(Math.max(waitMs, REPEAT_MS))
    try {
      const { wasState } = await node.client.cancel({ project: one.project, jobid: one.jobid, signal })
      climb.step += 1
      if (waitMs < REPEAT_MS) wait(waitMs)
      const next = signalOfStep(climb.step)
      const planned = { next, nextAtMs, ...(next === 'INT' && { killAtMs: nextAtMs + waitAfterStep(step + 1, waits) }) }
      const message = say('timeline.stop_step', { step: Math.min(step, LAST_STEP) })
      await this.#recordStep(one, { signal, message, planned }, wasState)
      if (wasState === 'pending') await this.#concludeRemoved(one)
      node.observer.poke()
    } catch (error) {
      if (isProcessEnded(error)) return this.#recordEnded(one, signal)
      const { logger } = this.#context
      if (!(error instanceof NodeError)) logger.error({ error, jobId: one.jobId }, 'a cancel step failed unexpectedly')
      else logger.warn({ jobId: one.jobId, error: error.message }, 'a cancel did not reach the node; retrying')
    }
  }

  async #recordStep(
    one: LiveAttempt,
    step: { signal: NodeSignal; message: Message; planned?: { next: string; nextAtMs: number; killAtMs?: number } },
    nodeSaid: string | null
  ) {
    await this.#context.live.record(one, {
      from: ['sending', 'accepted', 'uncertain', 'running'],
      kind: 'cancel_sent',
      message: step.message,
      evidence: { signal: step.signal, nodeSaid, ...step.planned }
    })
  }

  async #recordEnded(one: LiveAttempt, signal: NodeSignal): Promise<void> {
    this.#endedProcesses.record(one)
    this.#context.fleet.get(one.nodeId)?.observer.poke()
    const message = say('timeline.already_ended', { signal })
    await this.#recordStep(one, { signal, message }, 'process ended').catch((error: unknown) =>
      this.#context.logger.error({ error, jobId: one.jobId }, 'recording what a node said to a signal failed')
    )
  }

  async #concludeRemoved(one: LiveAttempt): Promise<void> {
    await this.#context.live.end(one, {
      from: ['accepted', 'uncertain', 'sending'],
      kind: 'ended',
      result: 'cancelled',
      reason: say('reason.cancelled_before_start'),
      jobOutcome: 'cancelled',
      message: say('timeline.removed_from_node'),
      evidence: { nodeSaid: 'pending' }
    })
  }
}

function beginAt(step: number, waitSeconds: number | null): Climb {
  const firstWaitMs = waitSeconds === null ? null : waitSeconds * 1000
  return { step, firstWaitMs, timer: null, isWaitingForTurn: false }
}

const isProcessEnded = (error: unknown) => error instanceof NodeError && error.refusal === 'process_ended'

const isNumber = (value: unknown): value is number => typeof value === 'number'

function isSettled(one: LiveAttempt): boolean {
  return one.state === 'accepted' || one.state === 'running'
}
