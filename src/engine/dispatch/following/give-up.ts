import { ATTEMPT_REASONS, type JobId, type NodeId } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { endRun } from '../ending/end-run.ts'
import type { DispatchContext } from '../context.ts'
import { LIVE_STATES } from '../../job-rules/transitions.ts'
import type { LiveAttempt } from '../live-attempts.ts'

/**
 * Gives up attempts on nodes that do not answer: the attempt ends as lost, and its job goes back to the queue, flagged,
 * because the run may go on there (returned-runs.ts looks when the node is back).
 *
 *   live on a node that is away --its policy's time is over, or an operator says so--> ended: lost (given up), requeued
 *   finishing there             --its policy's time is over--> ended: lost; it ran, so the job's own policy decides
 */
export class GiveUp {
  readonly #context: DispatchContext
  /** Monotonic; since when a node does not answer. Nothing of it survives a restart: a new engine asks for itself. */
  readonly #awaySinceMs = new Map<string, number>()

  constructor(context: DispatchContext) {
    this.#context = context
  }

  /** Called each second for each node: gives up what is live on one that has been away for too long. */
  checkPatience(node: FleetNode): void {
    const { clock, live, logger } = this.#context
    const { id, giveUpAfterSeconds } = node.stored
    if (!isAway(node)) {
      if (this.#awaySinceMs.size > 0) this.#awaySinceMs.delete(id)
      return
    }
    const nowMs = clock.monotonicMs()
    const sinceMs = this.#awaySinceMs.get(id) ?? nowMs
    this.#awaySinceMs.set(id, sinceMs)
    if (giveUpAfterSeconds === null || node.client.traits.isNeverAway || nowMs - sinceMs < giveUpAfterSeconds * 1000)
      return
    const ours = live.ofNode(id)
    if (ours.length === 0) return
    const words = `has not answered for ${formatDuration(giveUpAfterSeconds)}`
    this.#giveUpAfter(node, ours, words).catch((error: unknown) => {
      logger.error({ error, node: node.stored.name }, 'giving up a node failed; retrying')
    })
  }

  /** It has left the fleet. */
  forget(nodeId: NodeId): void {
    this.#awaySinceMs.delete(nodeId)
  }

  /** By hand; returns the jobs that were live on a node that does not answer. */
  giveUpJobs(jobIds: JobId[]): Promise<string[]> {
    const { live, fleet } = this.#context
    const ours = jobIds.map((jobId) => live.ofJob(jobId)).filter((one) => one !== undefined)
    const isLost = (one: LiveAttempt) => {
      const node = fleet.get(one.nodeId)
      return node === undefined || isAway(node)
    }
    return this.#giveUp(ours.filter(isLost), (one) => `Given up by an operator: ${this.#nameOf(one)} does not answer`)
  }

  /** The node has another address now: what was sent to the old one cannot be looked for there any more. */
  giveUpUnresolved(nodeId: NodeId): Promise<string[]> {
    const unresolved = this.#context.live
      .ofNode(nodeId)
      .filter(({ state }) => state === 'sending' || state === 'uncertain')
    return this.#giveUp(
      unresolved,
      (one) => `Given up: the address of ${this.#nameOf(one)} was changed while it was being sent there`
    )
  }

  async #giveUpAfter(node: FleetNode, ours: LiveAttempt[], words: string): Promise<void> {
    const { name } = node.stored
    await this.#giveUp(
      ours.filter(({ state }) => state !== 'finishing'),
      () => `Given up: ${name} ${words}`
    )
    const finishing = ours.filter(({ state }) => state === 'finishing')
    await Promise.all(
      finishing.map((one) =>
        endRun(this.#context, one, {
          from: ['finishing'],
          result: 'lost',
          reason: ATTEMPT_REASONS.givenUp,
          text: `Lost: the run ended on ${name}, which ${words}, so its log could not be read`,
          evidence: { nodeId: one.nodeId }
        })
      )
    )
  }

  async #giveUp(ours: LiveAttempt[], words: (one: LiveAttempt) => string): Promise<string[]> {
    const applied = await this.#context.live.endAll(
      ours.map((one) => ({
        one,
        from: LIVE_STATES,
        kind: 'given_up' as const,
        result: 'lost' as const,
        reason: ATTEMPT_REASONS.givenUp,
        jobOutcome: null,
        mayHaveRunTwice: true as const,
        text: `${words(one)}; queued again and flagged, because it may still be running there`,
        evidence: { nodeId: one.nodeId, state: one.state }
      }))
    )
    return ours.filter((_one, index) => applied[index] === true).map(({ jobId }) => jobId)
  }

  #nameOf(one: LiveAttempt): string {
    return this.#context.fleet.get(one.nodeId)?.stored.name ?? one.nodeId
  }
}

/** Nothing that answers (a proxy's page) can tell what runs there. A node that wants a password does answer. */
function isAway({ status }: FleetNode): boolean {
  return status.health === 'down' || status.health === 'invalid'
}
