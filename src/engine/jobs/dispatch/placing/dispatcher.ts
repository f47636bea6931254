import { nextAttempt } from '../../../../shared/ids.ts'
import { EventEmitter } from 'node:events'
import type { JobId, NodeId } from '../../../../shared/contract/index.ts'
import { say } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { NodeChoices } from '../../../notify/plugins/node-chooser.ts'
import { problemOfPathPart } from '../../../projects/names.ts'
import type { QueueLine } from '../../queue/fair-order.ts'
import { DueTimer } from '../../queue/due-timer.ts'
import { FairShares } from '../../queue/fair-shares.ts'
import { QueueView } from '../../queue/queue-view.ts'
import { Timers } from '../../../runtime/clock.ts'
import type { AttemptStart } from '../../../model/records.ts'
import type { DispatchContext } from '../context.ts'
import type { Follower } from '../following/follower.ts'
import type { StuckNodes } from '../following/stuck-nodes.ts'
import type { RefusalBackoff } from './refusal-backoff.ts'
import { LogsAtRisk } from './logs-at-risk.ts'
import { NodeBoard } from './node-board.ts'
import { BrokenEggJobs, type EggUpload } from './broken-egg-jobs.ts'
import { choiceNotes, nodeQuestions } from '../decide/choose-node.ts'
import { type Assignment, place, type Plan } from '../decide/place.ts'
import type { Sender } from './sender.ts'

/**
 * The maximum number of requests in flight to all nodes, and of jobs placed per run. Limited so that other work gets a
 * turn.
 */
const REQUESTS_OUT_MAX = 512
const ASSIGNMENTS_MAX = 256
/**
 * When a node gets room, the next run waits for room on other nodes, so that one commit claims all their jobs. It
 * waits as long as the last run took, and at most this long.
 */
const ROOM_GATHERED_MAX_MS = 60
const EGG_AGAIN_MS = 30_000
const LOGS_AGAIN_MS = 2_000
const UNCERTAIN_AGAIN_MS = 200

interface DispatcherParts {
  lists: Pick<Follower, 'knowsLists' | 'isListed'>
  stuck: StuckNodes
  sender: Sender
  refusalBackoff: RefusalBackoff
}

/**
 * Carries out placement: refreshes what changed in the queue and on the nodes, lets `place` decide what goes where,
 * writes the attempts as `sending` (one transaction), and sends them (see sender.ts). `wake` is called whenever there
 * may be new room or work. Runs never overlap. Calls during a run cause another run.
 *
 *   queued --begin (tx)--> sending --> (sender.ts)
 *      ^--- refused, absent, given up, taken back, retried
 */
export class Dispatcher {
  readonly #context: DispatchContext
  readonly #parts: DispatcherParts
  readonly #queue: QueueView
  readonly #board: NodeBoard
  readonly #brokenEggJobs: BrokenEggJobs
  readonly #due: DueTimer
  readonly #timers: Timers
  readonly #logsAtRisk: LogsAtRisk
  readonly #shares = new FairShares()
  #running: Promise<void> | null = null
  #again = false
  #stopped = false
  #hasWaiting = false
  #usedRoomAtMs = Number.NEGATIVE_INFINITY
  #lastRunMs = 0
  #isGatheringRoom = false
  readonly #lookingAgain = new Set<number>()
  /** While jobs wait, another run starts when the number of requests in flight falls to this. -1: no jobs wait. */
  #againBelowRequests = -1
  paused = false
  readonly events = new EventEmitter<{ waiting: [lanes: string[]]; laneEmptied: [lane: string] }>()

  constructor(context: DispatchContext, parts: DispatcherParts) {
    const { sender, refusalBackoff } = parts
    this.#context = context
    this.#parts = parts
    const forgetLane = (lane: string) => this.events.emit('laneEmptied', lane)
    this.#queue = new QueueView(context.store, () => this.wake(), forgetLane)
    this.#board = new NodeBoard(context, parts)
    this.#brokenEggJobs = new BrokenEggJobs(context, (upload) => this.#sendEgg(upload))
    this.#due = new DueTimer(context)
    this.#timers = new Timers(context.clock)
    refusalBackoff.events.on('over', () => this.wake())
    sender.events.on('requests', ({ nodeId, by }) => {
      this.#board.markStale(nodeId)
      if (by === -1) this.#wakeForRequests()
    })
    context.live.events.on('slots', ({ nodeId, by }) => {
      this.#board.markStale(nodeId)
      if (by === -1) this.#wakeForRoom(nodeId)
    })
    context.live.events.on('ended', ({ one, jobOutcome }) => {
      this.#board.markStale(one.nodeId)
      // The ended run's log was read, so another run can start on a node that keeps few logs.
      if (jobOutcome === null || context.fleet.get(one.nodeId)?.stored.logsKept != null) this.wake()
    })
    this.#logsAtRisk = new LogsAtRisk({
      ...context,
      writtenSinceMs: (jobId) => context.collector.writtenSinceMs(jobId)
    })
  }

  get hasWaiting(): boolean {
    return this.#hasWaiting
  }

  wake(): void {
    this.#again = true
    this.#due.scan()
    if (this.#running !== null || this.#stopped) return
    this.#running = this.#runUntilQuiet().finally(() => {
      this.#running = null
      if (this.#again && !this.#stopped) this.wake()
    })
  }

  /**
   * Hundreds of remote nodes are polled every second, one after the other. The first room is used immediately, and
   * room that follows soon after is gathered for one run.
   */
  #wakeForRoom(nodeId: NodeId): void {
    const { fleet, clock } = this.#context
    const useRoom = () => {
      this.#isGatheringRoom = false
      this.#usedRoomAtMs = clock.monotonicMs()
      this.wake()
    }
    const gatheredMs = Math.min(ROOM_GATHERED_MAX_MS, this.#lastRunMs)
    const waitMs = this.#usedRoomAtMs + gatheredMs - clock.monotonicMs()
    if (waitMs <= 0 || fleet.get(nodeId)?.client.traits.answersAtOnce) return useRoom()
    if (this.#isGatheringRoom) return
    this.#isGatheringRoom = true
    this.#timers.set(waitMs, useRoom)
  }

  #wakeForRequests(): void {
    if (this.#parts.sender.requestCount > this.#againBelowRequests) return
    this.#againBelowRequests = -1
    this.wake()
  }

  /**
   * Call this after a node responded or its configuration changed. A node can gain room without any transition, for
   * example when its counters catch up with its lists, external jobs end, or its slots become known.
   */
  refreshNode(node: FleetNode): void {
    if (this.#context.fleet.get(node.stored.id) === node && this.#board.refreshOne(node)) {
      this.#wakeForRoom(node.stored.id)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#due.stop()
    this.#timers.stop()
    this.#parts.refusalBackoff.stop()
    this.#queue.stop()
    await this.#running
    await this.#parts.sender.stop()
  }

  async #runUntilQuiet(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false
      const startedMs = this.#context.clock.monotonicMs()
      try {
        await this.#run()
        this.#lastRunMs = this.#context.clock.monotonicMs() - startedMs
      } catch (error) {
        this.#context.logger.error({ error }, 'dispatching failed; retrying in a second')
        this.#timers.set(1_000, () => this.wake())
        return
      }
    }
  }

  async #run(): Promise<void> {
    await this.#queue.refresh()
    this.#board.refresh()
    const { plan, choices } = await this.#choose(this.#plan(new Map()))
    this.#shares.raiseFloor(plan.passFloor)
    this.#publishReasons(plan)
    if (await this.#brokenEggJobs.failThose(plan.waiting, this.#queue.lines())) this.#lookAgain(EGG_AGAIN_MS)
    if (plan.awaitsLogs) this.#lookAgain(LOGS_AGAIN_MS)
    this.#sendEggs(plan.uploads)
    const begun = plan.assignments.length === 0 || this.#isUncertain() ? 0 : await this.#begin(plan, choices)
    const hasMoreHeads = plan.endedAt !== null && this.#queue.readMore(plan.endedAt)
    const requests = this.#parts.sender.requestCount
    this.#againBelowRequests = this.#hasWaiting ? Math.floor(requests / 2) : -1
    if (hasMoreHeads || (plan.isPartial && begun > 0 && requests < REQUESTS_OUT_MAX / 2)) this.#again = true
  }

  /** While leadership is uncertain, the sender sends nothing, so claimed jobs would only return to the queue. */
  #isUncertain(): boolean {
    if (this.#context.mayAct?.() !== false) return false
    this.#lookAgain(UNCERTAIN_AGAIN_MS)
    return true
  }

  /** Plans again with a plugin's choices, because the queue and the nodes may have changed in the meantime. */
  async #choose(plan: Plan): Promise<{ plan: Plan; choices: NodeChoices | null }> {
    const { chooseNodes = null } = this.#context
    const questions = chooseNodes === null ? [] : nodeQuestions(plan.assignments)
    if (questions.length === 0 || this.#isUncertain()) return { plan, choices: null }
    const choices = await chooseNodes!(questions)
    await this.#queue.refresh()
    this.#board.refresh()
    return { plan: this.#plan(choices.byJob), choices }
  }

  #plan(chosen: NodeChoices['byJob']): Plan {
    const { fleet, live, catalog, projects, distribution } = this.#context
    const { limits } = live
    return place({
      lines: this.#queue.lines().values(),
      nodes: this.#board.index,
      shareOf: (project) => ({
        slots: live.slotsOfProject(project),
        weight: projects.settingsOf(project).weight ?? 1,
        pass: this.#shares.passOf(project)
      }),
      isPaused: this.paused,
      isProjectPaused: (project) => projects.settingsOf(project).paused === true,
      versionOf: ({ project, version }) => catalog.versionToRun(project, version),
      eggState: (nodeId, project, version) => distribution.stateOf(nodeId, project, version),
      importErrors: (project, version) => distribution.importErrors(project, version),
      whyNotReady: (nodeId, project) => fleet.get(nodeId)?.client.whyNotReady?.(project) ?? null,
      isBackedOff: (nodeId, jobId) => this.#parts.refusalBackoff.isBackedOff(nodeId, jobId),
      hasLimits: !limits.isEmpty,
      rulesFor: (project, spider) => limits.rulesFor(project, spider),
      newerLogs: (nodeId, project, spider) => this.#logsAtRisk.newerLogs(nodeId, project, spider),
      assignmentsMax: Math.min(ASSIGNMENTS_MAX, REQUESTS_OUT_MAX - this.#parts.sender.requestCount),
      ...(this.#context.chooseNodes != null && { chosen })
    })
  }

  /** Plans again later, because no event announces the end of some conditions, such as an unreachable node. */
  #lookAgain(afterMs: number): void {
    if (this.#lookingAgain.has(afterMs)) return
    this.#lookingAgain.add(afterMs)
    this.#timers.set(afterMs, () => {
      this.#lookingAgain.delete(afterMs)
      this.wake()
    })
  }

  #publishReasons(plan: Plan): void {
    const { waiting } = this.#context
    const { everything, lines, lanes } = plan.waiting
    const lanesOfLine = (key: string) => this.#queue.lines().get(key)?.lanes.keys() ?? []
    const changed = plan.isPartial
      ? waiting.merge(plan.waiting, lanesOfLine)
      : waiting.replace(plan.waiting, lanesOfLine)
    const isWaiting =
      lines.size > 0 || lanes.size > 0 || plan.isPartial || (everything !== null && this.#queue.lines().size > 0)
    this.#watchCloselyFrom(isWaiting)
    const there = changed.filter((lane) => this.#queue.has(lane))
    if (there.length > 0) this.events.emit('waiting', there)
  }

  /** When jobs start to wait, polls nodes with external jobs now instead of after the long interval. */
  #watchCloselyFrom(hasWaiting: boolean): void {
    const isNew = hasWaiting && !this.#hasWaiting
    this.#hasWaiting = hasWaiting
    if (!isNew) return
    for (const { status, observer } of this.#context.fleet.list()) {
      if (status.external.running.length + status.external.pending.length > 0) observer.poke()
    }
  }

  async #begin({ assignments }: Plan, choices: NodeChoices | null): Promise<number> {
    const { live, projects, fleet } = this.#context
    const starts: AttemptStart[] = []
    for (const assignment of assignments) {
      const start = this.#startOf(assignment, choices)
      starts.push(start instanceof Promise ? await start : start)
    }
    const begun = await live.begin(starts)
    for (const { job: head, lane, line, nodeId } of assignments) {
      const start = begun.get(head.id)
      if (start === undefined) {
        this.#queue.markStale(lane)
        continue
      }
      this.#queue.remove(lane, head.id)
      this.#shares.advance(line.project, projects.settingsOf(line.project).weight ?? 1)
      this.#parts.sender.send(start.one, start.attempt)
      const node = fleet.get(nodeId)
      if (node !== undefined) this.#board.refreshOne(node)
    }
    // Claims fail for jobs that expired or overlap. The store must release these jobs, and their lanes then change.
    if (begun.size < assignments.length) this.#due.scan({ isUrgent: true })
    return begun.size
  }

  #startOf(assignment: Assignment, choices: NodeChoices | null): AttemptStart | Promise<AttemptStart> {
    const { job, line, nodeId, version, because } = assignment
    const number = nextAttempt(job.attemptCount)
    const name = this.#context.fleet.get(nodeId)?.stored.name ?? nodeId
    const evidence = { because, version, ...choiceNotes(assignment, choices) }
    const entry = { atMs: this.#context.clock.nowMs(), message: say('timeline.sent', { node: name }), evidence }
    const startAs = (jobid: string): AttemptStart => ({ jobId: job.id, number, jobid, nodeId, version, entry })
    if (job.jobid === job.id) return startAs(withNumber(job.id, number))
    return this.#jobidForNode(job, line, number, nodeId).then(startAs)
  }

  /**
   * Uses the client's jobid if it is a valid file name and unique, both on the node and here. Otherwise uses the job's
   * id. If several jobs have the same jobid, the oldest gets it.
   */
  async #jobidForNode(
    job: { id: JobId; jobid: string },
    { project }: QueueLine,
    number: number,
    nodeId: NodeId
  ): Promise<string> {
    const own = withNumber(job.id, number)
    const wanted = withNumber(job.jobid, number)
    if (problemOfPathPart(wanted) !== null) return own
    const node = this.#context.fleet.get(nodeId)
    if (node !== undefined && this.#parts.lists.isListed(node, project, wanted)) return own
    const namesakes = await this.#context.store.findJobsByJobid(null, job.jobid)
    return namesakes.at(-1)?.id === job.id ? wanted : own
  }

  #sendEggs(uploads: EggUpload[]): void {
    const { distribution } = this.#context
    for (const upload of uploads) {
      const { nodeId, project, version } = upload
      if (distribution.stateOf(nodeId, project, version) === 'absent') this.#sendEgg(upload)
    }
  }

  #sendEgg(upload: EggUpload): void {
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

function withNumber(id: string, number: number): string {
  return number === 1 ? id : `${id}-${number}`
}
