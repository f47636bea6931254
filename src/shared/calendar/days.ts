/**
 * The days of cron expressions, as one number per month: bit 0 is the month's first day. Which days match depends only
 * on the month's length and its first weekday, so there are only 28 kinds of months to compute.
 */
import type { DayFields } from './cron-fields.ts'

export interface Month {
  /** Days since 1970. */
  firstDay: number
  length: number
  number: number
  /** 0: Sunday */
  firstWeekday: number
}

const DAY_MS = 86_400_000
/** Searches start at 1970 or later, when clocks west of Greenwich can still show 1969, and end before 2300. */
const FIRST_YEAR = 1969
const END_YEAR = 2300
const ALL_DAYS = 0x7fff_ffff
/**
 * The number of months to search. Every kind of each calendar month recurs within 40 years, for example 29
 * February on a Monday around 2100.
 */
const MONTHS_SEARCHED = 41 * 12

const months: Month[] = []

/** The month of a day; undefined outside of 1969 to 2299. */
export function monthOf(day: number): Month | undefined {
  return monthAt(indexOf(day))
}

/** Months are created on demand, because creating all of them would take 5 % of the service's startup time. */
function monthAt(index: number): Month | undefined {
  if (index < 0 || index >= (END_YEAR - FIRST_YEAR) * 12) return undefined
  return (months[index] ??= makeMonth(index))
}

function makeMonth(index: number): Month {
  const firstDay = Date.UTC(FIRST_YEAR, index) / DAY_MS
  const length = Date.UTC(FIRST_YEAR, index + 1) / DAY_MS - firstDay
  return { firstDay, length, number: (index % 12) + 1, firstWeekday: new Date(firstDay * DAY_MS).getUTCDay() }
}

/**
 * The search ends with the month of `untilDay`. `bitsOf` must depend only on the length and first weekday of the month.
 */
export function dayAtOrAfter(day: number, untilDay: number, bitsOf: (month: Month) => number): number | null {
  let index = indexOf(day)
  let skipped = day - (monthAt(index)?.firstDay ?? day)
  const end = index + MONTHS_SEARCHED
  for (
    let month = monthAt(index);
    index < end && month !== undefined && month.firstDay <= untilDay;
    month = monthAt(index)
  ) {
    const bits = (bitsOf(month) >>> skipped) << skipped
    if (bits !== 0) return month.firstDay + 31 - Math.clz32(bits & -bits)
    skipped = 0
    index += 1
  }
  return null
}

export function hasDay(bits: number, month: Month, day: number): boolean {
  return ((bits >>> (day - month.firstDay)) & 1) === 1
}

function indexOf(day: number): number {
  const date = new Date(day * DAY_MS)
  return (date.getUTCFullYear() - FIRST_YEAR) * 12 + date.getUTCMonth()
}

export class DayTable {
  readonly #fields: DayFields
  readonly #bits = new Map<number, number>()

  constructor(fields: DayFields) {
    this.#fields = fields
  }

  bitsOf(month: Month): number {
    if (this.#fields.months !== null && !this.#fields.months.includes(month.number)) return 0
    const kind = month.length * 7 + month.firstWeekday
    let bits = this.#bits.get(kind)
    if (bits === undefined) {
      bits = findDays(this.#fields, month)
      this.#bits.set(kind, bits)
    }
    return bits
  }
}

function findDays({ daysOfMonth, weekdays, isBoth }: DayFields, month: Month): number {
  const all = ALL_DAYS >>> (31 - month.length)
  if (daysOfMonth === null && weekdays === null) return all
  const dates = daysOfMonth === null ? null : bitsWhere(month, (date) => daysOfMonth.some(meansDate(date, month)))
  const days = weekdays === null ? null : bitsWhere(month, (date) => weekdays.some(meansWeekday(date, month)))
  if (dates === null || days === null) return dates ?? days ?? all
  return isBoth ? dates & days : dates | days
}

function bitsWhere({ length }: Month, isMeant: (date: number) => boolean): number {
  let bits = 0
  for (let date = 1; date <= length; date += 1) if (isMeant(date)) bits |= 1 << (date - 1)
  return bits
}

const weekdayOf = (date: number, { firstWeekday }: Month) => (firstWeekday + date - 1) % 7

function meansDate(date: number, month: Month): (text: string) => boolean {
  return (text) => {
    if (text === 'L') return date === month.length
    if (text === 'LW') return date === nearestWorkday(month.length, month)
    if (!text.endsWith('W')) return date === Number(text)
    const wanted = Number.parseInt(text, 10)
    return wanted <= month.length && date === nearestWorkday(wanted, month)
  }
}

function nearestWorkday(date: number, month: Month): number {
  const weekday = weekdayOf(date, month)
  if (weekday === 6) return date > 1 ? date - 1 : date + 2
  if (weekday === 0) return date < month.length ? date + 1 : date - 2
  return date
}

function meansWeekday(date: number, month: Month): (text: string) => boolean {
  return (text) => {
    const [weekday, nth] = text.split('#')
    if (weekdayOf(date, month) !== Number(weekday)) return false
    if (nth === undefined) return true
    return nth === 'L' ? date + 7 > month.length : Math.ceil(date / 7) === Number(nth)
  }
}
