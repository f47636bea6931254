import { EventEmitter } from 'node:events'
import pLimit from 'p-limit'
import type { NodeHealth, NodeId, NodeMode } from '../../shared/contract/index.ts'
import { problemOfPathPart, problemOfSpiderName, problemOfVersionName } from '../projects/names.ts'
import type { Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredNode } from '../model/records.ts'
import type { Fleet, FleetNode } from './fleet.ts'
import { InventoryQuota } from './list-limits.ts'
import { type EggTarget, NodeError } from './node-client.ts'

export interface InventoriesParts {
  fleet: Pick<Fleet, 'get' | 'setExcess'>
  projects: Pick<Projects, 'catalog' | 'recordSeenOnNode' | 'recordProjectsOnNode'>
  recordScrapydVersion: (node: StoredNode, scrapydVersion: string) => Promise<void>
  clock: Clock
  logger: Logger
}

const READ_AT_ONCE = 32

/** Reads the projects, versions and spiders of nodes on request and when a node becomes available again. */
export class Inventories {
  /** `recorded`: an inventory was stored. `available`: another node may now accept eggs. */
  readonly events = new EventEmitter<{ recorded: []; available: [] }>()
  readonly #parts: InventoriesParts
  readonly #modes = new Map<string, NodeMode>()
  /**
   * The number of finished jobs per node. A lower count means that the node restarted, perhaps as a different
   * installation.
   */
  readonly #finished = new Map<string, number>()
  // At startup, all nodes come up together. Reading them all in parallel would fill the memory and delay jobs.
  readonly #inTurn = pLimit(READ_AT_ONCE)
  readonly #reading = new Map<NodeId, Promise<void>>()
  readonly #waiting = new Map<NodeId, Promise<void>>()
  #isStopped = false

  constructor(parts: InventoriesParts) {
    this.#parts = parts
  }

  followNode(node: FleetNode, healthWas?: NodeHealth): void {
    const { id, mode } = node.stored
    const isOtherMode = this.#modes.get(id) !== mode
    this.#modes.set(id, mode)
    const { finished, health } = node.status
    const hasForgotten = finished !== null && finished < (this.#finished.get(id) ?? 0)
    if (finished !== null) this.#finished.set(id, finished)
    const cameUp = (healthWas !== undefined || hasForgotten) && health === 'up'
    if (cameUp && node.client.eggTarget !== null) void this.read(node)
    else if (isOtherMode || cameUp) this.events.emit('available')
  }

  /** Never rejects. Each node has at most one read in progress. Callers that wait share the next read. */
  read({ stored: { id } }: FleetNode): Promise<void> {
    const waiting = this.#waiting.get(id)
    if (waiting !== undefined) return waiting
    const before = this.#reading.get(id) ?? Promise.resolve()
    const turn = before.then(() =>
      this.#inTurn(async () => {
        this.#waiting.delete(id)
        this.#reading.set(id, turn)
        // The node may have been replaced while we waited.
        const node = this.#parts.fleet.get(id)
        if (node !== undefined) await this.#readNow(node)
        if (this.#reading.get(id) === turn) this.#reading.delete(id)
      })
    )
    this.#waiting.set(id, turn)
    return turn
  }

  stop(): void {
    this.#isStopped = true
  }

  async #readNow(node: FleetNode): Promise<void> {
    const { fleet, logger } = this.#parts
    if (this.#isStopped || fleet.get(node.stored.id) !== node || node.client.eggTarget === null) return
    try {
      await this.#readFrom(node, node.client.eggTarget)
      this.events.emit('recorded')
    } catch (error) {
      if (this.#isStopped) return
      if (error instanceof NodeError) {
        const text = 'the inventory of a node could not be read; retrying when it is back'
        logger.warn({ node: node.stored.name, error: error.message }, text)
        // Everything that arrived before the failure is recorded.
        this.events.emit('recorded')
      } else logger.error({ error, node: node.stored.name }, 'recording the inventory of a node failed')
    }
  }

  /** Reads projects, versions, and the spiders of each newest version. Listing uncached spiders blocks Scrapyd. */
  async #readFrom(node: FleetNode, eggTarget: EggTarget): Promise<void> {
    const { stored, client, observer } = node
    const { fleet, projects, recordScrapydVersion, clock, logger } = this.#parts
    const quota = new InventoryQuota()
    const askedAtMs = clock.nowMs()
    const names = quota.take('projects', await eggTarget.listProjects(), (name) => problemOfPathPart(name) === null)
    // Recorded first, so that removed names make room for new ones even if a later request fails.
    await projects.recordProjectsOnNode(stored.id, names, askedAtMs)
    for (const project of names) {
      // Removing a node waits for open requests, but must not wait for a whole inventory.
      if (this.#isStopped || fleet.get(stored.id) !== node) return
      if (quota.isFull('versions')) break
      const versions = quota.take(
        'versions',
        await eggTarget.listVersions(project),
        (name) => problemOfVersionName(name) === null
      )
      const newest = versions.at(-1)
      let spiders: string[] | null = null
      if (newest !== undefined && !projects.catalog.knowsSpiders(project, newest)) {
        try {
          const listed = await observer.duringLongCall(client.listSpiders(project, newest))
          spiders = quota.take('spiders', listed, (name) => problemOfSpiderName(name) === null)
        } catch (error) {
          // Scrapyd cannot import this version. The rest of the inventory is still valid.
          if (!(error instanceof NodeError) || error.kind !== 'refused') throw error
          const facts = { node: stored.name, project, version: newest, error: error.message }
          logger.info(facts, 'a version on a node does not list its spiders')
        }
      }
      quota.exceed(await projects.recordSeenOnNode(stored.id, project, versions, spiders, askedAtMs))
    }
    fleet.setExcess(node, quota.problem())
    // Nodes that were discovered, or were unreachable when added, have not been probed yet.
    const version = stored.scrapydVersion === null ? await eggTarget.probeVersion?.() : undefined
    if (version !== undefined) await recordScrapydVersion(stored, version)
  }
}
