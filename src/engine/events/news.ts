import type { NodeHealth } from '../../shared/contract/index.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { NewEvent, StoredNode, StoredVersion } from '../store/records.ts'
import type { EventStore } from '../store/store.ts'

/** What happens to the fleet as a whole, for the outbox. What happens to jobs and schedules, the store notes in the same commit. */
export interface News {
  noteHealth(node: SeenNode, healthWas: NodeHealth): void
  noteDeployed(version: StoredVersion): void
  /** From here on failures are those of a store that closes. */
  stop(): void
}

interface SeenNode {
  stored: Pick<StoredNode, 'id' | 'name' | 'url'>
  status: { health: NodeHealth; problem: string | null }
}

export function createNews(parts: {
  store: EventStore
  clock: Clock
  logger: Logger
  /** Events are in the outbox. */
  onEvents: () => void
}): News {
  const { store, clock, logger, onEvents } = parts
  let isStopping = false

  function note(event: string, project: string | null, data: NewEvent['data']): void {
    store.recordEvents([{ event, project, atMs: clock.nowMs(), data }]).then(onEvents, (error: unknown) => {
      if (!isStopping) logger.error({ error, event, ...data }, 'an event could not be noted: nobody will be told of it')
    })
  }

  return {
    /** A node that is asked for the first time is not news, but for one that cannot be used. */
    noteHealth({ stored, status }, healthWas) {
      const isUp = status.health === 'up'
      const wasUp = healthWas === 'up' || healthWas === 'unknown'
      if (status.health === 'unknown' || isUp === wasUp) return
      const { id, name, url } = stored
      const node = { id, name, url, health: status.health, problem: status.problem }
      note(isUp ? 'node.up' : 'node.down', null, { node })
    },
    noteDeployed({ project, version, sha256, spiders }) {
      note('deploy', project, { project, version, sha256, spiders })
    },
    stop() {
      isStopping = true
    }
  }
}
