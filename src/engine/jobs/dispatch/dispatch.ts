import type { JobId, NodeId } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import type { FleetFollower, FleetNode } from '../../nodes/fleet.ts'
import type { NodeSignal, Snapshot } from '../../nodes/node-client.ts'
import type { Timer } from '../../runtime/clock.ts'
import { CancelLadder } from './ending/cancel-ladder.ts'
import { endRun } from './ending/end-run.ts'
import type { DispatchContext } from './context.ts'
import { Dispatcher } from './placing/dispatcher.ts'
import { RefusalBackoff } from './placing/refusal-backoff.ts'
import { Sender } from './placing/sender.ts'
import { Finisher } from './ending/finisher.ts'
import { Follower } from './following/follower.ts'
import { GiveUp } from './following/give-up.ts'
import { LIVE_STATES } from '../../model/transitions.ts'
import type { LiveAttempt } from './live-attempts.ts'
import { EndedProcesses } from './following/ended-processes.ts'
import { ReturnedRuns } from './following/returned-runs.ts'
import { StuckNodes } from './following/stuck-nodes.ts'
import { LimitEnforcer } from './ending/limit-enforcer.ts'

const WATCH_EVERY_MS = 1_000

export class Dispatch implements FleetFollower {
  readonly #context: DispatchContext
  readonly #ladder: CancelLadder
  readonly #giveUp: GiveUp
  readonly #runLimits: LimitEnforcer
  readonly #finisher: Finisher
  readonly #stuck: StuckNodes
  readonly #endedProcesses: EndedProcesses
  readonly #returned: ReturnedRuns
  readonly #follower: Follower
  readonly #dispatcher: Dispatcher
  #watching: Timer | null = null

  constructor(context: DispatchContext) {
    this.#context = context
    this.#endedProcesses = new EndedProcesses(context)
    this.#ladder = new CancelLadder(context, this.#endedProcesses)
    this.#runLimits = new LimitEnforcer(context, this.#ladder)
    this.#finisher = new Finisher(context)
    this.#giveUp = new GiveUp(context)
    this.#stuck = new StuckNodes(context)
    this.#returned = new ReturnedRuns(context, this.#endedProcesses, (one) => this.#resume(one))
    const refusalBackoff = new RefusalBackoff(context.clock)
    const sender = new Sender(context, refusalBackoff)
    this.#follower = new Follower(context, {
      finisher: this.#finisher,
      returned: this.#returned,
      stuck: this.#stuck,
      endedProcesses: this.#endedProcesses,
      sender
    })
    this.#dispatcher = new Dispatcher(context, { lists: this.#follower, stuck: this.#stuck, sender, refusalBackoff })
    this.#listen()
  }

  /** Connects the parts with the live attempts and the fleet. Parts subscribe to the events that only they need. */
  #listen(): void {
    const { live, fleet, collector } = this.#context
    const dispatcher = this.#dispatcher
    collector.events.on('read', (jobId) => this.#runLimits.judge(jobId))
    collector.events.on('read', (jobId) => this.#endedProcesses.noticeLog(jobId))
    live.events.on('moved', ({ one, to }) => {
      if (to === 'running') this.#runLimits.watch(one)
      if (to === 'running') this.#endedProcesses.watch(one)
      if (to === 'finishing') this.#finisher.finish(one)
      this.#ladder.sendWaiting(one)
    })
    live.events.on('ended', ({ one }) => {
      this.#runLimits.forget(one)
      this.#ladder.forget(one)
      this.#endedProcesses.forget(one)
      this.#returned.recordEnd(one)
    })
    this.#follower.events.on('listed', (node) => dispatcher.refreshNode(node))
    this.#stuck.events.on('changed', (node) => {
      dispatcher.refreshNode(node)
      dispatcher.wake()
    })
    fleet.events.on('observed', (node) => dispatcher.refreshNode(node))
    fleet.setFollower(this)
  }

  get events(): Dispatcher['events'] {
    return this.#dispatcher.events
  }

  async start({ paused }: { paused: boolean }): Promise<void> {
    this.#dispatcher.paused = paused
    for (const one of await this.#context.live.takeOver()) this.#resume(one)
    this.#watch()
  }

  wake(): void {
    this.#dispatcher.wake()
  }

  setPaused(paused: boolean): void {
    this.#dispatcher.paused = paused
    this.wake()
  }

  async applySnapshot(node: FleetNode, snapshot: Snapshot): Promise<void> {
    await this.#follower.applySnapshot(node, snapshot)
    await this.#returned.recognise(node, snapshot)
    this.#stuck.judge(node, snapshot)
    this.#dispatcher.refreshNode(node)
  }

  wantsSnapshot(nodeId: NodeId): boolean {
    const parts = [this.#follower, this.#returned, this.#endedProcesses]
    return parts.some((part) => part.wantsSnapshot(nodeId))
  }

  isBusy(nodeId: NodeId): boolean {
    const { live } = this.#context
    return this.#dispatcher.hasWaiting || live.hasOnNode(nodeId) || this.#returned.wantsSnapshot(nodeId)
  }

  slotsUsedOn(nodeId: NodeId): number {
    return this.#context.live.slotsUsedOn(nodeId)
  }

  /** Call this after a cancel of these jobs was recorded in their rows. */
  cancel(jobIds: JobId[], options: { force: boolean; waitSeconds?: number | undefined }): void {
    const { live } = this.#context
    for (const jobId of jobIds) {
      const one = live.ofJob(jobId)
      if (one === undefined) continue
      live.markCancelAsked(one)
      this.#ladder.cancel(one, options)
    }
  }

  /** Sends one signal to running jobs, without escalation. `isCancel`: their rows already record a cancel request. */
  signal(jobIds: JobId[], signal: NodeSignal, { isCancel }: { isCancel: boolean }): void {
    const { live } = this.#context
    for (const jobId of jobIds) {
      const one = live.ofJob(jobId)
      if (one === undefined) continue
      if (isCancel) live.markCancelAsked(one)
      void this.#ladder.signal(one, signal)
    }
  }

  /** Gives up on these jobs if their node is unreachable. Queues such jobs again and returns their ids. */
  runElsewhere(jobIds: JobId[]): Promise<string[]> {
    return this.#giveUp.giveUpJobs(jobIds)
  }

  giveUpUnresolved(nodeId: NodeId): Promise<string[]> {
    return this.#giveUp.giveUpUnresolved(nodeId)
  }

  /** The time (wall clock) since which the node has accepted jobs but started none. Null: it is not stuck. */
  stuckSinceMs(nodeId: NodeId): number | null {
    return this.#stuck.stuckSinceMs(nodeId)
  }

  /** Call this when all nodes are in the fleet. Attempts on other nodes (such as a disabled local node) end as lost. */
  async abandonMissingNodes(): Promise<void> {
    const { live, fleet } = this.#context
    const missing = live.all().filter(({ nodeId }) => fleet.get(nodeId) === undefined)
    await Promise.all(
      missing.map((one) =>
        one.nodeId === LOCAL_NODE_ID
          ? this.#abandon(one, say('reason.node_off'), say('timeline.lost_local_node_off'))
          : this.#abandon(one, say('reason.node_removed'), say('timeline.lost_node_missing'))
      )
    )
  }

  /** Call this after the node has left the fleet. The node's live attempts end as lost. */
  async abandonNode(nodeId: NodeId): Promise<void> {
    this.#giveUp.forget(nodeId)
    this.#stuck.forget(nodeId)
    const ours = this.#context.live.ofNode(nodeId)
    await Promise.all(
      ours.map((one) => this.#abandon(one, say('reason.node_removed'), say('timeline.lost_node_removed')))
    )
  }

  async stop(): Promise<void> {
    this.#watching?.cancel()
    this.#runLimits.stop()
    this.#ladder.stop()
    this.#finisher.stop()
    await this.#dispatcher.stop()
  }

  #resume(one: LiveAttempt): void {
    if (one.state === 'running') this.#endedProcesses.watch(one)
    if (one.state === 'finishing') this.#finisher.finish(one)
    else if (one.cancelAskedAtMs !== null || one.limitHit !== null) this.#ladder.resume(one)
    else if (one.state === 'running') this.#runLimits.watch(one)
  }

  #watch(): void {
    this.#watching = this.#context.clock.setTimer(WATCH_EVERY_MS, () => {
      for (const node of this.#context.fleet.list()) {
        this.#giveUp.checkPatience(node)
        this.#stuck.beginProbation(node)
      }
      this.#endedProcesses.askDue()
      this.#watch()
    })
  }

  #abandon(one: LiveAttempt, reason: Message, message: Message): Promise<boolean> {
    // A snapshot may be moving the attempt right now, so it can end from any live state.
    const evidence = { nodeId: one.nodeId }
    return endRun(this.#context, one, { from: LIVE_STATES, result: 'lost', reason, message, evidence })
  }
}
