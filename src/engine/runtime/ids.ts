import type { JobId } from '../../shared/contract/index.ts'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

/** Creates job ids (format: src/shared/contract/ids.ts), strictly ascending within a process. */
export function createJobIds(clock: Clock, random: Random): () => JobId {
  let lastTimeMs = 0
  let counter = 0
  return () => {
    // If the clock steps back, new ids must still sort after older ones.
    const timeMs = Math.max(clock.nowMs(), lastTimeMs)
    counter = timeMs === lastTimeMs ? counter + 1 : 0
    lastTimeMs = timeMs
    return (timeMs.toString(16).padStart(12, '0') + counter.toString(16).padStart(6, '0') + random.hex(7)) as JobId
  }
}
