import type { ScheduleTiming } from '../contract/schedules.ts'
import { compileCron, type CompiledCron, timeAtOrAfter, wallAtOrAfter } from './cron.ts'
import { dayAtOrAfter, hasDay, monthOf, type Month } from './days.ts'
import type { SearchBudget } from './search-budget.ts'

const DAY_MS = 86_400_000
const HOUR_SECONDS = 3_600
const NOTHING = new Int32Array(0)
const dateSets = new WeakMap<readonly string[], Set<number>>()

/**
 * Each excluded expression has its own bit, set for every hour, minute and second that the expression names. A time is
 * excluded if its hour, minute and second share the bit of an expression that matches the day.
 */
export class Exclusions {
  readonly dates: ReadonlySet<number>
  readonly hours: Int32Array
  readonly minutes: Int32Array
  readonly seconds: Int32Array
  readonly isNone: boolean
  readonly #crons: CompiledCron[]
  #last = { day: Number.NaN, bits: 0 }

  constructor({ excludedDates, excludedCrons }: Pick<ScheduleTiming, 'excludedDates' | 'excludedCrons'>) {
    this.dates = dateSetOf(excludedDates)
    this.#crons = excludedCrons.map(compileCron)
    this.isNone = excludedDates.length === 0 && excludedCrons.length === 0
    this.hours = this.isNone ? NOTHING : new Int32Array(24)
    this.minutes = this.isNone ? NOTHING : new Int32Array(60)
    this.seconds = this.isNone ? NOTHING : new Int32Array(60)
    for (const [index, { hours, minutes, seconds, hasSeconds }] of this.#crons.entries()) {
      for (const hour of hours) this.hours[hour]! |= 1 << index
      for (const minute of minutes) this.minutes[minute]! |= 1 << index
      // An expression with five fields matches the whole minute.
      if (hasSeconds) for (const second of seconds) this.seconds[second]! |= 1 << index
      else this.seconds.forEach((bits, second) => (this.seconds[second] = bits | (1 << index)))
    }
  }

  bitsOf(day: number, month = monthOf(day)): number {
    if (month === undefined) return 0
    if (day === this.#last.day) return this.#last.bits
    let bits = 0
    for (let index = 0; index < this.#crons.length; index += 1) {
      if (hasDay(this.#crons[index]!.dayBits(month), month, day)) bits |= 1 << index
    }
    this.#last = { day, bits }
    return bits
  }

  includes(wallMs: number): boolean {
    if (this.isNone) return false
    const day = Math.floor(wallMs / DAY_MS)
    if (this.dates.has(day)) return true
    const second = Math.floor((wallMs - day * DAY_MS) / 1000)
    const ofTime = this.hours[Math.floor(second / HOUR_SECONDS)]! & this.minutes[Math.floor(second / 60) % 60]!
    return (ofTime & this.seconds[second % 60]! & this.bitsOf(day)) !== 0
  }
}

/** Finds the walls of one expression that are not excluded. Skips whole days, hours and minutes. */
export class FreeWalls {
  readonly #cron: CompiledCron
  readonly #exclusions: Exclusions
  readonly #budget: SearchBudget
  readonly #freeDays = new Map<number, number>()
  /** The keys are the bits of the expressions that exclude times. */
  readonly #ofDay = new Map<number, number | null>()
  readonly #ofHour = new Map<number, number | null>()
  readonly #ofMinute = new Map<number, number | null>()

  constructor(cron: CompiledCron, exclusions: Exclusions, budget: SearchBudget) {
    this.#cron = cron
    this.#exclusions = exclusions
    this.#budget = budget
  }

  /** The first wall at or after `wallMs`, or null. The search ends with the month of `untilMs`. */
  atOrAfter(wallMs: number, untilMs: number): number | null {
    this.#budget.spend(1)
    if (this.#exclusions.isNone) return wallAtOrAfter(this.#cron, wallMs, untilMs)
    let day: number | null = Math.floor(wallMs / DAY_MS)
    const untilDay = Math.floor(untilMs / DAY_MS)
    const month = monthOf(day)
    if (month !== undefined && hasDay(this.#cron.dayBits(month), month, day) && !this.#exclusions.dates.has(day)) {
      const second = Math.ceil((wallMs - day * DAY_MS) / 1000)
      const time = this.#timeAtOrAfter(second, this.#exclusions.bitsOf(day, month))
      if (time !== null) return day * DAY_MS + time * 1000
    }
    do day = dayAtOrAfter(day + 1, untilDay, (one) => this.#daysOf(one))
    while (day !== null && this.#exclusions.dates.has(day))
    return day === null ? null : day * DAY_MS + this.#firstOfDay(this.#exclusions.bitsOf(day))! * 1000
  }

  #daysOf(month: Month): number {
    this.#budget.spend(1)
    const named = this.#cron.dayBits(month)
    if (named === 0) return 0
    const kind = (month.length * 7 + month.firstWeekday) * 13 + month.number
    return remember(this.#freeDays, kind, () => {
      let free = 0
      for (let date = 0; date < month.length; date += 1) {
        if (((named >>> date) & 1) === 0) continue
        this.#budget.spend(1)
        const bits = this.#exclusions.bitsOf(month.firstDay + date, month)
        if (this.#firstOfDay(bits) !== null) free |= 1 << date
      }
      return free
    })
  }

  #firstOfDay(bits: number): number | null {
    return remember(this.#ofDay, bits, () => this.#timeAtOrAfter(0, bits))
  }

  #timeAtOrAfter(second: number, bits: number): number | null {
    if (bits === 0) return timeAtOrAfter(this.#cron, second)
    for (const hour of this.#cron.hours) {
      const start = hour * HOUR_SECONDS
      if (start + HOUR_SECONDS <= second) continue
      this.#budget.spend(1)
      const ofHour = bits & this.#exclusions.hours[hour]!
      const found = start >= second ? this.#firstOfHour(ofHour) : this.#inHour(ofHour, second - start)
      if (found !== null) return start + found
    }
    return null
  }

  #firstOfHour(bits: number): number | null {
    return remember(this.#ofHour, bits, () => this.#inHour(bits, 0))
  }

  #inHour(bits: number, second: number): number | null {
    for (const minute of this.#cron.minutes) {
      const start = minute * 60
      if (start + 60 <= second) continue
      this.#budget.spend(1)
      const ofMinute = bits & this.#exclusions.minutes[minute]!
      const found = start >= second ? this.#firstOfMinute(ofMinute) : this.#inMinute(ofMinute, second - start)
      if (found !== null) return start + found
    }
    return null
  }

  #firstOfMinute(bits: number): number | null {
    return remember(this.#ofMinute, bits, () => this.#inMinute(bits, 0))
  }

  #inMinute(bits: number, from: number): number | null {
    for (const second of this.#cron.seconds) {
      if (second < from) continue
      this.#budget.spend(1)
      if ((bits & this.#exclusions.seconds[second]!) === 0) return second
    }
    return null
  }
}

function remember<Value>(known: Map<number, Value>, key: number, find: () => Value): Value {
  let value = known.get(key)
  if (value === undefined) {
    value = find()
    known.set(key, value)
  }
  return value
}

function dateSetOf(dates: readonly string[]): Set<number> {
  const known = dateSets.get(dates)
  if (known !== undefined) return known
  const made = new Set(dates.map((date) => Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY_MS)))
  dateSets.set(dates, made)
  return made
}
