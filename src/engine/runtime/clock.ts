export interface Timer {
  cancel(): void
}

/** The engine's only source of time. Tests use a FakeClock. The program uses `systemClock`. */
export interface Clock {
  /** Wall time: milliseconds since 1970 UTC. Can jump. Use it for records. */
  nowMs(): number
  /** Monotonic time in milliseconds, which never goes back. Use it to measure and to wait. */
  monotonicMs(): number
  /** The timer does not keep the process alive. */
  setTimer(delayMs: number, callback: () => void): Timer
}

/** The timers of one component. `stop` cancels all of them. After that, `set` does nothing. */
export class Timers {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #isStopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(delayMs: number, callback: () => void): void {
    if (this.#isStopped) return
    const timer = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(timer)
      callback()
    })
    this.#timers.add(timer)
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}

/** Rings at the earliest of the times that were set. After `stop`, `set` does nothing. */
export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => void
  #timer: Timer | null = null
  #atMs = Number.POSITIVE_INFINITY
  #isStopped = false

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock
    this.#ring = ring
  }

  get isSet(): boolean {
    return this.#atMs < Number.POSITIVE_INFINITY
  }

  set(delayMs: number): void {
    const atMs = this.#clock.monotonicMs() + delayMs
    if (this.#isStopped || atMs >= this.#atMs) return
    this.#timer?.cancel()
    this.#atMs = atMs
    this.#timer = this.#clock.setTimer(delayMs, () => {
      this.#atMs = Number.POSITIVE_INFINITY
      this.#ring()
    })
  }

  ringNow(): void {
    if (this.#isStopped) return
    this.#timer?.cancel()
    this.#atMs = Number.POSITIVE_INFINITY
    this.#ring()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }
}

/** Resolves after `delayMs`, or immediately on abort, so the caller must check its signal. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const wake = () => {
      timer.cancel()
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const timer = clock.setTimer(delayMs, wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}

/** Settles like `promise`, or after `limitMs` with what `late` returns or throws. */
export async function within<T, Late = never>(
  clock: Clock,
  limitMs: number,
  promise: Promise<T>,
  late: () => Late
): Promise<T | Late> {
  const limit = Promise.withResolvers<void>()
  const timer = clock.setTimer(limitMs, limit.resolve)
  try {
    return await Promise.race([promise, limit.promise.then(late)])
  } finally {
    timer.cancel()
  }
}

export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

// Node fires a timer longer than 2^31 - 1 ms (25 days) immediately, so longer waits are split.
const LONGEST_STEP_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, callback) {
    return delayMs <= LONGEST_STEP_MS ? new ShortTimer(delayMs, callback) : setLongTimer(delayMs, callback)
  }
}

/** A class, because closures would cost more. Thousands of timers are set per second, and most are cancelled. */
class ShortTimer implements Timer {
  readonly #timeout: NodeJS.Timeout

  constructor(delayMs: number, callback: () => void) {
    this.#timeout = setTimeout(callback, delayMs).unref()
  }

  cancel(): void {
    clearTimeout(this.#timeout)
  }
}

function setLongTimer(delayMs: number, callback: () => void): Timer {
  let timer: Timer
  const arm = (leftMs: number) => {
    const stepMs = Math.min(leftMs, LONGEST_STEP_MS)
    timer = new ShortTimer(stepMs, () => (leftMs > stepMs ? arm(leftMs - stepMs) : callback()))
  }
  arm(delayMs)
  return { cancel: () => timer.cancel() }
}
