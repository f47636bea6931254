// Preloads what the engine loads on first use, because loading takes real time.
import '../../src/engine/runs/items/open-items.ts'
import '../../src/engine/api/router/open-router.ts'
import '../../src/engine/nodes/scrapyd/probe.ts'
import '../../src/engine/nodes/scrapyd/scrapyd-client.ts'
import { createMemoryArchive } from '../../src/engine/testing/memory-archive.ts'
import { createRouterClient } from '@orpc/server'
import type { Engine, EngineOptions } from '../../src/engine/index.ts'
import type { Clock } from '../../src/engine/runtime/clock.ts'
import { silentLogger, type Logger } from '../../src/engine/runtime/logger.ts'
import { asSealedText, type SecretBox } from '../../src/engine/runtime/secret-box.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { openEngine } from '../../src/engine/assembly/open-engine.ts'
import { type Chance, createChance } from './chance.ts'
import { Disk, type StoreWitness } from './disk.ts'
import type { Faults } from './faults.ts'
import { type Death, Life } from './life.ts'
import type { Network } from './network.ts'
import { OWNER } from '../../src/engine/access/principal.ts'
import type { VirtualTime } from './time.ts'

export type Client = Awaited<ReturnType<typeof clientOf>>
export const clientOf = async (engine: Engine) =>
  createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })

export const START_WALL_MS = 1_800_000_000_000

export interface Door {
  client: Client
  life: Life
}

/** What a story needs from the machines that run it: one with one engine, or several (cluster.ts). */
export type World = Pick<
  Machine,
  | 'disk'
  | 'client'
  | 'life'
  | 'complaints'
  | 'timersLeft'
  | 'setBackMs'
  | 'isUp'
  | 'store'
  | 'wallMs'
  | 'jumpWall'
  | 'door'
  | 'triesAgain'
  | 'ownWallMs'
  | 'leads'
  | 'stop'
  | 'stopOne'
  | 'allLives'
  | 'bury'
>

interface MachineParts {
  seed: number
  time: VirtualTime
  network: Network
  faults: Faults
  witness: StoreWitness
  cancelWaitsSeconds: readonly [number, number, number]
  onKilled: () => void
  restartIn: (delayMs: number) => void
  /** Commands without a response. Checking a new node can take long, regardless of what happens to the engine. */
  pendingOrders: () => number
}

export class Machine {
  readonly disk: Disk
  client: Client | null = null
  life: Life | null = null
  /** How often an operator retries if no engine runs. */
  readonly triesAgain: number = 0
  /** Errors that the engine logged. Bugs in its own code show up here first. */
  readonly complaints: { atMs: number; text: string }[] = []
  readonly timersLeft: number[] = []
  lives = 0
  setBackMs = 0
  #wallOffsetMs = START_WALL_MS
  #engine: Engine | null = null
  #store: Store | null = null
  readonly #parts: MachineParts

  constructor(parts: MachineParts, options: { directory: string; template: string }) {
    this.#parts = parts
    this.disk = new Disk({ ...options, time: parts.time })
  }

  get ownWallMs(): number {
    return this.wallMs()
  }

  /** The time on this machine's wall clock, which the nodes' clocks follow. */
  wallMs = (): number => this.#wallOffsetMs + this.#parts.time.nowMs

  jumpWall(byMs: number): void {
    if (byMs < 0) this.setBackMs -= byMs
    this.#wallOffsetMs += byMs
    this.#parts.faults.note(byMs > 0 ? 'our clock jumped ahead' : 'our clock jumped back', null, `${byMs} ms`)
  }

  get isUp(): boolean {
    return this.client !== null && this.life?.isOver === false
  }

  door(): Door | null {
    return this.client === null || this.life === null ? null : { client: this.client, life: this.life }
  }

  /** There is only one engine, so it leads. */
  leads(_life: Life): boolean {
    return true
  }

  async start(death: Death | null = null): Promise<void> {
    const { seed, time, network, faults, witness } = this.#parts
    this.lives += 1
    const number = this.lives
    const life = new Life({
      time,
      death,
      onDeath: (call, when) => {
        faults.note(when === 'before' ? 'engine killed before a call' : 'engine killed after a call', null, call)
        this.client = null
        this.#engine = null
        this.#parts.onKilled()
      }
    })
    this.life = life
    const clock = life.clock(this.wallMs)
    this.#store = await openSqliteStoreHere({ path: this.disk.databasePath, clock, logger: silentLogger })
    const options = simulatedOptions({
      life,
      clock,
      network,
      disk: this.disk,
      cancelWaitsSeconds: this.#parts.cancelWaitsSeconds,
      logger: this.#logger(life),
      random: createChance(seed, `engine ${number}`),
      store: this.disk.openStore(life, this.#store, witness)
    })
    // Does not use createEngine, because that would load openEngine in real time.
    openEngine(options, null).then(
      async (engine) => {
        if (life.isOver) return
        this.#engine = engine
        const client = await clientOf(engine)
        if (!life.isOver) this.client = client
      },
      (error: unknown) => {
        if (life.isOver) return
        this.complaints.push({ atMs: time.nowMs, text: `the engine did not start: ${String(error)}` })
        life.end()
        this.#parts.onKilled()
      }
    )
  }

  kill(): void {
    if (this.life?.isOver === false) this.life.die()
  }

  /** Releases what a dead engine had open, so that the next engine can open it. */
  async bury(): Promise<void> {
    await this.#store?.close()
    this.#store = null
  }

  async stop(): Promise<void> {
    const engine = this.#engine
    const life = this.life
    this.client = null
    this.#engine = null
    if (engine === null || life === null || life.isOver) return
    await engine.stop()
    if (life.isOver) return
    if (this.#parts.pendingOrders() === 0) this.timersLeft.push(life.timerCount())
    life.end()
  }

  async stopOne(): Promise<(delayMs: number) => void> {
    await this.stop()
    return this.#parts.restartIn
  }

  allLives(): Life[] {
    return this.life === null ? [] : [this.life]
  }

  get store(): Store {
    return this.#store!
  }

  #logger(life: Life): Logger {
    const complain = (facts: unknown, text?: string) => {
      if (life.isOver) return
      const { err, error = err } = facts as { err?: unknown; error?: unknown }
      const words = error instanceof Error ? `${error.name}: ${error.message}` : ''
      this.complaints.push({ atMs: this.#parts.time.nowMs, text: `${text ?? ''} ${words}` })
    }
    return { ...silentLogger, error: complain } as Logger
  }
}

export function simulatedOptions(parts: {
  life: Life
  clock: Clock
  random: Chance
  store: Store
  disk: Disk
  network: Network
  cancelWaitsSeconds: readonly [number, number, number]
  logger: Logger
}): EngineOptions {
  const { life, clock, random, store, disk, network, cancelWaitsSeconds, logger } = parts
  return {
    dataDirectory: disk.directory,
    host: 'service',
    resourcesDirectory: disk.directory,
    scrapdeckVersion: 'simulated',
    secretBox: SECRETS,
    credentials: { username: 'simulated', password: 'simulated' },
    cancelWaitsSeconds,
    logger,
    seams: {
      clock,
      random,
      store,
      blobs: disk.blobs(life),
      logArchive: createMemoryArchive(disk.blobs(life)),
      // Disabled, because threads and processes take real time.
      logIndex: null,
      itemCounts: null,
      localNode: null,
      connect: network.connectFor(life),
      eggTree: { put: async () => {}, remove: async () => {}, repair: async () => [] },
      loopDelay: { sampleP99Ms: () => 0, sampleShare: () => 0, stop: () => {} },
      // Constant, so that the stories are the same on any disk that the simulation runs on.
      measureDisk: async () => ({ totalBytes: 1e12, freeBytes: 1e12 })
    }
  }
}

const SECRETS: SecretBox = {
  store: 'file',
  description: 'simulated',
  seal: async (plainText) => asSealedText(`sealed ${plainText}`),
  open: async (sealed) => sealed.replace(/^sealed /, '')
}
