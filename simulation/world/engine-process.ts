import type { Engine } from '../../src/engine/index.ts'
import type { Leadership } from '../../src/engine/cluster/leadership/leadership.ts'
import { Election } from '../../src/engine/cluster/leadership/election.ts'
import type { Clock } from '../../src/engine/runtime/clock.ts'
import { type Logger, silentLogger } from '../../src/engine/runtime/logger.ts'
import type { Lease } from '../../src/engine/storage/lease-table.ts'
import { openEngine } from '../../src/engine/assembly/open-engine.ts'
import { createChance } from './chance.ts'
import { DatabaseLink } from './database-link.ts'
import type { Disk } from './disk.ts'
import { type Death, Life } from './life.ts'
import { type Client, clientOf, simulatedOptions } from './machine.ts'
import type { Network } from './network.ts'
import type { SharedDatabase } from './shared-database.ts'
import type { VirtualTime } from './time.ts'

/** The time after which an engine that has not closed ends its process, as in cli/serve-together.ts. */
const CLOSE_LIMIT_MS = 15_000

export interface ProcessParts {
  seed: number
  time: VirtualTime
  network: Network
  disk: Disk
  database: SharedDatabase
  cancelWaitsSeconds: readonly [number, number, number]
  wallMs: () => number
  /** The name of the engine, which remains the same after a restart. */
  name: string
  /** The number of this process among those of the same name. */
  number: number
  onLead: (process: EngineProcess) => void
  /** The process was killed at this call to the outside. */
  onKilled: (call: string, when: Death['when']) => void
  onDeath: () => void
  complain: (text: string) => void
  /** Receives the number of timers left after an engine stopped. */
  onStopped: (timers: number) => void
}

export interface Term {
  lease: Lease
  life: Life
  engine: Engine | null
  client: Client | null
}

/** One process of several. It takes part in the election and runs an engine while it leads (cli/serve-together.ts). */
export class EngineProcess {
  readonly life: Life
  readonly link: DatabaseLink
  readonly election: Election
  readonly id: string
  term: Term | null = null
  readonly #parts: ProcessParts
  readonly #clock: Clock

  constructor(parts: ProcessParts) {
    this.#parts = parts
    const { time, database, seed, name, number } = parts
    this.id = `${name}.${number}`
    this.life = new Life({ time, death: null, onDeath: parts.onDeath })
    this.#clock = this.life.clock(parts.wallMs)
    const chance = createChance(seed, `database ${this.id}`)
    this.link = new DatabaseLink({ life: this.life, time, database: database.lease, chance })
    this.election = new Election({
      openTable: (options) => this.link.lease.openTable(options),
      self: {
        id: this.id,
        name,
        address: `http://${name}`,
        version: 'simulated',
        hasLocalNode: false,
        blobs: '',
        certificate: ''
      },
      clock: this.#clock,
      logger: silentLogger,
      lead: (lease) => this.#lead(lease),
      follow: () => this.#follow()
    })
  }

  /** Starts the election. If that fails, the process ends, and its service manager starts another one. */
  start(): void {
    this.election.start().catch(() => this.life.die())
  }

  /** Whether the process leads with a valid lease and accepts commands. */
  get isLeading(): boolean {
    return this.term?.client != null && !this.term.life.isOver && !this.life.isStalled && this.election.mayAct()
  }

  stall(): void {
    this.life.stall()
    this.term?.life.stall()
  }

  wake(): void {
    this.life.wake()
    this.term?.life.wake()
  }

  /** Stops the process in order. Resolves as virtual time advances, or never if the process dies first. */
  async stop(): Promise<void> {
    await this.election.stop()
    this.life.end()
  }

  async #lead(lease: Lease): Promise<void> {
    const { time, network, disk, database, cancelWaitsSeconds, seed } = this.#parts
    const onDeath = (call: string, when: Death['when']) => {
      this.#parts.onKilled(call, when)
      this.life.die()
    }
    const life = new Life({ time, death: null, onDeath })
    this.life.whenOver(() => life.end())
    const term: Term = { lease, life, engine: null, client: null }
    this.term = term
    const clock = life.clock(this.#parts.wallMs)
    await database.open(clock)
    if (this.life.isOver) return
    this.#parts.onLead(this)
    const leadership = this.#leadership()
    const options = simulatedOptions({
      life,
      clock,
      network,
      disk,
      cancelWaitsSeconds,
      logger: this.#logger(life),
      random: createChance(seed, `engine ${this.id} ${lease.epoch}`),
      store: database.connect(life, lease, this.link, leadership.stepDown)
    })
    try {
      term.engine = await openEngine({ ...options, leadership }, null)
      term.client = await clientOf(term.engine)
    } catch (error) {
      life.end()
      this.term = null
      throw error
    }
  }

  async #follow(): Promise<void> {
    const { term } = this
    this.term = null
    if (term === null || term.life.isOver) return
    const limit = this.#clock.setTimer(CLOSE_LIMIT_MS, () => this.life.die())
    await term.engine?.stop().catch(() => {})
    limit.cancel()
    if (term.life.isOver) return
    this.#parts.onStopped(term.life.timerCount())
    term.life.end()
  }

  #leadership(): Leadership {
    const nobodyAsks = () => Promise.reject(new Error('nobody asks this'))
    const mayAct = () => this.election.mayAct()
    const stepDown = () => this.election.handOver(null)
    const listApart = async () => []
    const list = async () => ({ shared: true, engines: [], terms: [] })
    const certificates = async () => new Map<string, string>()
    const asked = { list, certificate: null, certificates, listApart, handOver: nobodyAsks, setDrained: nobodyAsks }
    return { name: this.#parts.name, secret: '', mayAct, stepDown, ...asked }
  }

  #logger(life: Life): Logger {
    const complain = (facts: unknown, text?: string) => {
      if (life.isOver) return
      const { err, error = err } = facts as { err?: unknown; error?: unknown }
      const words = error instanceof Error ? `${error.name}: ${error.message}` : ''
      this.#parts.complain(`${this.id}: ${text ?? ''} ${words}`)
    }
    return { ...silentLogger, error: complain } as Logger
  }
}
