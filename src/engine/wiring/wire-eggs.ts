import { EventEmitter } from 'node:events'
import type { Fleet } from '../nodes/fleet.ts'
import { AtOnce } from '../projects/at-once.ts'
import { Distribution } from '../projects/distribution.ts'
import type { Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'

/** Eggs on their way to nodes. */
export interface Eggs {
  distribution: Distribution
  atOnce: AtOnce
  /** `changed`: an egg arrived, or one that failed may be tried again. */
  events: EventEmitter<{ changed: [] }>
  stop(): void
}

export function wireEggs(parts: { projects: Projects; fleet: Fleet; clock: Clock; logger: Logger }): Eggs {
  const { projects, fleet, clock, logger } = parts
  const events: Eggs['events'] = new EventEmitter()
  const distribution = new Distribution({
    projects,
    clientOf: (nodeId) => fleet.get(nodeId)?.client.eggTarget ?? null,
    clock,
    onChange: () => events.emit('changed')
  })
  const nodeIds = () =>
    fleet
      .list()
      .filter(({ stored, status }) => stored.mode === 'active' && status.health === 'up')
      .map(({ stored }) => stored.id)
  const atOnce = new AtOnce({ projects, distribution, nodeIds, clock, logger })
  return {
    distribution,
    atOnce,
    events,
    stop() {
      atOnce.stop()
      distribution.stop()
    }
  }
}
