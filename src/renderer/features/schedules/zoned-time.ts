/** Times of day in any zone, by the browser's calendar. Formatters are kept: making one costs over a hundred uses. */
const formats = new Map<string, Intl.DateTimeFormat>()

function format(kind: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${kind} ${options.timeZone}`
  const kept = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', options)
  formats.set(key, kept)
  return kept
}

/** The zone of this machine. */
export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** `Mon 23 Nov 03:00`, with the year where it is another than that of `nowMs`, with seconds where there are any. */
export function formatMoment(atMs: number, zone: string, nowMs: number): string {
  const parts = partsOf(atMs, zone)
  const year = parts['year'] === partsOf(nowMs, zone)['year'] ? '' : ` ${parts['year']}`
  return `${parts['weekday']} ${parts['day']} ${parts['month']}${year} ${timeOf(parts)}`
}

/** `03:00`, and the day before it where it is another day than `besideMs` has in `besideZone`. */
export function formatTimeBeside(atMs: number, zone: string, besideZone: string): string {
  const parts = partsOf(atMs, zone)
  const beside = partsOf(atMs, besideZone)
  return parts['day'] === beside['day'] ? timeOf(parts) : `${parts['weekday']} ${timeOf(parts)}`
}

/** `in 2 d 17 h`, `in 5 min`, `now`: two units at most, rounded down. */
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

/** What `<input type="datetime-local">` shows for a moment, by the clocks of a zone: `2026-11-23T03:00`. */
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

/** When clocks of a zone show this; a time that they leave out is as much later. null: no time. */
export function fromLocalInput(text: string, zone: string): number | null {
  const wallMs = Date.parse(`${text.length === 10 ? `${text}T00:00` : text}Z`)
  if (Number.isNaN(wallMs)) return null
  // The offset of a moment near by, then that of the moment found: they differ only within hours of a clock change.
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
  // British English alone has months of four letters: Sept.
  return Object.fromEntries(parts.map(({ type, value }) => [type, type === 'month' ? value.slice(0, 3) : value]))
}

const timeOf = (parts: Record<string, string>) =>
  `${parts['hour']}:${parts['minute']}${parts['second'] === '00' ? '' : `:${parts['second']}`}`
