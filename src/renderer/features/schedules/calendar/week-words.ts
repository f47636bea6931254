import { type Day, hourOf } from './week.ts'

const HOUR_MS = 3_600_000

/** `Mon 23 Nov` */
export const dayWords = ({ date }: Day): string =>
  new Date(`${date}T12:00:00Z`)
    .toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })
    .replace(',', '')

/** `03:00`, with seconds if they are not zero. */
export function timeWords(atMs: number, utc: boolean, zone?: string): string {
  const withSeconds = atMs % 60_000 !== 0
  return new Date(atMs).toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(withSeconds ? { second: '2-digit' } : {}),
    timeZone: utc ? 'UTC' : zone
  })
}

/** When an hour of the clock begins on a day; null if clocks skip it. Of a repeated hour, the first. */
export function hourStart(day: Day, hour: number, utc: boolean): number | null {
  for (let atMs = day.startMs; atMs < day.endMs; atMs += HOUR_MS) if (hourOf(atMs, utc) === hour) return atMs
  return null
}
