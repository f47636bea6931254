import type { ScheduleId } from '../../shared/contract/index.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import { type Message, writtenAs } from '../../shared/texts/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredSchedule } from '../model/records.ts'
import type { ScheduleStore } from '../storage/store.ts'

const PAUSE_TRIES = 5

export type PausedBy = NonNullable<StoredSchedule['pausedBy']>

interface PausingParts {
  store: ScheduleStore
  clock: Clock
  onPaused(schedule: StoredSchedule): void
}

/**
 * Pauses a schedule that is over or failed too often. Returns the stored schedule, or null if it was deleted or kept
 * changing.
 */
export async function pauseItself(
  { store, clock, onPaused }: PausingParts,
  scheduleId: ScheduleId,
  { pausedBy, note }: { pausedBy: PausedBy; note: Message }
): Promise<StoredSchedule | null> {
  for (let tries = 0; tries < PAUSE_TRIES; tries += 1) {
    const [stored] = await store.getSchedules([scheduleId])
    if (stored === undefined || stored.paused) return stored ?? null
    const paused = {
      ...stored,
      pausedBy,
      ...writtenAs('pauseNote', note),
      paused: true,
      revision: stored.revision + 1,
      changedAtMs: clock.nowMs()
    }
    try {
      await store.putSchedule(paused)
      onPaused(paused)
      return paused
    } catch (error) {
      if (!isScrapdeckError(error, 'CHANGED_MEANWHILE')) throw error
    }
  }
  return null
}
