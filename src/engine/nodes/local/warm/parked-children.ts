import type { Clock, Timer } from '../../../runtime/clock.ts'
import type { FreeMemory } from '../../../runtime/free-memory.ts'

export interface ParkingParent {
  /** Monotonic. When the parent last started a run. */
  lastStartMs: number | null
  /** The requested number, minus the runs started since then. */
  parked: number
  /** Requests a total of `count` parked children. Replaces dead children. */
  park(count: number): void
}

const MIB = 1024 ** 2
/** The private memory of a parked child and its supervisor: 22 MB with Scrapy 2.19, plus a margin. */
export const PARKED_BYTES = 32 * MIB
/** The memory that must remain free for a large spider, or a tenth of the machine's memory if that is more. */
const RESERVE_BYTES = 256 * MIB
/** How long children remain parked without a start. After that, they are not worth their memory. */
export const PARKED_FOR_MS = 10 * 60_000
/**
 * The delay before a used child is replaced. Forking a new child immediately would compete for a CPU with the start
 * that used the old one.
 */
const SETTLE_MS = 150
const REVIEW_MS = 10_000

/** How many children each parent should keep. Recently used parents come first. Unused parents keep none. */
export function parkedWanted(
  parents: readonly Pick<ParkingParent, 'lastStartMs' | 'parked'>[],
  now: { monotonicMs: number; mostParked: number; freeSlots: number; memory: FreeMemory }
): number[] {
  const reserveBytes = Math.max(RESERVE_BYTES, now.memory.totalBytes / 10)
  const parkedBytes = parents.reduce((sum, { parked }) => sum + parked * PARKED_BYTES, 0)
  const affordable = Math.floor((now.memory.freeBytes + parkedBytes - reserveBytes) / PARKED_BYTES)
  let left = Math.max(0, Math.min(now.freeSlots, affordable))
  const wanted = parents.map(() => 0)
  const byUse = [...parents.keys()].sort((one, other) => sinceStart(parents[one]!) - sinceStart(parents[other]!))
  for (const at of byUse) {
    if (sinceStart(parents[at]!) > PARKED_FOR_MS) break
    wanted[at] = Math.min(now.mostParked, left)
    left -= wanted[at]
  }
  return wanted

  function sinceStart({ lastStartMs }: Pick<ParkingParent, 'lastStartMs'>): number {
    return lastStartMs === null ? Number.POSITIVE_INFINITY : now.monotonicMs - lastStartMs
  }
}

interface ParkedChildrenOptions {
  mostParked: number
  freeSlots: () => number
  readFreeMemory: () => Promise<FreeMemory>
  parents: () => ParkingParent[]
  clock: Clock
}

/**
 * Decides how many children each warm parent keeps parked. Decides again soon after a run starts or ends, and every ten
 * seconds while children may be parked, so that parked children end when memory is low.
 */
export class ParkedChildren {
  readonly #options: ParkedChildrenOptions
  #timer: Timer | null = null
  #isSoon = false
  #isClosed = false

  constructor(options: ParkedChildrenOptions) {
    this.#options = options
  }

  wake(): void {
    if (this.#isSoon || this.#options.mostParked === 0) return
    this.#isSoon = true
    this.#decideIn(SETTLE_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #decideIn(delayMs: number): void {
    this.#timer?.cancel()
    if (!this.#isClosed) this.#timer = this.#options.clock.setTimer(delayMs, () => void this.#decide())
  }

  async #decide(): Promise<void> {
    this.#isSoon = false
    const { clock, mostParked, freeSlots } = this.#options
    const memory = await this.#options.readFreeMemory()
    if (this.#isClosed) return
    const parents = this.#options.parents()
    const wanted = parkedWanted(parents, {
      monotonicMs: clock.monotonicMs(),
      mostParked,
      freeSlots: freeSlots(),
      memory
    })
    for (const [at, parent] of parents.entries()) if (wanted[at]! + parent.parked > 0) parent.park(wanted[at]!)
    const isUsed = parents.some(
      ({ lastStartMs }) => lastStartMs !== null && clock.monotonicMs() - lastStartMs <= PARKED_FOR_MS
    )
    if (isUsed && !this.#isSoon) this.#decideIn(REVIEW_MS)
  }
}
