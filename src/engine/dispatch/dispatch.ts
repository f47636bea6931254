import type { FleetNode } from '../nodes/fleet.ts'
import type { NodeSignal, Snapshot } from '../nodes/node-client.ts'
import { CancelLadder } from './cancel-ladder.ts'
import { conclude } from './conclude.ts'
import type { DispatchContext } from './context.ts'
import { Dispatcher } from './dispatcher.ts'
import { Finisher } from './finisher.ts'
import { Follower } from './follower.ts'
import { GiveUp } from './give-up.ts'

/** The room's door: placing and sending, following, finishing and cancelling, over one belief. */
export interface Dispatch {
  /** Takes over what an earlier engine left. Nothing is sent before the first `wake`. */
  start(options: { paused: boolean }): Promise<void>
  /** Something may have made room or work. */
  wake(): void
  setPaused(paused: boolean): void
  takeSnapshot(node: FleetNode, snapshot: Snapshot): Promise<void>
  wantsSnapshot(nodeId: string): boolean
  isBusy(nodeId: string): boolean
  /** A cancel was asked of these jobs (their rows say so already). */
  cancel(jobIds: string[], options: { force: boolean }): void
  /** Sends this one signal to the jobs that run, and nothing after it. `isCancel`: their rows say that a cancel was asked. */
  signal(jobIds: string[], signal: NodeSignal, options: { isCancel: boolean }): void
  /** Gives up live attempts of these jobs whose node does not answer, and queues the jobs again; returns those that were. */
  runElsewhere(jobIds: string[]): Promise<string[]>
  /** The node has left the fleet, so that nothing more can be sent to it: its live attempts end as lost. */
  abandonNode(nodeId: string): Promise<void>
  stop(): Promise<void>
}

const LIVE_STATES = ['sending', 'uncertain', 'accepted', 'running', 'finishing'] as const

export function createDispatch(options: Omit<DispatchContext, 'onAttemptSettled' | 'wake'>): Dispatch {
  const wake = () => dispatcher.wake()
  const context: DispatchContext = { ...options, wake, onAttemptSettled: (one) => ladder.noteSettled(one) }
  const { store, live, clock } = context
  const ladder = new CancelLadder(context)
  const giver = new GiveUp(context)
  const finisher = new Finisher(context)
  const follower = new Follower(context, finisher, { noteLook: (node) => dispatcher.noteLook(node) })
  const dispatcher: Dispatcher = new Dispatcher(context, follower)

  /** An attempt that was `sending` when the engine died: nobody knows whether the POST went out. */
  async function takeOver(): Promise<void> {
    const attempts = await store.listLiveAttempts()
    await store.applyChanges(
      attempts
        .filter((attempt) => attempt.state === 'sending')
        .map((attempt) => ({
          jobId: attempt.jobId,
          attemptNumber: attempt.number,
          from: ['sending' as const],
          to: 'uncertain' as const,
          kind: 'uncertain' as const,
          entry: {
            atMs: clock.nowMs(),
            text: 'Scrapdeck stopped while sending it; looking on the node whether it arrived',
            evidence: { found: 'sending at start' }
          }
        }))
    )
    const jobs = new Map((await store.getJobs(attempts.map((attempt) => attempt.jobId))).map((job) => [job.id, job]))
    for (const attempt of attempts) {
      const state = attempt.state === 'sending' ? ('uncertain' as const) : attempt.state
      const { cancelAskedAtMs, retry, limits } = jobs.get(attempt.jobId)!
      const settledAtMs = clock.monotonicMs()
      const one = live.add({ ...attempt, state }, { settledAtMs, cancelAskedAtMs, retry, limits })
      if (state === 'finishing') finisher.finish(one)
      else if (cancelAskedAtMs !== null) await ladder.resume(one)
    }
  }

  return {
    async start({ paused }) {
      dispatcher.paused = paused
      await takeOver()
    },
    wake,
    setPaused(paused) {
      dispatcher.paused = paused
      wake()
    },
    takeSnapshot: (node, snapshot) => follower.takeSnapshot(node, snapshot),
    wantsSnapshot: (nodeId) => follower.wantsSnapshot(nodeId),
    isBusy: (nodeId) => dispatcher.hasWaiting || live.ofNode(nodeId).length > 0,
    cancel(jobIds, { force }) {
      for (const jobId of jobIds) {
        const one = live.ofJob(jobId)
        if (one === undefined) continue
        one.cancelAskedAtMs ??= clock.nowMs()
        ladder.cancel(one, { force })
      }
    },
    signal(jobIds, signal, { isCancel }) {
      for (const jobId of jobIds) {
        const one = live.ofJob(jobId)
        if (one === undefined) continue
        if (isCancel) one.cancelAskedAtMs ??= clock.nowMs()
        void ladder.signal(one, signal)
      }
    },
    runElsewhere: (jobIds) => giver.giveUpJobs(jobIds),
    async abandonNode(nodeId) {
      const evidence = { nodeId }
      const end = { result: 'lost', reason: 'node removed', text: 'Lost: its node was removed from the fleet' } as const
      // Whatever its state is by now: a snapshot may be moving it at this moment.
      const from = [...LIVE_STATES]
      await Promise.all(live.ofNode(nodeId).map((one) => conclude(context, one, { ...end, from, evidence })))
    },
    async stop() {
      ladder.stop()
      finisher.stop()
      await dispatcher.stop()
    }
  }
}
