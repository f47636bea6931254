import { isScrapdeckError } from '../../shared/errors.ts'
import type { NodeCommands } from '../commands/node-commands.ts'
import { Discovery, type DiscoveryOptions } from '../nodes/discovery/discovery.ts'
import type { Fleet } from '../nodes/fleet.ts'

/** Discovery over the fleet: it finds and decides, the orders about nodes are what carries it out. */
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
      // Which Scrapyd it is, is asked when it answers.
      add: (nodes) => nodeCommands.addMany(nodes.map((node) => ({ ...node, scrapydVersion: null }))),
      async setMode(nodeId, mode) {
        try {
          await nodeCommands.setMode(nodeId, mode)
        } catch (error) {
          // Somebody removed it meanwhile: there is nothing left to cordon.
          if (!isScrapdeckError(error, 'NODE_NOT_FOUND')) throw error
        }
      },
      releaseAllBut: (sourceIds) => nodeCommands.releaseAllBut(sourceIds)
    }
  })
}
