import pLimit from 'p-limit'
import type { NodeHealth, NodeMode } from '../../shared/contract/index.ts'
import type { Fleet, FleetNode } from '../nodes/fleet.ts'
import { readNodeInventory } from '../nodes/inventory.ts'
import { AtOnce } from '../projects/at-once.ts'
import { createDistribution, type Distribution } from '../projects/distribution.ts'
import type { Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredNode } from '../store/records.ts'

const INVENTORIES_AT_ONCE = 32

/** Eggs on their way to nodes, and what nodes say they have. */
export interface Eggs {
  distribution: Distribution
  atOnce: AtOnce
  /** What the fleet shows of a node: what it has is read when it comes back, and it gets what it lacks. */
  noteStatus(node: FleetNode, healthWas?: NodeHealth): void
  readInventory(node: FleetNode): Promise<void>
  stop(): void
}

export function wireEggs(parts: {
  projects: Projects
  fleet: Fleet
  clock: Clock
  logger: Logger
  wakeDispatcher: () => void
  noteScrapydVersion: (node: StoredNode, scrapydVersion: string) => Promise<void>
}): Eggs {
  const { projects, fleet, clock, logger } = parts
  const modes = new Map<string, NodeMode>()
  /** How many finished jobs each node told of: fewer than before means that it was restarted, and may be another installation. */
  const finished = new Map<string, number>()
  let isStopping = false
  const distribution = createDistribution({
    projects,
    clientOf: (nodeId) => fleet.get(nodeId)?.client.eggTarget ?? null,
    clock,
    onChange() {
      parts.wakeDispatcher()
      atOnce.scanSoon()
    }
  })
  const atOnce = new AtOnce({
    projects,
    distribution,
    nodeIds: () =>
      fleet
        .list()
        .filter(({ stored, status }) => stored.mode === 'active' && status.health === 'up')
        .map(({ stored }) => stored.id),
    clock,
    logger
  })

  // All nodes come up at once when an engine starts: their answers would fill the memory, and keep jobs waiting.
  const gate = pLimit(INVENTORIES_AT_ONCE)

  async function readInventory(node: FleetNode): Promise<void> {
    await gate(() => readInventoryNow(node))
  }

  async function readInventoryNow(node: FleetNode): Promise<void> {
    if (isStopping || fleet.get(node.stored.id) !== node) return
    const askedAtMs = clock.nowMs()
    try {
      await readNodeInventory(node, {
        logger,
        knowsSpiders: (project, version) => projects.knowsSpiders(project, version),
        record: ({ project, versions, spiders }) =>
          projects.recordSeenOnNode(node.stored.id, project, versions, spiders, askedAtMs),
        recordProjects: (names) => projects.recordProjectsOnNode(node.stored.id, names, askedAtMs),
        recordVersion: (version) => parts.noteScrapydVersion(node.stored, version)
      })
      parts.wakeDispatcher()
      atOnce.scanSoon()
    } catch (error) {
      if (!isStopping) logger.error({ error, node: node.stored.name }, 'recording what a node has failed')
    }
  }

  return {
    distribution,
    atOnce,
    noteStatus(node, healthWas) {
      const { id, mode } = node.stored
      const isOtherMode = modes.get(id) !== mode
      modes.set(id, mode)
      const finishedNow = node.status.finished
      const hasForgotten = finishedNow !== null && finishedNow < (finished.get(id) ?? 0)
      if (finishedNow !== null) finished.set(id, finishedNow)
      const cameUp = (healthWas !== undefined || hasForgotten) && node.status.health === 'up'
      if (cameUp && node.client.eggTarget !== null) void readInventory(node)
      else if (isOtherMode || cameUp) atOnce.scanSoon()
    },
    readInventory,
    stop() {
      isStopping = true
      atOnce.stop()
      distribution.stop()
    }
  }
}
