import pLimit, { type LimitFunction } from 'p-limit'
import { LAST_STEP, signalOfStep, waitAfterStep } from '../../../shared/stop-ladder.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { NodeError, type NodeSignal } from '../../nodes/node-client.ts'
import type { Timer } from '../../runtime/clock.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'

const NODE_MISSING_MS = 200
/** One of a node's four connections stays free for polling; nodes that do not answer must not hold up all others. */
const AT_ONCE_ON_NODE = 3
const AT_ONCE_MAX = 500

/** Of a step (shared/stop-ladder.ts), for the timeline. */
export function textOfStep(step: number, run: 'the run' | 'the returned run'): string {
  const texts = [`Asked ${run} to stop (INT)`, `Asked ${run} to stop immediately (second INT)`, `Killed ${run} (KILL)`]
  return texts[Math.min(step, LAST_STEP)]!
}

interface Climb {
  step: number
  timer: Timer | null
  /** Its next step waits for its turn at the node: the waits between steps begin when one is sent. */
  isWaitingForTurn: boolean
}

/**
 * Cancels live attempts by the stop ladder (shared/stop-ladder.ts), each step recorded; with force it begins at the
 * second. An attempt counts as cancelled only when the node shows that it ended (follower.ts), or says that it was
 * still pending and has been removed.
 */
export class CancelLadder {
  readonly #context: DispatchContext
  readonly #climbing = new Map<string, Climb>()
  readonly #gateOfAll = pLimit(AT_ONCE_MAX)
  readonly #gateOfNode = new WeakMap<FleetNode, LimitFunction>()
  #stopped = false

  constructor(context: DispatchContext) {
    this.#context = context
  }

  /** Begins, or with `force` goes to the second step at once. It waits for the answer to the attempt's POST. */
  cancel(one: LiveAttempt, options: { force: boolean; fromStep?: number }): void {
    // What its node has finished needs no signal.
    if (this.#stopped || one.state === 'finishing') return
    const climb = this.#climbing.get(one.key)
    if (climb === undefined) {
      this.#climbing.set(one.key, beginAt(options.fromStep ?? (options.force ? 1 : 0)))
      if (isSettled(one)) void this.#step(one)
      return
    }
    if (!options.force) return
    void this.#recordForce(one)
    climb.step = Math.max(climb.step, 1)
    climb.timer?.cancel()
    if (isSettled(one)) void this.#step(one)
  }

  /** One signal that somebody named, once: it is theirs to know what it does. */
  async signal(one: LiveAttempt, signal: NodeSignal): Promise<void> {
    const node = this.#context.fleet.get(one.nodeId)
    try {
      if (node === undefined) throw new NodeError('unreachable', 'Its node is not in the fleet', { delivered: 'no' })
      const { wasState } = await this.#inTurn(node, () =>
        node.client.cancel({ project: one.project, jobid: one.jobid, signal })
      )
      await this.#recordStep(one, { signal, text: `Sent signal ${signal}` }, wasState)
      if (wasState === 'pending') await this.#concludeRemoved(one)
      node.observer.poke()
    } catch (error) {
      this.#context.logger.warn({ error, jobId: one.jobId, signal }, 'a signal did not reach its job')
    }
  }

  /** The node has answered the POST: what was asked meanwhile goes out now. */
  goOn(one: LiveAttempt): void {
    // While the engine stops, answers still come: the next one takes the cancel over.
    if (this.#stopped) return
    const climb = this.#climbing.get(one.key)
    if (
      (one.cancelAskedAtMs !== null || one.limitHit !== null) &&
      (climb === undefined || climb.timer === null) &&
      isSettled(one)
    ) {
      if (climb === undefined) this.#climbing.set(one.key, beginAt(0))
      void this.#step(one)
    }
  }

  /** Takes a cancel over from an earlier engine: the steps already taken are in the timeline. */
  resume(one: LiveAttempt): void {
    const { store, logger } = this.#context
    store.listTimeline(one.jobId).then(
      (timeline) => {
        const ofIt = timeline.filter((entry) => entry.kind === 'cancel_sent' && entry.attemptNumber === one.number)
        const isForced = timeline.some(({ kind, evidence }) => kind === 'cancel_asked' && evidence['force'] === true)
        const fromStep = Math.min(Math.max(ofIt.length, Number(isForced)), LAST_STEP)
        this.cancel(one, { force: false, fromStep })
      },
      (error: unknown) =>
        logger.error({ error, jobId: one.jobId }, 'a cancel of an earlier engine could not be resumed')
    )
  }

  /** That it was asked to hurry must be known after a crash too; who asks so at first has it in the job's own entry. */
  async #recordForce(one: LiveAttempt): Promise<void> {
    const { live, logger } = this.#context
    try {
      await live.record(one, {
        from: ['sending', 'accepted', 'uncertain', 'running'],
        kind: 'cancel_asked',
        text: 'Immediate stop requested',
        evidence: { force: true }
      })
    } catch (error) {
      logger.error({ error, jobId: one.jobId }, 'recording that a cancel was forced failed')
    }
  }

  /** It has ended: an attempt of the same name that is found again climbs again. */
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
      // At start the nodes are taken in after the attempts: look again soon.
      climb.timer = this.#context.clock.setTimer(NODE_MISSING_MS, () => void this.#step(one))
      return
    }
    climb.isWaitingForTurn = true
    await this.#inTurn(node, async () => {
      climb.isWaitingForTurn = false
      if (this.#climbingOf(one) === climb) await this.#send(node, one, climb)
    })
  }

  /** undefined also where it has ended meanwhile, and needs no signal. */
  #climbingOf(one: LiveAttempt): Climb | undefined {
    // An attempt of its name that was found again has a climb of its own by then.
    if (this.#context.live.get(one.key) !== one) return undefined
    if (one.state === 'finishing') this.#climbing.delete(one.key)
    return this.#climbing.get(one.key)
  }

  /** A few requests at a time, to each node and to all of them. */
  #inTurn<T>(node: FleetNode, task: () => Promise<T>): Promise<T> {
    let gate = this.#gateOfNode.get(node)
    if (gate === undefined) this.#gateOfNode.set(node, (gate = pLimit(AT_ONCE_ON_NODE)))
    return gate(() => this.#gateOfAll(task))
  }

  async #send(node: FleetNode, one: LiveAttempt, climb: Climb): Promise<void> {
    const { step } = climb
    const signal = signalOfStep(step)
    const waitMs = waitAfterStep(step, this.#context.cancelWaitsMs)
    // Set before the request: while it is on its way a force must not start a second climb.
    climb.timer = this.#context.clock.setTimer(waitMs, () => void this.#step(one))
    try {
      const { wasState } = await node.client.cancel({ project: one.project, jobid: one.jobid, signal })
      climb.step += 1
      await this.#recordStep(one, { signal, text: textOfStep(step, 'the run') }, wasState)
      if (wasState === 'pending') await this.#concludeRemoved(one)
      node.observer.poke()
    } catch (error) {
      const { logger } = this.#context
      if (!(error instanceof NodeError)) logger.error({ error, jobId: one.jobId }, 'a cancel step failed unexpectedly')
      else logger.warn({ jobId: one.jobId, error: error.message }, 'a cancel did not reach the node; retrying')
    }
  }

  async #recordStep(one: LiveAttempt, step: { signal: NodeSignal; text: string }, nodeSaid: string | null) {
    await this.#context.live.record(one, {
      from: ['sending', 'accepted', 'uncertain', 'running'],
      kind: 'cancel_sent',
      text: step.text,
      evidence: { signal: step.signal, nodeSaid }
    })
  }

  async #concludeRemoved(one: LiveAttempt): Promise<void> {
    await this.#context.live.end(one, {
      from: ['accepted', 'uncertain', 'sending'],
      kind: 'ended',
      result: 'cancelled',
      reason: 'cancelled before it started',
      jobOutcome: 'cancelled',
      text: 'Cancelled: the node removed it from its queue',
      evidence: { nodeSaid: 'pending' }
    })
  }
}

function beginAt(step: number): Climb {
  return { step, timer: null, isWaitingForTurn: false }
}

function isSettled(one: LiveAttempt): boolean {
  return one.state === 'accepted' || one.state === 'running'
}
