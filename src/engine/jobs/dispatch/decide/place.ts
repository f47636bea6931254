import type { JobId, NodeId, ProjectName, VersionName, Waiting } from '../../../../shared/contract/index.ts'
import { type Message, say, waitFor } from '../../../../shared/texts/message.ts'
import type { NodeChoices } from '../../../notify/plugins/node-chooser.ts'
import type { ImportError } from '../../../projects/distribution.ts'
import { FairOrder, type Head, type ProjectShare, type QueueLane, type QueueLine } from '../../queue/fair-order.ts'
import { Heap } from '../../../runtime/heap.ts'
import { type CountedRule, limitReached, liveOf } from '../../queue/limits.ts'
import type { WaitingPlan } from '../../queue/waiting-reasons.ts'
import type { QueueHead } from '../../../model/records.ts'
import { eggOnItsWay, explainLine } from './explain-wait.ts'
import { type EggState, type NodeIndex, type PlaceableNode, roomOn, type WhyNotReady } from './node-index.ts'

export interface PlaceInput {
  lines: Iterable<QueueLine>
  nodes: NodeIndex
  shareOf: (project: ProjectName) => ProjectShare
  isPaused: boolean
  isProjectPaused: (project: ProjectName) => boolean
  /** The version that a line's jobs would run if sent now. Null: none. */
  versionOf: (line: QueueLine) => VersionName | null
  eggState: (nodeId: NodeId, project: ProjectName, version: VersionName) => EggState
  importErrors: (project: ProjectName, version: VersionName) => ReadonlyMap<NodeId, ImportError>
  whyNotReady: WhyNotReady
  isBackedOff: (nodeId: NodeId, jobId: JobId) => boolean
  hasLimits: boolean
  /** The limits that apply to a spider, with their current live counts. `place` does not change them. */
  rulesFor: (project: ProjectName, spider: string) => readonly CountedRule[]
  /**
   * How many of the spider's logs may be newer than the log of its live run that has been quiet longest. Null: no run
   * is live.
   */
  newerLogs: (nodeId: NodeId, project: ProjectName, spider: string) => number | null
  assignmentsMax: number
  /**
   * The nodes that plugins chose, checked like any other. If present (even if empty), assignments list their
   * candidates. Absent: no plugin chooses.
   */
  chosen?: NodeChoices['byJob']
}

export interface Assignment {
  job: QueueHead
  lane: string
  line: QueueLine
  nodeId: NodeId
  version: VersionName
  /** For the timeline: `1 of 4 slots free, has the egg`. */
  because: Message
  /** The nodes that could take the job if it were placed first, least loaded first. Empty if no plugin chooses. */
  candidates: readonly PlaceableNode[]
}

export interface Plan {
  assignments: Assignment[]
  /** Eggs to send, so that waiting jobs can go to these nodes. There are never more nodes than jobs for them. */
  uploads: { nodeId: NodeId; project: ProjectName; version: VersionName }[]
  /** Why the remaining jobs wait. A line with jobs left has an entry, or each of its lanes with jobs left has one. */
  waiting: WaitingPlan
  /**
   * Whether the plan ended early, because a lane ran out of known heads or the maximum was reached. For later jobs, the
   * plan has no waiting reasons.
   */
  isPartial: boolean
  endedAt: string | null
  /** Whether jobs wait because a node would delete a log. No event announces when that risk ends. */
  awaitsLogs: boolean
  /** The lowest pass of all waiting projects (fair-shares.ts). */
  passFloor: number
}

/**
 * Decides which queued jobs start now, and on which nodes. Never exceeds a limit or a node's room (I3: its slots plus
 * what may queue there), and never gives one job to two nodes. Prefers nodes that have the egg, then the lowest share
 * of used slots, then the lower id, so the same input gives the same plan. The cost is proportional to the number of
 * jobs placed plus the number of lanes whose jobs could be placed.
 */
export function place(input: PlaceInput): Plan {
  return new Placing(input).plan()
}

const CANDIDATES_MAX = 50

interface Choice {
  version: VersionName
  /** Union of `ready`, `sending` and `absent`, least loaded first. Empty if no plugin chooses. */
  able: readonly PlaceableNode[]
  ready: Heap<RankedNode>
  /** Nodes that are receiving the egg. Each will take one of the waiting jobs. */
  sending: PlaceableNode[]
  absent: PlaceableNode[]
}

interface Kept {
  refusedBy: PlaceableNode | null
  limitedBy: CountedRule | null
  logsKeptBy: PlaceableNode | null
}

/** `share` is from the last heap ordering. It can be outdated because other lines use the same nodes. */
interface RankedNode {
  node: PlaceableNode
  share: number
}

class Placing {
  readonly #input: PlaceInput
  readonly #given = new Map<string, number>()
  /** The number of jobs in this plan per node and spider, only for nodes with a known `logsKept`. */
  readonly #givenOfSpider = new Map<string, number>()
  readonly #givenUnderRule = new Map<CountedRule, { total: number; byNode: Map<string, number> }>()
  readonly #liveUnderTag = new Map<CountedRule, number>()
  readonly #openFor = new Map<string, PlaceableNode[]>()
  readonly #choices = new Map<QueueLine, Choice>()
  readonly #reachedOnAll = new Map<string, Set<CountedRule>>()
  readonly #plan: Plan = {
    assignments: [],
    uploads: [],
    waiting: { everything: null, lines: new Map(), lanes: new Map() },
    isPartial: false,
    endedAt: null,
    awaitsLogs: false,
    passFloor: 0
  }

  constructor(input: PlaceInput) {
    this.#input = input
  }

  plan(): Plan {
    const { lines, shareOf, isPaused, assignmentsMax } = this.#input
    const plan = this.#plan
    if (isPaused) {
      plan.waiting.everything = waitFor('paused')
      return plan
    }
    const order = new FairOrder(this.#linesThatMayGo(lines), shareOf)
    plan.passFloor = order.passFloor
    for (let head = order.current(); head !== null; head = order.current()) {
      if (plan.assignments.length >= assignmentsMax) {
        plan.isPartial = true
        break
      }
      this.#placeOne(head, order)
    }
    if (order.endedAt !== null) {
      plan.isPartial = true
      plan.endedAt = order.endedAt.lane
    }
    return plan
  }

  *#linesThatMayGo(lines: Iterable<QueueLine>): Generator<QueueLine> {
    const { isProjectPaused, versionOf, hasLimits } = this.#input
    for (const line of lines) {
      if (isProjectPaused(line.project)) {
        this.#waits(line, waitFor('project_paused', { project: line.project }))
      } else if (versionOf(line) === null) {
        this.#waits(line, waitFor('version_missing', { project: line.project, version: line.version }))
      } else if (this.#openNodes(line).length === 0) {
        this.#waits(line, explainLine(line, this.#input, false))
        if (hasLimits) for (const lane of line.lanes.values()) this.#recordExhaustedLimit(line, lane)
      } else yield line
    }
  }

  #placeOne({ line, lane, job }: Head, order: FairOrder): void {
    const rules = this.#input.rulesFor(line.project, lane.spider)
    const reached = this.#reachedOnAll.get(line.placementKey)
    const exhausted = rules.find((counted) => this.#isExhausted(counted) || reached?.has(counted) === true)
    if (exhausted !== undefined) {
      this.#laneWaits(lane, exhausted)
      return order.skipLane()
    }
    const choice = this.#choiceFor(line)
    const found = this.#bestReady(choice, { line, lane, job }, rules)
    if (found.node !== null) {
      const node = this.#chosenOf(choice, { line, lane, job }, rules) ?? found.node
      if (this.#input.eggState(node.id, line.project, choice.version) === 'present') {
        this.#assign(node, { line, lane, job }, choice, rules)
        return order.acceptJob()
      }
      const absent = choice.absent.indexOf(node)
      if (absent >= 0) this.#sendEgg(choice, absent, line)
      this.#waits(line, eggOnItsWay(line, node.name, this.#input))
      return order.skipJob()
    }
    // No node with room has the egg. Each upload serves one job, so start another one for this job.
    const coming = this.#nodeToGetTheEgg(choice, { line, lane, job }, rules, found)
    if (coming !== null) {
      if (!this.#plan.waiting.lines.has(line.key)) this.#waits(line, eggOnItsWay(line, coming.name, this.#input))
      return order.skipJob()
    }
    // A reason that concerns one job or spider must not block the others.
    if (found.refusedBy !== null) {
      const waiting = waitFor('node_refused', { node: found.refusedBy.name })
      if (!this.#plan.waiting.lanes.has(lane.lane)) this.#plan.waiting.lanes.set(lane.lane, waiting)
      return order.skipJob()
    }
    if (found.limitedBy !== null) {
      this.#laneWaits(lane, found.limitedBy)
      this.#recordReached(line, found.limitedBy)
      return order.skipLane()
    }
    if (found.logsKeptBy !== null) {
      this.#plan.awaitsLogs = true
      const { name, logsKept } = found.logsKeptBy
      const limit = say('limit.logs_kept', { node: name, logs: logsKept!, spider: lane.spider })
      this.#plan.waiting.lanes.set(lane.lane, waitFor('limit', { limit }))
      return order.skipLane()
    }
    const hasRoom = this.#openNodes(line).some((node) => this.#roomLeft(node) > 0)
    if (!this.#plan.waiting.lines.has(line.key)) this.#waits(line, explainLine(line, this.#input, hasRoom))
    order.skipLine()
  }

  #couldTake(node: PlaceableNode, head: Head, rules: readonly CountedRule[], kept = nothingKept()): boolean {
    return this.#roomLeft(node) > 0 && this.#mayTake(node, head, rules, kept)
  }

  /** Returns the least loaded node that has the egg and may take this job, or what blocked the job. */
  #bestReady({ ready }: Choice, head: Head, rules: readonly CountedRule[]) {
    const passedOver: RankedNode[] = []
    const kept = nothingKept()
    let best: PlaceableNode | null = null
    for (let ranked = this.#firstOf(ready); ranked !== undefined; ranked = this.#firstOf(ready)) {
      if (this.#mayTake(ranked.node, head, rules, kept)) {
        best = ranked.node
        break
      }
      passedOver.push(ready.removeFirst()!)
    }
    for (const ranked of passedOver) ready.push(ranked)
    return { node: best, ...kept }
  }

  /** If a limit or an earlier refusal keeps the job off the node, records it in `kept` and returns false. */
  #mayTake(node: PlaceableNode, { line, lane, job }: Head, rules: readonly CountedRule[], kept: Kept): boolean {
    const rule = rules.find((counted) => this.#isExhaustedOn(counted, node))
    if (rule !== undefined) kept.limitedBy ??= rule
    else if (this.#wouldDeleteLog(node, line.project, lane.spider)) kept.logsKeptBy ??= node
    else if (this.#input.isBackedOff(node.id, job.id)) kept.refusedBy ??= node
    else return true
    return false
  }

  /** When a run starts, Scrapyd deletes all but some of the spider's logs, even those of running jobs. */
  #wouldDeleteLog({ id, logsKept }: PlaceableNode, project: ProjectName, spider: string): boolean {
    if (logsKept === null) return false
    const given = this.#givenOfSpider.get(`${id} ${project} ${spider}`) ?? 0
    // If no run is live, the log at risk is that of the first job that this plan gives the node.
    const newer = (this.#input.newerLogs(id, project, spider) ?? -1) + given
    return newer >= logsKept
  }

  /** Returns the least loaded node with room. Removes full nodes. Re-sorts the first node if other lines used it. */
  #firstOf(ready: Heap<RankedNode>): RankedNode | undefined {
    for (let first = ready.first(); first !== undefined; first = ready.first()) {
      if (this.#roomLeft(first.node) <= 0) {
        ready.removeFirst()
        continue
      }
      const share = this.#shareOf(first.node)
      if (share === first.share) return first
      first.share = share
      ready.sinkFirst()
    }
    return undefined
  }

  /**
   * Returns the node that can run this job once it has the egg: one that is receiving the egg, or one to which the egg
   * is sent now. Records in `found` what keeps the job from other nodes without the egg.
   */
  #nodeToGetTheEgg(choice: Choice, head: Head, rules: readonly CountedRule[], found: Kept): PlaceableNode | null {
    const { line } = head
    const couldTake = (node: PlaceableNode) => this.#couldTake(node, head, rules, found)
    const awaited = choice.sending.findIndex(couldTake)
    if (awaited >= 0) return choice.sending.splice(awaited, 1)[0]!
    const target = choice.absent.findLastIndex(couldTake)
    return target < 0 ? null : this.#sendEgg(choice, target, line)
  }

  #sendEgg(choice: Choice, at: number, { project }: QueueLine): PlaceableNode {
    const [node] = choice.absent.splice(at, 1)
    this.#plan.uploads.push({ nodeId: node!.id, project, version: choice.version })
    return node!
  }

  #chosenOf({ able }: Choice, head: Head, rules: readonly CountedRule[]): PlaceableNode | undefined {
    const chosen = this.#input.chosen?.get(head.job.id)?.node
    return able.find((node) => node.id === chosen && this.#couldTake(node, head, rules))
  }

  #assign(node: PlaceableNode, head: Head, { version, able }: Choice, rules: readonly CountedRule[]): void {
    const { line, lane, job } = head
    // Includes nodes that this plan has filled, because a plugin may move those jobs elsewhere.
    const candidates = able.filter((one) => this.#mayTake(one, head, rules, nothingKept())).slice(0, CANDIDATES_MAX)
    const used = this.#usedOn(node)
    const free = node.slots - used
    const { slots, queueAhead } = node
    const isTried = free <= 0 && queueAhead === 0
    const because =
      free > 0
        ? say('placed.on_free_slot', { free, slots })
        : isTried
          ? say('placed.to_try')
          : say('placed.in_queue', { place: 1 - free, queueAhead })
    this.#plan.assignments.push({ job, lane: lane.lane, line, nodeId: node.id, version, because, candidates })
    this.#given.set(node.id, (this.#given.get(node.id) ?? 0) + 1)
    if (node.logsKept !== null) {
      const key = `${node.id} ${line.project} ${lane.spider}`
      this.#givenOfSpider.set(key, (this.#givenOfSpider.get(key) ?? 0) + 1)
    }
    for (const counted of rules) {
      let given = this.#givenUnderRule.get(counted)
      if (given === undefined) this.#givenUnderRule.set(counted, (given = { total: 0, byNode: new Map() }))
      given.byNode.set(node.id, (given.byNode.get(node.id) ?? 0) + 1)
      if (appliesOn(counted, node)) given.total += 1
    }
  }

  #choiceFor(line: QueueLine): Choice {
    let choice = this.#choices.get(line)
    if (choice !== undefined) return choice
    const { eggState, whyNotReady, versionOf, chosen } = this.#input
    const version = versionOf(line)!
    const ready: RankedNode[] = []
    const sending: PlaceableNode[] = []
    const absent: PlaceableNode[] = []
    for (const node of this.#openNodes(line)) {
      if (this.#roomLeft(node) <= 0 && chosen === undefined) continue
      if (node.isChoosy && whyNotReady(node.id, line.project) !== null) continue
      const egg = eggState(node.id, line.project, version)
      if (egg === 'present') ready.push({ node, share: this.#shareOf(node) })
      else if (egg === 'sending') sending.push(node)
      else if (egg === 'absent') absent.push(node)
    }
    const worstFirst = (one: PlaceableNode, other: PlaceableNode) =>
      this.#shareOf(other) - this.#shareOf(one) || (one.id < other.id ? 1 : -1)
    absent.sort(worstFirst)
    const all = chosen === undefined ? [] : [...ready.map(({ node }) => node), ...sending, ...absent]
    const able = all.sort((one, other) => worstFirst(other, one))
    choice = { version, able, ready: new Heap(ready, isLessLoaded), sending, absent }
    this.#choices.set(line, choice)
    return choice
  }

  #openNodes({ placement, placementKey }: QueueLine): PlaceableNode[] {
    let open = this.#openFor.get(placementKey)
    if (open !== undefined) return open
    const { nodes } = this.#input
    const { able } = nodes.summaryOf(placement, placementKey)
    open = [...nodes.open()].filter(({ id }) => able.has(id))
    this.#openFor.set(placementKey, open)
    return open
  }

  #waits(line: QueueLine, waiting: Waiting): void {
    this.#plan.waiting.lines.set(line.key, waiting)
  }

  /** A limit per node is described without a live count, because nodes differ. */
  #laneWaits({ lane }: QueueLane, counted: CountedRule): void {
    const live = counted.rule.perNode ? 0 : this.#liveUnder(counted)
    this.#plan.waiting.lanes.set(lane, waitFor('limit', { limit: limitReached(counted.rule, live) }))
  }

  /** Called if no node has room. Records a limit that would block the lane's jobs even if a node had room. */
  #recordExhaustedLimit(line: QueueLine, lane: QueueLane): void {
    const exhausted = this.#input.rulesFor(line.project, lane.spider).find((counted) => this.#isExhausted(counted))
    if (exhausted !== undefined) this.#laneWaits(lane, exhausted)
  }

  /**
   * If the limit blocks every node with room, remembers this for the rest of the plan, so that other lines need not
   * search.
   */
  #recordReached(line: QueueLine, counted: CountedRule): void {
    const isOpen = (node: PlaceableNode) => this.#roomLeft(node) > 0 && !this.#isExhaustedOn(counted, node)
    if (this.#openNodes(line).some(isOpen)) return
    const reached = this.#reachedOnAll.get(line.placementKey)
    if (reached === undefined) this.#reachedOnAll.set(line.placementKey, new Set([counted]))
    else reached.add(counted)
  }

  #isExhausted(counted: CountedRule): boolean {
    const { tag, perNode, max } = counted.rule
    if (max === 0 && tag === null) return true
    if (perNode || tag !== null) return false
    return counted.total + (this.#givenUnderRule.get(counted)?.total ?? 0) >= max
  }

  #isExhaustedOn(counted: CountedRule, node: PlaceableNode): boolean {
    const { perNode, max } = counted.rule
    if (!appliesOn(counted, node)) return false
    const given = this.#givenUnderRule.get(counted)
    if (perNode) return (counted.byNode.get(node.id) ?? 0) + (given?.byNode.get(node.id) ?? 0) >= max
    return this.#liveUnder(counted) + (given?.total ?? 0) >= max
  }

  #liveUnder(counted: CountedRule): number {
    if (counted.rule.tag === null) return counted.total
    let live = this.#liveUnderTag.get(counted)
    if (live === undefined) {
      live = liveOf(counted, (nodeId, tag) => this.#input.nodes.get(nodeId)?.tags.includes(tag) === true)
      this.#liveUnderTag.set(counted, live)
    }
    return live
  }

  #usedOn(node: PlaceableNode): number {
    return node.used + (this.#given.get(node.id) ?? 0)
  }

  #shareOf(node: PlaceableNode): number {
    return this.#usedOn(node) / node.slots
  }

  #roomLeft(node: PlaceableNode): number {
    return roomOn(node) - (this.#given.get(node.id) ?? 0)
  }
}

function appliesOn({ rule }: CountedRule, node: PlaceableNode): boolean {
  return rule.tag === null || node.tags.includes(rule.tag)
}

function isLessLoaded(one: RankedNode, other: RankedNode): boolean {
  return one.share === other.share ? one.node.id < other.node.id : one.share < other.share
}

const nothingKept = (): Kept => ({ refusedBy: null, limitedBy: null, logsKeptBy: null })
