import { formatTime, formatWeekday, zoneFormat } from '../../ui/moment.ts'
import { texts } from '../../../shared/texts/ui/schedules.ts'

/** `Mon 23 Nov 03:00`, with the year if it differs from that of `nowMs`, and with seconds unless they are zero. */
export function formatMoment(atMs: number, zone: string, nowMs: number): string {
  return `${formatWeekday(atMs, nowMs, zone)} ${formatTime(atMs, zone)}`
}

/** `03:00` in `zone`, preceded by the day if that differs from the day in `besideZone`. */
export function formatTimeBeside(atMs: number, zone: string, besideZone: string): string {
  const [day = '', beside] = [zone, besideZone].map((one) => formatWeekday(atMs, atMs, one))
  return day === beside ? formatTime(atMs, zone) : `${day.slice(0, 3)} ${formatTime(atMs, zone)}`
}

/** `in 2 d 17 h`, `in 5 min`, `now`: at most two units, rounded down. */
export function formatIn(waitMs: number): string {
  const minutes = Math.floor(waitMs / 60_000)
  if (waitMs < 1000) return texts.dueNow
  if (minutes < 1) return texts.inSeconds(Math.floor(waitMs / 1000))
  if (minutes < 60) return texts.inMinutes(minutes)
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? texts.inHours(hours) : texts.inHoursMinutes(hours, minutes % 60)
  const days = Math.floor(hours / 24)
  if (days < 100) return hours % 24 === 0 ? texts.inDays(days) : texts.inDaysHours(days, hours % 24)
  return texts.inDays(days)
}

/** The value of `<input type="datetime-local">` for an instant, in a zone: `2026-11-23T03:00`. */
export function toLocalInput(atMs: number, zone: string): string {
  const parts = zoneFormat('input', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23'
  }).formatToParts(atMs)
  const of = Object.fromEntries(parts.map(({ type, value }) => [type, value]))
  const seconds = of['second'] === '00' ? '' : `:${of['second']}`
  return `${of['year']}-${of['month']}-${of['day']}T${of['hour']}:${of['minute']}${seconds}`
}

/** The instant when a zone's clocks show this time. A skipped time moves past the gap. null: not a time. */
export function fromLocalInput(text: string, zone: string): number | null {
  const wallMs = Date.parse(`${text.length === 10 ? `${text}T00:00` : text}Z`)
  if (Number.isNaN(wallMs)) return null
  // Takes the offset at a nearby instant, then at the result. The two differ only near a clock change.
  const first = wallMs - offsetMs(wallMs, zone)
  const second = wallMs - offsetMs(first, zone)
  return toLocalInput(second, zone).startsWith(text.slice(0, 16)) ? second : Math.max(first, second)
}

function offsetMs(atMs: number, zone: string): number {
  return Date.parse(`${toLocalInput(atMs, zone)}Z`) - Math.floor(atMs / 1000) * 1000
}
