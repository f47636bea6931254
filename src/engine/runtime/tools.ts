import type { Clock } from './clock.ts'
import type { Logger } from './logger.ts'
import type { Random } from './random.ts'

export interface Tools {
  clock: Clock
  random: Random
  logger: Logger
}

/** For `AsyncDisposableStack.adopt`. null: the part is not configured. */
export const stop = (part: { stop(): Promise<void> | void } | null) => part?.stop()
