import { nextAttempt } from '../../../shared/ids.ts'
import { EventEmitter } from 'node:events'
import type {
  Attempt,
  AttemptNumber,
  AttemptResult,
  AttemptState,
  JobId,
  LimitRule,
  NodeId,
  Outcome,
  ProjectName,
  RetryPolicy,
  RunLimits,
  VersionName
} from '../../../shared/contract/index.ts'
import { type Message, messageOf, say } from '../../../shared/texts/message.ts'
import {
  assertTransition,
  type EndingEvent,
  type LIVE_STATES,
  type MovingEvent,
  type StayingEvent
} from '../../model/transitions.ts'
import type { SeenExit } from '../../nodes/node-client.ts'
import { LimitBook } from '../queue/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import { jobOutcomeAfter } from '../../model/after-change.ts'
import type { AttemptChange, TimelineEntry } from '../../model/attempt-change.ts'
import type { AttemptStart, BegunAttempt, NewJob, StoredJob } from '../../model/records.ts'
import type { AttemptReader, AttemptWriter, ClaimStore, JobReader, JobStore } from '../../storage/store.ts'

export type LiveState = (typeof LIVE_STATES)[number]

/** What the engine believes about an attempt that has not ended. Only LiveAttempts changes it. */
export interface LiveAttempt {
  readonly key: string
  readonly jobId: JobId
  readonly number: AttemptNumber
  readonly jobid: string
  readonly nodeId: NodeId
  readonly project: ProjectName
  readonly version: VersionName
  readonly spider: string
  readonly state: LiveState
  /**
   * The monotonic time when the POST ended. Null: it is in flight. Only later snapshots can prove the job absent
   * (reconcile.ts).
   */
  readonly sendEndedAtMs: number | null
  readonly isTakenOverUnresolved: boolean
  readonly sentAtMs: number
  readonly startedAtMs: number | null
  readonly cancelAskedAtMs: number | null
  readonly retry: RetryPolicy | null
  /** The job's own limits, not merged with the project's. */
  readonly runLimits: RunLimits | null
  /** The limit for which we stop the run. The local node reports the limits that it enforces in `exit`. */
  readonly limitHit: Message | null
  /** How the process ended, if the node reports it. */
  readonly exit: SeenExit | null
  /** Whether the log was already archived, because the attempt counted as lost before it was found again. */
  readonly logArchived: boolean
}

type AttemptName = Pick<Attempt, 'jobId' | 'number'>
type OfJob = Pick<StoredJob, 'cancelAskedAtMs' | 'retry' | 'limits'>

interface Belief extends Mutable<LiveAttempt> {
  /** Whether the node has shown that the run ended. Even before that is written, the run holds no slot. */
  isOver: boolean
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

interface Change
  extends Omit<AttemptChange, 'jobId' | 'attemptNumber' | 'from' | 'entry'>,
    Omit<TimelineEntry, 'atMs'> {
  from: readonly AttemptState[]
  /** Default: now. */
  atMs?: number
}
/** Writes a timeline entry without changing the state. The attempt may have ended. */
export interface AttemptEntry
  extends Pick<Change, 'from' | 'message' | 'evidence' | 'atMs' | 'details' | 'mayHaveRunTwice'> {
  kind: StayingEvent
}
export interface AttemptMove extends Omit<AttemptEntry, 'kind'> {
  from: readonly LiveState[]
  kind: MovingEvent
  to: LiveState
  exit?: SeenExit | null
}
/** Ends the attempt. With `jobOutcome: null`, its job returns to the queue, or ends if a cancel was requested. */
export interface AttemptEnd extends Omit<Change, 'to'> {
  from: readonly LiveState[]
  kind: EndingEvent
  result: AttemptResult
  jobOutcome: Outcome | null
}

/** A run that was started outside Scrapdeck. `running` is null while it waits in the node's queue. */
export interface AdoptedRun {
  job: NewJob
  nodeId: NodeId
  accepted: TimelineEntry
  running: { entry: TimelineEntry; startedAtMs: number; pid: number | null } | null
}

export interface BeliefEvents {
  begun: [attempts: readonly BegunAttempt[]]
  moved: [move: { one: LiveAttempt; from: LiveState; to: LiveState; atMs: number }]
  /** The attempt is no longer live. `jobOutcome` is its job's outcome. Null: the job is back in the queue. */
  ended: [end: { one: LiveAttempt; jobOutcome: Outcome | null; change: AttemptEnd; atMs: number }]
  /** An attempt is followed from now on, because it was found again or adopted. */
  joined: [one: LiveAttempt]
  /** A slot was taken or freed. Can be emitted before the change is written. */
  slots: [change: { nodeId: NodeId; by: 1 | -1 }]
}

/**
 * The attempts that have not ended, by node: the engine's belief, loaded from the store once. After that, only these
 * methods change it. `move` and `end` check the change against the table (model/transitions.ts), write the row,
 * update memory if the row was as expected (I4), and emit an event.
 */
export class LiveAttempts {
  readonly events = new EventEmitter<BeliefEvents>()
  readonly #store: BeliefStore
  readonly #clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  readonly #byKey = new Map<string, Belief>()
  readonly #byNode = new Map<string, Map<string, Belief>>()
  readonly #byJob = new Map<string, Belief>()
  readonly #holding = new Set<Belief>()
  readonly #slotsByNode = new Map<string, number>()
  readonly #slotsByProject = new Map<string, number>()
  readonly #jobids = new Map<string, number>()
  readonly limits = new LimitBook()

  constructor(parts: { store: BeliefStore; clock: Pick<Clock, 'nowMs' | 'monotonicMs'> }) {
    this.#store = parts.store
    this.#clock = parts.clock
  }

  /**
   * Loads the attempts that an earlier engine left live. `sending` becomes uncertain: the POST may or may not have
   * been sent.
   */
  async takeOver(): Promise<LiveAttempt[]> {
    const attempts = await this.#store.listLiveAttempts()
    const sending = attempts.filter(({ state }) => state === 'sending')
    const change: Change = {
      from: ['sending'],
      to: 'uncertain',
      kind: 'uncertain',
      evidence: { found: 'sending at start' },
      message: say('timeline.interrupted_sending')
    }
    const changes = sending.map((one) => ({ one, change }))
    await this.#write(changes, this.#clock.nowMs())
    const found = await this.#store.getJobs(attempts.map(({ jobId }) => jobId))
    const jobs = new Map(found.map((job) => [job.id, job]))
    return attempts.map((attempt) => {
      const state = attempt.state === 'sending' ? 'uncertain' : attempt.state
      const send = { sendEndedAtMs: this.#clock.monotonicMs(), isTakenOverUnresolved: state === 'uncertain' }
      return this.#add({ ...attempt, state }, jobs.get(attempt.jobId)!, send, exitOf(attempt))
    })
  }

  /** Claims jobs for nodes in one transaction, in the order of `starts`. Omits jobs that are no longer queued. */
  async begin(starts: AttemptStart[]): Promise<Map<string, { one: LiveAttempt; attempt: BegunAttempt }>> {
    const attempts = await this.#store.beginAttempts(starts)
    const sending = { sendEndedAtMs: null, isTakenOverUnresolved: false }
    const begun = new Map(
      attempts.map((attempt) => [attempt.jobId, { one: this.#add(attempt, attempt.job, sending, null), attempt }])
    )
    this.events.emit('begun', attempts)
    return begun
  }

  /** Makes an ended attempt live again because its node lists it. Null: its job has ended or started again. */
  async revive(
    attempt: Attempt,
    job: OfJob,
    move: Pick<AttemptMove, 'message' | 'evidence'> & {
      to: 'accepted' | 'running' | 'finishing'
      exit: SeenExit | null
    }
  ): Promise<LiveAttempt | null> {
    const { exit, ...details } = move
    const { to } = details
    const change: Change = { ...details, from: ['ended'], kind: 'found_again' }
    const [isApplied] = await this.#write([{ one: attempt, change }], this.#clock.nowMs())
    if (isApplied !== true) return null
    // Nothing that can fail may come between the write and this code, because a cancel must now find the attempt live.
    const startedAtMs = attempt.startedAtMs ?? (to === 'accepted' ? null : this.#clock.nowMs())
    const revived = { ...attempt, state: to, startedAtMs, result: null, reason: null, endedAtMs: null }
    return this.#join(this.#add(revived, job, this.#sent(), exit))
  }

  /** Writes a job with its attempt, and builds the belief from what was written, because reading it back could fail. */
  async adopt({ job, nodeId, accepted, running }: AdoptedRun): Promise<LiveAttempt> {
    const { id: jobId, jobid, project, spider, entry } = job
    const start = { jobId, number: nextAttempt(0), jobid, nodeId, version: '' as VersionName, entry }
    const change = { jobId, attemptNumber: start.number }
    const changes: AttemptChange[] = [
      { ...change, from: ['sending'], to: 'accepted', kind: 'accepted', entry: accepted }
    ]
    if (running !== null) {
      const { entry: seen, ...details } = running
      changes.push({ ...change, from: ['accepted'], to: 'running', kind: 'running', entry: seen, details })
    }
    await this.#store.recordRuns([{ job, start, changes }])
    const state = running === null ? 'accepted' : 'running'
    const startedAtMs = running?.startedAtMs ?? null
    const now = { state, sentAtMs: entry.atMs, startedAtMs, limitHit: null, logArchived: false } as const
    const attempt = { ...start, project, spider, ...now }
    return this.#join(this.#add(attempt, { cancelAskedAtMs: null, retry: null, limits: null }, this.#sent(), null))
  }

  #join(one: LiveAttempt): LiveAttempt {
    this.events.emit('joined', one)
    return one
  }

  /** Writes nothing and returns false if the attempt is no longer in one of the states in `from` (I4). */
  async move(one: LiveAttempt, move: AttemptMove): Promise<boolean> {
    return (await this.moveAll([{ one, ...move }]))[0]!
  }

  /**
   * A run that its node shows as ended (`finishing`) frees its slot immediately, even if the write fails, so that a
   * claim for the slot shares the commit.
   */
  async moveAll(moves: readonly (AttemptMove & { one: LiveAttempt })[]): Promise<boolean[]> {
    if (moves.length === 0) return []
    const nowMs = this.#clock.nowMs()
    const writing = this.#write(
      moves.map(({ one, exit: _exit, ...change }) => ({ one, change })),
      nowMs
    )
    for (const { one, to } of moves) if (to === 'finishing') this.#freeSlot(one as Belief)
    const applied = await writing
    for (const [index, { one, ...move }] of moves.entries()) {
      if (applied[index] === true && this.#isLive(one)) this.#change(one as Belief, move, move.atMs ?? nowMs)
    }
    return applied
  }

  async end(one: LiveAttempt, end: AttemptEnd): Promise<boolean> {
    return (await this.endAll([{ one, ...end }]))[0]!
  }

  async endAll(ends: readonly (AttemptEnd & { one: LiveAttempt })[]): Promise<boolean[]> {
    if (ends.length === 0) return []
    const nowMs = this.#clock.nowMs()
    const changes = ends.map(({ one, ...change }) => ({ one, change: { ...change, to: 'ended' as const } }))
    const applied = await this.#write(changes, nowMs)
    for (const [index, { one, ...change }] of ends.entries()) {
      if (applied[index] === true && this.#isLive(one)) this.#remove(one as Belief, change, change.atMs ?? nowMs)
    }
    return applied
  }

  /** Also works for an ended attempt. */
  async record(one: AttemptName, entry: AttemptEntry): Promise<boolean> {
    const [isApplied = false] = await this.#write([{ one, change: entry }], this.#clock.nowMs())
    const live = this.#byKey.get(attemptKey(one.jobId, one.number))
    if (isApplied && live !== undefined && entry.details?.limitHit) live.limitHit = entry.details.limitHit
    return isApplied
  }

  /** Call this after a cancel of the attempt's job was recorded in the job's row. */
  markCancelAsked(one: LiveAttempt): void {
    ;(one as Belief).cancelAskedAtMs ??= this.#clock.nowMs()
  }

  /** Call this after the POST ended, with any result. Snapshots that start later show whether the job is there. */
  markSendEnded(one: LiveAttempt): void {
    ;(one as Belief).sendEndedAtMs = this.#clock.monotonicMs()
  }

  get(key: string): LiveAttempt | undefined {
    return this.#byKey.get(key)
  }

  /** A job has at most one live attempt (I2). */
  ofJob(jobId: JobId): LiveAttempt | undefined {
    return this.#byJob.get(jobId)
  }

  ofNode(nodeId: NodeId): LiveAttempt[] {
    return [...(this.#byNode.get(nodeId)?.values() ?? [])]
  }

  /** Called at every poll, so it copies nothing. */
  hasOnNode(nodeId: NodeId, isLikeIt: (one: LiveAttempt) => boolean = () => true): boolean {
    for (const one of this.#byNode.get(nodeId)?.values() ?? []) if (isLikeIt(one)) return true
    return false
  }

  /** The number of attempts on the node that hold a slot: all except those that ended there. */
  slotsUsedOn(nodeId: NodeId): number {
    return this.#slotsByNode.get(nodeId) ?? 0
  }

  slotsOfProject(project: ProjectName): number {
    return this.#slotsByProject.get(project) ?? 0
  }

  hasJobid(jobid: string): boolean {
    return this.#jobids.has(jobid)
  }

  replaceLimits(rules: readonly LimitRule[]): void {
    this.limits.replace(rules, this.#holding)
  }

  all(): LiveAttempt[] {
    return [...this.#byKey.values()]
  }

  #add(
    attempt: Pick<Attempt, keyof LiveAttempt & keyof Attempt> & LimitHit,
    { cancelAskedAtMs, retry, limits }: OfJob,
    send: Pick<LiveAttempt, 'sendEndedAtMs' | 'isTakenOverUnresolved'>,
    exit: SeenExit | null
  ): LiveAttempt {
    const { jobId, number, jobid, nodeId, project, version, spider, state, sentAtMs, startedAtMs } = attempt
    const { logArchived } = attempt
    const key = attemptKey(jobId, number)
    if (state === 'ended') throw new Error(`attempt ${key} has ended`)
    const one: Belief = {
      key,
      jobId,
      number,
      jobid,
      nodeId,
      project,
      version,
      spider,
      state,
      sentAtMs,
      startedAtMs,
      cancelAskedAtMs,
      retry,
      runLimits: limits,
      ...send,
      exit,
      limitHit: limitHitOf(attempt),
      logArchived,
      isOver: false
    }
    this.#byKey.set(key, one)
    this.#byJob.set(jobId, one)
    let ofNode = this.#byNode.get(nodeId)
    if (ofNode === undefined) this.#byNode.set(nodeId, (ofNode = new Map()))
    ofNode.set(key, one)
    count(this.#jobids, jobid, 1)
    this.#countSlot(one)
    return one
  }

  async #write(changes: { one: AttemptName; change: Change }[], nowMs: number): Promise<boolean[]> {
    if (changes.length === 0) return []
    for (const { change } of changes) for (const from of change.from) assertTransition(from, change)
    return this.#store.applyChanges(
      changes.map(({ one, change: { message, evidence, atMs = nowMs, from, ...change } }) => ({
        ...change,
        jobId: one.jobId,
        attemptNumber: one.number,
        from: [...from],
        entry: { atMs, message, evidence }
      }))
    )
  }

  #sent() {
    return { sendEndedAtMs: this.#clock.monotonicMs(), isTakenOverUnresolved: false }
  }

  #isLive(one: LiveAttempt): boolean {
    return this.#byKey.get(one.key) === one
  }

  #freeSlot(one: Belief): void {
    one.isOver = true
    this.#countSlot(one)
  }

  #change(one: Belief, { to, details, exit }: AttemptMove, atMs: number): void {
    const from = one.state
    one.state = to
    one.startedAtMs ??= details?.startedAtMs ?? null
    if (exit !== undefined) one.exit = exit
    this.#countSlot(one)
    this.events.emit('moved', { one, from, to, atMs })
  }

  #remove(one: Belief, change: AttemptEnd, atMs: number): void {
    this.#byKey.delete(one.key)
    count(this.#jobids, one.jobid, -1)
    this.#countSlot(one)
    if (this.#byJob.get(one.jobId) === one) this.#byJob.delete(one.jobId)
    this.#byNode.get(one.nodeId)?.delete(one.key)
    this.events.emit('ended', { one, jobOutcome: jobOutcomeAfter(change, one), change, atMs })
  }

  #countSlot(live: Belief): void {
    const holdsSlot = this.#byKey.get(live.key) === live && live.state !== 'finishing' && !live.isOver
    if (holdsSlot === this.#holding.has(live)) return
    if (holdsSlot) this.#holding.add(live)
    else this.#holding.delete(live)
    const by = holdsSlot ? 1 : -1
    count(this.#slotsByNode, live.nodeId, by)
    count(this.#slotsByProject, live.project, by)
    this.limits.count(live, by)
    this.events.emit('slots', { nodeId: live.nodeId, by })
  }
}

type LimitHit = Pick<Attempt, 'limitHit' | 'limitHitCode' | 'limitHitParams'>

const limitHitOf = ({ limitHit, limitHitCode, limitHitParams }: LimitHit): Message | null =>
  limitHit === null ? null : messageOf({ text: limitHit, code: limitHitCode, params: limitHitParams })

function exitOf(attempt: Attempt): SeenExit | null {
  const { exitCode: code, signal, peakMemoryBytes, cpuSeconds } = attempt
  if (code === null && signal === null) return null
  return { code, signal, limit: limitHitOf(attempt), peakMemoryBytes, cpuSeconds }
}

type BeliefStore = AttemptReader & AttemptWriter & ClaimStore & JobReader & Pick<JobStore, 'recordRuns'>

function count(counts: Map<string, number>, key: string, by: number): void {
  const sum = (counts.get(key) ?? 0) + by
  if (sum === 0) counts.delete(key)
  else counts.set(key, sum)
}

export function attemptKey(jobId: JobId, number: AttemptNumber): string {
  return `${jobId}/${number}`
}
