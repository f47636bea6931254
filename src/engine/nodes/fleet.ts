import { availableParallelism } from 'node:os'
import type { NodeHealth } from '../../shared/contract/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { StoredNode } from '../store/store.ts'
import { planCapacity, type Capacity, type CountersSeen } from './capacity.ts'
import type { NodeClient, NodeError, SeenJob, Snapshot } from './node-client.ts'
import { startObserver, type Observer } from './observer.ts'
import { healthOf } from './scrapyd/probe.ts'

/** What watching a node has shown so far. Lives in memory: it is only as true as it is new. */
export interface NodeStatus {
  health: NodeHealth
  problem: string | null
  nodeName: string | null
  running: number | null
  pending: number | null
  finished: number | null
  external: { pending: SeenJob[]; running: SeenJob[] }
  latencyMs: number | null
  lastSeenAtMs: number | null
  /**
   * Wall clock: the first of the failed looks since its last good answer; null while it answers (401 is an answer too: it runs), or
   * nobody has asked yet.
   */
  unreachableSinceMs: number | null
  clockOffsetMs: number | null
  capacity: Capacity
}

/** A node of the fleet while the engine runs. */
export interface FleetNode {
  stored: StoredNode
  client: NodeClient
  observer: Observer
  status: NodeStatus
}

export interface FleetOptions {
  clock: Clock
  random: Random
  logger: Logger
  createClient: (node: StoredNode) => Promise<NodeClient>
  isBusy: (nodeId: string) => boolean
  wantsSnapshot: (nodeId: string) => boolean
  onSnapshot: (node: FleetNode, snapshot: Snapshot) => Promise<void>
  /** Something that clients are shown has changed. `healthWas`: its health before, where that changed. */
  onStatus: (node: FleetNode, healthWas?: NodeHealth) => void
}

// One failed look can be a lost packet; two in a row are a node that is down (anchors.md E7: at most two missed polls).
const FAILURES_UNTIL_DOWN = 2
// What learning a node's slots looks back on.
const POLLS_KEPT_MS = 60_000

/** The nodes, each with its client and its observer. */
export class Fleet {
  readonly #nodes = new Map<string, FleetNode>()
  readonly #options: FleetOptions

  constructor(options: FleetOptions) {
    this.#options = options
  }

  list(): FleetNode[] {
    return [...this.#nodes.values()]
  }

  get(id: string): FleetNode | undefined {
    return this.#nodes.get(id)
  }

  /** Takes a node in and begins to watch it; a node with the same id is let go of first (its settings changed). */
  async add(stored: StoredNode): Promise<FleetNode> {
    const { clock, random, logger } = this.#options
    const client = await this.#options.createClient(stored)
    const previous = this.#nodes.get(stored.id)
    await previous?.observer.stop()
    if (previous !== undefined && previous.client !== client) await previous.client.close()
    const polls: CountersSeen[] = []
    // At another address there may be another machine: what was seen at the old one says nothing of it.
    const before =
      previous?.stored.url === stored.url ? previous.status : unknownStatus(capacityOf(stored, null, polls))
    const node: FleetNode = {
      stored,
      client,
      status: {
        ...before,
        capacity: capacityOf(stored, before.capacity.learned, polls)
      },
      observer: startObserver({
        client,
        clock,
        random,
        logger,
        isBusy: () => this.#options.isBusy(stored.id),
        wantsSnapshot: () => this.#options.wantsSnapshot(stored.id),
        onStatus: ({ status, latencyMs }) => {
          const atMs = clock.monotonicMs()
          polls.push({ atMs, running: status.running, pending: status.pending, finished: status.finished })
          while (polls[0] !== undefined && atMs - polls[0].atMs > POLLS_KEPT_MS) polls.shift()
          this.#update(node, {
            health: 'up',
            problem: null,
            nodeName: status.nodeName,
            running: status.running,
            pending: status.pending,
            finished: status.finished,
            latencyMs: Math.round(latencyMs * 10) / 10,
            lastSeenAtMs: clock.nowMs(),
            unreachableSinceMs: null,
            clockOffsetMs: status.clockOffsetMs,
            capacity: capacityOf(node.stored, node.status.capacity.learned, polls)
          })
        },
        onSnapshot: async (snapshot) => {
          node.status = { ...node.status, running: snapshot.running.length, pending: snapshot.pending.length }
          await this.#options.onSnapshot(node, snapshot)
          this.#options.onStatus(node)
        },
        onFailure: (error, failures) => this.#noteFailure(node, error, failures)
      })
    }
    this.#nodes.set(stored.id, node)
    this.#options.onStatus(node)
    return node
  }

  /** A change of settings that needs no new connection (name, tags, mode, version). */
  update(stored: StoredNode): void {
    const node = this.#nodes.get(stored.id)
    if (node === undefined) return
    node.stored = stored
    node.status = { ...node.status, capacity: capacityOf(stored, node.status.capacity.learned, []) }
    node.observer.poke()
    this.#options.onStatus(node)
  }

  async remove(id: string): Promise<void> {
    const node = this.#nodes.get(id)
    if (node === undefined) return
    this.#nodes.delete(id)
    await node.observer.stop()
    await node.client.close()
  }

  /** A request of the dispatcher found the node away: no more jobs for it until it answers the next look. */
  noteUnreachable(id: string, error: NodeError): void {
    const node = this.#nodes.get(id)
    if (node === undefined) return
    this.#noteFailure(node, error, FAILURES_UNTIL_DOWN)
    node.observer.poke()
  }

  async stop(): Promise<void> {
    await Promise.all(this.list().map((node) => node.observer.stop()))
    await Promise.all(this.list().map((node) => node.client.close()))
  }

  #noteFailure(node: FleetNode, error: NodeError, failures: number): void {
    const health = healthOf(error)
    const isAway = health === 'down' || health === 'invalid'
    const unreachableSinceMs = isAway ? (node.status.unreachableSinceMs ?? this.#options.clock.nowMs()) : null
    if (health === 'down' && failures < FAILURES_UNTIL_DOWN && node.status.health !== 'unknown') {
      node.status = { ...node.status, unreachableSinceMs }
      return
    }
    this.#update(node, { health, problem: error.message, unreachableSinceMs })
  }

  #update(node: FleetNode, news: Partial<NodeStatus>): void {
    const before = node.status
    node.status = { ...before, ...news }
    this.#options.onStatus(node, before.health === node.status.health ? undefined : before.health)
  }
}

function capacityOf(stored: StoredNode, learned: number | null, polls: CountersSeen[]): Capacity {
  // The local node is ours: there is nothing to learn about it.
  if (stored.kind === 'local')
    return planCapacity({ setSlots: stored.slots, defaultSlots: availableParallelism(), learned: null, polls: [] })
  return planCapacity({ setSlots: stored.slots, learned, polls })
}

function unknownStatus(capacity: Capacity): NodeStatus {
  return {
    health: 'unknown',
    problem: null,
    nodeName: null,
    running: null,
    pending: null,
    finished: null,
    external: { pending: [], running: [] },
    latencyMs: null,
    lastSeenAtMs: null,
    unreachableSinceMs: null,
    clockOffsetMs: null,
    capacity
  }
}
