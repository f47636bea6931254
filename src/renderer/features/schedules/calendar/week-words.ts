import { formatTime, formatWeekday, localZone } from '../../../ui/moment.ts'
import { type Day, hourOf } from './week.ts'

const HOUR_MS = 3_600_000

/** `Mon 23 Nov`, with the year if it is not this one. */
export const dayWords = ({ date }: Day): string => formatWeekday(Date.parse(`${date}T12:00:00Z`), Date.now(), 'UTC')

/** `03:00`, with seconds if they are not zero. */
export const timeWords = (atMs: number, utc: boolean, zone = localZone()): string =>
  formatTime(atMs, utc ? 'UTC' : zone)

/** When an hour of the clock begins on a day; null if clocks skip it. Of a repeated hour, the first. */
export function hourStart(day: Day, hour: number, utc: boolean): number | null {
  for (let atMs = day.startMs; atMs < day.endMs; atMs += HOUR_MS) if (hourOf(atMs, utc) === hour) return atMs
  return null
}
