import { EventEmitter } from 'node:events'
import type { NodeHealth, ProjectName } from '../../../shared/contract/index.ts'
import { type Message, render } from '../../../shared/texts/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { NewEvent, StoredNode, StoredVersion } from '../../model/records.ts'
import type { EventStore } from '../../storage/store.ts'
import { isAway } from '../../../shared/node-health.ts'

interface SeenNode {
  stored: Pick<StoredNode, 'id' | 'name' | 'url'>
  status: { health: NodeHealth; problem: Message | null }
}

/** Records node and upload events. The store itself records job and schedule events. */
export class EventRecorder {
  readonly events = new EventEmitter<{ recorded: [] }>()
  readonly #parts: { store: EventStore; clock: Clock; logger: Logger }
  #isStopped = false

  constructor(parts: { store: EventStore; clock: Clock; logger: Logger }) {
    this.#parts = parts
  }

  /** A node's first response is an event only if the node is unusable. */
  recordHealth({ stored, status }: SeenNode, healthWas: NodeHealth): void {
    const isDown = isAway(status.health)
    if (status.health === 'unknown' || isDown === isAway(healthWas)) return
    const { id, name, url } = stored
    const node = { id, name, url, health: status.health, problem: status.problem && render(status.problem) }
    this.#record(isDown ? 'node.down' : 'node.up', null, { node })
  }

  recordUpload({ project, version, sha256, spiders }: StoredVersion): void {
    this.#record('deploy', project, { project, version, sha256, spiders })
  }

  /** Call this before closing the store. Later write failures are expected and not logged. */
  stop(): void {
    this.#isStopped = true
  }

  #record(event: string, project: ProjectName | null, data: NewEvent['data']): void {
    const { store, clock, logger } = this.#parts
    store.recordEvents([{ event, project, atMs: clock.nowMs(), data }]).then(
      () => this.events.emit('recorded'),
      (error: unknown) => {
        if (this.#isStopped) return
        logger.error({ error, event, ...data }, 'an event could not be recorded and will not be delivered')
      }
    )
  }
}
