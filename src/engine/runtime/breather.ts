import type { Clock } from './clock.ts'

/** A single step is not interrupted. */
const LONGEST_TURN_MS = 4

/** For loops over thousands of things: call the result between steps, so that other work runs in between. */
export function breather(clock: Pick<Clock, 'monotonicMs'>): () => Promise<void> {
  let beganMs = clock.monotonicMs()
  return async () => {
    if (clock.monotonicMs() - beganMs < LONGEST_TURN_MS) return
    await new Promise((resolve) => setImmediate(resolve))
    beganMs = clock.monotonicMs()
  }
}
