import type { Clock, Timer } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { createSeededRandom } from '../../../testing/seeded-random.ts'
import type { Election } from '../election.ts'
import { FakeDatabase } from './fake-database.ts'
import { FakeLeaseClient } from './fake-lease-client.ts'

export const DISTURBANCES = [
  /** kill -9. Another process replaces the killed one. */
  'kill',
  /** SIGSTOP: the process is frozen. Overdue timers fire when it resumes. */
  'stall',
  /** Messages are held and neither side notices. They arrive when the cut is over. */
  'cut',
  /** Both sides immediately learn that the connection is closed. */
  'drop',
  'restart database',
  'step database clock',
  'step engine clock',
  'hand over',
  'drain',
  'stop in order'
] as const

export interface Disturbance {
  afterMs: number
  kind: (typeof DISTURBANCES)[number]
  engine: number
  forMs: number
}

/** How soon a live, connected, undrained engine leads after the last disturbance. */
const LEADS_WITHIN_MS = 25_000
/** The usual and the occasional latency in each direction. */
const ON_ITS_WAY_MS = 40
const LATE_MS = 900
const STEP_MS = 3_600_000

/**
 * Runs several elections on one database through all these disturbances. Resolves to the first problem. Resolves to
 * null if two engines never led at the same time, and an engine led whenever one could.
 */
export async function liveThrough(
  disturbances: readonly Disturbance[],
  options: { Election: typeof Election; Database?: typeof FakeDatabase; engines: number; seed: number }
): Promise<string | null> {
  const { Election: Implementation, Database = FakeDatabase, engines, seed } = options
  const world = new World(Implementation, Database, seed)
  for (let index = 0; index < engines; index += 1) world.startEngine(index)
  await world.advanceBy(LEADS_WITHIN_MS)
  for (const disturbance of disturbances) {
    world.disturb(disturbance)
    await world.advanceBy(disturbance.afterMs)
  }
  await world.advanceBy(LEADS_WITHIN_MS + 25_000)
  return world.problem
}

class World {
  problem: string | null = null
  readonly database: FakeDatabase
  readonly random
  nowMs = 0
  databaseStepMs = 0
  isDatabaseUp = true
  readonly #Election: typeof Election
  readonly #engines: SimulatedEngine[] = []
  readonly #timers = new Set<{ dueMs: number; order: number; callback: () => void }>()
  #order = 0
  #started = 0
  #calmSinceMs = 0

  constructor(Implementation: typeof Election, Database: typeof FakeDatabase, seed: number) {
    this.#Election = Implementation
    this.random = createSeededRandom(seed)
    this.database = new Database(() => this.nowMs + this.databaseStepMs)
  }

  startEngine(index: number): void {
    this.#started += 1
    this.#engines[index] = new SimulatedEngine(this, this.#Election, `${index}.${this.#started}`)
  }

  at(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, callback }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  onItsWayMs(): number {
    return this.random.next() * (this.random.next() < 0.1 ? LATE_MS : ON_ITS_WAY_MS)
  }

  async advanceBy(durationMs: number): Promise<void> {
    const endMs = this.nowMs + durationMs
    while (this.problem === null) {
      const next = this.#next()
      if (next === null || next.dueMs > endMs) break
      this.#timers.delete(next)
      this.nowMs = Math.max(this.nowMs, next.dueMs)
      next.callback()
      await new Promise((resolve) => setImmediate(resolve))
      this.check()
    }
    this.nowMs = endMs
  }

  check(): void {
    const running = this.#engines.filter(({ isAlive, isStalled }) => isAlive && !isStalled)
    const leaders = running.filter(({ election }) => election.mayAct())
    const names = leaders.map(({ id }) => id).join(' and ')
    if (leaders.length > 1) this.problem ??= `at ${this.nowMs} ms, ${names} are both certain to lead`
    const able = running.some(({ isDrained, client }) => !isDrained && !client.isCut)
    if (!able || !this.isDatabaseUp || leaders.length > 0) this.#calmSinceMs = this.nowMs
    if (this.nowMs - this.#calmSinceMs > LEADS_WITHIN_MS)
      this.problem ??= `at ${this.nowMs} ms, no engine has led for ${LEADS_WITHIN_MS} ms`
  }

  disturb({ kind, engine: index, forMs }: Disturbance): void {
    const engine = this.#engines[index % this.#engines.length]!
    this.#calmSinceMs = this.nowMs
    switch (kind) {
      case 'kill':
        engine.die()
        return this.#replace(engine, forMs)
      case 'stall':
        engine.isStalled = true
        return void this.at(forMs, () => engine.goOn())
      case 'cut':
        engine.client.isCut = true
        return void this.at(forMs, () => engine.client.heal({ resumes: true }))
      case 'drop':
        return engine.isStalled ? undefined : engine.client.lose()
      case 'restart database':
        this.isDatabaseUp = false
        for (const one of this.#engines) one.client.lose()
        return void this.at(forMs, () => (this.isDatabaseUp = true))
      case 'step database clock':
        this.databaseStepMs += this.random.next() < 0.5 ? STEP_MS : -STEP_MS
        return
      case 'step engine clock':
        engine.wallStepMs += this.random.next() < 0.5 ? STEP_MS : -STEP_MS
        return
      case 'hand over':
        return void (engine.isAlive && !engine.isStalled && engine.election.handOver(null))
      case 'drain':
        engine.drain(true)
        return void this.at(forMs, () => engine.drain(false))
      case 'stop in order':
        if (engine.isStalled || !engine.isAlive) return
        void engine.election.stop()
        return this.#replace(engine, forMs)
    }
  }

  #replace(engine: SimulatedEngine, afterMs: number): void {
    this.at(afterMs, () => {
      const index = this.#engines.indexOf(engine)
      if (index === -1) return
      engine.die()
      this.startEngine(index)
    })
  }

  #next() {
    let first = null
    for (const timer of this.#timers) {
      if (first === null || timer.dueMs < first.dueMs || (timer.dueMs === first.dueMs && timer.order < first.order))
        first = timer
    }
    return first
  }
}

class SimulatedEngine {
  isAlive = true
  isStalled = false
  isDrained = false
  wallStepMs = 0
  readonly id: string
  readonly election: Election
  readonly client: FakeLeaseClient
  readonly #world: World
  /** Callbacks that became due while the engine was stalled. They run when it resumes. */
  #due: (() => void)[] = []

  constructor(world: World, Implementation: typeof Election, id: string) {
    this.#world = world
    this.id = id
    this.client = new FakeLeaseClient({
      database: world.database,
      isDatabaseUp: () => world.isDatabaseUp,
      onItsWayMs: () => world.onItsWayMs(),
      run: (callback) => this.#run(callback),
      after: (delayMs, callback) => void world.at(delayMs, callback)
    })
    const nap = (atMost: number) =>
      new Promise<void>((resolve) => void this.clock.setTimer(world.random.next() * atMost, resolve))
    this.election = new Implementation({
      openTable: (options) => this.client.openTable(options),
      self: {
        id,
        name: `engine ${id}`,
        address: `http://${id}`,
        version: '1',
        hasLocalNode: false,
        blobs: '',
        certificate: ''
      },
      clock: this.clock,
      logger: silentLogger,
      lead: () => nap(world.random.next() < 0.1 ? 8_000 : 600),
      follow: () => nap(world.random.next() < 0.1 ? 8_000 : 600)
    })
    void this.election.start()
  }

  get clock(): Clock {
    const world = this.#world
    return {
      nowMs: () => world.nowMs + this.wallStepMs,
      monotonicMs: () => world.nowMs,
      setTimer: (delayMs, callback) => {
        let isCancelled = false
        const timer = world.at(delayMs, () => this.#run(() => isCancelled || callback()))
        return {
          cancel() {
            isCancelled = true
            timer.cancel()
          }
        }
      }
    }
  }

  die(): void {
    this.isAlive = false
    this.client.lose()
  }

  drain(isDrained: boolean): void {
    this.isDrained = isDrained
    this.#world.database.setDrained(this.id, isDrained)
  }

  goOn(): void {
    this.isStalled = false
    // The engine can act before it learns that anything changed.
    this.#world.check()
    const due = this.#due
    this.#due = []
    for (const callback of due) this.#world.at(0, () => this.#run(callback))
  }

  #run(callback: () => void): void {
    if (!this.isAlive) return
    if (this.isStalled) this.#due.push(callback)
    else callback()
  }
}
