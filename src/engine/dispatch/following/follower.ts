import { type ClockEstimate, trueTime, trueTimeBetween } from '../../nodes/clock-offset.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { NodeError, type SeenJob, type Snapshot } from '../../nodes/node-client.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { parseClosingStats } from '../../output/log-stats.ts'
import type { AttemptChange } from '../../store/records.ts'
import { applyChange } from '../apply-change.ts'
import { conclude } from '../ending/conclude.ts'
import type { DispatchContext } from '../context.ts'
import { type Finisher, isAnswer, type LogTail } from '../ending/finisher.ts'
import type { LiveAttempt } from '../live-attempts.ts'
import { reconcile, type Verdict } from '../decide/reconcile.ts'

/** Scrapyd's default poll interval. A node whose own is longer proves absence later, never wrongly: its jobs are listed as pending meanwhile. */
export const NODE_POLL_INTERVAL_MS = 5_000
/**
 * A POST of an engine that died, or was stopped, may still be under way. Nobody waits for its end any more, so as much time must pass as
 * the client would have waited (60 s for schedule.json), and then as it does where the client has waited.
 */
const TAKEN_OVER_APART_MS = 65_000
// A run that its node forgot counts as alive while its log grows; this long without a byte and it is lost.
const ORPHAN_SILENCE_MS = 60_000
// A node that lists a run no longer and answers for so long, but never with its log, will never tell.
const LOG_REFUSED_MS = 60_000
const FINISHED_ASKED_MAX = 1_000

interface FollowerListeners {
  /** An attempt is seen running, `startedAtMs` says since when. */
  onRunning(one: LiveAttempt): void
  /** Attempts ended while this node did not answer: its lists from before that are worth nothing. */
  isExpecting(nodeId: string): boolean
  /** What its lists tell is believed from now on; it is on its way to the disk, and what is claimed in this turn shares its commit. */
  onListed(node: FleetNode): void
  /** The snapshot was taken in: what else does it tell? The next look waits for it. */
  onLook(node: FleetNode, snapshot: Snapshot): Promise<void>
}

/**
 * Follows attempts on their nodes: turns snapshots into transitions, and looks for the log of what a node no longer lists.
 *
 *   accepted -> running -> finishing -> (finisher.ts reads the log) -> ended
 *   in no list any more, and the log of the run ...
 *     is not there:                uncertain -> absent, back to the queue (flagged unless the node remembers);   accepted, running -> lost
 *     has its closing stats:       finishing
 *     is there without them:       it goes on as an orphan (running) while the log grows; silent for a minute -> lost
 *     is refused for a minute:     accepted, running -> lost;   uncertain -> lost and back to the queue, flagged: it proves nothing
 */
export class Follower {
  readonly #context: DispatchContext
  readonly #finisher: Finisher
  readonly #listeners: FollowerListeners
  readonly #investigating = new Set<string>()
  readonly #knownTwice = new WeakSet<LiveAttempt>()
  readonly #newest = new WeakMap<FleetNode, Snapshot>()
  /** Monotonic; since when a node refuses the log of a run that it lists no longer. */
  readonly #refusedSinceMs = new WeakMap<LiveAttempt, number>()

  constructor(context: DispatchContext, finisher: Finisher, listeners: FollowerListeners) {
    this.#context = context
    this.#finisher = finisher
    this.#listeners = listeners
  }

  /** Only the lists (or a log) can tell about something there: look at them at each poll. */
  wantsSnapshot(nodeId: string): boolean {
    return this.#context.live.ofNode(nodeId).some((one) => isUnresolved(one) || one.absence !== null)
  }

  /**
   * Before its first lists nobody knows what else runs on a node: sending to it could overfill it (I3). Nor what came back with it after
   * attempts there were given up.
   */
  knowsLists(node: FleetNode): boolean {
    return this.#newest.has(node) && !this.#listeners.isExpecting(node.stored.id)
  }

  /** Somebody's job there has this jobid, ended ones included: a second one could not be told from it. */
  isListed(node: FleetNode, project: string, jobid: string): boolean {
    const { pending, running, finished } = this.#newest.get(node) ?? { pending: [], running: [], finished: [] }
    return [pending, running, finished].some((list) =>
      list.some((job) => job.jobid === jobid && job.project === project)
    )
  }

  async takeSnapshot(node: FleetNode, snapshot: Snapshot): Promise<void> {
    const { live, store, clock } = this.#context
    const nodeId = node.stored.id
    this.#newest.set(node, snapshot)
    // What is sent to the local node stays within this process: nothing of it is on its way when that has died.
    const isLocal = nodeId === LOCAL_NODE_ID
    const result = reconcile(live.ofNode(nodeId), snapshot, {
      nodePollIntervalMs: isLocal ? 0 : NODE_POLL_INTERVAL_MS,
      takenOverApartMs: isLocal ? 0 : TAKEN_OVER_APART_MS
    })
    for (const [key, absence] of result.absences) {
      const one = live.get(key)
      if (one === undefined) continue
      if (absence === null) one.orphan = null
      one.absence = absence
    }
    node.status = { ...node.status, external: result.external }
    const twice = result.twice.map((key) => live.get(key)!)
    const seen = result.verdicts
      .filter((verdict) => verdict.kind !== 'missing')
      .filter(({ key, kind }) => kind !== 'accepted' || snapshot.begunAtMs > live.get(key)!.takenBackAtMs)
    const changes = seen.map((verdict) =>
      changeFor(verdict, live.get(verdict.key)!, clock.nowMs(), node.status.clockEstimate)
    )
    const writing = changes.length === 0 ? [] : store.applyChanges(changes)
    const over = seen.filter(({ kind }) => kind === 'finished')
    for (const { key } of over) live.noteOver(live.get(key)!)
    this.#listeners.onListed(node)
    const applied = await writing
    for (const [index, verdict] of seen.entries()) {
      const one = live.get(verdict.key)
      if (one === undefined || applied[index] !== true) continue
      one.state = verdict.kind === 'finished' ? 'finishing' : verdict.kind
      one.startedAtMs ??= changes[index]?.details?.startedAtMs ?? null
      if (verdict.kind === 'running') {
        this.#listeners.onRunning(one)
      }
      if (verdict.kind === 'finished') {
        one.exit = verdict.seen.exit
        this.#finisher.finish(one)
      }
      this.#context.onAttemptSettled(one)
    }
    for (const verdict of result.verdicts) {
      const one = live.get(verdict.key)
      if (verdict.kind === 'missing' && one !== undefined) void this.#investigate(node, one)
    }
    for (const one of twice) await this.#noteTwice(node, one)
    await this.#listeners.onLook(node, snapshot)
  }

  /**
   * Scrapyd takes a jobid as often as it is told to. A cancel would stop all runs of this one, so both are left alone: the first that the
   * lists show to have ended decides, and the job is flagged.
   */
  async #noteTwice(node: FleetNode, one: LiveAttempt): Promise<void> {
    if (this.#knownTwice.has(one)) return
    const { store, clock } = this.#context
    const timeline = await store.listTimeline(one.jobId)
    const isOfThis = ({ attemptNumber, kind }: (typeof timeline)[number]) =>
      attemptNumber === one.number && (kind === 'seen_again' || kind === 'found_again')
    // What was found again has lost its flag (an earlier engine may have set it).
    if (timeline.findLast(isOfThis)?.kind !== 'seen_again') {
      await store.applyChanges([
        {
          jobId: one.jobId,
          attemptNumber: one.number,
          from: ['sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended'],
          kind: 'seen_again',
          mayHaveRunTwice: true,
          entry: {
            atMs: clock.nowMs(),
            text: `${node.stored.name} lists it twice: the request was delivered to it twice (does a proxy on the way repeat requests?)`,
            evidence: { jobid: one.jobid }
          }
        }
      ])
    }
    this.#knownTwice.add(one)
  }

  /** In no list: what does its log say? */
  async #investigate(node: FleetNode, one: LiveAttempt): Promise<void> {
    if (this.#investigating.has(one.key)) return
    this.#investigating.add(one.key)
    try {
      await this.#lookAtLog(node, one)
    } catch (error) {
      // Nothing is proved, or it could not be written: the next snapshot asks again.
      if (!(error instanceof NodeError))
        this.#context.logger.error({ error, jobId: one.jobId }, 'looking for a missing run failed')
    } finally {
      this.#investigating.delete(one.key)
    }
  }

  async #lookAtLog(node: FleetNode, one: LiveAttempt): Promise<void> {
    let log: LogTail | null
    try {
      log = await this.#finisher.readTail(node, one)
      this.#refusedSinceMs.delete(one)
    } catch (error) {
      if (!isAnswer(node, error)) throw error
      return this.#concludeRefused(node, one, error.message)
    }
    if (this.#context.live.get(one.key) !== one || one.absence === null) return
    if (log === null) await this.#concludeWithoutLog(node, one)
    else if (parseClosingStats(log.text).finishReason !== null) await this.#concludeFinished(node, one)
    else await this.#followOrphan(node, one, log.sizeBytes)
  }

  async #concludeRefused(node: FleetNode, one: LiveAttempt, message: string): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs()
    const sinceMs = this.#refusedSinceMs.get(one) ?? nowMs
    this.#refusedSinceMs.set(one, sinceMs)
    if (one.absence === null || nowMs - sinceMs < LOG_REFUSED_MS) return
    await conclude(this.#context, one, {
      from: [one.state],
      result: 'lost',
      reason: 'log refused',
      text: `Lost: ${node.stored.name} lists it no longer and does not give its log (${message.replace(/\.$/, '')})`,
      evidence: { inNoListOfSnapshots: one.absence.snapshots, log: message },
      isTriedAgain: isUnresolved(one)
    })
  }

  async #concludeWithoutLog(node: FleetNode, one: LiveAttempt): Promise<void> {
    const evidence = { inNoListOfSnapshots: one.absence?.snapshots ?? 0, log: 'not there' }
    const { name } = node.stored
    if (isUnresolved(one)) return this.#concludeAbsent(node, one, evidence)
    // The answer to the cancel that took it out of the node's queue was lost.
    const isCancelled = one.state === 'accepted' && one.cancelAskedAtMs !== null
    await conclude(this.#context, one, {
      from: [one.state],
      result: isCancelled ? 'cancelled' : 'lost',
      reason: isCancelled ? 'cancelled before it started' : 'node forgot',
      text: isCancelled
        ? `Cancelled: ${name} knows it no longer, and there is no log of it`
        : `Lost: ${name} had accepted it and knows it no longer, and there is no log of it`,
      evidence
    })
  }

  /**
   * Never reached its node, or was taken back before it began: proved where the node remembers all that it did since. One that
   * may have forgotten (a restart, its logs pruned) may have run it, too: the job is sent again all the same, flagged.
   */
  async #concludeAbsent(node: FleetNode, one: LiveAttempt, evidence: Record<string, unknown>): Promise<void> {
    const { store, live, clock, onJobEnded, wake } = this.#context
    const { name } = node.stored
    const holderId = await this.#listedElsewhere(node, one)
    if (holderId !== null) {
      const holder = this.#context.fleet.get(holderId)?.stored.name ?? holderId
      const text = `Lost: it was sent to ${name}, and ${holder} has it. Do these two share one queue? Give each its own dbs_dir`
      await conclude(this.#context, one, {
        from: [one.state],
        result: 'lost',
        reason: 'taken by another node',
        text,
        evidence: { ...evidence, listedBy: holderId }
      })
      return
    }
    const remembers = await this.#remembersSince(node, one)
    const isApplied = await applyChange(store, one, {
      from: [one.state],
      to: 'ended',
      kind: 'absent',
      result: 'absent',
      reason: 'never arrived',
      jobOutcome: null,
      ...(remembers ? {} : { mayHaveRunTwice: true as const }),
      entry: {
        atMs: clock.nowMs(),
        text: remembers
          ? `Proved never to have reached ${name}; back in the queue`
          : `Not on ${name}, which may have forgotten it; back in the queue, and flagged`,
        evidence: { ...evidence, remembers }
      }
    })
    if (!isApplied) return
    live.remove(one)
    onJobEnded(one)
    wake()
  }

  /** The node that lists it, or did while nobody knew where it was (returned-runs.ts), though it was sent to another. */
  async #listedElsewhere(node: FleetNode, one: LiveAttempt): Promise<string | null> {
    const { fleet, store } = this.#context
    const holder = fleet.list().find((other) => other !== node && this.isListed(other, one.project, one.jobid))
    if (holder !== undefined) return holder.stored.id
    const seen = (await store.listTimeline(one.jobId)).find(
      ({ kind, attemptNumber, evidence }) =>
        kind === 'seen_again' && attemptNumber === one.number && typeof evidence['listedBy'] === 'string'
    )
    return (seen?.evidence['listedBy'] as string | undefined) ?? null
  }

  /**
   * It lists a run of ours that we had seen end before this one was sent: a Scrapyd forgets all at once (memory), or the oldest first
   * (finished_to_keep), so it would list what ended since.
   */
  async #remembersSince(node: FleetNode, one: LiveAttempt): Promise<boolean> {
    const { id } = node.stored
    if (id === LOCAL_NODE_ID) return true
    const finished = this.#newest.get(node)?.finished.slice(0, FINISHED_ASKED_MAX) ?? []
    return finished.length > 0 && this.#context.store.hasEndedBefore(id, finished, one)
  }

  async #concludeFinished(node: FleetNode, one: LiveAttempt): Promise<void> {
    const { store, clock } = this.#context
    const isApplied = await applyChange(store, one, {
      from: [one.state],
      to: 'finishing',
      kind: 'finishing',
      entry: {
        atMs: clock.nowMs(),
        text: `${node.stored.name} lists it no longer; its log has closing stats`,
        evidence: { inNoListOfSnapshots: one.absence?.snapshots ?? 0, log: 'complete' }
      }
    })
    if (!isApplied) return
    one.state = 'finishing'
    one.absence = null
    this.#finisher.finish(one)
    this.#context.wake()
  }

  async #followOrphan(node: FleetNode, one: LiveAttempt, sizeBytes: number): Promise<void> {
    const { store, clock } = this.#context
    const nowMs = clock.monotonicMs()
    if (one.orphan === null) {
      one.orphan = { sizeBytes, silentSinceMs: nowMs }
      // An earlier engine may have recorded it already (I4): only how long the log stands still begins anew.
      const timeline = await store.listTimeline(one.jobId)
      if (timeline.some(({ kind, attemptNumber }) => kind === 'vanished' && attemptNumber === one.number)) return
      const isApplied = await applyChange(store, one, {
        from: [one.state],
        to: 'running',
        kind: 'vanished',
        entry: {
          atMs: clock.nowMs(),
          text: `${node.stored.name} lists it no longer (did it restart?); watching its log`,
          evidence: { inNoListOfSnapshots: one.absence?.snapshots ?? 0, logBytes: sizeBytes }
        },
        details: { startedAtMs: one.startedAtMs ?? clock.nowMs() }
      })
      if (!isApplied) return
      one.state = 'running'
      one.startedAtMs ??= clock.nowMs()
      this.#listeners.onRunning(one)
      return
    }
    if (sizeBytes !== one.orphan.sizeBytes) {
      one.orphan = { sizeBytes, silentSinceMs: nowMs }
      return
    }
    if (nowMs - one.orphan.silentSinceMs < ORPHAN_SILENCE_MS) return
    await conclude(this.#context, one, {
      from: [one.state],
      result: 'lost',
      reason: 'node forgot',
      text: `Lost: ${node.stored.name} forgot it, and its log has stood still for a minute without closing stats`,
      evidence: { logBytes: sizeBytes, silentForMs: Math.round(nowMs - one.orphan.silentSinceMs) }
    })
  }
}

function changeFor(
  verdict: Verdict & { seen: SeenJob },
  one: LiveAttempt,
  atMs: number,
  clockEstimate: ClockEstimate
): AttemptChange {
  const { pid, startTime, endTime, exit } = verdict.seen
  // The node knows its times more exactly than our looks; what contradicts them is not believed.
  const startedAtMs = trueTimeBetween(startTime, clockEstimate, { afterMs: one.sentAtMs, beforeMs: atMs })
  const evidence = {
    ...(pid === null ? {} : { pid }),
    ...(startTime === null ? {} : { nodeStartTime: startTime }),
    ...(endTime === null ? {} : { nodeEndTime: endTime }),
    ...(exit === null ? {} : { exit }),
    // Its node shows it before it has answered; the sender's own entry comes too late then.
    ...(one.state === 'sending' ? one.sendNotes : {}),
    ...(one.state === 'uncertain' ? { resolved: 'the POST had arrived' } : {})
  }
  const base = { jobId: one.jobId, attemptNumber: one.number }
  if (verdict.kind === 'accepted') {
    return {
      ...base,
      from: ['sending', 'uncertain'],
      to: 'accepted',
      kind: 'accepted',
      entry: { atMs, text: 'Accepted: seen in its queue', evidence },
      details: { acceptedAtMs: atMs }
    }
  }
  if (verdict.kind === 'running') {
    return {
      ...base,
      from: ['sending', 'uncertain', 'accepted'],
      to: 'running',
      kind: 'running',
      entry: { atMs, text: pid === null ? 'Running' : `Running, pid ${pid}`, evidence },
      details: { startedAtMs, pid }
    }
  }
  return {
    ...base,
    from: ['sending', 'uncertain', 'accepted', 'running'],
    to: 'finishing',
    kind: 'finishing',
    entry: { atMs, text: 'Ended on the node; reading its log', evidence },
    details: {
      // It was over before it was seen to run: without the node's own time, the log tells how long it took.
      ...(one.startedAtMs === null && trueTime(startTime, clockEstimate) !== null ? { startedAtMs } : {}),
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
  return one.state === 'uncertain' || (one.state === 'sending' && one.settledAtMs !== null)
}
