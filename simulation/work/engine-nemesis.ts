import type { Chance } from '../world/chance.ts'
import type { Cluster } from '../world/cluster.ts'
import type { EngineFault, Faults } from '../world/faults.ts'
import type { VirtualTime } from '../world/time.ts'
import type { EnginesScenario } from './scenario.ts'

interface EngineNemesisParts {
  scenario: EnginesScenario
  time: VirtualTime
  cluster: Cluster
  faults: Faults
  chance: Chance
}

/** Injects what can go wrong only with several engines, as the seed defines. */
export class EngineNemesis {
  readonly #parts: EngineNemesisParts
  #isOver = false

  constructor(parts: EngineNemesisParts) {
    this.#parts = parts
  }

  begin(): void {
    const { scenario, time, chance } = this.#parts
    if (scenario.acts.length === 0) return
    time.after(chance.between(200, scenario.actEveryMs * 2), () => {
      if (this.#isOver) return
      this.#strike(chance.pick(scenario.acts))
      this.begin()
    })
  }

  /** From now on no new faults occur, and those that last are repaired. */
  stop(): void {
    this.#isOver = true
  }

  #strike(kind: EngineFault): void {
    const { chance, cluster, faults } = this.#parts
    const { leader } = cluster
    const followers = cluster.processes.filter((one) => one.term === null)
    const note = (about: string) => faults.note(kind, null, about)
    switch (kind) {
      case 'leader killed':
        if (leader === null) return
        note(leader.id)
        return leader.life.die()
      case 'follower killed': {
        const follower = chance.pick(followers)
        if (follower === undefined) return
        note(follower.id)
        return follower.life.die()
      }
    }
  }
}
