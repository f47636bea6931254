import type { DispatchContext } from './context.ts'
import type { LiveAttempt } from './live-attempts.ts'

const LIVE_STATES = ['sending', 'uncertain', 'accepted', 'running', 'finishing'] as const

/**
 * Gives up attempts on nodes that do not answer: the attempt ends as lost, its job goes back to the queue, flagged, because nobody
 * knows whether the run goes on there.
 *
 *   live on a node that is down --an operator says so--> ended: lost (given up), the job queued again
 */
export class GiveUp {
  readonly #context: DispatchContext

  constructor(context: DispatchContext) {
    this.#context = context
  }

  /** By hand; returns the jobs that were live on a node that does not answer. */
  giveUpJobs(jobIds: string[]): Promise<string[]> {
    const { live, fleet } = this.#context
    const ours = jobIds.map((jobId) => live.ofJob(jobId)).filter((one) => one !== undefined)
    const health = (one: LiveAttempt) => fleet.get(one.nodeId)?.status.health ?? 'down'
    return this.#giveUp(
      ours.filter((one) => health(one) !== 'up' && health(one) !== 'unknown'),
      'by hand'
    )
  }

  async #giveUp(ours: LiveAttempt[], by: string): Promise<string[]> {
    const { store, live, fleet, clock, onJobEnded } = this.#context
    if (ours.length === 0) return []
    const applied = await store.applyChanges(
      ours.map((one) => ({
        jobId: one.jobId,
        attemptNumber: one.number,
        from: [...LIVE_STATES],
        to: 'ended' as const,
        kind: 'given_up' as const,
        result: 'lost' as const,
        reason: 'given up',
        jobOutcome: null,
        mayHaveRunTwice: true as const,
        entry: {
          atMs: clock.nowMs(),
          text: `Given up ${by}: ${fleet.get(one.nodeId)?.stored.name ?? one.nodeId} does not answer; back in the queue`,
          evidence: { nodeId: one.nodeId, state: one.state }
        }
      }))
    )
    const given = ours.filter((_one, index) => applied[index] === true)
    for (const one of given) {
      live.remove(one)
      onJobEnded({ jobId: one.jobId, number: one.number })
    }
    this.#context.wake()
    return given.map(({ jobId }) => jobId)
  }
}
