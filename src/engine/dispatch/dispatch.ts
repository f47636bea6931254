import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import type { NodeSignal, Snapshot } from '../nodes/node-client.ts'
import type { Timer } from '../runtime/clock.ts'
import { CancelLadder } from './ending/cancel-ladder.ts'
import { conclude } from './ending/conclude.ts'
import type { DispatchContext } from './context.ts'
import { Dispatcher } from './placing/dispatcher.ts'
import { Finisher } from './ending/finisher.ts'
import { Follower } from './following/follower.ts'
import { GiveUp } from './following/give-up.ts'
import type { LiveAttempt } from './live-attempts.ts'
import { ReturnedRuns } from './following/returned-runs.ts'
import { StuckNodes } from './following/stuck-nodes.ts'
import { TimeLimits } from './ending/time-limits.ts'

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
  /** The node's address was changed: nobody can look any more for what was just being sent to the old one. */
  noteAddressChanged(nodeId: string): Promise<unknown>
  /** Wall time since when a node accepts jobs but starts none; null: it is not stuck. */
  stuckSinceMs(nodeId: string): number | null
  /** All nodes are in the fleet: what is live on any other (the local node, turned off) ends as lost. */
  abandonMissingNodes(): Promise<void>
  /** The node has left the fleet, so that nothing more can be sent to it: its live attempts end as lost. */
  abandonNode(nodeId: string): Promise<void>
  stop(): Promise<void>
}

const WATCH_EVERY_MS = 1_000
const LIVE_STATES = ['sending', 'uncertain', 'accepted', 'running', 'finishing'] as const

export function createDispatch(options: Omit<DispatchContext, 'onAttemptSettled' | 'wake' | 'stuck'>): Dispatch {
  const wake = () => dispatcher.wake()
  const context: DispatchContext = {
    ...options,
    wake,
    stuck: { whyStuck: (nodeId) => stuck.whyStuck(nodeId), roomFor: (nodeId) => stuck.roomFor(nodeId) },
    onAttemptSettled: (one) => ladder.noteSettled(one)
  }
  const { store, live, clock } = context
  const ladder = new CancelLadder(context)
  const giver = new GiveUp(context)
  const timeLimits = new TimeLimits(context, { cancel: (one, how) => ladder.cancel(one, how) })
  const stuck = new StuckNodes(context, (node) => {
    dispatcher.noteLook(node)
    wake()
  })
  const returned = new ReturnedRuns(context, follow)
  const finisher = new Finisher(context)
  const follower = new Follower(context, finisher, {
    onRunning: (one) => timeLimits.watch(one),
    isExpecting: (nodeId) => returned.isExpecting(nodeId),
    onListed: (node) => dispatcher.noteLook(node),
    async onLook(node, snapshot) {
      await returned.look(node, snapshot)
      stuck.noteSnapshot(node, snapshot)
      dispatcher.noteLook(node)
    }
  })
  const dispatcher: Dispatcher = new Dispatcher(context, follower)
  let watching: Timer | null = null
  live.onRemove = (one) => {
    timeLimits.forget(one)
    ladder.forget(one)
    returned.noteEnded(one)
    dispatcher.noteSlots(one.nodeId)
  }
  live.onSlots = (nodeId) => dispatcher.noteSlots(nodeId)
  context.fleet.onNews = (node) => dispatcher.noteLook(node)

  /** Goes on with an attempt from the state that it is in. */
  function follow(one: LiveAttempt): void {
    if (one.state === 'finishing') finisher.finish(one)
    else if (one.cancelAskedAtMs !== null || one.limitHit !== null) ladder.resume(one)
    else if (one.state === 'running') timeLimits.watch(one)
  }

  /** What becomes true by time alone. */
  function watch(): void {
    watching = clock.setTimer(WATCH_EVERY_MS, () => {
      for (const node of context.fleet.list()) {
        giver.look(node)
        stuck.look(node)
      }
      watch()
    })
  }

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
      const isTakenOverUnresolved = state === 'uncertain'
      const options = { settledAtMs, isTakenOverUnresolved, cancelAskedAtMs, retry, limits }
      const one = live.add({ ...attempt, state }, options)
      follow(one)
    }
  }

  function abandon(one: LiveAttempt, words: string): Promise<boolean> {
    const evidence = { nodeId: one.nodeId }
    // Whatever its state is by now: a snapshot may be moving it at this moment.
    return conclude(context, one, {
      from: [...LIVE_STATES],
      result: 'lost',
      reason: one.nodeId === LOCAL_NODE_ID ? 'node turned off' : 'node removed',
      text: `Lost: ${words}`,
      evidence
    })
  }

  return {
    async start({ paused }) {
      dispatcher.paused = paused
      await takeOver()
      watch()
    },
    wake,
    setPaused(paused) {
      dispatcher.paused = paused
      wake()
    },
    takeSnapshot: (node, snapshot) => follower.takeSnapshot(node, snapshot),
    wantsSnapshot: (nodeId) => follower.wantsSnapshot(nodeId) || returned.wantsSnapshot(nodeId),
    isBusy: (nodeId) => dispatcher.hasWaiting || live.ofNode(nodeId).length > 0 || returned.wantsSnapshot(nodeId),
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
    noteAddressChanged: (nodeId) => giver.giveUpUnresolved(nodeId),
    stuckSinceMs: (nodeId) => stuck.stuckSinceMs(nodeId),
    async abandonMissingNodes() {
      const missing = live.all().filter(({ nodeId }) => context.fleet.get(nodeId) === undefined)
      const words = (nodeId: string) =>
        nodeId === LOCAL_NODE_ID ? 'the node on this computer is turned off' : 'its node is not in the fleet any more'
      await Promise.all(missing.map((one) => abandon(one, words(one.nodeId))))
    },
    async abandonNode(nodeId) {
      giver.forget(nodeId)
      stuck.forget(nodeId)
      await Promise.all(live.ofNode(nodeId).map((one) => abandon(one, 'its node was removed from the fleet')))
    },
    async stop() {
      watching?.cancel()
      timeLimits.stop()
      ladder.stop()
      finisher.stop()
      await dispatcher.stop()
    }
  }
}
