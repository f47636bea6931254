import { EventEmitter } from 'node:events'
import type { NodeId, ProjectName } from '../../../../shared/contract/index.ts'
import { asParam, say } from '../../../../shared/texts/message.ts'
import { type ClockEstimate, trueTime, trueTimeBetween } from '../../../nodes/clock-offset.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { NodeError, type SeenJob, type Snapshot } from '../../../nodes/node-client.ts'
import { LIVE_STATES, UNFINISHED_STATES } from '../../../model/transitions.ts'
import { parseClosingStats } from '../../../runs/log-parser/closing-stats.ts'
import { endRun, exitEvidence } from '../ending/end-run.ts'
import type { DispatchContext } from '../context.ts'
import type { Sender } from '../placing/sender.ts'
import { type EndedProcesses, runKey } from './ended-processes.ts'
import type { ReturnedRuns } from './returned-runs.ts'
import type { StuckNodes } from './stuck-nodes.ts'
import { type Finisher, isAnswer, type LogTail } from '../ending/finisher.ts'
import type { AttemptMove, LiveAttempt } from '../live-attempts.ts'
import { type Absence, reconcile, type Verdict } from '../decide/reconcile.ts'

/**
 * Scrapyd's default poll interval. A longer one does no harm, because jobs are listed as pending until the next poll.
 */
export const NODE_POLL_INTERVAL_MS = 5_000
/**
 * The time between snapshots if a dead engine's POST may still arrive: the client's timeout (60 s) plus the usual
 * interval.
 */
const TAKEN_OVER_APART_MS = 65_000
// A run that its node forgot counts as alive while its log grows. After this long without a new byte, it is lost.
const ORPHAN_SILENCE_MS = 60_000
// If a node refuses the log of an unlisted run for this long, we give up on the log.
const LOG_REFUSED_MS = 60_000
const FINISHED_ASKED_MAX = 1_000

interface FollowerParts {
  finisher: Finisher
  returned: Pick<ReturnedRuns, 'isExpecting'>
  stuck: Pick<StuckNodes, 'isTakenBackAfter'>
  endedProcesses: Pick<EndedProcesses, 'heldIn'>
  /** Provides notes for the first timeline entry that shows that the attempt arrived. */
  sender: Pick<Sender, 'sendNotesOf'>
}

/**
 * Follows attempts on their nodes: turns snapshots into transitions, and checks the log of a run that its node no
 * longer lists.
 *
 *   accepted -> running -> finishing -> (finisher.ts reads the log) -> ended
 *   no longer in any list, and the run's log ...
 *     does not exist:            uncertain -> absent, back to the queue (flagged unless the node remembers);
 *                                accepted, running -> lost
 *     has its closing stats:     finishing
 *     has no closing stats:      an orphan (running) while the log grows; silent for a minute -> lost
 *     is refused for a minute:   lost; if it was uncertain, back to the queue, flagged: a refusal proves nothing
 */
export class Follower {
  readonly #context: DispatchContext
  readonly #parts: FollowerParts
  readonly #absences = new Map<string, Absence>()
  /** For runs that the node forgot but whose log exists: the log's size, and when we first saw this size. */
  readonly #orphans = new WeakMap<LiveAttempt, { sizeBytes: number; silentSinceMs: number }>()
  readonly #investigating = new Set<string>()
  readonly #knownTwice = new WeakSet<LiveAttempt>()
  readonly #newest = new WeakMap<FleetNode, Snapshot>()
  /** The monotonic time since which a node has refused the log of a run that it no longer lists. */
  readonly #refusedSinceMs = new WeakMap<LiveAttempt, number>()

  /**
   * `listed`: a node's lists are in memory, and their changes are being written. A claim in the same turn shares the
   * commit.
   */
  readonly events = new EventEmitter<{ listed: [node: FleetNode] }>()

  constructor(context: DispatchContext, parts: FollowerParts) {
    this.#context = context
    this.#parts = parts
    context.live.events.on('moved', ({ one, to }) => {
      // After a withdrawal, absence is counted from zero. After the end of a run, absence does not matter.
      if (to === 'uncertain' || to === 'finishing') this.#absences.delete(one.key)
    })
    context.live.events.on('ended', ({ one }) => this.#absences.delete(one.key))
  }

  /** Whether to fetch the lists at each poll, because only they (or a log) can resolve an attempt. */
  wantsSnapshot(nodeId: NodeId): boolean {
    return this.#context.live.hasOnNode(nodeId, (one) => isUnresolved(one) || this.#absences.has(one.key))
  }

  /**
   * Whether we know everything that runs on the node. False before its first lists, and while runs that we gave up on
   * may reappear, because sending to the node could then exceed its room (I3).
   */
  knowsLists(node: FleetNode): boolean {
    return this.#newest.has(node) && !this.#parts.returned.isExpecting(node.stored.id)
  }

  /**
   * Whether the node lists a job with this jobid, ended or not. A second such job could not be distinguished from it.
   */
  isListed(node: FleetNode, project: ProjectName, jobid: string): boolean {
    const { pending, running, finished } = this.#newest.get(node) ?? { pending: [], running: [], finished: [] }
    return [pending, running, finished].some((list) =>
      list.some((job) => job.jobid === jobid && job.project === project)
    )
  }

  async applySnapshot(node: FleetNode, snapshot: Snapshot): Promise<void> {
    const { fleet, live, clock } = this.#context
    const nodeId = node.stored.id
    this.#newest.set(node, snapshot)
    const { answersAtOnce } = node.client.traits
    const held = this.#parts.endedProcesses.heldIn(node, snapshot)
    const ours = live.ofNode(nodeId)
    const believed = held.size === 0 ? ours : ours.filter((one) => !held.has(runKey(one)))
    const result = reconcile(believed, snapshot, {
      absentSoFar: this.#absences,
      nodePollIntervalMs: answersAtOnce ? 0 : NODE_POLL_INTERVAL_MS,
      takenOverApartMs: answersAtOnce ? 0 : TAKEN_OVER_APART_MS
    })
    for (const one of believed) {
      const absence = result.absences.get(one.key)
      if (absence !== undefined) this.#absences.set(one.key, absence)
      else if (this.#absences.delete(one.key)) this.#orphans.delete(one)
    }
    const withJob = (job: SeenJob) => ({ ...job, heldOf: held.get(runKey(job)) })
    const { pending, running } = result.external
    fleet.setExternal(node, held.size === 0 ? result.external : { pending, running: running.map(withJob) })
    const twice = result.twice.map((key) => live.get(key)!)
    const seen = result.verdicts
      .filter((verdict) => verdict.kind !== 'missing')
      .filter(({ key, kind }) => kind !== 'accepted' || !this.#parts.stuck.isTakenBackAfter(live.get(key)!, snapshot))
    const over = ours.filter((one) => held.has(runKey(one)) && one.state !== 'finishing')
    const writing = live.moveAll([
      ...over.map((one) => ({ one, ...HELD_OPEN })),
      ...seen.map((verdict) => {
        const one = live.get(verdict.key)!
        const sendNotes = this.#parts.sender.sendNotesOf(one)
        return { one, ...moveFor(verdict, one, { sendNotes, atMs: clock.nowMs(), clock: node.status.clockEstimate }) }
      })
    ])
    this.events.emit('listed', node)
    await writing
    for (const verdict of result.verdicts) {
      const one = live.get(verdict.key)
      if (verdict.kind === 'missing' && one !== undefined) void this.#investigate(node, one)
    }
    for (const one of twice) await this.#flagTwice(node, one)
    const needed = new Set(live.ofNode(nodeId).map(({ jobid }) => jobid))
    node.client.release?.((jobid) => needed.has(jobid))
  }

  /**
   * Scrapyd accepts the same jobid any number of times. A cancel would stop all of these runs, so they continue. The
   * first one that ends decides, and the job is flagged.
   */
  async #flagTwice(node: FleetNode, one: LiveAttempt): Promise<void> {
    if (this.#knownTwice.has(one)) return
    const { store, live } = this.#context
    const timeline = await store.listTimeline(one.jobId)
    const isOfThis = ({ attemptNumber, kind }: (typeof timeline)[number]) =>
      attemptNumber === one.number && (kind === 'seen_again' || kind === 'found_again')
    // If the run was found again after an earlier engine flagged it, the flag was cleared, so it is set again.
    if (timeline.findLast(isOfThis)?.kind !== 'seen_again') {
      await live.record(one, {
        from: [...LIVE_STATES, 'ended'],
        kind: 'seen_again',
        mayHaveRunTwice: true,
        message: say('timeline.listed_twice', {
          node: node.stored.name,
          because: node.client.traits.listedTwiceBecause
        }),
        evidence: { jobid: one.jobid }
      })
    }
    this.#knownTwice.add(one)
  }

  async #investigate(node: FleetNode, one: LiveAttempt): Promise<void> {
    if (this.#investigating.has(one.key)) return
    this.#investigating.add(one.key)
    try {
      await this.#judgeByLog(node, one)
    } catch (error) {
      // Nothing is proved yet. The next snapshot tries again.
      if (!(error instanceof NodeError))
        this.#context.logger.error({ error, jobId: one.jobId }, 'checking a missing run failed')
    } finally {
      this.#investigating.delete(one.key)
    }
  }

  async #judgeByLog(node: FleetNode, one: LiveAttempt): Promise<void> {
    let log: LogTail | null
    try {
      log = await this.#parts.finisher.readTail(node, one)
      this.#refusedSinceMs.delete(one)
    } catch (error) {
      if (!isAnswer(node, error)) throw error
      return this.#concludeRefused(node, one, error)
    }
    if (this.#context.live.get(one.key) !== one || !this.#absences.has(one.key)) return
    if (log === null) await this.#concludeWithoutLog(node, one)
    else if (parseClosingStats(log.text).finishReason !== null) await this.#concludeFinished(node, one)
    else await this.#followOrphan(node, one, log.sizeBytes)
  }

  async #concludeRefused(node: FleetNode, one: LiveAttempt, { said, message }: NodeError): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs()
    const sinceMs = this.#refusedSinceMs.get(one) ?? nowMs
    this.#refusedSinceMs.set(one, sinceMs)
    const absence = this.#absences.get(one.key)
    if (absence === undefined || nowMs - sinceMs < LOG_REFUSED_MS) return
    await endRun(this.#context, one, {
      from: [one.state],
      result: 'lost',
      reason: say('reason.log_refused'),
      message: say('timeline.lost_log_refused', { node: node.stored.name, error: asParam(said) }),
      evidence: { inNoListOfSnapshots: absence.snapshots, log: message },
      isTriedAgain: isUnresolved(one)
    })
  }

  async #concludeWithoutLog(node: FleetNode, one: LiveAttempt): Promise<void> {
    const evidence = { inNoListOfSnapshots: this.#absences.get(one.key)?.snapshots ?? 0, log: 'not there' }
    const { name } = node.stored
    if (isUnresolved(one)) return this.#concludeAbsent(node, one, evidence)
    // A cancel removed the job from the node's queue, but the response was lost.
    const isCancelled = one.state === 'accepted' && one.cancelAskedAtMs !== null
    await endRun(this.#context, one, {
      from: [one.state],
      result: isCancelled ? 'cancelled' : 'lost',
      reason: say(isCancelled ? 'reason.cancelled_before_start' : 'reason.node_forgot'),
      message: say(isCancelled ? 'timeline.cancelled_on_node' : 'timeline.lost_without_log', { node: name }),
      evidence
    })
  }

  /**
   * Queues the job again. Only a node that remembers all runs since the POST proves that the job never started.
   * Otherwise, after a restart or with pruned logs, the job may have run, so it is flagged.
   */
  async #concludeAbsent(node: FleetNode, one: LiveAttempt, evidence: Record<string, unknown>): Promise<void> {
    const { live } = this.#context
    const { name } = node.stored
    // The lookup below takes time. If the attempt is seen meanwhile, its state differs and it is not absent.
    const from = [one.state]
    const holderId = await this.#listedElsewhere(node, one)
    if (holderId !== null) {
      const holder = this.#context.fleet.get(holderId)?.stored.name ?? holderId
      await endRun(this.#context, one, {
        from,
        result: 'lost',
        reason: say('reason.taken_by_other_node'),
        message: say('timeline.lost_to_other_node', { node: name, holder }),
        evidence: { ...evidence, listedBy: holderId }
      })
      return
    }
    const remembers = await this.#remembersSince(node, one)
    await live.end(one, {
      from,
      kind: 'absent',
      result: 'absent',
      reason: say('reason.never_arrived'),
      jobOutcome: null,
      ...(remembers ? {} : { mayHaveRunTwice: true as const }),
      message: say(remembers ? 'timeline.never_arrived' : 'timeline.perhaps_forgotten', { node: name }),
      evidence: { ...evidence, remembers }
    })
  }

  /** Returns another node that lists the attempt, or listed it while it was unresolved (returned-runs.ts). */
  async #listedElsewhere(node: FleetNode, one: LiveAttempt): Promise<NodeId | null> {
    const { fleet, store } = this.#context
    const holder = fleet.list().find((other) => other !== node && this.isListed(other, one.project, one.jobid))
    if (holder !== undefined) return holder.stored.id
    const seen = (await store.listTimeline(one.jobId)).find(
      ({ kind, attemptNumber, evidence }) =>
        kind === 'seen_again' && attemptNumber === one.number && typeof evidence['listedBy'] === 'string'
    )
    return (seen?.evidence['listedBy'] as NodeId | undefined) ?? null
  }

  /**
   * Whether the node still lists a run of ours that ended before this attempt was sent. Scrapyd forgets either all runs
   * together (memory) or the oldest first (finished_to_keep), so it would also list any run that ended later.
   */
  async #remembersSince(node: FleetNode, one: LiveAttempt): Promise<boolean> {
    const { id } = node.stored
    if (node.client.traits.remembersAll) return true
    const finished = this.#newest.get(node)?.finished.slice(0, FINISHED_ASKED_MAX) ?? []
    return finished.length > 0 && this.#context.store.hasEndedBefore(id, finished, one)
  }

  async #concludeFinished(node: FleetNode, one: LiveAttempt): Promise<void> {
    await this.#context.live.move(one, {
      from: [one.state],
      to: 'finishing',
      kind: 'finishing',
      message: say('timeline.log_complete', { node: node.stored.name }),
      evidence: { inNoListOfSnapshots: this.#absences.get(one.key)?.snapshots ?? 0, log: 'complete' }
    })
  }

  async #followOrphan(node: FleetNode, one: LiveAttempt, sizeBytes: number): Promise<void> {
    const { store, live, clock } = this.#context
    const nowMs = clock.monotonicMs()
    const from = [one.state]
    const orphan = this.#orphans.get(one)
    if (orphan === undefined || sizeBytes !== orphan.sizeBytes) {
      this.#orphans.set(one, { sizeBytes, silentSinceMs: nowMs })
      if (orphan !== undefined) return
      // An earlier engine may have recorded this (I4). Then only the silence timer restarts.
      const timeline = await store.listTimeline(one.jobId)
      if (timeline.some(({ kind, attemptNumber }) => kind === 'vanished' && attemptNumber === one.number)) return
      await live.move(one, {
        from,
        to: 'running',
        kind: 'vanished',
        message: say('timeline.vanished', { node: node.stored.name }),
        evidence: { inNoListOfSnapshots: this.#absences.get(one.key)?.snapshots ?? 0, logBytes: sizeBytes },
        details: { startedAtMs: one.startedAtMs ?? clock.nowMs() }
      })
      return
    }
    if (nowMs - orphan.silentSinceMs < ORPHAN_SILENCE_MS) return
    await endRun(this.#context, one, {
      from,
      result: 'lost',
      reason: say('reason.node_forgot'),
      message: say('timeline.lost_silent_log', { node: node.stored.name }),
      evidence: { logBytes: sizeBytes, silentForMs: Math.round(nowMs - orphan.silentSinceMs) }
    })
  }
}

const HELD_OPEN: AttemptMove = {
  from: UNFINISHED_STATES,
  to: 'finishing',
  kind: 'finishing',
  message: say('timeline.held_open'),
  evidence: { process: 'ended', listed: 'running' }
}

function moveFor(
  verdict: Verdict & { seen: SeenJob },
  one: LiveAttempt,
  { sendNotes, atMs, clock }: { sendNotes: Record<string, unknown>; atMs: number; clock: ClockEstimate }
): AttemptMove {
  const { pid, startTime, endTime, exit } = verdict.seen
  // The node's own times are more exact than our polling. Times that contradict what we know are ignored.
  const startedAtMs = trueTimeBetween(startTime, clock, { afterMs: one.sentAtMs, beforeMs: atMs })
  const evidence = {
    ...(pid === null ? {} : { pid }),
    ...(startTime === null ? {} : { nodeStartTime: startTime }),
    ...(endTime === null ? {} : { nodeEndTime: endTime }),
    ...(exit === null ? {} : { exit: exitEvidence(exit) }),
    // The node listed the job before it responded to the POST, so the sender's own entry would come too late.
    ...(one.state === 'sending' ? sendNotes : {}),
    ...(one.state === 'uncertain' ? { resolved: 'the request had arrived' } : {})
  }
  if (verdict.kind === 'accepted') {
    return {
      from: ['sending', 'uncertain'],
      to: 'accepted',
      kind: 'accepted',
      atMs,
      message: say('timeline.accepted_in_queue'),
      evidence,
      details: { acceptedAtMs: atMs }
    }
  }
  if (verdict.kind === 'running') {
    return {
      from: ['sending', 'uncertain', 'accepted'],
      to: 'running',
      kind: 'running',
      atMs,
      message: say('timeline.running', { pid }),
      evidence,
      details: { startedAtMs, pid }
    }
  }
  return {
    from: UNFINISHED_STATES,
    to: 'finishing',
    kind: 'finishing',
    exit,
    atMs,
    message: say('timeline.ended_on_node'),
    evidence,
    details: {
      // The run ended before it was seen running. Without a start time from the node, the duration comes from the
      // log.
      ...(one.startedAtMs === null && trueTime(startTime, clock) !== null ? { startedAtMs } : {}),
      exitCode: exit?.code ?? null,
      signal: exit?.signal ?? null,
      limitHit: exit?.limit ?? null,
      peakMemoryBytes: exit?.peakMemoryBytes ?? null,
      cpuSeconds: exit?.cpuSeconds ?? null
    }
  }
}

/**
 * Whether it is unknown if the node has the attempt. If the attempt is still `sending` after its POST ended, the
 * response could not be recorded.
 */
function isUnresolved(one: LiveAttempt): boolean {
  return one.state === 'uncertain' || (one.state === 'sending' && one.sendEndedAtMs !== null)
}
