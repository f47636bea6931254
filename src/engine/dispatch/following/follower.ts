import { EventEmitter } from 'node:events'
import type { NodeId, ProjectName } from '../../../shared/contract/index.ts'
import { type ClockEstimate, trueTime, trueTimeBetween } from '../../nodes/clock-offset.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { NodeError, type SeenJob, type Snapshot } from '../../nodes/node-client.ts'
import { LIVE_STATES, UNFINISHED_STATES } from '../../job-rules/transitions.ts'
import { parseClosingStats } from '../../output/log-stats.ts'
import { endRun } from '../ending/end-run.ts'
import type { DispatchContext } from '../context.ts'
import type { Sender } from '../placing/sender.ts'
import type { ReturnedRuns } from './returned-runs.ts'
import type { StuckNodes } from './stuck-nodes.ts'
import { type Finisher, isAnswer, type LogTail } from '../ending/finisher.ts'
import type { AttemptMove, LiveAttempt } from '../live-attempts.ts'
import { type Absence, reconcile, type Verdict } from '../decide/reconcile.ts'

/** Scrapyd's default poll interval. A longer one only delays proof of absence: jobs are listed as pending meanwhile. */
export const NODE_POLL_INTERVAL_MS = 5_000
/**
 * A POST of an engine that died or stopped may still be under way, and nobody waits for its end: first as long must
 * pass as the client would have waited (60 s for schedule.json), then as long as always.
 */
const TAKEN_OVER_APART_MS = 65_000
// A run that its node forgot counts as alive while its log grows; this long without a byte and it is lost.
const ORPHAN_SILENCE_MS = 60_000
// A node that lists a run no longer and answers for so long, but never with its log, will never tell.
const LOG_REFUSED_MS = 60_000
const FINISHED_ASKED_MAX = 1_000

interface FollowerParts {
  finisher: Finisher
  returned: Pick<ReturnedRuns, 'isExpecting'>
  stuck: Pick<StuckNodes, 'isTakenBackAfter'>
  /** What is to be told of how it was sent, by whoever learns first what became of that. */
  sender: Pick<Sender, 'sendNotesOf'>
}

/**
 * Follows attempts on their nodes: turns snapshots into transitions, and looks for the log of what a node no longer
 * lists.
 *
 *   accepted -> running -> finishing -> (finisher.ts reads the log) -> ended
 *   in no list any more, and the log of the run ...
 *     is not there:              uncertain -> absent, back to the queue (flagged unless the node remembers);
 *                                accepted, running -> lost
 *     has its closing stats:     finishing
 *     is there without them:     an orphan (running) while the log grows; silent for a minute -> lost
 *     is refused for a minute:   lost; what was uncertain goes back to the queue, flagged: it proves nothing
 */
export class Follower {
  readonly #context: DispatchContext
  readonly #parts: FollowerParts
  /** What was in none of the newest lists of its node, by key. */
  readonly #absences = new Map<string, Absence>()
  /** The node forgot the run but its log was there: how long the log has been, and since when it stands still. */
  readonly #orphans = new WeakMap<LiveAttempt, { sizeBytes: number; silentSinceMs: number }>()
  readonly #investigating = new Set<string>()
  readonly #knownTwice = new WeakSet<LiveAttempt>()
  readonly #newest = new WeakMap<FleetNode, Snapshot>()
  /** Monotonic; since when a node refuses the log of a run that it lists no longer. */
  readonly #refusedSinceMs = new WeakMap<LiveAttempt, number>()

  /** `listed`: a node's lists are believed now, and being written: what is claimed in this turn shares the commit. */
  readonly events = new EventEmitter<{ listed: [node: FleetNode] }>()

  constructor(context: DispatchContext, parts: FollowerParts) {
    this.#context = context
    this.#parts = parts
    context.live.events.on('moved', ({ one, to }) => {
      // What is being taken back is looked for again, and what has ended is looked for no more.
      if (to === 'uncertain' || to === 'finishing') this.#absences.delete(one.key)
    })
    context.live.events.on('ended', ({ one }) => this.#absences.delete(one.key))
  }

  /** Only the lists (or a log) can tell about something there: look at them at each poll. */
  wantsSnapshot(nodeId: NodeId): boolean {
    return this.#context.live.ofNode(nodeId).some((one) => isUnresolved(one) || this.#absences.has(one.key))
  }

  /**
   * Before its first lists nobody knows what else runs on a node: sending to it could overfill it (I3). The same holds
   * for runs that may come back with it after they were given up.
   */
  knowsLists(node: FleetNode): boolean {
    return this.#newest.has(node) && !this.#parts.returned.isExpecting(node.stored.id)
  }

  /** Somebody's job there has this jobid, ended ones included: a second one could not be told from it. */
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
    const believed = live.ofNode(nodeId)
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
    fleet.setExternal(node, result.external)
    const twice = result.twice.map((key) => live.get(key)!)
    const seen = result.verdicts
      .filter((verdict) => verdict.kind !== 'missing')
      .filter(({ key, kind }) => kind !== 'accepted' || !this.#parts.stuck.isTakenBackAfter(live.get(key)!, snapshot))
    const writing = live.moveAll(
      seen.map((verdict) => {
        const one = live.get(verdict.key)!
        const sendNotes = this.#parts.sender.sendNotesOf(one)
        return { one, ...moveFor(verdict, one, { sendNotes, atMs: clock.nowMs(), clock: node.status.clockEstimate }) }
      })
    )
    this.events.emit('listed', node)
    await writing
    for (const verdict of result.verdicts) {
      const one = live.get(verdict.key)
      if (verdict.kind === 'missing' && one !== undefined) void this.#investigate(node, one)
    }
    for (const one of twice) await this.#flagTwice(node, one)
  }

  /**
   * Scrapyd takes a jobid as often as it is sent. A cancel would stop all runs of it, so both are left alone: the first
   * that the lists show as ended decides, and the job is flagged.
   */
  async #flagTwice(node: FleetNode, one: LiveAttempt): Promise<void> {
    if (this.#knownTwice.has(one)) return
    const { store, live } = this.#context
    const timeline = await store.listTimeline(one.jobId)
    const isOfThis = ({ attemptNumber, kind }: (typeof timeline)[number]) =>
      attemptNumber === one.number && (kind === 'seen_again' || kind === 'found_again')
    // What was found again has lost its flag (an earlier engine may have set it).
    if (timeline.findLast(isOfThis)?.kind !== 'seen_again') {
      await live.record(one, {
        from: [...LIVE_STATES, 'ended'],
        kind: 'seen_again',
        mayHaveRunTwice: true,
        text: `${node.stored.name} lists the job twice because the request arrived twice (does a proxy repeat requests?)`,
        evidence: { jobid: one.jobid }
      })
    }
    this.#knownTwice.add(one)
  }

  /** In no list: what does its log say? */
  async #investigate(node: FleetNode, one: LiveAttempt): Promise<void> {
    if (this.#investigating.has(one.key)) return
    this.#investigating.add(one.key)
    try {
      await this.#judgeByLog(node, one)
    } catch (error) {
      // Nothing is proved, or it could not be written: the next snapshot asks again.
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
      return this.#concludeRefused(node, one, error.message)
    }
    if (this.#context.live.get(one.key) !== one || !this.#absences.has(one.key)) return
    if (log === null) await this.#concludeWithoutLog(node, one)
    else if (parseClosingStats(log.text).finishReason !== null) await this.#concludeFinished(node, one)
    else await this.#followOrphan(node, one, log.sizeBytes)
  }

  async #concludeRefused(node: FleetNode, one: LiveAttempt, message: string): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs()
    const sinceMs = this.#refusedSinceMs.get(one) ?? nowMs
    this.#refusedSinceMs.set(one, sinceMs)
    const absence = this.#absences.get(one.key)
    if (absence === undefined || nowMs - sinceMs < LOG_REFUSED_MS) return
    await endRun(this.#context, one, {
      from: [one.state],
      result: 'lost',
      reason: 'log refused',
      text: `Lost: ${node.stored.name} no longer lists the job and does not return its log (${message.replace(/\.$/, '')})`,
      evidence: { inNoListOfSnapshots: absence.snapshots, log: message },
      isTriedAgain: isUnresolved(one)
    })
  }

  async #concludeWithoutLog(node: FleetNode, one: LiveAttempt): Promise<void> {
    const evidence = { inNoListOfSnapshots: this.#absences.get(one.key)?.snapshots ?? 0, log: 'not there' }
    const { name } = node.stored
    if (isUnresolved(one)) return this.#concludeAbsent(node, one, evidence)
    // The answer to the cancel that took it out of the node's queue was lost.
    const isCancelled = one.state === 'accepted' && one.cancelAskedAtMs !== null
    await endRun(this.#context, one, {
      from: [one.state],
      result: isCancelled ? 'cancelled' : 'lost',
      reason: isCancelled ? 'cancelled before it started' : 'node forgot',
      text: isCancelled
        ? `Cancelled: ${name} no longer knows the job and has no log of it`
        : `Lost: ${name} accepted the job, but no longer knows it and has no log of it`,
      evidence
    })
  }

  /**
   * Never reached its node, or was withdrawn before it began: proved where the node remembers all that it did since.
   * One that may have forgotten (a restart, its logs pruned) may have run it too: the job is sent again, flagged.
   */
  async #concludeAbsent(node: FleetNode, one: LiveAttempt, evidence: Record<string, unknown>): Promise<void> {
    const { live } = this.#context
    const { name } = node.stored
    // As it was judged: one that is seen there while the store is asked below is not absent.
    const from = [one.state]
    const holderId = await this.#listedElsewhere(node, one)
    if (holderId !== null) {
      const holder = this.#context.fleet.get(holderId)?.stored.name ?? holderId
      const text = `Lost: it was sent to ${name}, and ${holder} has it. Do these two nodes share a queue? Give each its own dbs_dir`
      await endRun(this.#context, one, {
        from,
        result: 'lost',
        reason: 'taken by another node',
        text,
        evidence: { ...evidence, listedBy: holderId }
      })
      return
    }
    const remembers = await this.#remembersSince(node, one)
    await live.end(one, {
      from,
      kind: 'absent',
      result: 'absent',
      reason: 'never arrived',
      jobOutcome: null,
      ...(remembers ? {} : { mayHaveRunTwice: true as const }),
      text: remembers
        ? `The job never reached ${name}; queued again`
        : `The job is not on ${name}, which may have forgotten it; queued again and flagged`,
      evidence: { ...evidence, remembers }
    })
  }

  /** The other node that lists it, or that listed it while nobody knew where it was (returned-runs.ts). */
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
   * It lists a run of ours that ended before this one was sent. A Scrapyd forgets all at once (memory), or the oldest
   * first (finished_to_keep), so it would list what ended since.
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
      text: `${node.stored.name} no longer lists the job; its log is complete`,
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
      // An earlier engine may have recorded it already (I4): only how long the log stands still starts again.
      const timeline = await store.listTimeline(one.jobId)
      if (timeline.some(({ kind, attemptNumber }) => kind === 'vanished' && attemptNumber === one.number)) return
      await live.move(one, {
        from,
        to: 'running',
        kind: 'vanished',
        text: `${node.stored.name} no longer lists the job (did the node restart?); watching its log`,
        evidence: { inNoListOfSnapshots: this.#absences.get(one.key)?.snapshots ?? 0, logBytes: sizeBytes },
        details: { startedAtMs: one.startedAtMs ?? clock.nowMs() }
      })
      return
    }
    if (nowMs - orphan.silentSinceMs < ORPHAN_SILENCE_MS) return
    await endRun(this.#context, one, {
      from,
      result: 'lost',
      reason: 'node forgot',
      text: `Lost: ${node.stored.name} forgot the job, and its log has not grown for a minute`,
      evidence: { logBytes: sizeBytes, silentForMs: Math.round(nowMs - orphan.silentSinceMs) }
    })
  }
}

function moveFor(
  verdict: Verdict & { seen: SeenJob },
  one: LiveAttempt,
  { sendNotes, atMs, clock }: { sendNotes: Record<string, unknown>; atMs: number; clock: ClockEstimate }
): AttemptMove {
  const { pid, startTime, endTime, exit } = verdict.seen
  // The node knows its times more exactly than our looks; what contradicts them is not believed.
  const startedAtMs = trueTimeBetween(startTime, clock, { afterMs: one.sentAtMs, beforeMs: atMs })
  const evidence = {
    ...(pid === null ? {} : { pid }),
    ...(startTime === null ? {} : { nodeStartTime: startTime }),
    ...(endTime === null ? {} : { nodeEndTime: endTime }),
    ...(exit === null ? {} : { exit }),
    // Its node shows it before it has answered; the sender's own entry comes too late then.
    ...(one.state === 'sending' ? sendNotes : {}),
    ...(one.state === 'uncertain' ? { resolved: 'the request had arrived' } : {})
  }
  if (verdict.kind === 'accepted') {
    return {
      from: ['sending', 'uncertain'],
      to: 'accepted',
      kind: 'accepted',
      atMs,
      text: 'Accepted: seen in its queue',
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
      text: pid === null ? 'Running' : `Running, pid ${pid}`,
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
    text: 'Ended on the node; reading its log',
    evidence,
    details: {
      // It was over before it was seen to run: without the node's own time, the log tells how long it took.
      ...(one.startedAtMs === null && trueTime(startTime, clock) !== null ? { startedAtMs } : {}),
      exitCode: exit?.code ?? null,
      signal: exit?.signal ?? null,
      limitHit: exit?.limit ?? null,
      peakMemoryBytes: exit?.peakMemoryBytes ?? null,
      cpuSeconds: exit?.cpuSeconds ?? null
    }
  }
}

/** Nobody knows whether the node has it; `sending` with an answer is one whose answer could not be recorded. */
function isUnresolved(one: LiveAttempt): boolean {
  return one.state === 'uncertain' || (one.state === 'sending' && one.sendEndedAtMs !== null)
}
