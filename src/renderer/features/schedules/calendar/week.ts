import type { Firing, Schedule, ScheduleId } from '../../../../shared/contract/index.ts'
import { lookOf, type RunLook } from '../run-look.tsx'
import { formatTime, formatWeekday, localZone } from '../../../ui/moment.ts'

/** A past or upcoming run of a schedule in the displayed week, or several consecutive missed runs. */
export interface Run {
  readonly scheduleId: ScheduleId
  readonly atMs: number
  readonly look: RunLook
  /** The number of runs. Consecutive missed runs are one row of the history. */
  readonly count: number
  readonly firing: Firing | null
}
/** A calendar day in the displayed zone: 23 or 25 hours long when clocks change. */
export interface Day {
  readonly startMs: number
  readonly endMs: number
  /** `2026-11-23` */
  readonly date: string
  readonly clocks: 'forward' | 'back' | null
}

export interface Week {
  readonly days: readonly Day[]
  /** Runs by day, then by clock hour. */
  readonly hours: readonly (readonly (readonly Run[])[])[]
  /** Schedules with so many runs that they would hide all others. */
  readonly often: readonly OftenRow[]
  readonly runCount: number
}
export interface OftenRow {
  readonly scheduleId: ScheduleId
  readonly count: number
  readonly days: readonly OftenDay[]
}
interface OftenDay {
  readonly count: number
  readonly hours: readonly { readonly count: number; readonly look: RunLook | null }[]
}

/** A schedule with at least this many runs on one day gets its own row. */
export const OFTEN_FROM = 7
const HOUR_MS = 3_600_000

/** The week, Monday to Sunday, that contains `day`. If `day` is absent or invalid, the current week. */
export function daysOfWeek(day: string | undefined, nowMs: number, utc: boolean): Day[] {
  const wanted = day === undefined ? Number.NaN : Date.parse(`${day}T12:00:00Z`)
  const noon = Number.isNaN(wanted) ? Date.parse(`${dateOf(nowMs, utc)}T12:00:00Z`) : wanted
  const monday = noon - ((new Date(noon).getUTCDay() + 6) % 7) * 24 * HOUR_MS
  return Array.from({ length: 7 }, (_, index) => {
    const startMs = startOfDay(monday + index * 24 * HOUR_MS, utc)
    const endMs = startOfDay(monday + (index + 1) * 24 * HOUR_MS, utc)
    const lengthMs = endMs - startMs
    const clocks = lengthMs < 24 * HOUR_MS ? 'forward' : lengthMs > 24 * HOUR_MS ? 'back' : null
    return { startMs, endMs, date: new Date(monday + index * 24 * HOUR_MS).toISOString().slice(0, 10), clocks }
  })
}

export const weeksOn = (days: readonly Day[], weeks: number): string =>
  new Date(Date.parse(`${days[0]?.date}T12:00:00Z`) + weeks * 7 * 24 * HOUR_MS).toISOString().slice(0, 10)

export function dateOf(atMs: number, utc: boolean): string {
  const at = new Date(atMs)
  return utc
    ? at.toISOString().slice(0, 10)
    : new Date(atMs - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10)
}

/** Merges history and upcoming runs, without duplicates. */
export function mergeRuns(
  firings: readonly Firing[],
  moments: readonly { scheduleId: ScheduleId; atMs: number }[],
  schedules: ReadonlyMap<string, Pick<Schedule, 'jitterSeconds' | 'name'>>,
  nowMs: number
): Run[] {
  const decided = new Set<string>()
  const runs = firings.map((firing): Run => {
    if (firing.origin !== 'manual') decided.add(`${firing.scheduleId} ${firing.nominalMs}`)
    const { scheduleId, nominalMs, atMs, origin, count } = firing
    return { scheduleId, atMs: origin === 'manual' ? atMs : nominalMs, look: lookOf(firing), count, firing }
  })
  for (const { scheduleId, atMs } of moments) {
    // Allows for jitter, and for another minute until the ticker records the run.
    const lateMs = 60_000 + (schedules.get(scheduleId)?.jitterSeconds ?? 0) * 1000
    if (atMs > nowMs - lateMs && !decided.has(`${scheduleId} ${atMs}`))
      runs.push({ scheduleId, atMs, look: 'ahead', count: 1, firing: null })
  }
  const nameOf = ({ scheduleId }: Run) => schedules.get(scheduleId)?.name ?? scheduleId
  return runs.sort((left, right) => left.atMs - right.atMs || nameOf(left).localeCompare(nameOf(right)))
}

/** Sorts runs into days and hours. Schedules that run often get their own rows. */
export function layOutWeek(runs: readonly Run[], days: readonly Day[], utc: boolean): Week {
  const hours = days.map(() => Array.from({ length: 24 }, (): Run[] => []))
  const bySchedule = new Map<ScheduleId, Run[][]>()
  const dayOf = (run: Run) => days.findIndex(({ startMs, endMs }) => run.atMs >= startMs && run.atMs < endMs)
  for (const run of runs) {
    const day = dayOf(run)
    if (day === -1) continue
    const perDay = bySchedule.get(run.scheduleId) ?? days.map(() => [])
    perDay[day]?.push(run)
    bySchedule.set(run.scheduleId, perDay)
  }
  const often: OftenRow[] = []
  let runCount = 0
  for (const [scheduleId, perDay] of bySchedule) {
    const count = perDay.reduce((sum, list) => sum + countOf(list), 0)
    runCount += count
    if (perDay.some((list) => list.length >= OFTEN_FROM))
      often.push({
        scheduleId,
        count,
        days: perDay.map((list) => ({ count: countOf(list), hours: perHour(list, utc) }))
      })
    else
      for (const [day, list] of perDay.entries()) for (const run of list) hours[day]?.[hourOf(run.atMs, utc)]?.push(run)
  }
  for (const day of hours)
    for (const list of day) list.sort((left, right) => RANK[right.look] - RANK[left.look] || left.atMs - right.atMs)
  return { days, hours, often, runCount }
}

function perHour(list: readonly Run[], utc: boolean): OftenDay['hours'] {
  const hours = Array.from({ length: 24 }, (): { count: number; look: RunLook | null } => ({ count: 0, look: null }))
  for (const run of list) {
    const hour = hours[hourOf(run.atMs, utc)] as { count: number; look: RunLook | null }
    hour.count += run.count
    if (hour.look === null || RANK[run.look] > RANK[hour.look]) hour.look = run.look
  }
  return hours
}

/** If there is space for only one look, the look with the highest rank is shown. */
const RANK: Record<RunLook, number> = {
  ahead: 0,
  succeeded: 1,
  cancelled: 2,
  skipped: 3,
  live: 4,
  unclear: 5,
  lost: 6,
  failed: 7,
  missed: 8,
  refused: 9
}

const countOf = (runs: readonly Run[]) => runs.reduce((sum, { count }) => sum + count, 0)

/** Both occurrences of a repeated hour share one row. */
export const hourOf = (atMs: number, utc: boolean) => (utc ? new Date(atMs).getUTCHours() : new Date(atMs).getHours())

function startOfDay(noonUtcMs: number, utc: boolean): number {
  const noon = new Date(noonUtcMs)
  const [year, month, date] = [noon.getUTCFullYear(), noon.getUTCMonth(), noon.getUTCDate()]
  return utc ? Date.UTC(year, month, date) : new Date(year, month, date).getTime()
}

/** `Mon 23 Nov`, with the year if it is not the current one. */
export const dayWords = ({ date }: Day): string => formatWeekday(Date.parse(`${date}T12:00:00Z`), Date.now(), 'UTC')

/** `03:00`, with seconds unless they are zero. */
export const timeWords = (atMs: number, utc: boolean, zone = localZone()): string =>
  formatTime(atMs, utc ? 'UTC' : zone)

/** When a clock hour starts on a day. null: the clocks skip it. For a repeated hour, the first occurrence. */
export function hourStart(day: Day, hour: number, utc: boolean): number | null {
  for (let atMs = day.startMs; atMs < day.endMs; atMs += HOUR_MS) if (hourOf(atMs, utc) === hour) return atMs
  return null
}
