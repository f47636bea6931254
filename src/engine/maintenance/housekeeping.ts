import type { Fleet } from '../nodes/fleet.ts'
import type { Inventories } from '../nodes/inventories.ts'
import type { Timer } from '../runtime/clock.ts'
import type { Sweep } from '../runtime/sweep.ts'
import { Forgetting, type ForgettingParts } from './retention/forget-old.ts'

export interface HousekeepingParts extends ForgettingParts {
  fleet: Pick<Fleet, 'list'>
  checkProblems: () => void
  inventories: Pick<Inventories, 'read'>
  sweeps: readonly Pick<Sweep<never>, 'run'>[]
}

const EVERY_MS = 600_000

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
    const { fleet, checkProblems, inventories, sweeps } = this.#parts
    checkProblems()
    void this.#forgetting.run()
    for (const sweep of sweeps) void sweep.run()
    for (const node of fleet.list()) {
      if (node.client.eggTarget !== null && node.status.health === 'up') void inventories.read(node)
    }
    this.start()
  }
}
