import { createForgetting } from './forget-old.ts'
import type { Fleet, FleetNode } from '../nodes/fleet.ts'
import type { ProblemWatch } from '../health/problem-watch.ts'
import type { Clock, Timer } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { RetentionStore, BackfillStore } from '../store/store.ts'

const EVERY_MS = 600_000

/** What nothing that happens would do: what is old is forgotten, and what nodes have is read again. */
export function keepHouse(parts: {
  store: RetentionStore & BackfillStore
  clock: Clock
  logger: Logger
  fleet: Pick<Fleet, 'list'>
  problems: Pick<ProblemWatch, 'settle'>
  readInventory: (node: FleetNode) => Promise<void>
}): { stop(): void } {
  const { store, clock, logger, fleet, problems, readInventory } = parts
  const forgetting = createForgetting({ store, clock, logger })
  let timer: Timer = clock.setTimer(EVERY_MS, keep)

  function keep(): void {
    problems.settle()
    void forgetting.run()
    for (const node of fleet.list()) {
      if (node.client.eggTarget !== null && node.status.health === 'up') void readInventory(node)
    }
    timer = clock.setTimer(EVERY_MS, keep)
  }

  return {
    stop() {
      timer.cancel()
      forgetting.stop()
    }
  }
}
