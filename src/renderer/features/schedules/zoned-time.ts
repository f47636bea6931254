/** Times of day in any zone, from the browser's calendar. Formatters are cached: creating one costs over 100 uses. */
const formats = new Map<string, Intl.DateTimeFormat>()

function format(kind: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${kind} ${options.timeZone}`
  const kept = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', options)
  formats.set(key, kept)
  return kept
}

/** This machine's zone. */
export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** `Mon 23 Nov 03:00`, with the year if it differs from that of `nowMs`, with seconds if they are not zero. */
export function formatMoment(atMs: number, zone: string, nowMs: number): string {
  const parts = partsOf(atMs, zone)
  const year = parts['year'] === partsOf(nowMs, zone)['year'] ? '' : ` ${parts['year']}`
  return `${parts['weekday']} ${parts['day']} ${parts['month']}${year} ${timeOf(parts)}`
}

/** `03:00` in `zone`, preceded by the day if it is another day in `besideZone`. */
export function formatTimeBeside(atMs: number, zone: string, besideZone: string): string {
  const parts = partsOf(atMs, zone)
  const beside = partsOf(atMs, besideZone)
  return parts['day'] === beside['day'] ? timeOf(parts) : `${parts['weekday']} ${timeOf(parts)}`
}

/** `in 2 d 17 h`, `in 5 min`, `now`: at most two units, rounded down. */
export function formatIn(waitMs: number): string {
  const minutes = Math.floor(waitMs / 60_000)
  if (waitMs < 1000) return 'now'
  if (minutes < 1) return `in ${Math.floor(waitMs / 1000)} s`
  if (minutes < 60) return `in ${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `in ${hours} h` : `in ${hours} h ${minutes % 60} min`
  const days = Math.floor(hours / 24)
  if (days < 100) return hours % 24 === 0 ? `in ${days} d` : `in ${days} d ${hours % 24} h`
  return `in ${days} d`
}

/** The value of `<input type="datetime-local">` for an instant, in a zone: `2026-11-23T03:00`. */
export function toLocalInput(atMs: number, zone: string): string {
  const parts = format('input', {
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

/** The instant at which a zone's clocks show this; a skipped time is moved past the gap. null: not a time. */
export function fromLocalInput(text: string, zone: string): number | null {
  const wallMs = Date.parse(`${text.length === 10 ? `${text}T00:00` : text}Z`)
  if (Number.isNaN(wallMs)) return null
  // The offset at a nearby instant, then that at the result: they differ only within hours of a clock change.
  const first = wallMs - offsetMs(wallMs, zone)
  const second = wallMs - offsetMs(first, zone)
  return toLocalInput(second, zone).startsWith(text.slice(0, 16)) ? second : Math.max(first, second)
}

function offsetMs(atMs: number, zone: string): number {
  return Date.parse(`${toLocalInput(atMs, zone)}Z`) - Math.floor(atMs / 1000) * 1000
}

function partsOf(atMs: number, zone: string): Record<string, string> {
  const parts = format('moment', {
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

const timeOf = (parts: Record<string, string>) =>
  `${parts['hour']}:${parts['minute']}${parts['second'] === '00' ? '' : `:${parts['second']}`}`
