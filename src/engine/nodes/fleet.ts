import { EventEmitter } from 'node:events'
import { availableParallelism } from 'node:os'
import type { NodeHealth, NodeId } from '../../shared/contract/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredNode } from '../store/records.ts'
import { type Capacity, NOTHING_LEARNED, learnFromCounters, planCapacity, type SlotsBelief } from './capacity.ts'
import { type ClockEstimate, refineByDate, refineByStart, UNKNOWN_CLOCK } from './clock-offset.ts'
import type { NodeClient, NodeError, SeenJob, Snapshot } from './node-client.ts'
import { type Observation, Observer } from './observer.ts'
import { healthOf } from './scrapyd/probe.ts'
import { withoutCredentials } from './scrapyd/proxy.ts'

/** What watching a node has shown so far. Lives in memory: it is only as true as it is new. */
export interface NodeStatus {
  health: NodeHealth
  problem: string | null
  nodeName: string | null
  running: number | null
  pending: number | null
  finished: number | null
  /** How many attempts of ours held a slot there when these counters came: what they count above that is not ours. */
  oursWhenCounted: number
  external: { pending: SeenJob[]; running: SeenJob[] }
  latencyMs: number | null
  lastSeenAtMs: number | null
  /**
   * Wall clock of the first failed poll since the last good one; null while it responds (401 counts: it runs), or
   * before the first.
   */
  unreachableSinceMs: number | null
  clockOffsetMs: number | null
  /** What is known of its clock and zone: trueTime makes its times ours. */
  clockEstimate: ClockEstimate
  capacity: Capacity
  slotsBelief: SlotsBelief
}

/** A node of the fleet while the engine runs. */
export interface FleetNode {
  stored: StoredNode
  client: NodeClient
  observer: Observer
  status: NodeStatus
  /** Its own setting, without credentials; `direct`; null: as the environment says. */
  proxyUrl: string | null
  /** When clients were told of it last; monotonic. */
  publishedAtMs: number
  /** Wall clock when the newest lists had come, and the jobids that ran by them; null: there were none. */
  snapshotAtMs: number | null
  runsSeen: ReadonlySet<string>
}

export interface FleetOptions {
  clock: Clock
  random: Random
  logger: Logger
  createClient: (node: StoredNode) => Promise<NodeClient>
  /** Of its own setting, sealed in its row. */
  proxyUrlOf?: (node: StoredNode) => Promise<string | null>
}

/** Who follows what runs on the nodes: tells how closely they are to be observed, and takes in what they list. */
export interface FleetFollower {
  isBusy(nodeId: NodeId): boolean
  /** How many slots our attempts hold there. */
  slotsUsedOn(nodeId: NodeId): number
  wantsSnapshot(nodeId: NodeId): boolean
  /** The next look at the node waits for it. */
  applySnapshot(node: FleetNode, snapshot: Snapshot): Promise<void>
}

export interface FleetEvents {
  /** Something that clients are shown has changed. `healthWas`: its health before, where that changed. */
  changed: [node: FleetNode, healthWas: NodeHealth | undefined]
  /** It has answered, or was set otherwise, whether or not clients are shown something else. */
  observed: [node: FleetNode]
}

// One failed look can be a lost packet; two in a row are a node that is down.
const FAILURES_UNTIL_DOWN = 2
// Of an answer that was as all before it, only its time is news.
const PUBLISH_ANYWAY_MS = 60_000

// When an engine starts, all its nodes come at once: 5,000 are all seen within three seconds.
const ARRIVALS_WINDOW_MS = 5_000
const ARRIVALS_AT_ONCE = 100
const ARRIVAL_EVERY_MS = 0.5

/** The nodes, each with its client and its observer. */
export class Fleet {
  readonly #nodes = new Map<string, FleetNode>()
  readonly #options: FleetOptions
  #list: readonly FleetNode[] | null = null
  #arrivals = { sinceMs: 0, count: 0 }
  #follower: FleetFollower = NOBODY
  readonly events = new EventEmitter<FleetEvents>()

  constructor(options: FleetOptions) {
    this.#options = options
  }

  setFollower(follower: FleetFollower): void {
    this.#follower = follower
  }

  list(): readonly FleetNode[] {
    return (this.#list ??= [...this.#nodes.values()])
  }

  get(id: NodeId): FleetNode | undefined {
    return this.#nodes.get(id)
  }

  /** Those that answer and take jobs. */
  activeIds(): NodeId[] {
    const active = this.list().filter(({ stored, status }) => stored.mode === 'active' && status.health === 'up')
    return active.map(({ stored }) => stored.id)
  }

  /** Adds a node and begins to watch it; a node with the same id is let go of first (its settings changed). */
  async add(stored: StoredNode): Promise<FleetNode> {
    const { clock, random, logger } = this.#options
    const client = await this.#options.createClient(stored)
    const proxyUrl = (await this.#options.proxyUrlOf?.(stored)) ?? null
    const previous = this.#nodes.get(stored.id)
    await previous?.observer.stop()
    if (previous !== undefined && previous.client !== client) await previous.client.close()
    // At another address there may be another machine: what was seen at the old one says nothing of it.
    const before = previous?.stored.url === stored.url ? previous.status : null
    const slotsBelief = before?.slotsBelief ?? NOTHING_LEARNED
    const node: FleetNode = {
      stored,
      client,
      proxyUrl: proxyUrl === null ? null : withoutCredentials(proxyUrl),
      publishedAtMs: clock.monotonicMs(),
      snapshotAtMs: null,
      runsSeen: new Set(),
      status: before ?? unknownStatus(capacityOf({ stored, client }, slotsBelief, clock.monotonicMs())),
      observer: new Observer({
        client,
        clock,
        random,
        logger,
        firstLookAfterMs: previous === undefined ? this.#firstLookAfterMs() : 0,
        isBusy: () => this.#follower.isBusy(stored.id),
        wantsSnapshot: () => this.#follower.wantsSnapshot(stored.id),
        onStatus: (observation) => this.#recordAnswer(node, observation),
        onSnapshot: async (snapshot) => this.#recordSnapshot(node, snapshot),
        onFailure: (error, failures) => this.#recordFailure(node, error, failures)
      })
    }
    this.#nodes.set(stored.id, node)
    this.#list = null
    this.#planSlots(node)
    this.#publish(node)
    return node
  }

  /** A change of settings that needs no new connection (name, tags, mode, version). */
  update(stored: StoredNode): void {
    const node = this.#nodes.get(stored.id)
    if (node === undefined) return
    node.stored = stored
    this.#planSlots(node)
    node.observer.poke()
    this.#publish(node)
  }

  async remove(id: NodeId): Promise<void> {
    const node = this.#nodes.get(id)
    if (node === undefined) return
    this.#nodes.delete(id)
    this.#list = null
    await node.observer.stop()
    await node.client.close()
  }

  /** What its newest lists show that is not ours. */
  setExternal(node: FleetNode, external: NodeStatus['external']): void {
    node.status = { ...node.status, external }
  }

  /** A request of the dispatcher found the node away: no more jobs for it until it answers the next look. */
  reportUnreachable(id: NodeId, error: NodeError): void {
    const node = this.#nodes.get(id)
    if (node === undefined) return
    this.#recordFailure(node, error, FAILURES_UNTIL_DOWN)
    node.observer.poke()
  }

  async stop(): Promise<void> {
    await Promise.all(this.list().map((node) => node.observer.stop()))
    await Promise.all(this.list().map((node) => node.client.close()))
  }

  /**
   * Runs thousands of times a second in a large fleet: clients are told only what they are shown has changed. Latency
   * and time of the response go along with other news, or after a while.
   */
  #recordAnswer(node: FleetNode, { status: seen, latencyMs }: Observation): void {
    const { clock } = this.#options
    const atMs = clock.monotonicMs()
    const { status } = node
    status.latencyMs = Math.round(latencyMs * 10) / 10
    status.lastSeenAtMs = clock.nowMs()
    status.oursWhenCounted = this.#follower.slotsUsedOn(node.stored.id)
    if (seen.dateSeen != null) status.clockEstimate = refineByDate(status.clockEstimate, seen.dateSeen)
    const { running, pending, finished, nodeName } = seen
    status.slotsBelief = learnFromCounters(status.slotsBelief, { atMs, running, pending, finished })
    const hasNewSlots = this.#planSlots(node)
    const isSame =
      !hasNewSlots &&
      status.health === 'up' &&
      status.running === running &&
      status.pending === pending &&
      status.finished === finished &&
      status.nodeName === nodeName &&
      status.unreachableSinceMs === null &&
      status.clockOffsetMs === status.clockEstimate.shownMs
    if (isSame) {
      if (atMs - node.publishedAtMs >= PUBLISH_ANYWAY_MS) this.#publish(node)
      else this.events.emit('observed', node)
      return
    }
    this.#update(node, {
      ...{ health: 'up', problem: null, unreachableSinceMs: null, nodeName, running, pending, finished },
      clockOffsetMs: status.clockEstimate.shownMs
    })
  }

  async #recordSnapshot(node: FleetNode, snapshot: Snapshot): Promise<void> {
    const { clock } = this.#options
    const { external, running, pending } = node.status
    this.#learnClock(node, snapshot)
    node.status.running = snapshot.running.length
    node.status.pending = snapshot.pending.length
    node.status.oursWhenCounted = this.#follower.slotsUsedOn(node.stored.id)
    await this.#follower.applySnapshot(node, snapshot)
    const now = node.status
    const isSame =
      running === now.running &&
      pending === now.pending &&
      isSameRuns(external.running, now.external.running) &&
      isSameRuns(external.pending, now.external.pending)
    if (!isSame) this.#publish(node)
    else this.events.emit('observed', node)
    node.snapshotAtMs = clock.nowMs()
  }

  /** Runs that were not there at the last look started since then: what the node calls that time shows its zone. */
  #learnClock(node: FleetNode, snapshot: Snapshot): void {
    const { status, snapshotAtMs, runsSeen } = node
    node.runsSeen = new Set(snapshot.running.map(({ jobid }) => jobid))
    if (snapshotAtMs === null || node.client.traits.runsHere) return
    const beforeMs = this.#options.clock.nowMs()
    for (const { jobid, startTime } of snapshot.running) {
      if (runsSeen.has(jobid)) continue
      status.clockEstimate = refineByStart(status.clockEstimate, {
        nodeText: startTime,
        afterMs: snapshotAtMs,
        beforeMs
      })
    }
  }

  #recordFailure(node: FleetNode, error: NodeError, failures: number): void {
    const health = healthOf(error)
    const isAway = health === 'down' || health === 'invalid'
    const unreachableSinceMs = isAway ? (node.status.unreachableSinceMs ?? this.#options.clock.nowMs()) : null
    if (health === 'down' && failures < FAILURES_UNTIL_DOWN && node.status.health !== 'unknown') {
      node.status.unreachableSinceMs = unreachableSinceMs
      return
    }
    const { status } = node
    if (
      status.health === health &&
      status.problem === error.message &&
      status.unreachableSinceMs === unreachableSinceMs
    )
      return
    this.#update(node, { health, problem: error.message, unreachableSinceMs })
  }

  #update(node: FleetNode, news: Partial<NodeStatus>): void {
    const before = node.status
    node.status = { ...before, ...news }
    this.#publish(node, before.health === node.status.health ? undefined : before.health)
  }

  #publish(node: FleetNode, healthWas?: NodeHealth): void {
    node.publishedAtMs = this.#options.clock.monotonicMs()
    this.events.emit('changed', node, healthWas)
    this.events.emit('observed', node)
  }

  /** The first of many nodes are looked at as they come; the more there are, the longer the last ones wait. */
  #firstLookAfterMs(): number {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - this.#arrivals.sinceMs > ARRIVALS_WINDOW_MS) this.#arrivals = { sinceMs: nowMs, count: 0 }
    this.#arrivals.count += 1
    return Math.max(0, this.#arrivals.count - ARRIVALS_AT_ONCE) * ARRIVAL_EVERY_MS
  }

  /** Returns whether there is news of the node's slots. */
  #planSlots(node: FleetNode): boolean {
    const { capacity, slotsBelief } = node.status
    const next = capacityOf(node, slotsBelief, this.#options.clock.monotonicMs())
    if (next.slots === capacity.slots && next.source === capacity.source && next.text === capacity.text) return false
    node.status = { ...node.status, capacity: next }
    return true
  }
}

const NOBODY: FleetFollower = {
  isBusy: () => false,
  slotsUsedOn: () => 0,
  wantsSnapshot: () => false,
  applySnapshot: async () => {}
}

function isSameRuns(left: readonly SeenJob[], right: readonly SeenJob[]): boolean {
  return (
    left === right || (left.length === right.length && left.every((job, index) => job.jobid === right[index]?.jobid))
  )
}

function capacityOf(
  { stored, client }: Pick<FleetNode, 'stored' | 'client'>,
  belief: SlotsBelief,
  nowMs: number
): Capacity {
  if (!client.traits.runsHere || stored.slots !== null) {
    return planCapacity({ setSlots: stored.slots, belief, nowMs })
  }
  // There is nothing to learn about our own computer.
  return { slots: availableParallelism(), source: 'default', text: 'one for each CPU of this computer' }
}

function unknownStatus(capacity: Capacity): NodeStatus {
  return {
    health: 'unknown',
    problem: null,
    nodeName: null,
    running: null,
    pending: null,
    finished: null,
    oursWhenCounted: 0,
    external: { pending: [], running: [] },
    latencyMs: null,
    lastSeenAtMs: null,
    unreachableSinceMs: null,
    clockOffsetMs: null,
    clockEstimate: UNKNOWN_CLOCK,
    capacity,
    slotsBelief: NOTHING_LEARNED
  }
}
