import type { Attempt, JobId, NodeId } from '../../../../shared/contract/index.ts'
import { limitWaitsOf } from '../../../../shared/run-limits.ts'
import { LAST_STEP, signalOfStep, waitAfterStep } from '../../../../shared/stop-ladder.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { NodeError, type SeenJob, type Snapshot } from '../../../nodes/node-client.ts'
import { mayRevive } from '../../../model/after-change.ts'
import type { StoredJob } from '../../../model/records.ts'
import type { DispatchContext } from '../context.ts'
import type { EndedProcesses } from './ended-processes.ts'
import type { LiveAttempt } from '../live-attempts.ts'

type List = 'pending' | 'running' | 'finished'
interface Listed {
  job: SeenJob
  list: List
}
interface Seen extends Listed {
  attempt: Attempt
}
interface Stopping {
  attempt: Attempt
  step: number
  dueAtMs: number
}

/** The maximum number of lookups per snapshot, because a node can list tens of thousands of external jobs. */
const ASKED_AT_ONCE = 1_000
const ENDED_KEPT = 100_000
const OUR_JOBID = /^([0-9a-f]{32})(?:-\d+)?$/
const STATE_OF = { pending: 'accepted', running: 'running', finished: 'finishing' } as const

/**
 * Handles runs that their node lists although they counted as lost, abandoned or never delivered:
 *
 *   the job still waits, this was its newest attempt   -> found again: followed, not started a second time
 *   the job runs elsewhere, succeeded, was cancelled   -> seen again, and stopped there
 *   the job ended otherwise, or the run there is over  -> seen again: recorded, the job flagged
 *
 * Follows or stops only runs that are provably ours: an attempt of ours on that very node, with a jobid derived from
 * the job's id. A jobid that a client chose can be reused by another client.
 */
export class ReturnedRuns {
  readonly #context: DispatchContext
  readonly #endedProcesses: Pick<EndedProcesses, 'hold'>
  readonly #follow: (one: LiveAttempt) => void
  /**
   * By node: the projects of listed jobs that need no lookup, by jobid. They are external, or ours in a known state.
   */
  readonly #known = new WeakMap<FleetNode, Map<string, string>>()
  /** Monotonic end times of attempts, by jobid. Lists that were requested before the end do not count. */
  readonly #endedAtMs = new Map<string, number>()
  /**
   * Nodes that were not up when attempts on them ended, with the monotonic time of the last end. Those runs may
   * still be running.
   */
  readonly #expecting = new Map<string, number>()
  readonly #stopping = new Map<string, Map<string, Stopping>>()

  constructor(
    context: DispatchContext,
    endedProcesses: Pick<EndedProcesses, 'hold'>,
    follow: (one: LiveAttempt) => void
  ) {
    this.#context = context
    this.#endedProcesses = endedProcesses
    this.#follow = follow
  }

  /** Only lists show whether a run has returned to the node, or whether a run that is being stopped has ended. */
  wantsSnapshot(nodeId: NodeId): boolean {
    return this.#expecting.has(nodeId) || this.#stopping.has(nodeId)
  }

  /**
   * Whether runs that we gave up on may still be running on the node. Until new lists arrive, the node gets no jobs.
   */
  isExpecting(nodeId: NodeId): boolean {
    return this.#expecting.has(nodeId)
  }

  /**
   * Call this after an attempt has ended. If the node never confirmed the end and lists it later, the run has
   * returned.
   */
  recordEnd(one: LiveAttempt): void {
    const node = this.#context.fleet.get(one.nodeId)
    if (node === undefined || (one.state === 'finishing' && node.status.health === 'up')) return
    for (const other of this.#context.fleet.list()) this.#known.get(other)?.delete(one.jobid)
    const nowMs = this.#context.clock.monotonicMs()
    this.#endedAtMs.set(one.jobid, nowMs)
    if (node.status.health !== 'up') this.#expecting.set(one.nodeId, nowMs)
    if (this.#endedAtMs.size <= ENDED_KEPT) return
    const [oldest] = this.#endedAtMs.keys()
    this.#endedAtMs.delete(oldest!)
  }

  async recognise(node: FleetNode, snapshot: Snapshot): Promise<void> {
    const asked = this.#unknownIn(node, snapshot)
    if (asked.size > 0) {
      const { store } = this.#context
      const runs = [...asked].map(([jobid, { job }]) => ({ project: job.project, jobid }))
      const attempts = await store.findAttemptsOnNode(node.stored.id, runs)
      for (const attempt of attempts) {
        const { job, list } = asked.get(attempt.jobid)!
        if (attempt.state === 'ended') await this.#judge(node, { attempt, job, list })
      }
      const ofThisNode = new Set(attempts.map(({ jobid }) => jobid))
      for (const seen of asked.values()) if (!ofThisNode.has(seen.job.jobid)) await this.#recordTaken(node, seen)
      const known = this.#known.get(node)!
      for (const { job } of asked.values()) known.set(job.jobid, job.project)
    }
    if ((this.#expecting.get(node.stored.id) ?? Number.POSITIVE_INFINITY) < snapshot.begunAtMs) {
      this.#expecting.delete(node.stored.id)
    }
    await this.#stop(node, snapshot)
  }

  #unknownIn(node: FleetNode, snapshot: Snapshot): Map<string, Listed> {
    let known = this.#known.get(node)
    const listed = snapshot.pending.length + snapshot.running.length + snapshot.finished.length
    if (known === undefined || known.size > 2 * listed + ASKED_AT_ONCE) this.#known.set(node, (known = new Map()))
    const unknown = new Map<string, Listed>()
    for (const one of this.#context.live.ofNode(node.stored.id)) known.set(one.jobid, one.project)
    for (const list of ['running', 'pending', 'finished'] as const) {
      for (const job of snapshot[list]) {
        if (known.get(job.jobid) === job.project || unknown.has(job.jobid)) continue
        if ((this.#endedAtMs.get(job.jobid) ?? -1) >= snapshot.begunAtMs) continue
        unknown.set(job.jobid, { job, list })
        if (unknown.size === ASKED_AT_ONCE) return unknown
      }
    }
    return unknown
  }

  async #judge(node: FleetNode, seen: Seen): Promise<void> {
    const { store } = this.#context
    const { attempt, list } = seen
    if (list === 'running' && (await this.#isHeldOpen(attempt))) {
      return this.#endedProcesses.hold(node.stored.id, attempt, attempt.jobId)
    }
    const job = isDoubtful(attempt, list) ? await store.getJob(attempt.jobId) : null
    if (job === null) return
    const isProved = attempt.jobid.startsWith(attempt.jobId)
    if (isProved && (await this.#revive(node, seen, job))) return
    const isUnwanted = isProved && list !== 'finished' && !isOnlyHope(job)
    if (!(await this.#isRecorded(attempt))) await this.#record(node, seen, job, isUnwanted)
    if (!isUnwanted) return
    const { id } = node.stored
    const ofNode = this.#stopping.get(id) ?? new Map<string, Stopping>()
    this.#stopping.set(id, ofNode.set(`${attempt.jobId}/${attempt.number}`, { attempt, step: 0, dueAtMs: 0 }))
  }

  async #revive(node: FleetNode, { attempt, job: seen, list }: Seen, job: StoredJob): Promise<boolean> {
    // The store itself checks for another live run with the same overlap key.
    if (!mayRevive(job, { attemptNumber: attempt.number, isOverlapLive: false })) return false
    const one = await this.#context.live.revive(attempt, job, {
      to: STATE_OF[list],
      exit: seen.exit,
      message: say('timeline.found_again', { node: node.stored.name, list, was: wasWhat(attempt) }),
      evidence: { list, result: attempt.result, reason: attempt.reason }
    })
    if (one !== null) this.#follow(one)
    return one !== null
  }

  /** Records that another node lists a run of ours. The two nodes share a queue, so either of them may run the job. */
  async #recordTaken(node: FleetNode, { job: seen, list }: Listed): Promise<void> {
    const { store, fleet, live } = this.#context
    const jobId = OUR_JOBID.exec(seen.jobid)?.[1] as JobId | undefined
    if (jobId === undefined) return
    const attempts = await store.listAttempts(jobId)
    const attempt = attempts.find(({ jobid, project }) => jobid === seen.jobid && project === seen.project)
    // The follower looks for an unresolved attempt only on the node to which it was sent, and this node's lists will
    // change.
    const isUnresolved = attempt?.state === 'sending' || attempt?.state === 'uncertain'
    if (attempt === undefined || (!isUnresolved && !isDoubtful(attempt, list))) return
    if (await this.#isRecorded(attempt)) return
    const sentTo = fleet.get(attempt.nodeId)?.stored.name ?? attempt.nodeId
    const { id, name } = node.stored
    const { result, reason, jobid } = attempt
    await live.record(attempt, {
      ...(isUnresolved ? { from: ['sending', 'uncertain'] } : { from: ['ended'], mayHaveRunTwice: true }),
      kind: 'seen_again',
      message: say('timeline.seen_elsewhere', { node: name, list, sentTo }),
      evidence: { list, listedBy: id, result, reason, jobid }
    })
  }

  async #record(node: FleetNode, { attempt, list }: Seen, job: StoredJob, isUnwanted: boolean): Promise<void> {
    const { result, reason, jobid } = attempt
    const rest =
      list === 'finished' ? say('returned.ended') : isUnwanted ? whyStopped(job) : say('returned.left_running')
    await this.#context.live.record(attempt, {
      from: ['ended'],
      kind: 'seen_again',
      mayHaveRunTwice: true,
      message: say('timeline.seen_again', { node: node.stored.name, list, was: wasWhat(attempt), rest }),
      evidence: { list, result, reason, jobid }
    })
  }

  async #stop(node: FleetNode, snapshot: Snapshot): Promise<void> {
    const ofNode = this.#stopping.get(node.stored.id)
    if (ofNode === undefined) return
    const { live, clock, cancelWaitsMs, logger } = this.#context
    const listed = new Set([...snapshot.pending, ...snapshot.running].map((job) => `${job.project}\n${job.jobid}`))
    for (const [key, stopping] of ofNode) {
      const { project, jobid } = stopping.attempt
      if (!listed.has(`${project}\n${jobid}`)) {
        ofNode.delete(key)
        continue
      }
      if (clock.monotonicMs() < stopping.dueAtMs) continue
      const { step } = stopping
      stopping.dueAtMs = clock.monotonicMs() + waitAfterStep(step, limitWaitsOf(cancelWaitsMs))
      try {
        const { wasState } = await node.client.cancel({ project, jobid, signal: signalOfStep(step) })
        stopping.step += 1
        await live.record(stopping.attempt, {
          from: ['ended'],
          kind: 'cancel_sent',
          message:
            wasState === 'pending'
              ? say('timeline.returned_run_removed')
              : say('timeline.stop_step_of_returned', { step: Math.min(step, LAST_STEP) }),
          evidence: { signal: signalOfStep(step), nodeSaid: wasState }
        })
      } catch (error) {
        if (!(error instanceof NodeError)) throw error
        if (error.refusal === 'process_ended') ofNode.delete(key)
        logger.warn({ jobId: stopping.attempt.jobId, error: error.message }, 'a returned run could not be stopped')
      }
    }
    if (ofNode.size === 0) this.#stopping.delete(node.stored.id)
  }

  async #isHeldOpen({ jobId, number }: Attempt): Promise<boolean> {
    const timeline = await this.#context.store.listTimeline(jobId)
    return timeline.some(({ attemptNumber, evidence }) => attemptNumber === number && evidence['process'] === 'ended')
  }

  async #isRecorded({ jobId, number }: Attempt): Promise<boolean> {
    const timeline = await this.#context.store.listTimeline(jobId)
    return timeline.some(({ kind, attemptNumber }) => kind === 'seen_again' && attemptNumber === number)
  }
}

/** Whether the attempt ended without confirmation by its node. A cancelled run is expected in the finished list. */
function isDoubtful({ state, result }: Attempt, list: List): boolean {
  if (state !== 'ended') return false
  return (
    result === 'lost' || result === 'absent' || result === 'refused' || (result === 'cancelled' && list !== 'finished')
  )
}

/** Whether stopping this run would lose the job: no other run is live or succeeded, and the job is not cancelled. */
function isOnlyHope(job: StoredJob): boolean {
  return job.state === 'ended' && (job.outcome === 'lost' || job.outcome === 'failed')
}

function whyStopped({ state, outcome, attemptCount }: StoredJob): Message {
  if (state === 'ended') {
    const because = outcome === 'cancelled' || outcome === 'succeeded' ? outcome : 'ended'
    return say('returned.stopped', { because })
  }
  return state === 'queued'
    ? say('returned.stopped', { because: 'queued' })
    : say('returned.stopped_for_run', { run: attemptCount })
}

function wasWhat({ result, reasonCode }: Attempt) {
  if (result === 'lost') return reasonCode === 'reason.given_up' ? 'given_up' : 'lost'
  if (result === 'cancelled') return 'cancelled'
  if (result === 'refused') return 'not_accepted'
  return reasonCode === 'reason.taken_back' ? 'withdrawn' : 'not_arrived'
}
