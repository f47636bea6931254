import type { Clock, Timer } from '../runtime/clock.ts'

const SETTLE_TURNS = 12

export interface FakeClock extends Clock {
  /** Runs every timer that becomes due, in order. The effects of each settle before the next one runs. */
  advanceBy(durationMs: number): Promise<void>
  /** Moves only the wall clock, as an operator or NTP does. */
  jumpWallBy(deltaMs: number): void
  /** The number of pending timers. It must be zero after a component has stopped. */
  timerCount(): number
}

/** Time does not pass until a test advances it. Wall time starts at `startMs`, monotonic time at 0. */
export function createFakeClock(startMs = 1_800_000_000_000): FakeClock {
  const timers = new Set<{ dueMs: number; order: number; callback: () => void }>()
  let elapsedMs = 0
  let wallOffsetMs = startMs
  let order = 0

  async function advanceBy(durationMs: number): Promise<void> {
    const endMs = elapsedMs + durationMs
    await settle()
    for (let next = nextDue(endMs); next !== null; next = nextDue(endMs)) {
      timers.delete(next)
      elapsedMs = Math.max(elapsedMs, next.dueMs)
      next.callback()
      await settle()
    }
    // Another call may have advanced the clock further, and time never goes back.
    elapsedMs = Math.max(elapsedMs, endMs)
  }

  function nextDue(untilMs: number) {
    const due = [...timers].filter((timer) => timer.dueMs <= untilMs)
    return due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0] ?? null
  }

  function setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: elapsedMs + Math.max(0, delayMs), order: order++, callback }
    timers.add(timer)
    return { cancel: () => void timers.delete(timer) }
  }

  return {
    // Whole milliseconds, like Date.now, although timers can be due at fractions of a millisecond.
    nowMs: () => Math.floor(wallOffsetMs + elapsedMs),
    monotonicMs: () => elapsedMs,
    setTimer,
    advanceBy,
    jumpWallBy(deltaMs) {
      wallOffsetMs += deltaMs
    },
    timerCount: () => timers.size
  }
}

export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
