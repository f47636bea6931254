import type { Clock } from '../../engine/runtime/clock.ts'

export interface AttemptLimiter {
  /** Too many recent failures from this client: reject without checking the credentials. */
  isBlocked(client: string): boolean
  addFailure(client: string): void
}

const WINDOW_MS = 60_000
/** Bounds memory use if addresses are forged; such a flood is not someone guessing passwords. */
const MAX_CLIENTS = 10_000

/** Counts failed logins by client address, in windows of a minute. */
export function createAttemptLimiter(options: { clock: Clock; maxFailuresPerMinute: number }): AttemptLimiter {
  const { clock, maxFailuresPerMinute } = options
  const windows = new Map<string, { startedAtMs: number; failures: number }>()
  const current = (client: string) => {
    const window = windows.get(client)
    return window !== undefined && clock.monotonicMs() - window.startedAtMs < WINDOW_MS ? window : null
  }
  return {
    isBlocked: (client) => (current(client)?.failures ?? 0) >= maxFailuresPerMinute,
    addFailure(client) {
      const window = current(client)
      if (window !== null) {
        window.failures += 1
        return
      }
      if (windows.size >= MAX_CLIENTS) windows.clear()
      windows.set(client, { startedAtMs: clock.monotonicMs(), failures: 1 })
    }
  }
}
