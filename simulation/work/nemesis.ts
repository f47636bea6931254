import { SPIDERS, removeEgg } from '../scrapyd/http.ts'
import type { SimulatedScrapyd } from '../scrapyd/simulated-scrapyd.ts'
import type { Chance } from '../world/chance.ts'
import type { FaultKind, Faults } from '../world/faults.ts'
import type { World } from '../world/machine.ts'
import type { Link, Network } from '../world/network.ts'
import type { VirtualTime } from '../world/time.ts'
import type { Scenario } from './scenario.ts'
import { keepStriking } from './striking.ts'

interface NemesisParts {
  scenario: Scenario
  time: VirtualTime
  machine: World
  network: Network
  nodes: Map<string, SimulatedScrapyd>
  faults: Faults
  chance: Chance
}

export class Nemesis {
  readonly #parts: NemesisParts
  /** Nodes whose pollers never run again. */
  readonly stuckForEver = new Set<string>()
  #stopStriking = () => {}

  constructor(parts: NemesisParts) {
    this.#parts = parts
  }

  begin(): void {
    const { scenario, time, chance } = this.#parts
    const strike = (act: FaultKind) => this.#strike(act)
    this.#stopStriking = keepStriking({ time, chance, acts: scenario.acts, everyMs: scenario.actEveryMs, strike })
  }

  stop(): void {
    const { network, nodes, machine } = this.#parts
    this.#stopStriking()
    network.areFaultsOn = false
    machine.disk.isFull = false
    for (const life of machine.allLives()) life.dieAt(null)
    for (const link of network.links.values()) {
      Object.assign(link, { isRefusing: false, isSilent: false, isLocked: false, areLogsSlow: false })
    }
    for (const node of nodes.values()) {
      node.logsForbidden = false
      node.freezeAtNextListing(0)
      if (!this.stuckForEver.has(node.name)) node.isPollerStuck = false
      for (const { log } of node.started) if (log !== null) log.isForbidden = false
    }
  }

  #strike(kind: FaultKind): void {
    const { chance, faults, machine, network, nodes, time, scenario } = this.#parts
    const node = chance.pick([...nodes.values()])
    const link = network.links.get(node.name)!
    const note = (about = '') => faults.note(kind, node.name, about)
    switch (kind) {
      case 'connection refused':
      case 'never answered':
        return
      case 'unauthorized':
        return this.#forAWhile(link, 'isLocked')
      case 'logs slow':
        return this.#forAWhile(link, 'areLogsSlow')
      case 'node restarted, its processes died':
      case 'node restarted, its processes live on':
        note(`${node.running.length} ran`)
        node.restart({ processesDie: kind.endsWith('died'), losesQueue: false })
        return this.#forAWhile(link, 'isRefusing', 8_000)
      case 'queue of a node lost':
        note(`${node.queue.length} waited`)
        return node.restart({ processesDie: true, losesQueue: true })
      case 'finished list pruned':
        if (node.finished.length > 0) note(`${node.prune(0)} dropped`)
        return
      case 'node froze while listing spiders': {
        // Makes the next listing slow. Any upload, ours or another client's, triggers a listing.
        node.freezeAtNextListing(chance.pick([10_000, 40_000, 70_000, 150_000]))
        for (const project of node.eggs.keys()) for (const version of ['1', '2']) node.forget(project, version)
        return
      }
      case 'clock of a node jumped':
        node.clockOffsetMs += chance.between(-7_200_000, 7_200_000)
        return note()
      case 'poller stuck for a while':
        node.isPollerStuck = true
        note()
        return void time.after(chance.between(5_000, 60_000), () => {
          if (!this.stuckForEver.has(node.name)) node.isPollerStuck = false
        })
      case 'poller stuck for ever':
        if (this.stuckForEver.size > 0 || nodes.size < 2 || !chance.happens(0.2)) return
        this.stuckForEver.add(node.name)
        node.isPollerStuck = true
        return note()
      case 'egg deleted on a node': {
        const project = chance.pick(Object.keys(SPIDERS))
        if (removeEgg(node, project, chance.pick(['1', '2']))) note(project)
        return
      }
      case 'log missing':
      case 'log cut off':
      case 'log forbidden': {
        const run = chance.pick(node.started.filter(({ log }) => log !== null && !log.isGone).slice(-3))
        if (run === undefined) return
        if (kind === 'log missing') run.log!.isGone = true
        else if (kind === 'log cut off') run.log!.cutBytes = chance.between(1, 400)
        else if (chance.happens(0.5)) run.log!.isForbidden = true
        else node.logsForbidden = true
        return note(run.jobid)
      }
      case 'job of a stranger': {
        const project = chance.pick([...node.eggs.keys()])
        if (project === undefined) return
        const [spider, version] = [SPIDERS[project]![0]!, [...node.eggs.get(project)!][0]!]
        const args = { runMs: String(chance.pick([1_000, 5_000, 15_000])) }
        const jobid = `stranger-${chance.hex(4)}`
        node.enqueue({ project, spider, version, jobid, settings: {}, args, priority: 0, isStranger: true })
        return note(jobid)
      }
      case 'engine killed before a call':
      case 'engine killed after a call': {
        if (!machine.isUp) return
        const life = machine.life!
        life.dieAt({
          call: life.calls.length + chance.between(0, 40),
          when: kind.includes('before') ? 'before' : 'after'
        })
        return
      }
      case 'engine restarted':
        if (!machine.isUp) return
        faults.note(kind, null)
        return void machine.stopOne().then((restartIn) => restartIn(chance.between(100, 5_000)))
      case 'disk full':
        machine.disk.isFull = true
        faults.note(kind, null)
        return void time.after(chance.between(100, 8_000), () => (machine.disk.isFull = false))
      case 'our clock jumped ahead':
        return machine.jumpWall(chance.between(1_000, 3_600_000))
      case 'our clock jumped back':
        return machine.jumpWall(-chance.between(1_000, 3_600_000))
      case 'clock of a node is off':
      case 'two nodes share a queue':
        // The scenario sets these from the start.
        return
      default:
        throw new Error(`${kind} strikes single requests; seed ${scenario.seed}`)
    }
  }

  #forAWhile(link: Link, what: 'isRefusing' | 'isSilent' | 'isLocked' | 'areLogsSlow', mostMs = 40_000): void {
    const { time, chance } = this.#parts
    link[what] = true
    time.after(chance.between(500, mostMs), () => {
      link[what] = false
    })
  }
}
