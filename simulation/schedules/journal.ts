/** What happened around the engine, in monotonic time. The only input of the calculation. */
export interface Journal {
  /** `landed` is set if the engine died while it wrote: the schedules with rows written at that very moment. */
  lives: { fromMs: number; untilMs: number; landed: Set<string> | null }[]
  /** From then on, the wall clock shows monotonic time plus this offset. */
  walls: { fromMs: number; offsetMs: number }[]
  /** When a running engine noticed that the clock was set ahead: at the first row that it wrote. */
  notices: Map<number, number>
  /** Cancels requested at the moment when the engine died. */
  lastCancels: Set<string>
  /**
   * `id monotonic time`: only this schedule's rows could not be written. Failed group writes are retried one by
   * one.
   */
  refused: Set<string>
  failedWrites: number
  pauses: Map<string, Pause[]>
  /** By schedule: writes other than rows. Failures are counted from the last of them. */
  changes: Map<string, number[]>
  /** By schedule: a paused schedule writes its rows hourly, up to this time. */
  pausedRows: Map<string, { atMs: number; nominalMs: number }[]>
}

export interface Pause {
  fromMs: number
  untilMs: number
  by: 'operator' | 'failures'
  /** Whether the rows of the same moment were written before the pause. */
  isAfterRows: boolean
}

export function wallAt(journal: Journal, atMs: number): number {
  return atMs + journal.walls.findLast(({ fromMs }) => fromMs <= atMs)!.offsetMs
}

/** Inclusive, except the start of a pause that followed rows of the same moment. */
export function isPausedAt(journal: Journal, scheduleId: string, atMs: number): boolean {
  const pauses = journal.pauses.get(scheduleId) ?? []
  return pauses.some(
    ({ fromMs, untilMs, isAfterRows }) => (isAfterRows ? atMs > fromMs : atMs >= fromMs) && atMs <= untilMs
  )
}

/** Returns when an engine that knows of an event has lived this long without interruption, or null if none has. */
export function livingSince(journal: Journal, atMs: number, forMs: number): number | null {
  for (const { fromMs, untilMs } of journal.lives) {
    const dueMs = Math.max(fromMs, atMs) + forMs
    if (dueMs <= untilMs) return dueMs
  }
  return null
}
