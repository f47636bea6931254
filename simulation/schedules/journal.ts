/** What happened around the engine, in monotonic time: all that the calculation is told. */
export interface Journal {
  /** `landed`: of an engine that died while it wrote, the schedules whose rows were written at that very moment. */
  lives: { fromMs: number; untilMs: number; landed: Set<string> | null }[]
  /** The wall shows monotonic time and this, from then on. */
  walls: { fromMs: number; offsetMs: number }[]
  /** When a clock that was set ahead under a living engine was noticed: by the first row that was written. */
  notices: Map<number, number>
  /** Cancels that were asked for in the moment of a death. */
  lastCancels: Set<string>
  /**
   * `id monotonic time`: rows of this schedule alone could not be written. (Rows of several are tried at once by
   * themselves.)
   */
  refused: Set<string>
  failedWrites: number
  /** By schedule, as they were written. */
  pauses: Map<string, Pause[]>
  /** By schedule, whatever was written of it but its rows: failures are counted from then on. */
  changes: Map<string, number[]>
  /** By schedule: while it is paused its rows are written by the hour, up to this moment. */
  pausedRows: Map<string, { atMs: number; nominalMs: number }[]>
}

export interface Pause {
  fromMs: number
  untilMs: number
  by: 'operator' | 'failures'
  /** Its rows of that very moment were there before. */
  isAfterRows: boolean
}

/** What the wall showed. */
export function wallAt(journal: Journal, atMs: number): number {
  return atMs + journal.walls.findLast(({ fromMs }) => fromMs <= atMs)!.offsetMs
}

/** Both ends included, but for a pause that followed rows of the same moment. */
export function isPausedAt(journal: Journal, scheduleId: string, atMs: number): boolean {
  const pauses = journal.pauses.get(scheduleId) ?? []
  return pauses.some(
    ({ fromMs, untilMs, isAfterRows }) => (isAfterRows ? atMs > fromMs : atMs >= fromMs) && atMs <= untilMs
  )
}

/** When an engine that knows of what happened at a time has lived for so long without a break; null: none did. */
export function livingSince(journal: Journal, atMs: number, forMs: number): number | null {
  for (const { fromMs, untilMs } of journal.lives) {
    const dueMs = Math.max(fromMs, atMs) + forMs
    if (dueMs <= untilMs) return dueMs
  }
  return null
}
