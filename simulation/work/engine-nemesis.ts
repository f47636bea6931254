import type { Chance } from '../world/chance.ts'
import type { Cluster } from '../world/cluster.ts'
import type { EngineProcess } from '../world/engine-process.ts'
import type { EngineFault, Faults } from '../world/faults.ts'
import type { Network } from '../world/network.ts'
import type { VirtualTime } from '../world/time.ts'
import type { EnginesScenario } from './scenario.ts'
import { keepStriking } from './striking.ts'

interface EngineNemesisParts {
  scenario: EnginesScenario
  time: VirtualTime
  cluster: Cluster
  network: Network
  faults: Faults
  chance: Chance
  also: Chance
}

export class EngineNemesis {
  readonly #parts: EngineNemesisParts
  #stopStriking = () => {}

  constructor(parts: EngineNemesisParts) {
    this.#parts = parts
  }

  begin(): void {
    const { scenario, time, chance } = this.#parts
    const strike = (act: EngineFault) => this.#strike(act)
    this.#stopStriking = keepStriking({ time, chance, acts: scenario.acts, everyMs: scenario.actEveryMs, strike })
  }

  stop(): void {
    const { cluster } = this.#parts
    this.#stopStriking()
    this.#parts.network.onNextSend = null
    for (const process of cluster.processes) {
      process.term?.life.stallAt(null)
      process.wake()
      if (process.link.isCut) process.link.heal({ resumes: true })
      process.link.losesNextCommit = false
      process.link.onClaim = null
      process.link.releaseAnswers()
      cluster.database.lease.setDrained(process.id, false)
    }
  }

  #strike(kind: EngineFault): void {
    const { chance, also, cluster, faults, time } = this.#parts
    const { leader } = cluster
    const followers = cluster.processes.filter((one) => one.term === null)
    const note = (about: string) => faults.note(kind, null, about)
    switch (kind) {
      case 'leader killed':
        if (leader === null) return
        if (also.happens(0.5)) return this.#killOnceItSends()
        note(leader.id)
        return leader.life.die()
      case 'follower killed': {
        const follower = chance.pick(followers)
        if (follower === undefined) return
        note(follower.id)
        return follower.life.die()
      }
      case 'engine stalled': {
        const one = this.#someone()
        if (one !== undefined) this.#stall(one, kind)
        return
      }
      case 'leader stalled at a call': {
        const life = leader?.term?.life
        if (leader === null || life == null) return
        return life.stallAt({
          call: life.calls.length + chance.between(0, 40),
          onStall: () => this.#stall(leader, kind)
        })
      }
      case 'engine cut off from the database': {
        const one = this.#someone()
        if (one === undefined || one.link.isCut) return
        const forMs = chance.between(200, 20_000)
        note(`${one.id} for ${forMs} ms`)
        one.link.cut()
        const resumes = chance.happens(0.5)
        return void time.after(forMs, () => one.link.isCut && one.link.heal({ resumes }))
      }
      case 'connection of the lease dropped': {
        const one = this.#someone()
        if (one === undefined || one.life.isStalled) return
        const { link } = one
        const drop = () => {
          note(one.id)
          link.lease.lose()
        }
        if (one !== leader || also.happens(0.5)) return drop()
        // The response to this claim reaches the engine only after another engine leads.
        const [dropAfterMs, answerAfterMs] = [also.between(0, 50), also.between(200, 900)]
        link.onClaim = () => {
          link.holdAnswers()
          time.after(dropAfterMs, drop)
          time.after(dropAfterMs + answerAfterMs, () => link.releaseAnswers())
        }
        return
      }
      case 'answer of a commit lost':
        if (leader === null) return
        note(leader.id)
        leader.link.losesNextCommit = true
        return
      case 'leadership handed over': {
        if (leader === null) return
        const next = chance.pick([null, ...followers.map(({ id }) => id)])
        note(`${leader.id} to ${next ?? 'whoever is first'}`)
        return leader.election.handOver(next)
      }
      case 'engine drained': {
        const one = this.#someone()
        // If there is no follower to take over, no engine could undo the fault.
        if (one === undefined || followers.length === 0) return
        note(one.id)
        cluster.database.lease.setDrained(one.id, true)
        return void time.after(chance.between(1_000, 15_000), () => cluster.database.lease.setDrained(one.id, false))
      }
    }
  }

  /**
   * Kills the leader when it next sends a job. The request takes nearly as long as possible, while the next leader
   * searches for the job.
   */
  #killOnceItSends(): void {
    const { also, cluster, network, faults, time } = this.#parts
    network.onNextSend = (host) => {
      const underWayMs = also.between(8_000, 60_000)
      const leader = cluster.leader
      faults.note('leader killed', host, `${leader?.id}, while it sent: arrives after ${underWayMs} ms`)
      time.after(also.between(0, 30), () => leader?.life.die())
      return underWayMs
    }
  }

  #someone(): EngineProcess | undefined {
    const { chance, cluster } = this.#parts
    return chance.happens(0.5) && cluster.leader !== null ? cluster.leader : chance.pick(cluster.processes)
  }

  /**
   * Stops a process. The stop usually lasts as long as one or several leases, sometimes longer than a new leader
   * waits.
   */
  #stall(process: EngineProcess, kind: EngineFault): void {
    const { chance, also, time, cluster, faults } = this.#parts
    if (process.life.isStalled || process.life.isOver) return
    const forMs = chance.happens(0.15) ? chance.between(60_000, 150_000) : chance.between(2_000, 20_000)
    faults.note(kind, null, `${process.id} for ${forMs} ms`)
    process.stall()
    // In some cases, the wall clock continues where it stopped, as after the pause of a virtual machine.
    const isSetBack = also.happens(0.5)
    time.after(forMs, () => {
      if (isSetBack && !process.life.isOver) cluster.setBack(process, forMs)
      process.wake()
    })
  }
}
