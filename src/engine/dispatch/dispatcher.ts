import { SECRET_MASK, type Attempt } from '../../shared/contract/index.ts'
import { LOST_ARGUMENTS } from '../../shared/reserved-arguments.ts'
import { effectiveLimits, hasLocalOnlyLimits } from '../../shared/run-limits.ts'
import { secretValues, withSecrets } from '../../shared/secret-values.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import { NodeError } from '../nodes/node-client.ts'
import { classifyRefusal } from '../nodes/scrapyd/refusals.ts'
import { orderFairly, type QueueLane } from '../queue/fair-order.ts'
import { problemOfPathPart } from '../projects/names.ts'
import { parseLane } from '../store/lane.ts'
import type { StoredJob } from '../store/store.ts'
import { applyChange } from './apply-change.ts'
import type { DispatchContext } from './context.ts'
import type { Follower } from './follower.ts'
import type { LiveAttempt, LiveAttempts } from './live-attempts.ts'
import { place, type Assignment, type PlaceableNode } from './place.ts'

// Enough heads to fill a large node at once without reading a long queue whole each time a slot frees.
const HEADS_PER_LANE_MAX = 200
const HOLD_BACK_FIRST_MS = 5_000
const HOLD_BACK_MAX_MS = 300_000
// A job that this many nodes (or times) refused for reasons we do not know is not going to work.
const REFUSALS_UNTIL_FAILED = 8
const STOP_GRACE_MS = 2_000
const HEALTH_WORDS = {
  unknown: 'has not answered yet',
  down: 'does not answer',
  unauthorized: 'refuses the password',
  invalid: 'answers wrongly'
}

/**
 * Carries out placement: reads the heads of the queue, asks `place` where they go, writes the attempts as `sending` (one
 * transaction), then POSTs. `wake` is called whenever something could have made room or work: a job arrived, a slot
 * freed, a node came up, an egg landed, the pause ended. Runs one at a time; calls that come meanwhile are one more run.
 *
 *   queued --begin (tx)--> sending --200 ok--> accepted --> (follower.ts)
 *      ^                      |--- node said no, or no connection ---> refused: back to the queue, held back from that node
 *      |                      |--- cannot ever work (unknown spider, secret not to be read) -> ended: failed
 *      +----- absent ---------+--- no answer ------------------------> uncertain --> (follower.ts resolves it by looking)
 */
export class Dispatcher {
  readonly #context: DispatchContext
  readonly #lists: Pick<Follower, 'knowsLists' | 'isListed'>
  readonly #heldBack = new Map<string, { untilMs: number; count: number }>()
  #heldBackNow = 0
  /** The slots that the last plan could have used and did not, by node. */
  #roomLeft = new Map<string, number>()
  readonly #refusals = new Map<string, number>()
  readonly #sending = new Set<Promise<void>>()
  readonly #givingUp = new AbortController()
  #running: Promise<void> | null = null
  #again = false
  #stopped = false
  #hasWaiting = false
  paused = false

  constructor(context: DispatchContext, lists: Pick<Follower, 'knowsLists' | 'isListed'>) {
    this.#context = context
    this.#lists = lists
  }

  /** Jobs are queued that no node could take at the last run. */
  get hasWaiting(): boolean {
    return this.#hasWaiting
  }

  wake(): void {
    this.#again = true
    if (this.#running !== null || this.#stopped) return
    this.#running = this.#runUntilQuiet().finally(() => {
      this.#running = null
      if (this.#again && !this.#stopped) this.wake()
    })
  }

  /**
   * A node was looked at. It may have more room than the last plan saw for reasons that no transition tells: its counters
   * follow its lists, strangers come and go, its slots are learned.
   */
  noteLook(node: FleetNode): void {
    const room = node.status.capacity.slots - slotsUsed(node, this.#context.live)
    if (room > (this.#roomLeft.get(node.stored.id) ?? 0)) this.wake()
  }

  /** No new attempts. Requests on their way get a moment; after it they are uncertain, and the next start looks what became of them. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
    const timer = this.#context.clock.setTimer(STOP_GRACE_MS, () => this.#givingUp.abort())
    await Promise.allSettled([...this.#sending])
    timer.cancel()
  }

  async #runUntilQuiet(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false
      try {
        await this.#run()
      } catch (error) {
        this.#context.logger.error({ error }, 'dispatching failed; tried again in a second')
        this.#context.clock.setTimer(1_000, () => this.wake())
        return
      }
    }
  }

  async #run(): Promise<void> {
    const { live, projects, distribution, waiting, clock } = this.#context
    const nodes = this.#placeableNodes()
    const roomOn = (node: PlaceableNode) => (node.unavailable === null ? node.slots - node.used : 0)
    this.#roomLeft = new Map(nodes.map((node) => [node.id, roomOn(node)]))
    const free = nodes.reduce((sum, node) => sum + Math.max(0, node.slots - node.used), 0)
    // One more than could go: the job that is left over is what the lane's reason for waiting is found by.
    // Those held back may stand before others that can go.
    const lanes = await this.#readLanes(Math.min(HEADS_PER_LANE_MAX, free + this.#heldBackNow + 1))
    const shares = live.slotsByProject()
    const plan = place({
      heads: orderFairly(lanes, (project) => shares.get(project) ?? 0),
      lanes,
      nodes,
      isPaused: this.paused,
      versionOf: (lane) => projects.versionToRun(lane.project, lane.version),
      eggState: (nodeId, project, version) => distribution.stateOf(nodeId, project, version),
      whyNotReady: this.#context.whyNotReady,
      isHeldBack: (jobId, nodeId) => (this.#heldBack.get(`${jobId}/${nodeId}`)?.untilMs ?? 0) > clock.monotonicMs()
    })
    for (const { nodeId } of plan.assignments) this.#roomLeft.set(nodeId, this.#roomLeft.get(nodeId)! - 1)
    this.#noteWaiting(plan.waiting.size > 0)
    this.#context.onWaitingChanged(waiting.replace(plan.waiting))
    for (const upload of plan.uploads) this.#sendEgg(upload)
    if (plan.assignments.length > 0) await this.#begin(plan.assignments, lanes)
    // More may be queued than was read, and there may be room left.
    if (plan.assignments.length > 0 && plan.assignments.length < free) this.#again = true
  }

  async #readLanes(limit: number): Promise<QueueLane[]> {
    const { store } = this.#context
    const lanes = await store.listLanes()
    const heads = await store.readHeads(lanes.map(({ lane }) => ({ lane, limit })))
    return lanes.map(({ lane, depth }, index) => ({ lane, depth, ...parseLane(lane), jobs: heads[index]! }))
  }

  /** When jobs begin to wait, nodes that only strangers keep busy must be watched closely at once, not at their idle pace. */
  #noteWaiting(hasWaiting: boolean): void {
    const isNew = hasWaiting && !this.#hasWaiting
    this.#hasWaiting = hasWaiting
    if (!isNew) return
    for (const { status, observer } of this.#context.fleet.list()) {
      if (status.external.running.length + status.external.pending.length > 0) observer.poke()
    }
  }

  #placeableNodes(): PlaceableNode[] {
    const { fleet, live } = this.#context
    return fleet.list().map((node) => {
      const { stored, status } = node
      return {
        id: stored.id,
        name: stored.name,
        slots: status.capacity.slots,
        used: slotsUsed(node, live),
        tags: stored.tags,
        mode: stored.mode,
        unavailable:
          status.health !== 'up'
            ? HEALTH_WORDS[status.health]
            : this.#lists.knowsLists(node)
              ? null
              : 'has not listed its jobs yet'
      }
    })
  }

  async #begin(
    assignments: Assignment[],
    lanes: { project: string; jobs: { id: string; jobid: string; attemptCount: number }[] }[]
  ): Promise<void> {
    const { store, live, clock } = this.#context
    const heads = new Map(lanes.flatMap((lane) => lane.jobs.map((job) => [job.id, { ...job, project: lane.project }])))
    const atMs = clock.nowMs()
    const starts = await Promise.all(
      assignments.map(async (assignment) => {
        const head = heads.get(assignment.jobId)!
        const number = head.attemptCount + 1
        const jobid = await this.#jobidForNode(head, number, assignment.nodeId)
        const name = this.#context.fleet.get(assignment.nodeId)?.stored.name ?? assignment.nodeId
        return {
          jobId: assignment.jobId,
          number,
          jobid,
          nodeId: assignment.nodeId,
          version: assignment.version,
          entry: {
            atMs,
            text: `Sent to ${name}`,
            evidence: { because: assignment.because, version: assignment.version }
          }
        }
      })
    )
    const begun = await store.beginAttempts(starts)
    const jobs = new Map((await store.getJobs(begun.map((attempt) => attempt.jobId))).map((job) => [job.id, job]))
    for (const attempt of begun) {
      const job = jobs.get(attempt.jobId)!
      const { cancelAskedAtMs, retry, limits } = job
      const one = live.add(attempt, { settledAtMs: null, cancelAskedAtMs, retry, limits })
      const sent = this.#send(one, attempt, job).finally(() => this.#sending.delete(sent))
      this.#sending.add(sent)
    }
  }

  /**
   * A client's own jobid goes to the node as it is where it can name a file and is nobody else's, there or here; else the
   * job's id does. Of several jobs with the same jobid the oldest has it.
   */
  async #jobidForNode(
    job: { id: string; jobid: string; project: string },
    number: number,
    nodeId: string
  ): Promise<string> {
    const suffix = number === 1 ? '' : `-${number}`
    const own = job.id + suffix
    const wanted = job.jobid + suffix
    if (job.jobid === job.id || problemOfPathPart(wanted) !== null) return own
    const node = this.#context.fleet.get(nodeId)
    if (node !== undefined && this.#lists.isListed(node, job.project, wanted)) return own
    const namesakes = await this.#context.store.findJobsByJobid(job.jobid, null)
    return namesakes.at(-1)?.id === job.id ? wanted : own
  }

  async #send(one: LiveAttempt, attempt: Attempt, job: StoredJob): Promise<void> {
    const { fleet, clock, logger } = this.#context
    const node = fleet.get(one.nodeId)
    const isLocal = node?.stored.kind === 'local'
    const limits = effectiveLimits(this.#context.projects.settingsOf(job.project).limits, job.limits)
    let secrets: string[] = []
    try {
      const { settings, args: given } = await this.#openSecrets(job)
      const args = Object.fromEntries(Object.entries(given).filter(([name]) => !LOST_ARGUMENTS.has(name)))
      secrets = secretValues({ settings, args, secretNames: job.secretNames })
      if (node === undefined) {
        throw new NodeError('unreachable', 'The node was removed before the job was sent', { delivered: 'no' })
      }
      const startedMs = clock.monotonicMs()
      await node.observer.duringLongCall(
        node.client.schedule(
          {
            project: attempt.project,
            version: attempt.version,
            spider: attempt.spider,
            jobid: attempt.jobid,
            settings,
            args,
            priority: job.priority,
            isVersionAsked: job.version !== null,
            secretNames: job.secretNames,
            limits: isLocal ? limits : null
          },
          this.#givingUp.signal
        )
      )
      await this.#noteAccepted(one, {
        jobid: one.jobid,
        answeredInMs: Math.round(clock.monotonicMs() - startedMs),
        ...(isLocal || !hasLocalOnlyLimits(limits) ? {} : { limits: 'on a remote node only the time limit is held' }),
        ...(secrets.length === 0 || isLocal ? {} : { secrets: 'a Scrapyd shows them in its process list and its logs' })
      })
    } catch (error) {
      try {
        if (error instanceof UnreadableSecret) await this.#noteUnreadableSecret(one, error)
        else if (error instanceof NodeError) await this.#noteFailedSend(one, scrubbed(error, secrets))
        else throw error
      } catch (unexpected) {
        // It stays `sending`; settled, it is resolved like an uncertain one (follower.ts).
        logger.error({ error: unexpected, jobId: one.jobId }, 'recording how a job was sent failed; it is looked for')
      }
    } finally {
      one.settledAtMs = clock.monotonicMs()
      // A job of the local node, or of a fast poller, may have been seen before we had the answer.
      node?.observer.poke()
    }
  }

  /** A job's settings and arguments with their true values, for the node alone. Throws UnreadableSecret. */
  async #openSecrets(job: StoredJob): Promise<Pick<StoredJob, 'settings' | 'args'>> {
    if (job.secretNames.length === 0) return job
    const opened = new Map<string, string>()
    for (const sealed of secretValues(job)) {
      try {
        opened.set(sealed, await this.#context.secrets.open(sealed))
      } catch (error) {
        throw new UnreadableSecret(job.secretNames, { cause: error })
      }
    }
    return withSecrets(job, (sealed) => opened.get(sealed)!)
  }

  async #noteAccepted(one: LiveAttempt, evidence: Record<string, unknown>): Promise<void> {
    const atMs = this.#context.clock.nowMs()
    const isApplied = await applyChange(this.#context.store, one, {
      from: ['sending'],
      to: 'accepted',
      kind: 'accepted',
      entry: { atMs, text: 'Accepted', evidence },
      details: { acceptedAtMs: atMs }
    })
    if (isApplied) one.state = 'accepted'
    this.#refusals.delete(one.jobId)
    this.#context.onAttemptSettled(one)
  }

  async #noteFailedSend(one: LiveAttempt, error: NodeError): Promise<void> {
    if (error.delivered === 'unknown') return this.#noteUncertain(one, error)
    const { store, fleet, distribution, live, clock } = this.#context
    if (error.kind === 'unreachable' || error.kind === 'unauthorized') fleet.noteUnreachable(one.nodeId, error)
    const refusal = error.kind === 'refused' ? classifyRefusal(error.nodeMessage ?? '') : 'other'
    if (refusal === 'unknown_project' || refusal === 'unknown_version') {
      // The egg was there once; somebody took it away on the node. Send it again.
      await distribution.forget(one.nodeId, one.project, one.version)
    } else {
      this.#holdBack(one)
    }
    const count = (this.#refusals.get(one.jobId) ?? 0) + (error.kind === 'refused' ? 1 : 0)
    if (count > 0) this.#refusals.set(one.jobId, count)
    const isHopeless = refusal === 'unknown_spider' || count >= REFUSALS_UNTIL_FAILED
    const isApplied = await applyChange(store, one, {
      from: ['sending'],
      to: 'ended',
      kind: isHopeless ? 'ended' : 'refused',
      result: 'refused',
      reason: refusal === 'unknown_spider' ? 'unknown spider' : 'refused',
      jobOutcome: isHopeless ? 'failed' : null,
      killingLine: isHopeless ? (error.nodeMessage ?? error.message) : null,
      entry: {
        atMs: clock.nowMs(),
        text: isHopeless ? `Failed: ${error.message}` : `Not taken: ${error.message}`,
        evidence: { kind: error.kind, nodeMessage: error.nodeMessage }
      }
    })
    if (!isApplied) return
    live.remove(one)
    // One whose cancel was asked meanwhile ended, too, and none comes back to this count.
    const hasEnded = isHopeless || one.cancelAskedAtMs !== null
    if (hasEnded) this.#refusals.delete(one.jobId)
    if (hasEnded) this.#context.onJobEnded({ jobId: one.jobId, number: one.number })
    this.wake()
  }

  /** Nothing was sent, and no other node or later try would read it: the job fails, saying what to do. */
  async #noteUnreadableSecret(one: LiveAttempt, error: UnreadableSecret): Promise<void> {
    const isApplied = await applyChange(this.#context.store, one, {
      from: ['sending'],
      to: 'ended',
      kind: 'ended',
      result: 'failed',
      reason: 'secret unreadable',
      jobOutcome: 'failed',
      killingLine: error.message,
      entry: { atMs: this.#context.clock.nowMs(), text: `Failed: ${error.message}`, evidence: { names: error.names } }
    })
    if (!isApplied) return
    this.#context.live.remove(one)
    this.#context.onJobEnded({ jobId: one.jobId, number: one.number })
    this.wake()
  }

  async #noteUncertain(one: LiveAttempt, error: NodeError): Promise<void> {
    const isApplied = await applyChange(this.#context.store, one, {
      from: ['sending'],
      to: 'uncertain',
      kind: 'uncertain',
      entry: {
        atMs: this.#context.clock.nowMs(),
        text: `No answer; looking on the node whether it arrived (${error.message})`,
        evidence: { kind: error.kind }
      }
    })
    if (isApplied) one.state = 'uncertain'
  }

  #holdBack(one: LiveAttempt): void {
    const { clock } = this.#context
    const key = `${one.jobId}/${one.nodeId}`
    const count = (this.#heldBack.get(key)?.count ?? 0) + 1
    const delayMs = Math.min(HOLD_BACK_MAX_MS, HOLD_BACK_FIRST_MS * 2 ** (count - 1))
    this.#heldBack.set(key, { untilMs: clock.monotonicMs() + delayMs, count })
    this.#heldBackNow += 1
    clock.setTimer(delayMs, () => {
      this.#heldBackNow -= 1
      this.wake()
    })
    if (this.#heldBack.size > 10_000) this.#forgetOldHoldBacks()
  }

  #forgetOldHoldBacks(): void {
    const nowMs = this.#context.clock.monotonicMs()
    for (const [key, held] of this.#heldBack) if (held.untilMs < nowMs) this.#heldBack.delete(key)
  }

  #sendEgg(upload: { nodeId: string; project: string; version: string }): void {
    const { distribution, fleet, logger } = this.#context
    const sent = distribution.ensure(upload.nodeId, upload.project, upload.version)
    const observed = fleet.get(upload.nodeId)?.observer.duringLongCall(sent) ?? sent
    observed.then(
      () => this.wake(),
      (error: unknown) => {
        logger.warn({ error, ...upload }, 'an egg could not be sent to a node')
        this.wake()
      }
    )
  }
}

class UnreadableSecret extends Error {
  readonly names: string[]

  constructor(names: string[], options: { cause: unknown }) {
    super(
      `a secret value (${names.join(', ')}) cannot be read with the key that this Scrapdeck has now, so nothing was sent. Run the job again and enter its secret values anew`,
      options
    )
    this.names = names
  }
}

/** Shorter ones are in any text by chance, and taking them out would tell what they are. */
const HIDDEN_LENGTH_MIN = 4

/** A node may answer with what it was sent. */
function scrubbed(error: NodeError, secrets: string[]): NodeError {
  if (secrets.length === 0) return error
  const values = secrets.filter((value) => value.length >= HIDDEN_LENGTH_MIN)
  // The longest first: one may be part of another.
  values.sort((one, other) => other.length - one.length)
  const hide = (text: string) => values.reduce((hidden, value) => hidden.replaceAll(value, SECRET_MASK), text)
  const { kind, delivered, nodeMessage } = error
  return new NodeError(kind, hide(error.message), { delivered, nodeMessage: nodeMessage && hide(nodeMessage) })
}

/** The counters can be newer than the lists: a stranger's job that was just started counts already. */
function slotsUsed({ stored, status }: FleetNode, live: LiveAttempts): number {
  const external = status.external.running.length + status.external.pending.length
  return Math.max(live.slotsUsedOn(stored.id) + external, (status.running ?? 0) + (status.pending ?? 0))
}
