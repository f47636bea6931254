/** A timer that was set; `cancel` may be called twice. */
export interface Timer {
  cancel(): void
}

/** Everything the engine knows of time. Tests give a FakeClock, the program `systemClock`. */
export interface Clock {
  /** Wall time: milliseconds since 1970 UTC. May jump; use it for records. */
  nowMs(): number
  /** Never goes back; use it for measuring and for waits. */
  monotonicMs(): number
  /** Calls `callback` once after `delayMs`. The timer does not keep the process alive by itself. */
  setTimer(delayMs: number, callback: () => void): Timer
}

/** Resolves after `delayMs`; rejects with the signal's reason when aborted first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  }
}
