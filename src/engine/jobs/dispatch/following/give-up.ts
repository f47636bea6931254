import type { JobId, NodeId } from '../../../../shared/contract/index.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { endRun } from '../ending/end-run.ts'
import type { DispatchContext } from '../context.ts'
import { LIVE_STATES } from '../../../model/transitions.ts'
import type { LiveAttempt } from '../live-attempts.ts'
import { isUnreachable } from '../../../../shared/node-health.ts'

/**
 * Gives up on attempts whose node is unreachable. Such an attempt ends as lost, and its job is queued again with a
 * flag, because the run may continue there (returned-runs.ts checks when the node is back).
 *
 *   live on an unreachable node --policy timeout, or an operator's request--> ended: lost (given up), requeued
 *   finishing there             --policy timeout--> ended: lost; it ran, so the job's retry policy decides
 */
export class GiveUp {
  readonly #context: DispatchContext
  /**
   * Monotonic times when our patience with unreachable nodes began. They differ from `unreachableSinceMs`, because a
   * clock that jumps must not end the patience. Not persisted, because a new engine measures them anew.
   */
  readonly #patientSinceMs = new Map<string, number>()

  constructor(context: DispatchContext) {
    this.#context = context
  }

  /** Gives up on a node's attempts once it has been unreachable for too long. Called every second for each node. */
  checkPatience(node: FleetNode): void {
    const { clock, live, logger } = this.#context
    const { id, giveUpAfterSeconds } = node.stored
    if (!isUnreachable(node.status.health)) {
      if (this.#patientSinceMs.size > 0) this.#patientSinceMs.delete(id)
      return
    }
    const nowMs = clock.monotonicMs()
    const sinceMs = this.#patientSinceMs.get(id) ?? nowMs
    this.#patientSinceMs.set(id, sinceMs)
    if (
      giveUpAfterSeconds === null ||
      node.client.traits.isNeverUnreachable ||
      nowMs - sinceMs < giveUpAfterSeconds * 1000
    )
      return
    const ours = live.ofNode(id)
    if (ours.length === 0) return
    this.#giveUpAfter(node, ours, giveUpAfterSeconds).catch((error: unknown) => {
      logger.error({ error, node: node.stored.name }, 'giving up a node failed; retrying')
    })
  }

  forget(nodeId: NodeId): void {
    this.#patientSinceMs.delete(nodeId)
  }

  giveUpJobs(jobIds: JobId[]): Promise<string[]> {
    const { live, fleet } = this.#context
    const ours = jobIds.map((jobId) => live.ofJob(jobId)).filter((one) => one !== undefined)
    const isLost = (one: LiveAttempt) => {
      const node = fleet.get(one.nodeId)
      return node === undefined || isUnreachable(node.status.health)
    }
    return this.#giveUp(ours.filter(isLost), (one) => say('timeline.given_up_by_operator', { node: this.#nameOf(one) }))
  }

  giveUpUnresolved(nodeId: NodeId): Promise<string[]> {
    const unresolved = this.#context.live
      .ofNode(nodeId)
      .filter(({ state }) => state === 'sending' || state === 'uncertain')
    return this.#giveUp(unresolved, (one) => say('timeline.given_up_address_changed', { node: this.#nameOf(one) }))
  }

  async #giveUpAfter(node: FleetNode, ours: LiveAttempt[], seconds: number): Promise<void> {
    const { name } = node.stored
    await this.#giveUp(
      ours.filter(({ state }) => state !== 'finishing'),
      () => say('timeline.given_up_silent', { node: name, seconds })
    )
    const finishing = ours.filter(({ state }) => state === 'finishing')
    await Promise.all(
      finishing.map((one) =>
        endRun(this.#context, one, {
          from: ['finishing'],
          result: 'lost',
          reason: say('reason.given_up'),
          message: say('timeline.lost_node_silent', { node: name, seconds }),
          evidence: { nodeId: one.nodeId }
        })
      )
    )
  }

  async #giveUp(ours: LiveAttempt[], why: (one: LiveAttempt) => Message): Promise<string[]> {
    const applied = await this.#context.live.endAll(
      ours.map((one) => ({
        one,
        from: LIVE_STATES,
        kind: 'given_up' as const,
        result: 'lost' as const,
        reason: say('reason.given_up'),
        jobOutcome: null,
        mayHaveRunTwice: true as const,
        message: say('timeline.and_next', { what: why(one), next: say('next.queued_as_it_may_run') }),
        evidence: { nodeId: one.nodeId, state: one.state }
      }))
    )
    return ours.filter((_one, index) => applied[index] === true).map(({ jobId }) => jobId)
  }

  #nameOf(one: LiveAttempt): string {
    return this.#context.fleet.get(one.nodeId)?.stored.name ?? one.nodeId
  }
}
