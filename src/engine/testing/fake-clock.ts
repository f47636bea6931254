import type { Clock, Timer } from '../runtime/clock.ts'

/** How many turns of the event loop a chain of promises and grouped commits gets to come to rest. */
const SETTLE_TURNS = 12

export interface FakeClock extends Clock {
  /** Runs every timer that comes due on the way, in order, and lets what it started come to rest before the next. */
  advanceBy(durationMs: number): Promise<void>
  /** Moves the wall clock alone, as an operator or NTP does. */
  jumpWallBy(deltaMs: number): void
  /** Timers that are set and have not run: what a stopped thing must bring to zero. */
  timerCount(): number
}

/** Time that stands still until a test moves it. Starts at `startMs` wall time, monotonic 0. */
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
    // Somebody else may have moved it on meanwhile: time never goes back.
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
    // Whole milliseconds, as Date.now gives them; timers may come due between two.
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

/** Lets promises, and the commits of the store that they wait for, come to rest. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
