import { isScrapdeckError } from '../../shared/errors.ts'
import type { NodeCommands } from '../commands/node-commands.ts'
import { Discovery, type DiscoveryOptions } from '../nodes/discovery/discovery.ts'
import type { Fleet } from '../nodes/fleet.ts'

/** Connects discovery to the fleet: discovery decides, and the node commands carry it out. */
export function wireDiscovery(
  parts: Omit<DiscoveryOptions, 'fleet'> & { fleet: Fleet; nodeCommands: NodeCommands }
): Discovery {
  const { fleet, nodeCommands } = parts
  return new Discovery({
    ...parts,
    fleet: {
      list: () =>
        fleet
          .list()
          .filter(({ stored }) => stored.kind === 'scrapyd')
          .map(({ stored: { id, url, mode, sourceId } }) => ({ id, url, mode, sourceId })),
      // The Scrapyd version is detected when the node responds.
      add: (nodes) => nodeCommands.addMany(nodes.map((node) => ({ ...node, scrapydVersion: null }))),
      async setMode(nodeId, mode) {
        try {
          await nodeCommands.setMode(nodeId, mode)
        } catch (error) {
          // The node was removed in the meantime: there is nothing left to cordon.
          if (!isScrapdeckError(error, 'NODE_NOT_FOUND')) throw error
        }
      },
      releaseAllBut: (sourceIds) => nodeCommands.releaseAllBut(sourceIds)
    }
  })
}
