/** `atMs` is read as UTC, because logs rarely include the zone. The caller adjusts it to the node's clock. */
export interface ReadTime {
  /** NaN: there is no valid time. */
  atMs: number
  /** Minutes east of UTC, if the text contains a zone; NaN: it does not. */
  zoneMinutes: number
}

export const TIME_STYLES = ['iso', 'numeric', 'named-month', 'syslog', 'compact', 'epoch', 'clock'] as const
export type TimeStyle = (typeof TIME_STYLES)[number]
/** Whether 02/03 is 2 March or 3 February. Only used for `numeric`. */
export type DayOrder = 'day-first' | 'month-first'

const CLOCK = String.raw`\d\d?:\d\d(?::\d\d)?(?:[.,:]\d{1,9})?(?: ?[AaPp][Mm])?`
const ZONE = String.raw`(?: ?(?:Z\b|UTC|GMT|[+-]\d\d:?\d\d))?`
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}'

/** Tried in this order, because `clock` is part of all other patterns. No pattern contains a capturing group. */
export const TIME_PATTERNS: Record<TimeStyle, string> = {
  iso: String.raw`\d{4}[-/.]\d\d?[-/.]\d\d?[T _,]{1,2}${CLOCK}${ZONE}`,
  numeric: String.raw`\d\d?[-/.]\d\d?[-/.](?:\d{4}|\d\d)[T :_,]{1,2}${CLOCK}${ZONE}`,
  'named-month': String.raw`\d\d?[-/. ]${MONTH}[-/. ](?:\d{4}|\d\d)[T :_,]{1,2}${CLOCK}${ZONE}`,
  syslog: String.raw`(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?${MONTH} {1,2}\d\d?,? (?:\d{4},? )?${CLOCK}(?: \d{4})?${ZONE}`,
  compact: String.raw`\d{8}[T _-]?\d{6}(?:[.,]\d{1,9})?${ZONE}`,
  epoch: String.raw`\d{10}(?:\d{3})?(?:\.\d{1,9})?`,
  clock: CLOCK
}

/**
 * Whether times of the style have a full date. Without a date, a time counts from 1970-01-01; a day without a year is
 * in 1970.
 */
export function hasDate(style: TimeStyle): boolean {
  return style !== 'clock' && style !== 'syslog'
}

const NO_TIME: ReadTime = { atMs: Number.NaN, zoneMinutes: Number.NaN }

/** `text` must match the pattern of its style. Only for custom formats and JSON, because this allocates memory. */
export function readTimeText(text: string, style: TimeStyle, order: DayOrder = 'day-first'): ReadTime {
  if (style === 'epoch') {
    const number = Number(text)
    return { atMs: Math.floor(number < 1e11 ? number * 1000 : number), zoneMinutes: 0 }
  }
  const { rest, zoneMinutes } = splitZone(text)
  if (style === 'compact') {
    const digits = rest.replace(/\D/g, '')
    const part = (from: number, to: number) => Number(digits.slice(from, to))
    const fraction = Number(`0.${digits.slice(14) || '0'}`)
    return withZone(
      msOf(part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 12), part(12, 14), fraction),
      zoneMinutes
    )
  }
  const clock = CLOCK_PARTS.exec(rest)
  if (clock === null) return NO_TIME
  const [, hourText, minute, second = '0', fraction = '0', half] = clock
  const hour = half === undefined ? Number(hourText) : (Number(hourText) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const [year, month, day] = readDay(rest.slice(0, clock.index), rest.slice(clock.index), style, order)
  const atMs = msOf(year, month, day, hour, Number(minute), Number(second), Number(`0.${fraction}`))
  return withZone(atMs, zoneMinutes)
}

const CLOCK_PARTS = /(?<!\d)(\d\d?):(\d\d)(?::(\d\d))?(?:[.,:](\d{1,9}))?(?: ?([AaPp])[Mm])?(?: \d{4})?$/
const ZONE_PARTS = / ?(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))$/

function splitZone(text: string): { rest: string; zoneMinutes: number } {
  const zone = ZONE_PARTS.exec(text)
  // A zone must follow a time of day, because `02-11-2026` seems to end with the zone -20:26.
  if (zone === null || !text.slice(0, zone.index).includes(':')) return { rest: text, zoneMinutes: Number.NaN }
  const minutes = zone[1] === undefined ? Number(zone[3]) * 60 + Number(zone[4]) : 0
  return { rest: text.slice(0, zone.index), zoneMinutes: zone[2] === '-' ? -minutes : minutes }
}

function withZone(atMs: number, zoneMinutes: number): ReadTime {
  return Number.isNaN(atMs) ? NO_TIME : { atMs, zoneMinutes }
}

function readDay(before: string, after: string, style: TimeStyle, order: DayOrder): [number, number, number] {
  if (style === 'clock') return [1970, 1, 1]
  if (style === 'syslog') {
    const [, month = '', day = '1'] =
      /([A-Z][a-z]{2})[a-z]* {1,2}(\d\d?),? /.exec(before.replace(/^\w{3},? (?=[A-Z])/, '')) ?? []
    const year = /\b\d{4}\b/.exec(before)?.[0] ?? / (\d{4})$/.exec(after)?.[1] ?? '1970'
    return [Number(year), monthOf(month), Number(day)]
  }
  const [first = '', second = '', third = ''] = before.match(/\d+|[A-Za-z]{3,}/g) ?? []
  if (style === 'iso') return [Number(first), Number(second), Number(third)]
  const year = third.length === 2 ? 2000 + Number(third) : Number(third)
  if (style === 'named-month') return [year, monthOf(second), Number(first)]
  // A number over 12 must be the day.
  const isMonthFirst = Number(second) > 12 || (order === 'month-first' && Number(first) <= 12)
  return isMonthFirst ? [year, Number(first), Number(second)] : [year, Number(second), Number(first)]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

function monthOf(name: string): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1
}

/** Returns NaN if a part is out of range. `fraction` is a fraction of a second. */
export function msOf(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
  fraction: number
): number {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31)) return Number.NaN
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return Number.NaN
  return (daysOf(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second) * 1000 + Math.floor(fraction * 1000)
}

/** Days since 1970-01-01. Avoids Date, because a large log calls this several million times. */
function daysOf(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}
