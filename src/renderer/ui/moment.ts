import { locale } from '../../shared/locale.ts'

/** Formatters by zone and format. They are cached, because creating one takes longer than using it 100 times. */
const formats = new Map<string, Intl.DateTimeFormat>()

export function zoneFormat(kind: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${kind} ${options.timeZone}`
  const kept = formats.get(key) ?? new Intl.DateTimeFormat(locale(), options)
  formats.set(key, kept)
  return kept
}

export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** `14:00` if it is today, otherwise `23 Nov, 14:00` or `1 Jun 2031, 09:00`. Includes seconds unless they are zero. */
export function formatMoment(atMs: number, nowMs: number): string {
  const zone = localZone()
  const day = formatDay(atMs, nowMs, zone)
  const time = formatTime(atMs, zone)
  return day === formatDay(nowMs, nowMs, zone) ? time : `${day}, ${time}`
}

/** `23 Nov`, with the year if it differs from that of `nowMs`. */
export function formatDay(atMs: number, nowMs: number, zone: string): string {
  const { day, month, year } = partsOf(atMs, zone)
  return `${day} ${month}${year === partsOf(nowMs, zone)['year'] ? '' : ` ${year}`}`
}

/** `Mon 23 Nov`, with the year if it differs from that of `nowMs`. */
export const formatWeekday = (atMs: number, nowMs: number, zone: string): string =>
  `${partsOf(atMs, zone)['weekday']} ${formatDay(atMs, nowMs, zone)}`

/** `03:00`, with seconds unless they are zero. */
export function formatTime(atMs: number, zone: string): string {
  const { hour, minute, second } = partsOf(atMs, zone)
  return `${hour}:${minute}${second === '00' ? '' : `:${second}`}`
}

function partsOf(atMs: number, zone: string): Record<string, string> {
  const parts = zoneFormat('moment', {
    timeZone: zone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23'
  }).formatToParts(atMs)
  // British English abbreviates only September to four letters: Sept.
  return Object.fromEntries(parts.map(({ type, value }) => [type, type === 'month' ? value.slice(0, 3) : value]))
}
