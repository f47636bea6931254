import { onTestFinished } from 'vitest'

/** Returns how many turns of the event loop have passed since: in each, another request could be served. */
export function countTurns(): () => number {
  let turns = 0
  const count = () => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  onTestFinished(() => clearImmediate(next))
  return () => turns
}
