import type { Readable } from 'node:stream'
import pLimit from 'p-limit'
import type { AttemptState, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import type { EggToSend } from '../../projects/projects.ts'
import { BoundedSet } from '../../runtime/bounded.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import { LISTED_MAX } from '../list-limits.ts'
import {
  type DaemonStatus,
  type LogRange,
  type NodeClient,
  NodeError,
  type NodeErrorKind,
  type NodeSignal,
  type RefusalKind,
  type RunNames,
  type ScheduleRequest,
  type SeenJob,
  type Snapshot
} from '../node-client.ts'
import { failure } from '../node-failure.ts'
import { type NodeTraits, PULLING_TRAITS } from '../node-traits.ts'
import { problemOfRun } from '../node-checks.ts'
import { classifyRefusal } from '../scrapyd/refusals.ts'
import { type ClaimFacts, type ClaimVerdict, isHeldByNode, judgeClaim } from './judge-claim.ts'
import { type Command, Mailbox, type NumberedCommand, type Offer } from './mailbox.ts'
import {
  DATA_BYTES_MAX,
  type ListedRun,
  type OpenMessage,
  PROTOCOL,
  type PulledLists,
  type PulledStatus,
  type Stamp
} from './messages.ts'

export interface NodeBelief {
  /** null: the run is not live. */
  stateOf(run: { project: string; jobid: string }): AttemptState | null
  /** Wall clock. When the oldest live attempt was sent. */
  oldestSentAtMs(): number | null
}

export interface PullingNodeOptions {
  name: () => string
  belief: NodeBelief
  eggOf: (project: ProjectName, version: VersionName) => EggToSend | null
  /** Called when the node reports a change without a request. */
  onNews: () => void
  onOpened: (message: OpenMessage) => void
  onClosed: () => void
  clock: Clock
}

/** The maximum silence of a connected node. Nodes poll again immediately, so a node that is silent longer is gone. */
const UNHEARD_MS = 8_000
/** The maximum age of an open request. The node's own limit is shorter, so an older request was lost in transit. */
const HELD_MS = 45_000
const REQUEST_MS = 15_000
const READ_MS = 30_000
const READS_AT_ONCE = 8
/** How long a node can take to fetch and claim an offer. The limit is longer while the node downloads the egg. */
const OFFER_MS = 60_000
const OFFER_WITH_EGG_MS = 15 * 60_000
const OFFER_CHECK_MS = 2_000
const UNCONFIRMED_MAX = 10_000
const HELD_RETRY_SECONDS = 15
/** The number of recently granted or withdrawn runs that we remember, in case the node repeats a claim. */
const REMEMBERED_MAX = 20_000
/** A journal that began at least this long before a run would contain the run. */
const JOURNAL_MARGIN_MS = 60_000

interface Session {
  id: string
  epoch: number
  instance: string
  hostname: string
  slots: number
  journalBeganAtMs: number
  mailbox: Mailbox
  held: { answer: (commands: NumberedCommand[]) => void; timer: Timer; sinceMs: number } | null
  heardAtMs: number
  status: PulledStatus | null
}

interface PendingOffer {
  offer: Offer
  egg: EggToSend
  atMs: number
  granted: () => void
  failed: (error: NodeError) => void
}

interface Pending<T> {
  resolve: (value: T) => void
  reject: (error: NodeError) => void
}
type Asked = Pending<unknown> & { kind: Command['kind'] }

/**
 * A node that we cannot reach but that polls for work (docs/pulling-nodes.md). Requests to the node wait as commands in
 * the mailbox of its session. The mailbox is only in memory, because claimed runs are on the node's disk.
 */
export class PullingNode implements NodeClient {
  readonly eggTarget = null
  readonly #options: PullingNodeOptions
  readonly #offers = new Map<string, PendingOffer>()
  readonly #granted = new BoundedSet<string>(REMEMBERED_MAX)
  readonly #withdrawn = new BoundedSet<string>(REMEMBERED_MAX)
  readonly #superseded = new BoundedSet<string>(100)
  readonly #answers = new Map<number, Asked>()
  readonly #reads = pLimit(READS_AT_ONCE)
  readonly #downloads = new Map<string, number>()
  #listings: (Pending<PulledLists> & { n: number })[] = []
  #session: Session | null = null
  #epoch = 0
  #nextId = 1
  #lists: PulledLists | null = null
  #dateSeen: DaemonStatus['dateSeen'] = null
  #overOnce: ReadonlySet<string> = new Set()
  #isClosed = false

  constructor(options: PullingNodeOptions) {
    this.#options = options
  }

  /**
   * `remembersAll` is a getter because its value changes. The object is built once, because every poll reads the
   * traits.
   */
  readonly traits: NodeTraits = Object.defineProperty({ ...PULLING_TRAITS }, 'remembersAll', {
    get: () => this.#remembersAll()
  })

  get name(): string {
    return this.#options.name()
  }

  reportedSlots(): number | null {
    return this.#session?.slots ?? null
  }

  async daemonStatus(): Promise<DaemonStatus> {
    const session = this.#requireSession()
    const { running = 0, pending = 0 } = session.status ?? {}
    const finished = this.#lists?.finished.length ?? 0
    const dateSeen = this.#dateSeen ?? null
    const clockOffsetMs =
      dateSeen === null ? null : Math.round(dateSeen.dateMs + 500 - (dateSeen.askedAtMs + dateSeen.arrivedAtMs) / 2)
    return { running, pending, finished, nodeName: showUnseen(session.hostname), clockOffsetMs, dateSeen }
  }

  async listJobs(signal?: AbortSignal): Promise<Snapshot> {
    const { clock } = this.#options
    const session = this.#requireSession()
    const [begunAtMs, askedAtMs] = [clock.monotonicMs(), clock.nowMs()]
    const n = this.#push(session, { kind: 'list' })
    const listing = Promise.withResolvers<PulledLists>()
    const pending = { ...listing, n }
    this.#listings.push(pending)
    const lists = await this.#within(listing.promise, REQUEST_MS, signal, () => {
      this.#listings = this.#listings.filter((one) => one !== pending)
      session.mailbox.drop((command) => command.n === n)
    })
    const dateMs = Math.floor(lists.status.timeMs / 1000) * 1000
    this.#dateSeen = { dateMs, askedAtMs, arrivedAtMs: clock.nowMs() }
    this.#acknowledge(session, lists.finished)
    const claimed = lists.claiming.filter((run) => isHeldByNode(this.#factsOf(run)))
    return {
      begunAtMs,
      pending: [...claimed, ...lists.pending].map(toSeenJob),
      running: lists.running.map(toSeenJob),
      finished: lists.finished.map(toSeenJob)
    }
  }

  /** Resolves when the node has claimed the run. Otherwise withdraws the offer and rejects as not delivered. */
  async schedule(request: ScheduleRequest, signal?: AbortSignal): Promise<{ jobid: string }> {
    const session = this.#requireSession()
    const { project, version, jobid, spider, settings, args, env = {}, priority, isVersionAsked } = request
    const problem = problemOfRun(request, this.traits)
    if (problem !== null) throw this.#refusal(problem, 'unrunnable')
    const egg = this.#options.eggOf(project, version)
    if (egg === null) throw this.#refusal(say('run_problem.no_egg', { project, version }), 'other')
    const { sha256, sizeBytes } = egg
    const offer: Offer = {
      project,
      jobid,
      version,
      isVersionAsked,
      spider,
      settings,
      args,
      env,
      priority,
      egg: { sha256, sizeBytes }
    }
    const key = keyOf(offer)
    const done = Promise.withResolvers<void>()
    const pending = { offer, egg, atMs: this.#options.clock.monotonicMs(), granted: done.resolve, failed: done.reject }
    this.#offers.set(key, pending)
    this.#push(session, { kind: 'offer', offer })
    const onAbort = () => this.#withdraw(key, this.#error('aborted', 'aborted'))
    signal?.addEventListener('abort', onAbort, { once: true })
    const check = this.#watchOffer(key, pending)
    try {
      if (signal?.aborted) onAbort()
      await done.promise
    } finally {
      check.cancel()
      signal?.removeEventListener('abort', onAbort)
    }
    return { jobid }
  }

  async cancel(
    { project, jobid, signal: name }: { project: ProjectName; jobid: string; signal: NodeSignal },
    signal?: AbortSignal
  ): Promise<{ wasState: 'pending' | 'running' | null }> {
    const answer = await this.#ask<{ wasState?: 'pending' | 'running' | null }>(
      (id) => ({ kind: 'cancel', id, project, jobid, signal: String(name) }),
      REQUEST_MS,
      signal
    )
    return { wasState: answer.wasState ?? null }
  }

  async listSpiders(): Promise<string[]> {
    throw this.#refusal('a node that pulls does not list spiders', 'other')
  }

  readLog(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#reads(() => this.#readFile('log', run, range, signal))
  }

  readItems(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal) {
    return this.#reads(() => this.#readFile('items', run, range, signal))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#leave(this.#error('aborted', 'closed'))
    for (const key of [...this.#offers.keys()]) this.#withdraw(key, this.#error('aborted', 'removed'))
    this.#session = null
    this.#options.onClosed()
  }

  /**
   * Call this when the token is no longer valid or the node violates the protocol. The node must open a new
   * session.
   */
  disconnect(): void {
    this.#leave(this.#error('reset', 'disconnected'))
    this.#session = null
  }

  open(message: OpenMessage): { epoch: number } {
    const { protocol, session: id, instance, lastEpoch, isTakeover, journalSeconds, hostname, slots } = message
    if (protocol !== PROTOCOL) {
      const words = sentence('nodes.protocol_differs', { protocol: PROTOCOL, theirs: protocol })
      throw new ScrapdeckError('BAD_INPUT', words)
    }
    this.#refuseClosed()
    const before = this.#session
    if (before !== null && this.#isHeard(before) && (before.instance !== instance || !isTakeover)) {
      const words = sentence('nodes.pulling_node_connected', {
        hostname: showUnseen(before.hostname),
        node: this.#options.name()
      })
      throw new ScrapdeckError('NODE_SESSION_HELD', words, { data: { retryAfterSeconds: HELD_RETRY_SECONDS } })
    }
    if (before !== null) {
      this.#superseded.add(before.id)
      this.#leave(this.#error('reset', 'restarted'))
    }
    this.#epoch = Math.max(this.#epoch, lastEpoch) + 1
    const { clock } = this.#options
    const session: Session = {
      id,
      epoch: this.#epoch,
      instance,
      hostname,
      slots,
      mailbox: new Mailbox(),
      held: null,
      status: null,
      journalBeganAtMs: clock.nowMs() - journalSeconds * 1000,
      heardAtMs: clock.monotonicMs()
    }
    this.#session = session
    for (const { offer } of this.#offers.values()) this.#push(session, { kind: 'offer', offer })
    this.#options.onOpened(message)
    this.#options.onNews()
    return { epoch: session.epoch }
  }

  /** Resolves with commands as soon as there are any, or with none after `waitSeconds` or when `gone` is aborted. */
  async poll(
    stamp: Stamp & { acked: number; waitSeconds: number; status: PulledStatus },
    gone: AbortSignal
  ): Promise<NumberedCommand[]> {
    const session = this.#sessionOf(stamp)
    session.mailbox.confirm(stamp.acked)
    this.#recordStatus(session, stamp.status)
    session.held?.answer([])
    if (!session.mailbox.isEmpty) return session.mailbox.next()
    const { clock } = this.#options
    const answered = Promise.withResolvers<NumberedCommand[]>()
    const onGone = () => held.answer([])
    const held = {
      sinceMs: clock.monotonicMs(),
      timer: clock.setTimer(stamp.waitSeconds * 1000, () => held.answer([])),
      answer(commands: NumberedCommand[]) {
        held.timer.cancel()
        gone.removeEventListener('abort', onGone)
        if (session.held === held) session.held = null
        session.heardAtMs = clock.monotonicMs()
        answered.resolve(commands)
      }
    }
    session.held = held
    gone.addEventListener('abort', onGone, { once: true })
    if (gone.aborted) onGone()
    return answered.promise
  }

  claim(stamp: Stamp & { runs: { project: string; jobid: string }[] }): ClaimVerdict[] {
    this.#sessionOf(stamp)
    return stamp.runs.map((run) => {
      const key = keyOf(run)
      const verdict = judgeClaim(this.#factsOf(run))
      // The attempt of this offer has ended.
      if (verdict === 'gone') this.#withdraw(key, this.#error('aborted', 'aborted'))
      if (verdict !== 'granted') return verdict
      this.#granted.add(key)
      const pending = this.#offers.get(key)
      this.#offers.delete(key)
      pending?.granted()
      return verdict
    })
  }

  refuse(stamp: Stamp & { project: string; jobid: string; reason: RefusalKind; message: string }): void {
    this.#sessionOf(stamp)
    const pending = this.#offers.get(keyOf(stamp))
    if (pending === undefined) return
    this.#withdraw(
      keyOf(stamp),
      this.#refusal(showUnseen(stamp.message), stamp.reason === 'bad_egg' ? 'bad_egg' : 'other')
    )
  }

  receiveLists(lists: PulledLists): void {
    const session = this.#sessionOf(lists)
    const { claiming, pending, running, finished } = lists
    if (claiming.length + pending.length + running.length + finished.length > LISTED_MAX.jobs) {
      throw new ScrapdeckError('REQUEST_TOO_LARGE', sentence('nodes.too_many_jobs_listed', { most: LISTED_MAX.jobs }))
    }
    this.#lists = lists
    this.#recordStatus(session, lists.status)
    const answered = this.#listings.filter(({ n }) => n <= lists.through)
    this.#listings = this.#listings.filter(({ n }) => n > lists.through)
    for (const { resolve } of answered) resolve(lists)
    if (answered.length === 0) this.#options.onNews()
  }

  receiveAnswer({ id, problem, ...answer }: Stamp & { id: number; problem?: string | undefined }): void {
    this.#sessionOf(answer)
    const pending = this.#answers.get(id)
    this.#answers.delete(id)
    if (problem === undefined) this.#resolve(pending, 'cancel', answer)
    else if (classifyRefusal(problem) === 'process_ended') pending?.reject(this.#refusal(problem, 'process_ended'))
    else pending?.reject(this.#failed(problem))
  }

  receiveData({ id, offset, size, file, none, ...stamp }: DataOfFile, bytes: Uint8Array): void {
    this.#sessionOf(stamp)
    const pending = this.#answers.get(id)
    this.#answers.delete(id)
    this.#resolve(pending, 'read', none === undefined ? { offset, sizeBytes: size, bytes, fileId: file } : null)
  }

  #resolve(pending: Asked | undefined, kind: Command['kind'], answer: unknown): void {
    if (pending?.kind === kind) pending.resolve(answer)
    else pending?.reject(this.#error('not_scrapyd', 'other_answer', 'unknown'))
  }

  /** Rejects with NOT_FOUND unless an offered run needs the egg. */
  async openEgg(stamp: Stamp, sha256: string): Promise<{ stream: Readable; sizeBytes: number }> {
    this.#sessionOf(stamp)
    const egg = [...this.#offers.values()].find((one) => one.egg.sha256 === sha256)?.egg
    if (egg === undefined) throw new ScrapdeckError('NOT_FOUND', sentence('nodes.egg_not_needed'))
    const stream = await egg.open()
    this.#downloads.set(sha256, (this.#downloads.get(sha256) ?? 0) + 1)
    stream.once('close', () => {
      const left = (this.#downloads.get(sha256) ?? 1) - 1
      if (left === 0) this.#downloads.delete(sha256)
      else this.#downloads.set(sha256, left)
    })
    return { stream, sizeBytes: egg.sizeBytes }
  }

  #factsOf(run: { project: string; jobid: string }): ClaimFacts {
    const key = keyOf(run)
    return {
      isOffered: this.#offers.has(key),
      wasGranted: this.#granted.has(key),
      wasWithdrawn: this.#withdrawn.has(key),
      belief: this.#options.belief.stateOf(run)
    }
  }

  /** Withdraws an offer. A later claim is refused, so the run is never delivered. */
  #withdraw(key: string, error: NodeError): void {
    const pending = this.#offers.get(key)
    if (pending === undefined) return
    this.#offers.delete(key)
    this.#withdrawn.add(key)
    const { project, jobid } = pending.offer
    if (this.#session !== null) {
      this.#session.mailbox.drop((command) => command.kind === 'offer' && command.offer === pending.offer)
      this.#push(this.#session, { kind: 'withdraw', project, jobid })
    }
    pending.failed(error)
  }

  #watchOffer(key: string, { atMs, egg }: PendingOffer): Timer {
    const { clock } = this.#options
    const check = (): void => {
      const forMs = clock.monotonicMs() - atMs
      const limitMs = this.#downloads.has(egg.sha256) ? OFFER_WITH_EGG_MS : OFFER_MS
      if (this.#session === null || !this.#isHeard(this.#session)) this.#withdraw(key, this.#unheard())
      else if (forMs > limitMs) this.#withdraw(key, this.#error('timeout', 'fetched_nothing'))
      else timer = clock.setTimer(OFFER_CHECK_MS, check)
    }
    let timer = clock.setTimer(OFFER_CHECK_MS, check)
    return { cancel: () => timer.cancel() }
  }

  /**
   * Lets the node forget ended runs that we have recorded: two listings contained them, and none has a live attempt.
   */
  #acknowledge(session: Session, finished: ListedRun[]): void {
    const over = finished.filter((run) => !run.isAcked && this.#options.belief.stateOf(run) === null)
    const runs = over.filter((run) => this.#overOnce.has(keyOf(run)))
    this.#overOnce = new Set(over.map(keyOf))
    const named = runs.map(({ project, jobid }) => ({ project, jobid }))
    if (named.length > 0) this.#push(session, { kind: 'ack', runs: named })
  }

  async #readFile(
    file: 'log' | 'items',
    { project, spider, jobid }: RunNames,
    range: { offset: number; limitBytes: number },
    signal?: AbortSignal
  ): Promise<LogRange | null> {
    let whole: LogRange | null = null
    const pieces: Uint8Array[] = []
    let [offset, left] = [range.offset, range.limitBytes]
    // Nodes send at most a megabyte per response, so that a cancellation does not wait behind a log.
    do {
      const limitBytes = Math.min(left, DATA_BYTES_MAX)
      const ask = { kind: 'read' as const, file, project, spider, jobid, offset, limitBytes }
      const part = await this.#ask<LogRange | null>((id) => ({ ...ask, id }), READ_MS, signal)
      if (part === null) break
      const { sizeBytes, bytes } = part
      const askedFrom = offset < 0 ? Math.max(0, sizeBytes + offset) : offset
      const end = part.offset + bytes.length
      if (part.offset !== askedFrom || bytes.length > limitBytes || (bytes.length > 0 && end > sizeBytes))
        throw this.#error('not_scrapyd', 'other_part')
      // This is a new file with the same name. The earlier pieces belong to a different run.
      if (whole !== null && part.fileId !== whole.fileId) break
      whole ??= part
      pieces.push(bytes)
      offset = end
      left -= bytes.length
      // A short piece ends the read, so that a node cannot force us to read byte by byte.
      if (bytes.length < limitBytes || end >= sizeBytes) break
    } while (left > 0)
    return whole === null ? null : { ...whole, bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces) }
  }

  async #ask<T>(make: (id: number) => Command, limitMs: number, signal?: AbortSignal): Promise<T> {
    const session = this.#requireSession()
    const id = this.#nextId
    this.#nextId += 1
    const answer = Promise.withResolvers<unknown>()
    const command = make(id)
    this.#answers.set(id, { ...answer, kind: command.kind })
    const n = this.#push(session, command)
    const drop = () => {
      this.#answers.delete(id)
      session.mailbox.drop((command) => command.n === n)
    }
    return (await this.#within(answer.promise, limitMs, signal, drop)) as T
  }

  async #within<T>(answer: Promise<T>, limitMs: number, signal: AbortSignal | undefined, drop: () => void): Promise<T> {
    const stopped = Promise.withResolvers<never>()
    const onAbort = () => stopped.reject(this.#error('aborted', 'aborted', 'unknown'))
    const timer = this.#options.clock.setTimer(limitMs, () => {
      const said = say('node_error.pulling_no_answer', { node: this.name, seconds: limitMs / 1000 })
      stopped.reject(failure('timeout', said, 'unknown'))
    })
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted) onAbort()
    try {
      return await Promise.race([answer, stopped.promise])
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', onAbort)
      drop()
    }
  }

  #push(session: Session, command: Command): number {
    const n = session.mailbox.push(command)
    session.held?.answer(session.mailbox.next())
    // Our package always confirms commands, so this is a different program.
    if (session.mailbox.size > UNCONFIRMED_MAX && this.#session === session) this.disconnect()
    return n
  }

  #recordStatus(session: Session, status: PulledStatus): void {
    session.status = status
    session.heardAtMs = this.#options.clock.monotonicMs()
  }

  /** Rejects requests that wait for responses from the ended session. Offers remain for the next session. */
  #leave(error: NodeError): void {
    this.#session?.held?.answer([])
    const waiting = [...this.#answers.values(), ...this.#listings]
    this.#answers.clear()
    this.#listings = []
    for (const { reject } of waiting) reject(error)
  }

  #sessionOf({ session: id, epoch }: Stamp): Session {
    this.#refuseClosed()
    const session = this.#session
    if (session !== null && session.id === id && session.epoch === epoch) {
      session.heardAtMs = this.#options.clock.monotonicMs()
      return session
    }
    if (this.#superseded.has(id)) {
      throw new ScrapdeckError('NODE_SESSION_SUPERSEDED', sentence('nodes.session_superseded'))
    }
    throw new ScrapdeckError('NODE_SESSION_UNKNOWN', sentence('nodes.session_unknown'))
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new ScrapdeckError('STOPPING', sentence('nodes.scrapdeck_stopping'))
  }

  #requireSession(): Session {
    const session = this.#session
    if (session === null || !this.#isHeard(session)) throw this.#unheard()
    return session
  }

  #isHeard({ held, heardAtMs }: Session): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    return held === null ? nowMs - heardAtMs < UNHEARD_MS : nowMs - held.sinceMs < HELD_MS
  }

  #unheard(): NodeError {
    const session = this.#session
    if (session === null) return this.#error('unreachable', 'never_heard')
    const seconds = Math.round((this.#options.clock.monotonicMs() - session.heardAtMs) / 1000)
    return failure('unreachable', say('node_error.pulling_silent', { node: this.name, seconds }), 'no')
  }

  #remembersAll(): boolean {
    const session = this.#session
    if (session === null) return false
    const oldestMs = this.#options.belief.oldestSentAtMs()
    return oldestMs === null || session.journalBeganAtMs + JOURNAL_MARGIN_MS < oldestMs
  }

  #error(kind: NodeErrorKind, what: PlainFailure, delivered: 'no' | 'unknown' = 'no'): NodeError {
    return failure(kind, say(`node_error.pulling_${what}`, { node: this.name }), delivered)
  }

  #failed(problem: string): NodeError {
    const said = say('node_error.pulling_failed', { node: this.name, why: showUnseen(problem) })
    return failure('http', said, 'unknown')
  }

  #refusal(why: Message | string, refusal: RefusalKind): NodeError {
    const said = say('node_error.pulling_rejected', { node: this.name, why })
    return new NodeError('refused', said, { delivered: 'no', nodeMessage: why, refusal })
  }
}

/** The failures whose messages have only the name of the node as a parameter. */
type PlainFailure =
  | 'removed'
  | 'closed'
  | 'disconnected'
  | 'restarted'
  | 'aborted'
  | 'fetched_nothing'
  | 'other_answer'
  | 'other_part'
  | 'never_heard'

interface DataOfFile extends Stamp {
  id: number
  offset: number
  size: number
  file?: string | undefined
  none?: string | undefined
}

const keyOf = ({ project, jobid }: { project: string; jobid: string }): string => `${project}\n${jobid}`

function toSeenJob({ project, spider, jobid, pid, startTime, endTime, exitCode, exitSignal }: ListedRun): SeenJob {
  const isKnown = exitCode !== null || exitSignal !== null
  return {
    project: project as ProjectName,
    spider,
    jobid,
    pid,
    startTime,
    endTime,
    exit: isKnown ? { code: exitCode, signal: exitSignal, limit: null, peakMemoryBytes: null, cpuSeconds: null } : null
  }
}
