import type { LoadMinute } from './spread.ts'

const MINUTE_MS = 60_000
/** Minutes per bar: only lengths that divide an hour evenly. */
const BAR_MINUTES = [1, 2, 5, 10, 15, 30, 60]

export interface Bar {
  readonly fromMs: number
  /** The fullest minute of the bar, which a sum or a mean would hide. */
  readonly peak: LoadMinute
}

/** As many bars as fit, each with its fullest minute. Bars in which nothing starts are left out. */
export function barsOf(minutes: readonly LoadMinute[], fromMs: number, untilMs: number, most: number) {
  const spanMinutes = (untilMs - fromMs) / MINUTE_MS
  const barMinutes = BAR_MINUTES.find((size) => spanMinutes / size <= most) ?? 60
  const barMs = barMinutes * MINUTE_MS
  const bars = new Map<number, Bar>()
  for (const minute of minutes) {
    if (minute.jobs === 0 || minute.atMs < fromMs || minute.atMs >= untilMs) continue
    const start = fromMs + Math.floor((minute.atMs - fromMs) / barMs) * barMs
    const before = bars.get(start)
    if (before === undefined || minute.jobs > before.peak.jobs) bars.set(start, { fromMs: start, peak: minute })
  }
  return { barMinutes, bars: [...bars.values()].sort((left, right) => left.fromMs - right.fromMs) }
}

/** Round hours of the machine's clock, or midnights if hours would be too dense. */
export function hourTicks(fromMs: number, untilMs: number, most: number): number[] {
  const hours = (untilMs - fromMs) / 3_600_000
  const step = [1, 2, 3, 6, 12, 24].find((each) => hours / each <= most) ?? 24
  const ticks: number[] = []
  const at = new Date(fromMs)
  at.setMinutes(0, 0, 0)
  for (; at.getTime() < untilMs; at.setHours(at.getHours() + 1))
    if (at.getTime() >= fromMs && at.getHours() % step === 0) ticks.push(at.getTime())
  return ticks
}
