import { Forgetting } from './retention/forget-old.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { Inventories } from '../nodes/inventories.ts'
import type { ProblemWatch } from '../monitoring/health/problem-watch.ts'
import type { Timer } from '../runtime/clock.ts'
import type { Sweep } from '../runtime/sweep.ts'
import type { Base } from '../runtime/tools.ts'

interface HousekeepingParts extends Pick<Base, 'store' | 'clock' | 'logger'> {
  fleet: Pick<Fleet, 'list'>
  problems: Pick<ProblemWatch, 'scheduleCheck'>
  inventories: Pick<Inventories, 'read'>
  sweeps: readonly Pick<Sweep<never>, 'run'>[]
  auditDays: number
}

const EVERY_MS = 600_000

/** Periodic work that no event triggers: deletes old data and refreshes what nodes have. */
export class Housekeeping {
  readonly #parts: HousekeepingParts
  readonly #forgetting: Forgetting
  #timer: Timer | null = null

  constructor(parts: HousekeepingParts) {
    this.#parts = parts
    this.#forgetting = new Forgetting(parts)
  }

  start(): void {
    this.#timer = this.#parts.clock.setTimer(EVERY_MS, () => this.#keep())
  }

  stop(): void {
    this.#timer?.cancel()
    this.#forgetting.stop()
  }

  #keep(): void {
    const { fleet, problems, inventories, sweeps } = this.#parts
    problems.scheduleCheck()
    void this.#forgetting.run()
    for (const sweep of sweeps) void sweep.run()
    for (const node of fleet.list()) {
      if (node.client.eggTarget !== null && node.status.health === 'up') void inventories.read(node)
    }
    this.start()
  }
}
