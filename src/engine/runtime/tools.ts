import type { Clock } from './clock.ts'
import type { Logger } from './logger.ts'
import type { Random } from './random.ts'
import type { SecretBox } from './secret-box.ts'
import type { Store } from '../storage/store.ts'

/** What nearly every room needs; the type of each room's parts names the rest. */
export interface Base {
  store: Store
  clock: Clock
  random: Random
  logger: Logger
  secretBox: SecretBox
}

/** How a stack releases a room. */
export const stop = (room: { stop(): Promise<void> | void }) => room.stop()
