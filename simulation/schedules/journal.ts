/** What happened around the engine, in monotonic time. The calculation uses only this and the plan. */
export interface Journal {
  /** `landed`: if the engine died while writing, the schedules whose rows were written at that time. */
  lives: { fromMs: number; untilMs: number; landed: Set<string> | null }[]
  /** From `fromMs` on, the wall clock shows monotonic time plus this offset. */
  walls: { fromMs: number; offsetMs: number }[]
  /**
   * When a running engine noticed that the clock was set ahead, by time of the jump. It notices at the first row that
   * it writes.
   */
  notices: Map<number, number>
  /** Cancels that were requested when the engine died. */
  lastCancels: Set<string>
  /**
   * `id monotonic time`: this schedule's rows could not be written, even alone. Failed group writes are retried one
   * by one.
   */
  refused: Set<string>
  failedWrites: number
  pauses: Map<string, Pause[]>
  /** By schedule: the times of writes other than rows. Failures are counted from the last of these times. */
  changes: Map<string, number[]>
  /** By schedule: a paused schedule writes its rows hourly, up to this time. */
  pausedRows: Map<string, { atMs: number; nominalMs: number }[]>
}

export interface Pause {
  fromMs: number
  untilMs: number
  by: 'operator' | 'failures'
  /** Whether the rows of the same time were written before the pause. */
  isAfterRows: boolean
}

export function wallAt(journal: Journal, atMs: number): number {
  return atMs + journal.walls.findLast(({ fromMs }) => fromMs <= atMs)!.offsetMs
}

/**
 * Whether a schedule is paused at this time. Pauses include their start and end, except the start of a pause that
 * followed rows of the same time.
 */
export function isPausedAt(journal: Journal, scheduleId: string, atMs: number): boolean {
  const pauses = journal.pauses.get(scheduleId) ?? []
  return pauses.some(
    ({ fromMs, untilMs, isAfterRows }) => (isAfterRows ? atMs > fromMs : atMs >= fromMs) && atMs <= untilMs
  )
}

/** Returns the first time at which an engine has lived for `forMs` since `atMs` without interruption, or null. */
export function livingSince(journal: Journal, atMs: number, forMs: number): number | null {
  for (const { fromMs, untilMs } of journal.lives) {
    const dueMs = Math.max(fromMs, atMs) + forMs
    if (dueMs <= untilMs) return dueMs
  }
  return null
}
