import { EventEmitter } from 'node:events'
import { availableParallelism } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import pLimit, { type LimitFunction } from 'p-limit'
import type { NodeHealth, NodeId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/nodes.ts'
import { type Message, render, say } from '../../shared/texts/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredNode } from '../model/records.ts'
import { type Capacity, NOTHING_LEARNED, learnFromCounters, planCapacity, type SlotsBelief } from './capacity.ts'
import { type ClockEstimate, ownClock, refineByDate, refineByStart, UNKNOWN_CLOCK } from './clock-offset.ts'
import {
  type DaemonStatus,
  healthOf,
  type NodeClient,
  type NodeError,
  type SeenJob,
  type Snapshot
} from './node-client.ts'
import { type Observation, Observer } from './observer.ts'
import { withoutCredentials } from './scrapyd/proxy.ts'
import { isAway, isUnreachable } from '../../shared/node-health.ts'

/** What the polls of a node have revealed. Kept only in memory, because these facts are soon outdated. */
export interface NodeStatus {
  health: NodeHealth
  problem: Message | null
  nodeName: string | null
  running: number | null
  pending: number | null
  finished: number | null
  /** How many slots our attempts held when these counters arrived. All other jobs on the node are external. */
  oursWhenCounted: number
  external: { pending: SeenJob[]; running: SeenJob[] }
  /** What the latest inventory lists beyond the limits (list-limits.ts), phrased to follow "it lists". */
  excess: Message | null
  latencyMs: number | null
  /** Wall clock. The node's latest good response. null: none since this engine started. */
  lastSeenAtMs: number | null
  /**
   * Wall clock. When an unreachable node (`isUnreachable`) first failed. The state of its runs is unknown since then. A
   * refusal of our credentials does not count.
   */
  unreachableSinceMs: number | null
  /** Wall clock. When the node's health stopped being `up` or `unknown`. null: the health is `up` or `unknown`. */
  awaySinceMs: number | null
  clockOffsetMs: number | null
  clockEstimate: ClockEstimate
  capacity: Capacity
  slotsTold: NonNullable<DaemonStatus['slots']> | null
  slotsBelief: SlotsBelief
}

export interface FleetNode {
  stored: StoredNode
  client: NodeClient
  observer: Observer
  status: NodeStatus
  /** The proxy's URL without credentials, or `direct`. null: the proxy from the environment. */
  proxyUrl: string | null
  unwatchTunnel?: () => void
  publishedAtMs: number
  /**
   * Wall clock. The first failure of the current series that hides the node's runs. Becomes `unreachableSinceMs` only
   * when the node is down, because one failed poll proves nothing. null: the node itself sent the latest response.
   */
  suspectSinceMs: number | null
  /** Wall clock. When the latest lists arrived. null: no lists yet. */
  snapshotAtMs: number | null
  runsSeen: ReadonlySet<string>
}

export interface FleetOptions {
  clock: Clock
  random: Random
  logger: Logger
  createClient: (node: StoredNode) => Promise<NodeClient>
  proxyUrlOf?: (node: StoredNode) => Promise<string | null>
}

export interface FleetFollower {
  isBusy(nodeId: NodeId): boolean
  slotsUsedOn(nodeId: NodeId): number
  wantsSnapshot(nodeId: NodeId): boolean
  /** The observer does not poll the node again until the promise resolves. */
  applySnapshot(node: FleetNode, snapshot: Snapshot): Promise<void>
}

export interface FleetEvents {
  /** Something that clients see has changed. `healthWas`: the previous health, if the health changed. */
  changed: [node: FleetNode, healthWas: NodeHealth | undefined]
  /** The node responded or was reconfigured, even if clients see no difference. */
  observed: [node: FleetNode]
}

// The number of failed polls in a row after which a node is down. A single failure can be a lost packet.
const FAILURES_UNTIL_DOWN = 2
// If nothing else changes, clients receive the time of the last response only at this interval.
const PUBLISH_ANYWAY_MS = 60_000

// At startup, all nodes are added together. These three values let us poll 5,000 nodes within three seconds.
const ARRIVALS_WINDOW_MS = 5_000
const ARRIVALS_AT_ONCE = 100
const ARRIVAL_EVERY_MS = 0.5

/**
 * The maximum number of parallel requests in each of three queues of nodes without a recent response: new nodes, nodes
 * that have failed only once, and all others. Without this limit, thousands of dead addresses could use up all file
 * descriptors. Nodes that have failed only once have their own queue, because their jobs still run and we must notice
 * in time when a job ends.
 */
const ASKED_AT_ONCE = 256

export class Fleet {
  readonly #nodes = new Map<string, FleetNode>()
  readonly #options: FleetOptions
  #list: readonly FleetNode[] | null = null
  #arrivals = { sinceMs: 0, count: 0 }
  #follower: FleetFollower = NO_FOLLOWER
  readonly #newInTurn = pLimit(ASKED_AT_ONCE)
  readonly #failedOnceInTurn = pLimit(ASKED_AT_ONCE)
  readonly #failedInTurn = pLimit(ASKED_AT_ONCE)
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

  activeIds(): NodeId[] {
    const active = this.list().filter(({ stored, status }) => stored.mode === 'active' && status.health === 'up')
    return active.map(({ stored }) => stored.id)
  }

  /** Adds a node, or replaces the node with the same id, and starts to poll it. */
  async add(stored: StoredNode): Promise<FleetNode> {
    const { clock, random, logger } = this.#options
    const client = await this.#options.createClient(stored)
    const proxyUrl = (await this.#options.proxyUrlOf?.(stored)) ?? null
    const previous = this.#nodes.get(stored.id)
    await previous?.observer.stop()
    previous?.unwatchTunnel?.()
    if (previous !== undefined && previous.client !== client) await previous.client.close()
    // A new address may be a different machine, so we forget everything about the old one.
    const before = previous?.stored.url === stored.url ? previous.status : null
    const slotsBelief = before?.slotsBelief ?? NOTHING_LEARNED
    const node: FleetNode = {
      stored,
      client,
      proxyUrl: proxyUrl === null ? null : withoutCredentials(proxyUrl),
      publishedAtMs: clock.monotonicMs(),
      suspectSinceMs: before === null ? null : (previous?.suspectSinceMs ?? null),
      snapshotAtMs: null,
      runsSeen: new Set(),
      status:
        before ??
        unknownStatus(capacityOf({ stored, client }, { belief: slotsBelief, slotsTold: null }, clock.monotonicMs())),
      observer: new Observer({
        client,
        clock,
        random,
        logger,
        inTurn: (ask, failures) => this.#turnsOf(stored.id, failures)(ask),
        firstLookAfterMs: previous === undefined ? this.#firstLookAfterMs() : 0,
        isBusy: () => this.#follower.isBusy(stored.id),
        wantsSnapshot: () => this.#follower.wantsSnapshot(stored.id),
        onStatus: (observation) => this.#recordAnswer(node, observation),
        onSnapshot: async (snapshot) => this.#recordSnapshot(node, snapshot),
        onFailure: (error, failures) => this.#recordFailure(node, error, failures)
      })
    }
    this.#nodes.set(stored.id, node)
    client.watchJobs?.(() => node.observer.poke())
    const { tunnel } = client
    if (tunnel !== undefined) node.unwatchTunnel = tunnel.watch(() => this.#followTunnel(node))
    this.#list = null
    this.#planSlots(node)
    this.#publish(node)
    return node
  }

  /** Applies settings that need no new connection: name, tags, mode, version. */
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
    node.unwatchTunnel?.()
    await node.client.close()
  }

  setExternal(node: FleetNode, external: NodeStatus['external']): void {
    node.status = { ...node.status, external }
  }

  setExcess(node: FleetNode, excess: Message | null): void {
    if (!isDeepStrictEqual(node.status.excess, excess)) this.#update(node, { excess })
  }

  /**
   * Call this when a request from the dispatcher has failed. The node gets no more jobs until it responds to a
   * poll.
   */
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
   * Runs thousands of times per second in a large fleet, so it notifies clients only of visible changes. Latency
   * and response time are published with other changes, or after PUBLISH_ANYWAY_MS.
   */
  #recordAnswer(node: FleetNode, { status: seen, latencyMs }: Observation): void {
    const { clock } = this.#options
    const atMs = clock.monotonicMs()
    const { status } = node
    node.suspectSinceMs = null
    status.latencyMs = Math.round(latencyMs * 10) / 10
    status.lastSeenAtMs = clock.nowMs()
    status.oursWhenCounted = this.#follower.slotsUsedOn(node.stored.id)
    if (seen.dateSeen != null) status.clockEstimate = refineByDate(status.clockEstimate, seen.dateSeen)
    const { running, pending, finished, nodeName } = seen
    status.slotsTold = seen.slots ?? null
    // A lower count of finished jobs means that the node restarted, perhaps with a different max_proc.
    const known = finished < (status.finished ?? 0) ? NOTHING_LEARNED : status.slotsBelief
    status.slotsBelief = learnFromCounters(known, { atMs, running, pending, finished })
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
      health: 'up',
      problem: null,
      unreachableSinceMs: null,
      awaySinceMs: null,
      nodeName,
      running,
      pending,
      finished,
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

  /** A run that the previous lists did not contain has started since then, so its start time reveals the time zone. */
  #learnClock(node: FleetNode, snapshot: Snapshot): void {
    const { status, snapshotAtMs, runsSeen } = node
    node.runsSeen = new Set(snapshot.running.map(({ jobid }) => jobid))
    // A local run can end before a poll sees it running. Its times are those of this machine's clock.
    if (node.client.traits.runsHere) status.clockEstimate = ownClock(this.#options.clock.nowMs())
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
    const nowMs = this.#options.clock.nowMs()
    node.suspectSinceMs = isUnreachable(health) ? (node.suspectSinceMs ?? nowMs) : null
    if (health === 'down' && failures < FAILURES_UNTIL_DOWN && node.status.health !== 'unknown') return
    const { status, suspectSinceMs: unreachableSinceMs } = node
    const isSame =
      status.health === health &&
      status.problem !== null &&
      render(status.problem) === error.message &&
      status.unreachableSinceMs === unreachableSinceMs
    if (isSame) return
    const awaySinceMs = isAway(health) ? (status.awaySinceMs ?? nowMs) : null
    this.#update(node, { health, problem: error.said, unreachableSinceMs, awaySinceMs })
  }

  #followTunnel(node: FleetNode): void {
    if (node.client.tunnel?.status().state === 'up') node.observer.poke()
    this.#publish(node)
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

  #turnsOf(id: NodeId, failures: number): LimitFunction {
    const status = this.#nodes.get(id)?.status
    if (status === undefined || status.health === 'unknown') return this.#newInTurn
    const hasAnswered = status.lastSeenAtMs !== null
    return hasAnswered && failures < FAILURES_UNTIL_DOWN ? this.#failedOnceInTurn : this.#failedInTurn
  }

  #firstLookAfterMs(): number {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - this.#arrivals.sinceMs > ARRIVALS_WINDOW_MS) this.#arrivals = { sinceMs: nowMs, count: 0 }
    this.#arrivals.count += 1
    return Math.max(0, this.#arrivals.count - ARRIVALS_AT_ONCE) * ARRIVAL_EVERY_MS
  }

  #planSlots(node: FleetNode): boolean {
    const { capacity, slotsBelief, slotsTold } = node.status
    const next = capacityOf(node, { belief: slotsBelief, slotsTold }, this.#options.clock.monotonicMs())
    if (
      next.slots === capacity.slots &&
      next.isTrying === capacity.isTrying &&
      next.source === capacity.source &&
      isDeepStrictEqual(next.said, capacity.said)
    )
      return false
    node.status = { ...node.status, capacity: next }
    return true
  }
}

const NO_FOLLOWER: FleetFollower = {
  isBusy: () => false,
  slotsUsedOn: () => 0,
  wantsSnapshot: () => false,
  applySnapshot: async () => {}
}

function isSameRuns(left: readonly SeenJob[], right: readonly SeenJob[]): boolean {
  return (
    left === right ||
    (left.length === right.length &&
      left.every(({ jobid, heldOf }, index) => jobid === right[index]?.jobid && heldOf === right[index]?.heldOf))
  )
}

function capacityOf(
  { stored, client }: Pick<FleetNode, 'stored' | 'client'>,
  { belief, slotsTold }: { belief: SlotsBelief } & Pick<NodeStatus, 'slotsTold'>,
  nowMs: number
): Capacity {
  if (!client.traits.runsHere || stored.slots !== null) {
    const count = client.reportedSlots?.() ?? null
    const reported = count === null ? slotsTold : { count, said: say('slots.of_node') }
    return planCapacity({ setSlots: stored.slots, reported, belief, nowMs })
  }
  return {
    slots: availableParallelism(),
    isTrying: false,
    source: 'default',
    said: say('slots.of_cpus')
  }
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
    excess: null,
    latencyMs: null,
    lastSeenAtMs: null,
    unreachableSinceMs: null,
    awaySinceMs: null,
    clockOffsetMs: null,
    clockEstimate: UNKNOWN_CLOCK,
    capacity,
    slotsTold: null,
    slotsBelief: NOTHING_LEARNED
  }
}

export const noNode = (id: NodeId): ScrapdeckError =>
  new ScrapdeckError('NODE_NOT_FOUND', sentence('nodes.no_node', { id }))
