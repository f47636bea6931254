import type { JobId } from '../../shared/contract/index.ts'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

/** Makes job ids (src/shared/contract/ids.ts tells their form): strictly ascending within one process. */
export function createJobIds(clock: Clock, random: Random): () => JobId {
  let lastTimeMs = 0
  let counter = 0
  return () => {
    // A clock that steps back must not make ids that sort before their elders.
    const timeMs = Math.max(clock.nowMs(), lastTimeMs)
    counter = timeMs === lastTimeMs ? counter + 1 : 0
    lastTimeMs = timeMs
    return (timeMs.toString(16).padStart(12, '0') + counter.toString(16).padStart(6, '0') + random.hex(7)) as JobId
  }
}
