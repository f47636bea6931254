import { EventEmitter } from 'node:events'
import type { Fleet } from '../nodes/fleet.ts'
import { AtOnce } from '../projects/at-once.ts'
import { Distribution } from '../projects/distribution.ts'
import type { Projects } from '../projects/projects.ts'
import type { Base } from './base.ts'

/** Eggs on their way to nodes. */
export function wireEggs({ clock, logger }: Base, projects: Projects, fleet: Fleet) {
  /** `changed`: an egg arrived, or one that failed may be tried again. */
  const events = new EventEmitter<{ changed: [] }>()
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
