import type { Store } from '../../src/engine/storage/store.ts'
import type { Chance } from './chance.ts'
import { createChance } from './chance.ts'
import { Disk, type StoreWitness } from './disk.ts'
import { EngineProcess } from './engine-process.ts'
import type { Faults } from './faults.ts'
import type { Life } from './life.ts'
import { type Client, type Door, START_WALL_MS, type World } from './machine.ts'
import type { Network } from './network.ts'
import { SharedDatabase } from './shared-database.ts'
import type { VirtualTime } from './time.ts'

const RESTART_AFTER_MS = [50, 5_000] as const
const LETTERS = 'abc'

interface ClusterParts {
  seed: number
  engines: number
  time: VirtualTime
  network: Network
  faults: Faults
  witness: StoreWitness
  cancelWaitsSeconds: readonly [number, number, number]
  onLead: () => void
  pendingOrders: () => number
}

interface Host {
  name: string
  process: EngineProcess | null
  lives: number
  wallOffsetMs: number
  isStarting: boolean
}

export class Cluster implements World {
  readonly disk: Disk
  readonly database: SharedDatabase
  readonly complaints: { atMs: number; text: string }[] = []
  readonly timersLeft: number[] = []
  readonly triesAgain = 6
  setBackMs = 0
  readonly #hosts: Host[] = []
  readonly #chance: Chance
  readonly #parts: ClusterParts
  #isOver = false

  constructor(parts: ClusterParts, options: { directory: string; template: string }) {
    this.#parts = parts
    const { seed, time, witness } = parts
    this.disk = new Disk({ ...options, time })
    this.database = new SharedDatabase({ time, disk: this.disk, witness })
    this.#chance = createChance(seed, 'engines')
    for (const name of LETTERS.slice(0, parts.engines)) {
      this.#hosts.push({ name, process: null, lives: 0, wallOffsetMs: START_WALL_MS, isStarting: false })
    }
  }

  get processes(): EngineProcess[] {
    return this.#hosts.flatMap(({ process }) => (process === null || process.life.isOver ? [] : [process]))
  }

  get leader(): EngineProcess | null {
    return this.processes.find((process) => process.isLeading) ?? null
  }

  get client(): Client | null {
    return this.leader?.term?.client ?? null
  }

  get life(): Life | null {
    return this.leader?.term?.life ?? null
  }

  get isUp(): boolean {
    return this.leader !== null
  }

  get store(): Store {
    return this.database.store
  }

  get ownWallMs(): number {
    const { leader } = this
    const host = this.#hosts.find(({ process }) => process !== null && process === leader)
    return this.#parts.time.nowMs + (host?.wallOffsetMs ?? START_WALL_MS)
  }

  /** The clock of the nodes, which the clocks of the engines do not affect. */
  wallMs = (): number => START_WALL_MS + this.#parts.time.nowMs

  jumpWall(byMs: number): void {
    this.#jump(this.#chance.pick(this.#hosts), byMs)
  }

  setBack(process: EngineProcess, byMs: number): void {
    const host = this.#hosts.find((one) => one.process === process)
    if (host !== undefined) this.#jump(host, -byMs)
  }

  #jump(host: Host, byMs: number): void {
    if (byMs < 0) this.setBackMs -= byMs
    host.wallOffsetMs += byMs
    this.#parts.faults.note(
      byMs > 0 ? 'our clock jumped ahead' : 'our clock jumped back',
      null,
      `${host.name}: ${byMs} ms`
    )
  }

  /**
   * Returns the engine for a command. The client asks any engine, and a follower forwards commands to the leader that
   * it knows. null: NO_LEADER.
   */
  door(): Door | null {
    const asked = this.#chance.pick(this.#hosts).process
    if (asked === null || asked.life.isOver) return null
    const isLeader = (one: EngineProcess) =>
      asked.term === null ? asked.election.leaderAddress() === `http://${one.id.split('.')[0]}` : one === asked
    const term = this.processes.find(isLeader)?.term
    return term?.client == null || term.life.isOver ? null : { client: term.client, life: term.life }
  }

  leads(life: Life): boolean {
    const term = this.processes.find((process) => process.term?.life === life)?.term
    return term != null && this.database.isCurrent(term.lease)
  }

  start(): void {
    for (const host of this.#hosts) this.#start(host)
  }

  /** Stops the engines as an operator does, the followers first. Resolves as virtual time advances. */
  async stop(): Promise<void> {
    this.#isOver = true
    const leader = this.leader
    await Promise.all(this.processes.filter((one) => one !== leader).map((one) => one.stop()))
    await leader?.stop()
  }

  async stopOne(): Promise<(delayMs: number) => void> {
    const host = this.#hosts.find(({ process }) => process !== null && process === (this.leader ?? this.processes[0]))
    if (host === undefined) return () => {}
    await host.process!.stop()
    return (delayMs) => this.#startIn(host, delayMs)
  }

  allLives(): Life[] {
    return this.processes.flatMap(({ term }) => term?.life ?? [])
  }

  async bury(): Promise<void> {
    for (const { life } of this.processes) life.end()
    await this.database.close()
  }

  #startIn(host: Host, delayMs: number): void {
    if (host.isStarting) return
    host.isStarting = true
    this.#parts.time.after(delayMs, () => {
      host.isStarting = false
      if (!this.#isOver && (host.process === null || host.process.life.isOver)) this.#start(host)
    })
  }

  #start(host: Host): void {
    host.lives += 1
    const { time, seed, network, cancelWaitsSeconds, faults } = this.#parts
    const process: EngineProcess = new EngineProcess({
      seed,
      time,
      network,
      cancelWaitsSeconds,
      disk: this.disk,
      database: this.database,
      name: host.name,
      number: host.lives,
      wallMs: () => host.wallOffsetMs + time.nowMs,
      onLead: (one) => {
        faults.note('an engine leads', null, one.id)
        this.#parts.onLead()
      },
      onKilled: (call, when) => {
        const kind = when === 'before' ? 'engine killed before a call' : 'engine killed after a call'
        faults.note(kind, null, `${host.name}: ${call}`)
      },
      onDeath: () => this.#startIn(host, this.#chance.between(...RESTART_AFTER_MS)),
      complain: (text) => this.complaints.push({ atMs: time.nowMs, text }),
      onStopped: (timers) => {
        if (this.#parts.pendingOrders() === 0) this.timersLeft.push(timers)
      }
    })
    host.process = process
    process.start()
  }
}
