import type { SharedCache } from '../../engine/cluster/cache/shared-cache.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import { BoundedMap } from '../../engine/runtime/bounded.ts'

const WINDOW_MS = 60_000
/**
 * The maximum number of clients in memory. Beyond this, the limiter forgets the clients with the oldest first failure.
 */
const MAX_CLIENTS = 10_000

/**
 * Counts failed logins per client and minute. A shared cache returns the count of all engines only after a delay, so
 * several engines together allow slightly more attempts than one.
 */
export class AttemptLimiter {
  readonly #name: string
  readonly #cache: SharedCache | null
  readonly #clock: Clock
  readonly #maxFailures: number
  readonly #windows = new BoundedMap<string, { startedAtMs: number; failures: number }>(MAX_CLIENTS)

  constructor(options: { name: string; clock: Clock; maxFailuresPerMinute: number; cache: SharedCache | null }) {
    this.#name = options.name
    this.#cache = options.cache
    this.#clock = options.clock
    this.#maxFailures = options.maxFailuresPerMinute
  }

  /** How long this client remains blocked after too many failures. 0 if it is not blocked. */
  blockedForMs(client: string): number {
    const window = this.#windows.get(client)
    if (window === undefined || window.failures < this.#maxFailures) return 0
    return Math.max(0, window.startedAtMs + WINDOW_MS - this.#clock.monotonicMs())
  }

  /** Returns true if this failure blocks the client. */
  addFailure(client: string): boolean {
    const isBlocked = this.begin(client)
    this.confirm(client)
    return isBlocked
  }

  /** Counts an attempt on this engine before its outcome is known. Returns true if the attempt blocks the client. */
  begin(client: string): boolean {
    return this.#addHere(client)
  }

  takeBack(client: string): void {
    const window = this.#windows.get(client)
    if (window !== undefined && window.failures > 0) window.failures -= 1
  }

  /** Call this if the attempt failed. Also counts the attempt for the other engines. */
  confirm(client: string): void {
    if (this.#cache !== null && !this.#cache.isAway) void this.#addEverywhere(client, this.#cache)
  }

  async #addEverywhere(client: string, cache: SharedCache): Promise<void> {
    const everywhere = await cache.countFailure({ limit: this.#name, client }, WINDOW_MS)
    const here = this.#windows.get(client)
    if (everywhere === null || here === undefined || everywhere.count <= here.failures) return
    here.failures = everywhere.count
    here.startedAtMs = this.#clock.monotonicMs() - WINDOW_MS + everywhere.leftMs
  }

  #addHere(client: string): boolean {
    const nowMs = this.#clock.monotonicMs()
    const window = this.#windows.get(client)
    if (window !== undefined && nowMs - window.startedAtMs < WINDOW_MS) {
      window.failures += 1
      return window.failures === this.#maxFailures
    }
    this.#windows.set(client, { startedAtMs: nowMs, failures: 1 })
    return this.#maxFailures === 1
  }
}
