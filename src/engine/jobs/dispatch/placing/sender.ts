import { SaidError } from '../../../runtime/said-error.ts'
import { EventEmitter } from 'node:events'
import { SECRET_MASK, type Attempt, type JobId, type NodeId } from '../../../../shared/contract/index.ts'
import { LOST_ARGUMENTS } from '../../../../shared/reserved-arguments.ts'
import { effectiveRunLimits, hasLocalOnlyRunLimits } from '../../../../shared/run-limits.ts'
import { meetsTags } from '../../../../shared/tag-terms.ts'
import { maskSecrets, secretValues, withSecrets } from '../../../../shared/secret-values.ts'
import { asParam, mapStrings, type Message, plain, render, say } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { isFinal, NodeError } from '../../../nodes/node-client.ts'
import { failure } from '../../../nodes/node-failure.ts'
import { type DispatchVerdict, patched } from '../../../notify/plugins/plugins.ts'
import type { BegunAttempt, StoredJob } from '../../../model/records.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'
import { GatheredMoves } from './gathered-moves.ts'
import type { RefusalBackoff } from './refusal-backoff.ts'
import { asSealedText } from '../../../runtime/secret-box.ts'

// A job fails after nodes have refused it this often for unknown reasons.
const REFUSALS_UNTIL_FAILED = 8
const REFUSALS_REMEMBERED_MAX = 100_000
const STOP_GRACE_MS = 2_000

/**
 * Sends attempts that were written as `sending` to their nodes, and records the responses:
 *
 *   sending --200 ok--> accepted --> (follower.ts)
 *      |--- refused, or no connection ---> refused: back to the queue, backoff for that node
 *      |--- can never work (unknown spider, no such name or argument, unreadable secret) -> ended: failed
 *      |--- another engine may lead ------> refused: back to the queue, if this one leads after all
 *      |--- cancelled before it is sent --> ended: cancelled
 *      |--- vetoed by a plugin -----------> refused: back to the queue, held; or ended: cancelled
 *      +--- no response ------------------> uncertain --> (follower.ts resolves it from the lists)
 */
export class Sender {
  readonly #context: DispatchContext
  readonly #refusalBackoff: RefusalBackoff
  readonly #accepted: GatheredMoves
  readonly #sendNotes = new WeakMap<LiveAttempt, Readonly<Record<string, unknown>>>()
  readonly #refusals = new Map<string, number>()
  readonly #sending = new Set<Promise<void>>()
  readonly #requests = new Map<string, number>()
  readonly #givingUp = new AbortController()
  #requestCount = 0

  /** `requests`: the number of requests to a node changed. -1: a request ended. */
  readonly events = new EventEmitter<{ requests: [change: { nodeId: NodeId; by: 1 | -1 }] }>()

  constructor(context: DispatchContext, refusalBackoff: RefusalBackoff) {
    this.#context = context
    this.#refusalBackoff = refusalBackoff
    this.#accepted = new GatheredMoves(context.live)
    context.live.events.on('ended', ({ one, jobOutcome }) => {
      if (jobOutcome !== null) this.#refusals.delete(one.jobId)
    })
  }

  /** Timeline notes on how the attempt was sent: changes by plugins, what the node cannot do, visible secrets. */
  sendNotesOf(one: LiveAttempt): Readonly<Record<string, unknown>> {
    return this.#sendNotes.get(one) ?? {}
  }

  requestsTo(nodeId: NodeId): number {
    return this.#requests.get(nodeId) ?? 0
  }

  get requestCount(): number {
    return this.#requestCount
  }

  send(one: LiveAttempt, attempt: BegunAttempt): void {
    const sent = this.#send(one, attempt, attempt.job).finally(() => this.#sending.delete(sent))
    this.#sending.add(sent)
  }

  /** Waits briefly for requests in flight. After that they are uncertain, and the next engine checks the nodes. */
  async stop(): Promise<void> {
    const timer = this.#context.clock.setTimer(STOP_GRACE_MS, () => this.#givingUp.abort())
    await Promise.allSettled([...this.#sending])
    timer.cancel()
  }

  async #send(one: LiveAttempt, attempt: Attempt, job: StoredJob): Promise<void> {
    const { fleet, live, clock, logger } = this.#context
    const node = fleet.get(one.nodeId)
    const wasIdle = live.ofNode(one.nodeId).every(({ state }) => state === 'sending')
    const runLimits = effectiveRunLimits(this.#context.projects.settingsOf(job.project).limits, job.limits)
    let secrets: string[] = []
    try {
      const verdict = await this.#askPlugins(attempt, job, node)
      if (verdict !== null && verdict.kind !== 'send') return await this.#endVetoed(one, verdict)
      const opened = job.secretNames.length === 0 ? job : await this.#openSecrets(job)
      const settings = verdict === null ? opened.settings : patched(opened.settings, verdict.settings)
      const given = verdict === null ? opened.args : patched(opened.args, verdict.args)
      const args = Object.fromEntries(Object.entries(given).filter(([name]) => !LOST_ARGUMENTS.has(name)))
      const { env } = opened
      secrets = secretValues({ settings, args, env, secretNames: job.secretNames })
      if (node === undefined) {
        throw failure('unreachable', say('node_error.removed_before_sending'), 'no')
      }
      const { holdsLimits, hidesSecrets, setsEnvironment } = node.client.traits
      const sendNotes = {
        ...verdict?.notes,
        ...(holdsLimits || !hasLocalOnlyRunLimits(runLimits)
          ? {}
          : { limits: 'some limits are enforced only on local nodes' }),
        ...(setsEnvironment || Object.keys(env).length === 0
          ? {}
          : { env: 'remote nodes cannot set environment variables' }),
        ...(secrets.length === 0 || hidesSecrets
          ? {}
          : { secrets: 'on a Scrapyd node they are visible in its process list and logs' })
      }
      this.#sendNotes.set(one, sendNotes)
      const startedMs = clock.monotonicMs()
      const request = {
        project: attempt.project,
        version: attempt.version,
        spider: attempt.spider,
        jobid: attempt.jobid,
        settings,
        args,
        ...(setsEnvironment && { env }),
        priority: job.priority,
        isVersionAsked: job.version !== null,
        secretNames: job.secretNames,
        limits: holdsLimits ? runLimits : null
      }
      // The last check. After this, the request cannot be taken back.
      if (one.cancelAskedAtMs !== null) return await this.#endCancelled(one)
      if (this.#context.mayAct?.() === false) return await this.#endUnsent(one)
      const sent = node.client.schedule(request, this.#givingUp.signal)
      await this.#counted(one.nodeId, node.observer.duringLongCall(sent))
      const answeredInMs = Math.round(clock.monotonicMs() - startedMs)
      await this.#recordAccepted(one, { jobid: one.jobid, answeredInMs, ...sendNotes })
    } catch (error) {
      try {
        if (error instanceof UnreadableSecret) await this.#endUnreadable(one, error)
        else if (error instanceof NodeError) await this.#recordFailedSend(one, job, scrubbed(error, secrets))
        else throw error
      } catch (unexpected) {
        // The attempt stays `sending`. Because its POST is over, it is resolved like an uncertain one (follower.ts).
        logger.error({ error: unexpected, jobId: one.jobId }, 'recording how a job was sent failed; checking its node')
      }
    } finally {
      live.markSendEnded(one)
      // Polls now: the run may have been listed before the response arrived, and an idle node is polled too rarely.
      if (node?.client.traits.answersAtOnce || wasIdle || one.state !== 'accepted') node?.observer.poke()
    }
  }

  async #askPlugins(attempt: Attempt, job: StoredJob, node: FleetNode | undefined): Promise<DispatchVerdict | null> {
    const { beforeDispatch = null } = this.#context
    if (beforeDispatch === null || node === undefined) return null
    const { lane: _lane, ...masked } = maskSecrets(job)
    const { id, name, tags } = node.stored
    const { number, version } = attempt
    return beforeDispatch({ job: masked, attempt: number, version, node: { id, name, tags } })
  }

  /** Nothing was sent. The job is cancelled, or returns to the queue and is held as long as the plugin specifies. */
  async #endVetoed(one: LiveAttempt, verdict: Exclude<DispatchVerdict, { kind: 'send' }>): Promise<void> {
    const { live, clock } = this.#context
    const atMs = clock.nowMs()
    const { kind, plugin, words } = verdict
    const isCancelled = kind === 'cancel'
    await live.end(one, {
      from: ['sending'],
      kind: isCancelled ? 'ended' : 'refused',
      result: 'refused',
      reason: say('reason.by_plugin'),
      jobOutcome: isCancelled ? 'cancelled' : null,
      ...(isCancelled ? {} : { retryAtMs: atMs + Math.ceil(verdict.seconds * 1000) }),
      killingLine: isCancelled ? words : null,
      atMs,
      message: say(isCancelled ? 'timeline.cancelled_by_plugin' : 'timeline.held_by_plugin', { plugin, why: words }),
      evidence: isCancelled ? { plugin } : { plugin, seconds: verdict.seconds }
    })
  }

  async #endCancelled(one: LiveAttempt): Promise<void> {
    await this.#context.live.end(one, {
      from: ['sending'],
      kind: 'ended',
      result: 'cancelled',
      reason: say('reason.cancelled_before_start'),
      jobOutcome: 'cancelled',
      message: say('timeline.cancelled_before_sending'),
      evidence: {}
    })
  }

  /** If another engine already leads, the database refuses this write, and that engine finds the attempt unchanged. */
  async #endUnsent(one: LiveAttempt): Promise<void> {
    await this.#context.live.end(one, {
      from: ['sending'],
      kind: 'refused',
      result: 'refused',
      reason: say('reason.not_sent'),
      jobOutcome: null,
      killingLine: null,
      message: say('timeline.not_sent_without_lead'),
      evidence: {}
    })
  }

  async #counted<T>(nodeId: NodeId, request: Promise<T>): Promise<T> {
    this.#requests.set(nodeId, this.requestsTo(nodeId) + 1)
    this.#requestCount += 1
    this.events.emit('requests', { nodeId, by: 1 })
    try {
      return await request
    } finally {
      const left = this.requestsTo(nodeId) - 1
      if (left === 0) this.#requests.delete(nodeId)
      else this.#requests.set(nodeId, left)
      this.#requestCount -= 1
      this.events.emit('requests', { nodeId, by: -1 })
    }
  }

  async #openSecrets(job: StoredJob): Promise<Pick<StoredJob, 'settings' | 'args' | 'env'>> {
    const opened = new Map<string, string>()
    for (const sealed of secretValues(job)) {
      try {
        opened.set(sealed, await this.#context.secrets.open(asSealedText(sealed)))
      } catch (error) {
        throw new UnreadableSecret(job.secretNames, { cause: error })
      }
    }
    return withSecrets(job, (sealed) => opened.get(sealed)!)
  }

  async #recordAccepted(one: LiveAttempt, evidence: Record<string, unknown>): Promise<void> {
    const atMs = this.#context.clock.nowMs()
    await this.#accepted.move(one, {
      from: ['sending'],
      to: 'accepted',
      kind: 'accepted',
      atMs,
      message: say('timeline.accepted'),
      evidence,
      details: { acceptedAtMs: atMs }
    })
    this.#refusals.delete(one.jobId)
  }

  async #recordFailedSend(one: LiveAttempt, job: StoredJob, error: NodeError): Promise<void> {
    if (error.delivered === 'unknown') return this.#recordUncertain(one, error)
    const { fleet, distribution, live } = this.#context
    if (error.kind === 'unreachable' || error.kind === 'unauthorized') fleet.reportUnreachable(one.nodeId, error)
    const { refusal } = error
    if (refusal === 'unknown_project' || refusal === 'unknown_version') {
      // The egg was removed from the node, so send it again.
      await distribution.forget(one.nodeId, one.project, one.version)
    } else {
      this.#refusalBackoff.add(one)
    }
    const isForOthers = refusal === 'unrunnable' && this.#othersTakeMore(one, job)
    const count = (this.#refusals.get(one.jobId) ?? 0) + (error.kind === 'refused' && !isForOthers ? 1 : 0)
    if (count > 0) this.#rememberRefusals(one.jobId, count)
    const isHopeless = (isFinal(refusal) && !isForOthers) || count >= REFUSALS_UNTIL_FAILED
    await live.end(one, {
      from: ['sending'],
      kind: isHopeless ? 'ended' : 'refused',
      result: 'refused',
      reason: say(refusal === 'unknown_spider' ? 'reason.unknown_spider' : 'reason.refused'),
      jobOutcome: isHopeless ? 'failed' : null,
      killingLine: isHopeless ? (error.nodeSaid ?? error.said) : null,
      message: say(isHopeless ? 'timeline.failed' : 'timeline.not_accepted', { error: asParam(error.said) }),
      evidence: { kind: error.kind, nodeMessage: error.nodeSaid }
    })
  }

  /** Whether another node that this job may run on accepts arguments that this node refused. */
  #othersTakeMore({ nodeId, project }: LiveAttempt, { placement }: StoredJob): boolean {
    const { fleet } = this.#context
    return (
      fleet.get(nodeId)?.client.traits.startsByCommand === true &&
      placement.nodeId === null &&
      fleet
        .list()
        .some(
          ({ stored, client, status }) =>
            !client.traits.startsByCommand &&
            stored.mode === 'active' &&
            status.health === 'up' &&
            (client.whyNotReady?.(project) ?? null) === null &&
            meetsTags(placement.tags, stored.tags)
        )
    )
  }

  /** Jobs that were cancelled or expired in the queue are never removed here, so a full map drops its oldest entry. */
  #rememberRefusals(jobId: JobId, count: number): void {
    this.#refusals.delete(jobId)
    this.#refusals.set(jobId, count)
    if (this.#refusals.size <= REFUSALS_REMEMBERED_MAX) return
    const [oldest] = this.#refusals.keys()
    this.#refusals.delete(oldest!)
  }

  async #endUnreadable(one: LiveAttempt, error: UnreadableSecret): Promise<void> {
    await this.#context.live.end(one, {
      from: ['sending'],
      kind: 'ended',
      result: 'failed',
      reason: say('reason.secret_unreadable'),
      jobOutcome: 'failed',
      killingLine: error.said,
      message: say('timeline.failed', { error: error.said }),
      evidence: { names: error.names }
    })
  }

  async #recordUncertain(one: LiveAttempt, error: NodeError): Promise<void> {
    // Failed polls during this call do not count, because Scrapyd responds to none while it lists spiders.
    if (error.kind === 'timeout') this.#context.fleet.reportUnreachable(one.nodeId, error)
    await this.#context.live.move(one, {
      from: ['sending'],
      to: 'uncertain',
      kind: 'uncertain',
      message: say('timeline.no_response', { error: asParam(error.said) }),
      evidence: { kind: error.kind, ...this.sendNotesOf(one) }
    })
  }
}

class UnreadableSecret extends SaidError {
  readonly names: string[]

  constructor(names: string[], options: { cause: unknown }) {
    super(say('run_problem.secret_unreadable', { names }), options)
    this.names = names
  }
}

/** The minimum length of a masked value. Shorter ones occur in text by chance, and masking them would reveal them. */
const HIDDEN_LENGTH_MIN = 4

/** Masks secrets in the error, because a node can echo what it received. */
function scrubbed(error: NodeError, secrets: string[]): NodeError {
  if (secrets.length === 0) return error
  const values = secrets.filter((value) => value.length >= HIDDEN_LENGTH_MIN)
  values.sort((one, other) => other.length - one.length)
  const hide = (text: string) => values.reduce((hidden, value) => hidden.replaceAll(value, SECRET_MASK), text)
  const { kind, said, delivered, nodeSaid, refusal } = error
  return new NodeError(kind, hiddenIn(said, hide), {
    delivered,
    refusal,
    nodeMessage: typeof nodeSaid === 'string' ? hide(nodeSaid) : nodeSaid && hiddenIn(nodeSaid, hide)
  })
}

/**
 * Keeps the parameters if masking them gives the same text as masking the whole text. Otherwise, keeps only the text.
 */
function hiddenIn(said: Message, hide: (text: string) => string): Message {
  const hidden = mapStrings(said, hide)
  const text = hide(render(said))
  return render(hidden) === text ? hidden : plain(text)
}
