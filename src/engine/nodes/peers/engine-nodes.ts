import { EventEmitter } from 'node:events'
import { addressOfEngine } from '../../../shared/engine-address.ts'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import type { Leadership } from '../../cluster/leadership/leadership.ts'
import { type Clock, Timers } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'

const LOOK_EVERY_MS = 2_000
/** Engines that share a name for this long are reported. A killed process appears to be alive for less time. */
const NAMESAKES_FOR_MS = 30_000

export interface EnginePlace {
  address: string
  /** PEM. The only trusted certificate. null: the engine uses plain HTTP, or its version publishes no certificate. */
  certificate: string | null
}

export interface EngineNodesParts {
  engines: Pick<Leadership, 'list' | 'certificates'>
  clock: Clock
  logger: Logger
}

/**
 * Finds the engines that have a local node. Each of them becomes a node under the engine's name. The node remains in
 * the fleet while the engine is unreachable.
 */
export class EngineNodes {
  /** Emitted for every engine with a local node, whenever the engines have been listed. */
  readonly events = new EventEmitter<{ found: [engine: string] }>()
  readonly #parts: EngineNodesParts
  readonly #timers: Timers
  #places: ReadonlyMap<string, EnginePlace> = new Map()
  #shared: readonly { name: string; addresses: string[]; sinceMs: number }[] = []

  constructor(parts: EngineNodesParts) {
    this.#parts = parts
    this.#timers = new Timers(parts.clock)
  }

  /** null: the engine is unreachable, or has no local node. */
  placeOf(engine: string): EnginePlace | null {
    return this.#places.get(engine) ?? null
  }

  /** Whether a removed node with this address would be added again. */
  isThere(url: string): boolean {
    return [...this.#places.keys()].some((engine) => addressOfEngine(engine) === url)
  }

  /** Engines that have shared a name for longer than a restart takes. */
  namesakes(): { name: string; addresses: string[]; sinceMs: number }[] {
    const untilMs = this.#parts.clock.nowMs() - NAMESAKES_FOR_MS
    return this.#shared.filter(({ sinceMs }) => sinceMs <= untilMs)
  }

  async look(): Promise<void> {
    try {
      const [{ engines }, certificates] = await Promise.all([
        this.#parts.engines.list(),
        this.#parts.engines.certificates()
      ])
      // A killed process still appears alive for several seconds, so the newest engine with a name counts.
      const living = engines.filter(({ state }) => state !== 'silent')
      const newest = new Map(living.map((one) => [one.name, one]))
      this.#noteShared(living)
      const there = [...newest.values()].filter(({ hasLocalNode }) => hasLocalNode)
      this.#places = new Map(
        there.map(({ id, name, address }) => [name, { address, certificate: certificates.get(id) ?? null }])
      )
    } catch (error) {
      // The last known addresses are the best guess until the next attempt.
      this.#parts.logger.warn({ error }, 'the engines could not be listed')
    }
  }

  #noteShared(living: readonly EngineInfo[]): void {
    const before = new Map(this.#shared.map(({ name, sinceMs }) => [name, sinceMs]))
    this.#shared = [...Map.groupBy(living, ({ name }) => name)]
      .filter(([, engines]) => engines.length > 1)
      .map(([name, engines]) => {
        const addresses = engines.map(({ address }) => address)
        return { name, addresses, sinceMs: before.get(name) ?? this.#parts.clock.nowMs() }
      })
  }

  start(): void {
    for (const engine of this.#places.keys()) this.events.emit('found', engine)
    this.#timers.set(LOOK_EVERY_MS, () => void this.look().then(() => this.start()))
  }

  stop(): void {
    this.#timers.stop()
  }
}
