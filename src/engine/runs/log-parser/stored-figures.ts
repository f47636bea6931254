import type { LogFigures } from './figures.ts'

/** Closing stats are stored with the attempt. Zero and unknown figures are omitted. */
export type StoredFigures = Partial<Omit<LogFigures, 'stats' | 'errorsDropped' | 'showsEnd'>>

export function toStoredFigures(figures: LogFigures): StoredFigures {
  const { stats: _stats, errorsDropped: _dropped, showsEnd: _shows, format, series, ...rest } = figures
  const kept = Object.entries(rest).flatMap(([name, value]) => {
    const held = isFields(value) ? withoutNothing(value) : value
    // Zero pages differ from an unknown number of pages.
    const isCount = (name === 'pages' || name === 'items') && value === 0
    return isNothing(held) && !isCount ? [] : [[name, held] as const]
  })
  const isOwnFormat = format !== null && format.kind !== 'scrapy'
  return {
    ...Object.fromEntries(kept),
    ...(isOwnFormat && { format }),
    ...(series !== null && series.pages.length > 1 && { series })
  }
}

function withoutNothing(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isNothing(value)))
}

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function isNothing(value: unknown): boolean {
  if (value === null || value === 0 || value === false || value === '') return true
  return isFields(value) && Object.keys(value).length === 0
}

const QUARTER_MS = 900_000

/**
 * How far the log's times (read as if they were UTC) are ahead of ours: the zone in the log or, without one, the time
 * from the start of the run to the first record, rounded to quarters of an hour like all time zones.
 */
export function timesAheadMs(
  { firstAtMs, zoneMinutes }: Pick<LogFigures, 'firstAtMs' | 'zoneMinutes'>,
  startedAtMs: number | null
): number {
  if (zoneMinutes !== null) return zoneMinutes * 60_000
  if (firstAtMs === null || startedAtMs === null) return 0
  return Math.round((firstAtMs - startedAtMs) / QUARTER_MS) * QUARTER_MS
}
