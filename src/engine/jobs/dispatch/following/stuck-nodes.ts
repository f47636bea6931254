import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import type { NodeId } from '../../../../shared/contract/index.ts'
import { say } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { NodeError, type Snapshot } from '../../../nodes/node-client.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'
import { isOnProbation, judgeLists, type StartWatch } from '../decide/watchdog.ts'
import { backoffMs } from '../../../runtime/backoff.ts'

/**
 * The signal of a withdrawal. Stops no running job: Scrapyd 1.6 only checks the process, and other versions refuse the
 * signal.
 */
const NO_SIGNAL = 0
const WITHDRAW_AT_ONCE = 8
const WITHDRAW_AGAIN_FIRST_MS = 5_000
const WITHDRAW_AGAIN_MAX_MS = 300_000

/**
 * Withholds new jobs from nodes that start none (watchdog.ts decides), and withdraws those that wait there:
 *
 *   accepted --recorded--> uncertain --cancel: "it was pending"--> ended: absent (taken back), the job queued again
 *      ^                       |--- no response ----------------> follower.ts resolves it
 *      +--- it was not pending +
 *
 * The withdrawal is recorded first, so that after a crash the job does not count as lost by its node.
 */
export class StuckNodes {
  readonly #context: Pick<DispatchContext, 'live' | 'clock' | 'logger' | 'fleet'>
  readonly #watches = new Map<string, StartWatch>()
  readonly #sinceMs = new Map<string, number>()
  readonly #tries = new WeakMap<LiveAttempt, { count: number; againAtMs: number }>()
  /** When (monotonic) the withdrawal ended. Lists that were requested earlier still show the withdrawn job. */
  readonly #takenBackAtMs = new WeakMap<LiveAttempt, number>()
  /** Nodes for which the start of probation was announced (`changed`). */
  readonly #onProbation = new Set<string>()
  readonly #wasNotUp = new Set<string>()

  readonly events = new EventEmitter<{ changed: [node: FleetNode] }>()

  constructor(context: Pick<DispatchContext, 'live' | 'clock' | 'logger' | 'fleet'>) {
    this.#context = context
  }

  isStuck(nodeId: NodeId): boolean {
    return this.roomFor(nodeId) === 0
  }

  /** How many more jobs the node can get now. On probation, it gets one at a time. */
  roomFor(nodeId: NodeId): number {
    const stuck = this.#watches.get(nodeId)?.stuck ?? null
    if (stuck === null) return Number.POSITIVE_INFINITY
    if (!isOnProbation(stuck, this.#context.clock.monotonicMs())) return 0
    const { live } = this.#context
    return live.ofNode(nodeId).some(({ state }) => state !== 'running' && state !== 'finishing') ? 0 : 1
  }

  stuckSinceMs(nodeId: NodeId): number | null {
    return this.#sinceMs.get(nodeId) ?? null
  }

  /** Whether the snapshot started before the end of the withdrawal, so that it still shows the job in the queue. */
  isTakenBackAfter(one: LiveAttempt, snapshot: Snapshot): boolean {
    return (this.#takenBackAtMs.get(one) ?? Number.NEGATIVE_INFINITY) >= snapshot.begunAtMs
  }

  judge(node: FleetNode, snapshot: Snapshot): void {
    const { live, clock, logger, fleet } = this.#context
    const { id, name } = node.stored
    if (node.client.traits.isNeverUnreachable || fleet.get(id) === undefined) return
    const before = this.#watches.get(id) ?? null
    const unstarted = live.ofNode(id).filter(({ state }) => state === 'accepted')
    const pending = unstarted.length === 0 ? null : new Set(snapshot.pending.map(({ jobid }) => jobid))
    // The node can no longer start a job that is in no list. The follower finds out what happened to it.
    const accepted = unstarted.filter(({ jobid }) => pending?.has(jobid))
    // Usually, there is nothing to watch, and only the number of jobs that the node can run is remembered.
    if (accepted.length === 0 && (before === null || before.stuck === null)) {
      const running = snapshot.running.length
      if (before !== null)
        this.#watches.set(id, { ...before, ...NOTHING_SEEN, mostRunning: Math.max(before.mostRunning, running) })
      else if (running > 1)
        this.#watches.set(id, judgeLists(null, { ...this.#listsOf(node, snapshot), hasOurs: false }))
      return
    }
    const after = judgeLists(before, { ...this.#listsOf(node, snapshot), hasOurs: accepted.length > 0 })
    this.#watches.set(id, after)
    if (after.stuck === null) {
      if (!this.#sinceMs.delete(id)) return
      this.#onProbation.delete(id)
      logger.info({ node: name }, 'a node that was stuck starts jobs again')
      this.events.emit('changed', node)
      return
    }
    if (after.stuck !== before?.stuck) {
      this.#sinceMs.set(id, this.#sinceMs.get(id) ?? clock.nowMs() - after.atMs + (before?.idleSinceMs ?? after.atMs))
      this.#onProbation.delete(id)
      logger.warn({ node: name, strikes: after.stuck.strikes }, 'a node accepts jobs but starts none')
      this.events.emit('changed', node)
    }
    if (!isOnProbation(after.stuck, after.atMs)) void this.#withdrawAll(node, accepted)
  }

  /** Starts probation when it is due, or immediately for a node that is up again. Called every second. */
  beginProbation(node: FleetNode): void {
    const { id } = node.stored
    const watch = this.#watches.get(id)
    if (watch === undefined || watch.stuck === null) return
    if (node.status.health !== 'up') return void this.#wasNotUp.add(id)
    const nowMs = this.#context.clock.monotonicMs()
    if (this.#wasNotUp.delete(id)) this.#watches.set(id, { ...watch, stuck: { ...watch.stuck, tryAgainAtMs: nowMs } })
    if (this.#onProbation.has(id) || this.roomFor(id) === 0) return
    this.#onProbation.add(id)
    this.events.emit('changed', node)
  }

  forget(nodeId: NodeId): void {
    for (const kept of [this.#watches, this.#sinceMs, this.#onProbation, this.#wasNotUp]) kept.delete(nodeId)
  }

  #listsOf(node: FleetNode, { running, pending }: Snapshot) {
    return {
      atMs: this.#context.clock.monotonicMs(),
      running: running.map(({ jobid }) => jobid),
      pending: pending.map(({ jobid }) => jobid),
      // After a restart, the node may have fewer slots than configured.
      slots: Math.min(node.status.capacity.slots, Math.max(1, node.status.slotsBelief.mostRan))
    }
  }

  async #withdrawAll(node: FleetNode, accepted: LiveAttempt[]): Promise<void> {
    const { live, clock, logger } = this.#context
    const nowMs = clock.monotonicMs()
    const ours = accepted.filter(
      (one) => one.cancelAskedAtMs === null && one.limitHit === null && (this.#tries.get(one)?.againAtMs ?? 0) <= nowMs
    )
    if (ours.length === 0) return
    const waited = (one: LiveAttempt) => Math.round((nowMs - (one.sendEndedAtMs ?? nowMs)) / 1000)
    try {
      const applied = await live.moveAll(
        ours.map((one) => ({
          one,
          from: ['accepted' as const],
          to: 'uncertain' as const,
          kind: 'uncertain' as const,
          message: say('timeline.withdrawing', { node: node.stored.name, seconds: waited(one) }),
          evidence: { running: node.status.running, slots: node.status.capacity.slots }
        }))
      )
      const leaving = ours.filter((_one, index) => applied[index] === true)
      for (const one of leaving) {
        this.#takenBackAtMs.set(one, Number.POSITIVE_INFINITY)
        const count = (this.#tries.get(one)?.count ?? 0) + 1
        const delayMs = backoffMs(count, WITHDRAW_AGAIN_FIRST_MS, WITHDRAW_AGAIN_MAX_MS)
        this.#tries.set(one, { count, againAtMs: nowMs + delayMs })
      }
      const atOnce = pLimit(WITHDRAW_AT_ONCE)
      await Promise.all(leaving.map((one) => atOnce(() => this.#withdraw(node, one))))
    } catch (error) {
      logger.error({ error, node: node.stored.name }, 'withdrawing jobs from a stuck node failed; retrying')
    } finally {
      // After a failure, some jobs were not withdrawn. For them, the node's next lists must count again.
      for (const one of ours) {
        if (this.#takenBackAtMs.get(one) === Number.POSITIVE_INFINITY) this.#takenBackAtMs.set(one, clock.monotonicMs())
      }
    }
    node.observer.poke()
  }

  async #withdraw(node: FleetNode, one: LiveAttempt): Promise<void> {
    const { live, clock, logger } = this.#context
    if (live.get(one.key) !== one) return
    try {
      const request = { project: one.project, jobid: one.jobid, signal: NO_SIGNAL }
      const { wasState } = await node.client.cancel(request)
      if (wasState !== 'pending') return await this.#leaveThere(node, one, wasState)
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      // Older Scrapyds refuse this signal if the job is running.
      if (error.kind === 'refused') return this.#leaveThere(node, one, error.nodeMessage)
      logger.warn({ jobId: one.jobId, error: error.message }, 'it is unknown whether a job was withdrawn')
      return
    } finally {
      this.#takenBackAtMs.set(one, clock.monotonicMs())
    }
    await live.end(one, {
      from: ['uncertain'],
      kind: 'taken_back',
      result: 'absent',
      reason: say('reason.taken_back'),
      jobOutcome: null,
      message: say('timeline.withdrawn', { node: node.stored.name }),
      evidence: { nodeSaid: 'pending' }
    })
  }

  /** The job had already left the node's queue, so it did arrive. Its attempt becomes `accepted` again. */
  async #leaveThere(node: FleetNode, one: LiveAttempt, nodeSaid: string | null): Promise<void> {
    await this.#context.live.move(one, {
      from: ['uncertain'],
      to: 'accepted',
      kind: 'accepted',
      message: say('timeline.not_withdrawn', { node: node.stored.name }),
      evidence: { nodeSaid }
    })
  }
}

const NOTHING_SEEN = { running: new Set<string>(), pending: new Set<string>(), idleSinceMs: null } as const
