/** Cumulative values at the end of each minute of a run, so that a point can be dropped without losing counts. */
export interface LogSeries {
  startMs: number
  /** Starts at one minute and doubles whenever there would be more than MAX_POINTS. */
  widthMs: number
  pages: number[]
  items: number[]
  errors: number[]
}

export interface SeriesValues {
  pages: number
  items: number
  errors: number
}

export const MAX_POINTS = 300
const MINUTE_MS = 60_000

export function startSeries(atMs: number): LogSeries {
  return { startMs: Math.floor(atMs / MINUTE_MS) * MINUTE_MS, widthMs: MINUTE_MS, pages: [], items: [], errors: [] }
}

/** When the open point ends. No point is added before that. */
export function endOfPointMs(series: LogSeries): number {
  return series.startMs + (series.pages.length + 1) * series.widthMs
}

export function advanceSeries(series: LogSeries, atMs: number, values: SeriesValues): void {
  while (Math.floor((atMs - series.startMs) / series.widthMs) >= MAX_POINTS) widen(series)
  while (endOfPointMs(series) <= atMs) {
    series.pages.push(values.pages)
    series.items.push(values.items)
    series.errors.push(values.errors)
  }
}

/** Includes the open point. */
export function seriesSoFar(series: LogSeries, values: SeriesValues): LogSeries {
  return {
    ...series,
    pages: [...series.pages, values.pages],
    items: [...series.items, values.items],
    errors: [...series.errors, values.errors]
  }
}

/**
 * Merges every two points into one that has the later values. An unpaired last point becomes part of the open point.
 */
function widen(series: LogSeries): void {
  series.widthMs *= 2
  for (const key of ['pages', 'items', 'errors'] as const) {
    series[key] = series[key].filter((_value, index) => index % 2 === 1)
  }
}
