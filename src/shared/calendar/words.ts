/**
 * Describes a rule exactly. The text uses the calendar's values and omits nothing, so rules with the same description
 * have the same runs (a test checks this).
 */
import type { ScheduleRule, ScheduleTiming } from '../contract/schedules.ts'
import { twoDigits } from '../time.ts'
import { type CronFields, type DayFields, readCron } from './cron-fields.ts'
import { calendarWords } from './english.ts'
import { problemOfCron } from './problems.ts'
import { formatLocal, isZone, stretchAt } from './zones.ts'

type Words = typeof calendarWords

/** `every day at 02:30 (Europe/Berlin), except on 2 dates` */
export function describeTiming(timing: ScheduleTiming, words: Words = calendarWords): string {
  const { zone, startMs, endMs, excludedDates, excludedCrons } = timing
  const rules = timing.rules.map((rule) => describeRule(rule, zone, words)).join('; ')
  const dates = excludedDates.length
  const exceptions = [
    ...(dates === 0 ? [] : [dates === 1 ? words.onDate(excludedDates[0]!) : words.onDates(dates)]),
    ...excludedCrons.map((expression) => describeCron(expression, words))
  ]
  const limits = [
    startMs === null ? '' : words.startsAt(momentOf(startMs, zone)),
    endMs === null ? '' : words.endsAt(momentOf(endMs, zone))
  ]
  return words.timing(rules, zone, limits.join(''), exceptions.length === 0 ? '' : words.except(exceptions))
}

export function describeRule(rule: ScheduleRule, zone: string, words: Words = calendarWords): string {
  if (rule.kind === 'interval') return words.everySeconds(rule.everySeconds, momentOf(rule.anchorMs, zone))
  if (rule.kind === 'once') return words.onceAt(momentOf(rule.atMs, zone))
  return describeCron(rule.expression, words)
}

function describeCron(expression: string, words: Words): string {
  const problem = problemOfCron(expression)
  if (problem !== null) return problem.text
  const fields = readCron(expression)
  const { text, isOfDay } = describeTime(fields, words)
  const days = describeDays(fields.days, words)
  if (days !== '') return words.onDays(text, days)
  return isOfDay ? words.everyDay(text) : text
}

function momentOf(atMs: number, zone: string): string {
  if (!isZone(zone)) return new Date(atMs).toISOString()
  const local = formatLocal(atMs, stretchAt(zone, atMs).offsetMs).slice(0, 19).replace('T', ' ')
  return local.endsWith(':00') ? local.slice(0, -3) : local
}

const MOST_TIMES = 6

/** `isOfDay`: the text has times of a day, and does not say on which days they are. */
function describeTime({ seconds, minutes, hours }: CronFields, words: Words): { text: string; isOfDay: boolean } {
  const ofDay = (text: string) => ({ text, isOfDay: true })
  const ofAnyDay = (text: string) => ({ text, isOfDay: false })
  const isOnMinute = seconds.length === 1 && seconds[0] === 0
  const isEveryHour = hours.length === 24
  const inHours = (text: string) =>
    isEveryHour ? ofAnyDay(words.ofEveryHour(text)) : ofDay(words.ofValues(text, valuesOf(words.hours, hours, words)))
  if (hours.length * minutes.length * seconds.length <= MOST_TIMES) {
    const times = hours.flatMap((hour) =>
      minutes.flatMap((minute) => seconds.map((second) => clock(hour, minute, second, isOnMinute)))
    )
    return ofDay(words.atTimes(words.list(times)))
  }
  if (!isOnMinute) {
    const text = describeSeconds(seconds, words)
    if (minutes.length === 60 && isEveryHour) return text
    const isAlways = minutes.length === 60
    const inMinutes = isAlways
      ? words.ofEveryMinute(text.text)
      : words.ofValues(text.text, valuesOf(words.minutes, minutes, words))
    const whole = inHours(inMinutes)
    return { ...whole, isOfDay: whole.isOfDay && text.isOfDay }
  }
  const every = evenStep(minutes)
  if (every !== null && minutes[0] === 0 && (hours.length === 1 || progressionOf(hours) === 1)) {
    const text = words.everyMinute(every)
    return ofAnyDay(isEveryHour ? text : words.between(text, clock(hours[0], 0), clock(hours.at(-1), minutes.at(-1))))
  }
  if (minutes.length > 1) return inHours(words.atValues(valuesOf(words.minutes, minutes, words)))
  const minute = minutes[0] as number
  if (isEveryHour) return ofAnyDay(words.everyHourAt(minute))
  const step = progressionOf(hours)
  if (step === null) return inHours(words.atValues(valuesOf(words.minutes, minutes, words)))
  return ofAnyDay(words.between(words.everyHour(step), clock(hours[0], minute), clock(hours.at(-1), minute)))
}

/** Like `describeTime`. */
function describeSeconds(seconds: number[], words: Words): { text: string; isOfDay: boolean } {
  const every = evenStep(seconds)
  if (every !== null && seconds[0] === 0) return { text: words.everySecond(every), isOfDay: false }
  return { text: words.atValues(valuesOf(words.seconds, seconds, words)), isOfDay: true }
}

/** The step of values that divide an hour or a minute evenly, otherwise null. */
function evenStep(values: number[]): number | null {
  const step = progressionOf(values)
  return step === 60 / values.length ? step : null
}

function progressionOf(values: number[]): number | null {
  const step = (values[1] ?? 0) - (values[0] ?? 0)
  return values.length > 1 && values.every((value, index) => value === (values[0] as number) + index * step)
    ? step
    : null
}

function describeDays({ daysOfMonth, months, weekdays, isBoth }: DayFields, words: Words): string {
  const inMonths = months === null || months.length === 12 ? null : words.inMonths(namesOf(months, words.month, words))
  const ofMonth = daysOfMonth === null ? null : describeDaysOfMonth(daysOfMonth, words)
  const ofWeek = weekdays === null ? null : describeWeekdays(weekdays, words)
  const only = ofMonth ?? ofWeek
  if (only === null) return inMonths === null ? '' : words.everyDayInMonths(inMonths)
  const days =
    ofMonth === null || ofWeek === null
      ? words.on(only)
      : isBoth
        ? words.onBoth(ofMonth, ofWeek)
        : words.onEither(ofMonth, ofWeek)
  return inMonths === null ? days : words.daysInMonths(days, inMonths)
}

function describeDaysOfMonth(days: string[], words: Words): string {
  const numbers = days.filter((day) => /^\d+$/.test(day)).map(Number)
  const others = days
    .filter((day) => !/^\d+$/.test(day))
    .map((day) => {
      if (day === 'L') return words.lastDay()
      return day === 'LW' ? words.lastWorkday() : words.nearestWorkday(day.slice(0, -1))
    })
  return words.list([...(numbers.length === 0 ? [] : [valuesOf(words.days, numbers, words)]), ...others])
}

function describeWeekdays(days: string[], words: Words): string {
  // Weeks start on Monday here, so that Saturday and Sunday are adjacent.
  const plain = days
    .filter((day) => day.length === 1)
    .map((day) => (Number(day) + 6) % 7)
    .sort((one, other) => one - other)
  const nth = days
    .filter((day) => day.length > 1)
    .map((day) => words.nthWeekday(day[2] === 'L' ? null : Number(day[2]), Number(day[0])))
  const names = plain.length === 0 ? [] : [namesOf(plain, (day) => words.weekday((day + 1) % 7), words)]
  return words.list([...names, ...nth])
}

function valuesOf(of: Words['days'], values: number[], words: Words): string {
  return of(values.length, namesOf(values, String, words))
}

function namesOf(values: number[], nameOf: (value: number) => string, words: Words): string {
  const ranges: [number, number][] = []
  for (const value of values) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === value - 1) last[1] = value
    else ranges.push([value, value])
  }
  return words.list(
    ranges.flatMap(([from, to]) => {
      if (to - from >= 2) return [words.range(nameOf(from), nameOf(to))]
      return from === to ? [nameOf(from)] : [nameOf(from), nameOf(to)]
    })
  )
}

function clock(hour = 0, minute = 0, second = 0, isOnMinute = true): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}${isOnMinute ? '' : `:${twoDigits(second)}`}`
}
