import type { Clock } from './clock.ts'

const LONGEST_TURN_MS = 4

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** For loops over thousands of items. Call the returned function between steps, so that other work can run. */
export function yielder(clock: Pick<Clock, 'monotonicMs'>, giveWay = nextTurn): () => Promise<void> {
  let beganMs = clock.monotonicMs()
  return async () => {
    if (clock.monotonicMs() - beganMs < LONGEST_TURN_MS) return
    await giveWay()
    beganMs = clock.monotonicMs()
  }
}
