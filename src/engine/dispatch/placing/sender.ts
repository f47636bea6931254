import { SECRET_MASK, type Attempt } from '../../../shared/contract/index.ts'
import { LOST_ARGUMENTS } from '../../../shared/reserved-arguments.ts'
import { effectiveLimits, hasLocalOnlyLimits } from '../../../shared/run-limits.ts'
import { maskSecrets, secretValues, withSecrets } from '../../../shared/secret-values.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { classifyRefusal } from '../../nodes/scrapyd/refusals.ts'
import { type DispatchVerdict, patched } from '../../plugins/plugins.ts'
import type { StoredJob } from '../../store/records.ts'
import { AcceptedWriter } from './accepted-writer.ts'
import { applyChange } from '../apply-change.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'

// A job that this many nodes (or times) refused for reasons we do not know is not going to work.
const REFUSALS_UNTIL_FAILED = 8
const REFUSALS_REMEMBERED_MAX = 100_000
const STOP_GRACE_MS = 2_000

/**
 * Sends attempts that were written as `sending` to their nodes, and writes down what the nodes answered:
 *
 *   sending --200 ok--> accepted --> (follower.ts)
 *      |--- node said no, or no connection ---> refused: back to the queue, held back from that node
 *      |--- cannot ever work (unknown spider, secret not to be read) -> ended: failed
 *      |--- a plugin says no ---------------> refused: back to the queue, held; or ended: cancelled
 *      +--- no answer ------------------------> uncertain --> (follower.ts resolves it by looking)
 */
export class Sender {
  readonly #context: DispatchContext
  readonly #holdBack: (one: LiveAttempt) => void
  readonly #onRequests: (nodeId: string) => void
  readonly #onAnswered: () => void
  readonly #accepted: AcceptedWriter
  readonly #refusals = new Map<string, number>()
  readonly #sending = new Set<Promise<void>>()
  readonly #requests = new Map<string, number>()
  readonly #givingUp = new AbortController()
  #requestCount = 0

  /** `onRequests`: `requestsTo` tells another number. `onAnswered`: a request on its way is one no more. */
  constructor(
    context: DispatchContext,
    then: { holdBack: (one: LiveAttempt) => void; onRequests: (nodeId: string) => void; onAnswered: () => void }
  ) {
    this.#context = context
    this.#holdBack = then.holdBack
    this.#onRequests = then.onRequests
    this.#onAnswered = then.onAnswered
    this.#accepted = new AcceptedWriter(context.store)
  }

  /** Requests on their way, to one node or to all. */
  requestsTo(nodeId: string): number {
    return this.#requests.get(nodeId) ?? 0
  }

  get requestCount(): number {
    return this.#requestCount
  }

  send(one: LiveAttempt, attempt: Attempt, job: StoredJob): void {
    const sent = this.#send(one, attempt, job).finally(() => this.#sending.delete(sent))
    this.#sending.add(sent)
  }

  /** Requests on their way get a moment; after it they are uncertain, and the next start looks what became of them. */
  async stop(): Promise<void> {
    const timer = this.#context.clock.setTimer(STOP_GRACE_MS, () => this.#givingUp.abort())
    await Promise.allSettled([...this.#sending])
    timer.cancel()
  }

  async #send(one: LiveAttempt, attempt: Attempt, job: StoredJob): Promise<void> {
    const { fleet, clock, logger } = this.#context
    const node = fleet.get(one.nodeId)
    const isLocal = node?.stored.kind === 'local'
    const limits = effectiveLimits(this.#context.projects.settingsOf(job.project).limits, job.limits)
    let secrets: string[] = []
    try {
      const verdict = await this.#askPlugins(attempt, job, node)
      if (verdict !== null && verdict.kind !== 'send') return await this.#noteVeto(one, verdict)
      const opened = job.secretNames.length === 0 ? job : await this.#openSecrets(job)
      const settings = verdict === null ? opened.settings : patched(opened.settings, verdict.settings)
      const given = verdict === null ? opened.args : patched(opened.args, verdict.args)
      const args = Object.fromEntries(Object.entries(given).filter(([name]) => !LOST_ARGUMENTS.has(name)))
      secrets = secretValues({ settings, args, secretNames: job.secretNames })
      if (node === undefined) {
        throw new NodeError('unreachable', 'The node was removed before the job was sent', { delivered: 'no' })
      }
      one.sendNotes = {
        ...verdict?.notes,
        ...(isLocal || !hasLocalOnlyLimits(limits) ? {} : { limits: 'on a remote node only the time limit is held' }),
        ...(secrets.length === 0 || isLocal ? {} : { secrets: 'a Scrapyd shows them in its process list and its logs' })
      }
      const startedMs = clock.monotonicMs()
      const request = {
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
      }
      await this.#counted(
        one.nodeId,
        node.observer.duringLongCall(node.client.schedule(request, this.#givingUp.signal))
      )
      await this.#noteAccepted(one, {
        jobid: one.jobid,
        answeredInMs: Math.round(clock.monotonicMs() - startedMs),
        ...one.sendNotes
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
      // A job of the local node may have been seen before we had the answer, and a node that was idle is looked at too seldom.
      const wasIdle = this.#context.live.slotsUsedOn(one.nodeId) <= 1
      if (isLocal || wasIdle || one.state !== 'accepted') node?.observer.poke()
    }
  }

  /** null: nobody wants to be asked. */
  async #askPlugins(attempt: Attempt, job: StoredJob, node: FleetNode | undefined): Promise<DispatchVerdict | null> {
    const { beforeDispatch = null } = this.#context
    if (beforeDispatch === null || node === undefined) return null
    const { lane: _lane, ...told } = maskSecrets(job)
    const { id, name, tags } = node.stored
    return beforeDispatch({
      job: told,
      attempt: attempt.number,
      version: attempt.version,
      node: { id, name, tags }
    })
  }

  /** Nothing was sent: back to the queue, held for as long as the plugin says, or ended. */
  async #noteVeto(one: LiveAttempt, verdict: Exclude<DispatchVerdict, { kind: 'send' }>): Promise<void> {
    const { store, live, clock } = this.#context
    const atMs = clock.nowMs()
    const { kind, plugin, words } = verdict
    const isCancelled = kind === 'cancel'
    const isApplied = await applyChange(store, one, {
      from: ['sending'],
      to: 'ended',
      kind: isCancelled ? 'ended' : 'refused',
      result: 'refused',
      reason: 'plugin',
      jobOutcome: isCancelled ? 'cancelled' : null,
      ...(isCancelled ? {} : { retryAtMs: atMs + Math.ceil(verdict.seconds * 1000) }),
      killingLine: isCancelled ? words : null,
      entry: {
        atMs,
        text: `${isCancelled ? 'Cancelled' : 'Not sent'} by the plugin ${plugin}: ${words}`,
        evidence: isCancelled ? { plugin } : { plugin, seconds: verdict.seconds }
      }
    })
    if (!isApplied) return
    live.remove(one)
    if (isCancelled || one.cancelAskedAtMs !== null) {
      this.#context.onJobEnded(one)
    }
    this.#context.wake()
  }

  async #counted<T>(nodeId: string, request: Promise<T>): Promise<T> {
    this.#requests.set(nodeId, this.requestsTo(nodeId) + 1)
    this.#requestCount += 1
    this.#onRequests(nodeId)
    try {
      return await request
    } finally {
      const left = this.requestsTo(nodeId) - 1
      if (left === 0) this.#requests.delete(nodeId)
      else this.#requests.set(nodeId, left)
      this.#requestCount -= 1
      this.#onRequests(nodeId)
      this.#onAnswered()
    }
  }

  /** A job's settings and arguments with their true values, for the node alone. Throws UnreadableSecret. */
  async #openSecrets(job: StoredJob): Promise<Pick<StoredJob, 'settings' | 'args'>> {
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
    const isApplied = await this.#accepted.write({
      jobId: one.jobId,
      attemptNumber: one.number,
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
    if (count > 0) this.#noteRefusal(one.jobId, count)
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
    if (hasEnded) this.#context.onJobEnded(one)
    this.#context.wake()
  }

  /** A job that is cancelled or expires in the queue does not come back to be forgotten: the oldest go when there are many. */
  #noteRefusal(jobId: string, count: number): void {
    this.#refusals.delete(jobId)
    this.#refusals.set(jobId, count)
    if (this.#refusals.size <= REFUSALS_REMEMBERED_MAX) return
    const [oldest] = this.#refusals.keys()
    this.#refusals.delete(oldest!)
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
    this.#context.onJobEnded(one)
    this.#context.wake()
  }

  async #noteUncertain(one: LiveAttempt, error: NodeError): Promise<void> {
    // Looks that time out meanwhile are not held against it (a Scrapyd that lists spiders answers nobody): this one is.
    if (error.kind === 'timeout') this.#context.fleet.noteUnreachable(one.nodeId, error)
    const isApplied = await applyChange(this.#context.store, one, {
      from: ['sending'],
      to: 'uncertain',
      kind: 'uncertain',
      entry: {
        atMs: this.#context.clock.nowMs(),
        text: `No answer; looking on the node whether it arrived (${error.message})`,
        evidence: { kind: error.kind, ...one.sendNotes }
      }
    })
    if (isApplied) one.state = 'uncertain'
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
