import { calendarWords } from './english.ts'
import { formatLocal, momentOfWall, stretchAt } from './zones.ts'

/** `fromMs` and `untilMs` (exclusive) belong to the first window. `repeats` is null if there is only one. */
export interface Windows {
  fromMs: number
  untilMs: number
  repeats: { every: 'day' | 'week'; zone: string; endsMs: number | null } | null
}

const DAY_MS = 86_400_000
const PERIOD_MS = { day: DAY_MS, week: 7 * DAY_MS }

/**
 * Returns the current window, otherwise the next window, otherwise null. Excludes times that clocks skip and includes
 * times that clocks repeat.
 */
export function windowFrom(
  { fromMs, untilMs, repeats }: Windows,
  nowMs: number
): Pick<Windows, 'fromMs' | 'untilMs'> | null {
  if (nowMs < untilMs) return { fromMs, untilMs }
  if (repeats === null) return null
  const { zone, endsMs } = repeats
  const periodMs = PERIOD_MS[repeats.every]
  const [fromWallMs, untilWallMs] = [wallOf(zone, fromMs), wallOf(zone, untilMs)]
  // A window can still be open after clocks have shown its end, because clocks can show that time twice.
  const over = Math.floor((wallOf(zone, nowMs) - untilWallMs) / periodMs)
  for (let number = Math.max(1, over); ; number += 1) {
    const beginsMs = beginOf(zone, fromWallMs + number * periodMs)
    if (endsMs !== null && beginsMs >= endsMs) return null
    const endMs = endOf(zone, untilWallMs + number * periodMs)
    if (beginsMs < endMs && nowMs < endMs) return { fromMs: beginsMs, untilMs: endMs }
  }
}

export function areApart({ fromMs, untilMs, repeats }: Windows): boolean {
  if (repeats === null) return true
  return wallOf(repeats.zone, untilMs) - wallOf(repeats.zone, fromMs) <= PERIOD_MS[repeats.every]
}

/** `every Sunday 02:00–04:00 (Europe/Berlin)`, or `every day 22:00–06:00 (UTC), last on 2026-12-31` */
export function describeWindows({ fromMs, untilMs, repeats }: Windows, words = calendarWords): string | null {
  if (repeats === null) return null
  const { every, zone, endsMs } = repeats
  const [from, until] = [fromMs, untilMs].map((atMs) => readWall(zone, atMs)) as [Wall, Wall]
  const lasts = endsMs === null ? '' : words.lastOn(readWall(zone, endsMs - 1).date)
  const isOfDays = every === 'week' && untilMs - fromMs > DAY_MS
  const times = isOfDays
    ? words.windowOfDays(from.time, words.weekday(until.day), until.time)
    : `${from.time}–${until.time}`
  if (every === 'day') return words.dailyWindow(times, zone, lasts)
  return words.weeklyWindow(words.weekday(from.day), times, zone, lasts)
}

interface Wall {
  date: string
  /** 0: Sunday. */
  day: number
  time: string
}

function readWall(zone: string, atMs: number): Wall {
  const { offsetMs } = stretchAt(zone, atMs)
  const local = formatLocal(atMs, offsetMs)
  return { date: local.slice(0, 10), day: new Date(atMs + offsetMs).getUTCDay(), time: local.slice(11, 16) }
}

const wallOf = (zone: string, atMs: number): number => atMs + stretchAt(zone, atMs).offsetMs

/** The first moment at which clocks show this time or have skipped it. */
function beginOf(zone: string, wallMs: number): number {
  const atMs = momentOfWall(zone, wallMs)
  const { startMs, offsetMs, previousOffsetMs } = stretchAt(zone, atMs)
  if (atMs + offsetMs !== wallMs) return startMs
  const backMs = Math.max(0, previousOffsetMs - offsetMs)
  return atMs - startMs < backMs ? atMs - backMs : atMs
}

/** The moment after which clocks never again show an earlier time. */
function endOf(zone: string, wallMs: number): number {
  const lastMs = wallMs - 1
  const atMs = momentOfWall(zone, lastMs)
  const { startMs, endMs, offsetMs, nextOffsetMs } = stretchAt(zone, atMs)
  if (atMs + offsetMs !== lastMs) return startMs
  const backMs = Math.max(0, offsetMs - nextOffsetMs)
  return (endMs - atMs <= backMs ? atMs + backMs : atMs) + 1
}
