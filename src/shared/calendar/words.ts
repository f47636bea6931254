/**
 * Describes a rule exactly. The text uses the calendar's values and omits nothing, so rules with the same description
 * have the same runs (a test checks this).
 */
import type { ScheduleRule, ScheduleTiming } from '../contract/schedules.ts'
import { formatDuration, twoDigits, WEEKDAYS } from '../time.ts'
import { type CronFields, type DayFields, readCron } from './cron-fields.ts'
import { problemOfCron } from './problems.ts'
import { formatLocal, isZone, stretchAt } from './zones.ts'

/** `every day at 02:30 (Europe/Berlin), except on 2 dates` */
export function describeTiming(timing: ScheduleTiming): string {
  const rules = timing.rules.map((rule) => describeRule(rule, timing.zone)).join('; ')
  const dates = timing.excludedDates.length
  const exceptions = [
    ...(dates === 0 ? [] : [dates === 1 ? `on ${timing.excludedDates[0]}` : `on ${dates} dates`]),
    ...timing.excludedCrons.map((expression) => describeCron(expression))
  ]
  const limits = [
    timing.startMs === null ? '' : `, from ${momentOf(timing.startMs, timing.zone)}`,
    timing.endMs === null ? '' : `, until ${momentOf(timing.endMs, timing.zone)}`
  ]
  const except = exceptions.length === 0 ? '' : `, except ${exceptions.join(' and ')}`
  return `${rules} (${timing.zone})${limits.join('')}${except}`
}

export function describeRule(rule: ScheduleRule, zone: string): string {
  if (rule.kind === 'interval')
    return `every ${formatDuration(rule.everySeconds)} from ${momentOf(rule.anchorMs, zone)} on`
  if (rule.kind === 'once') return `once, ${momentOf(rule.atMs, zone)}`
  return describeCron(rule.expression)
}

function describeCron(expression: string): string {
  const problem = problemOfCron(expression)
  if (problem !== null) return problem
  const fields = readCron(expression)
  const time = describeTime(fields)
  const days = describeDays(fields.days)
  if (days !== '') return `${time} ${days}`
  return time.startsWith('at ') && !time.endsWith('every hour') ? `every day ${time}` : time
}

function momentOf(atMs: number, zone: string): string {
  if (!isZone(zone)) return new Date(atMs).toISOString()
  const local = formatLocal(atMs, stretchAt(zone, atMs).offsetMs).slice(0, 19).replace('T', ' ')
  return local.endsWith(':00') ? local.slice(0, -3) : local
}

const MOST_TIMES = 6

function describeTime({ seconds, minutes, hours }: CronFields): string {
  const isOnMinute = seconds.length === 1 && seconds[0] === 0
  if (hours.length * minutes.length * seconds.length <= MOST_TIMES) {
    const times = hours.flatMap((hour) =>
      minutes.flatMap((minute) => seconds.map((second) => clock(hour, minute, second, isOnMinute)))
    )
    return `at ${listOf(times)}`
  }
  if (!isOnMinute) {
    const isAlways = minutes.length === 60 && hours.length === 24
    return `${describeSeconds(seconds)}${isAlways ? '' : `${describeMinutes(minutes)}${describeHours(hours)}`}`
  }
  const every = evenStep(minutes)
  if (every !== null && minutes[0] === 0 && (hours.length === 1 || progressionOf(hours) === 1)) {
    const edges = hours.length === 24 ? '' : ` from ${clock(hours[0], 0)} to ${clock(hours.at(-1), minutes.at(-1))}`
    return `every ${every === 1 ? 'minute' : `${every} minutes`}${edges}`
  }
  if (minutes.length > 1) return `at ${valuesOf('minute', minutes)}${describeHours(hours)}`
  const minute = minutes[0]
  if (hours.length === 24) return `every hour at minute ${minute}`
  const step = progressionOf(hours)
  if (step === null) return `at minute ${minute}${describeHours(hours)}`
  return `every ${step === 1 ? 'hour' : `${step} hours`} from ${clock(hours[0], minute)} to ${clock(hours.at(-1), minute)}`
}

function describeSeconds(seconds: number[]): string {
  const every = evenStep(seconds)
  if (every !== null && seconds[0] === 0) return `every ${every === 1 ? 'second' : `${every} seconds`}`
  return `at ${valuesOf('second', seconds)}`
}

function describeMinutes(minutes: number[]): string {
  return minutes.length === 60 ? ' of every minute' : ` of ${valuesOf('minute', minutes)}`
}

function describeHours(hours: number[]): string {
  return hours.length === 24 ? ' of every hour' : ` of ${valuesOf('hour', hours)}`
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

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth']

function describeDays({ daysOfMonth, months, weekdays, isBoth }: DayFields): string {
  const inMonths =
    months === null || months.length === 12 ? [] : [`in ${namesOf(months, (month) => MONTHS[month - 1] as string)}`]
  const ofMonth = daysOfMonth === null ? null : describeDaysOfMonth(daysOfMonth)
  const ofWeek = weekdays === null ? null : describeWeekdays(weekdays)
  if (ofMonth === null && ofWeek === null) return inMonths.length === 0 ? '' : [...inMonths, '(every day)'].join(' ')
  const days =
    ofMonth === null || ofWeek === null
      ? `on ${ofMonth ?? ofWeek}`
      : isBoth
        ? `on ${ofMonth} if that is ${ofWeek}`
        : `on ${ofMonth} and also on ${ofWeek}`
  return [days, ...inMonths].join(' ')
}

function describeDaysOfMonth(days: string[]): string {
  const numbers = days.filter((day) => /^\d+$/.test(day)).map(Number)
  const others = days
    .filter((day) => !/^\d+$/.test(day))
    .map((day) => {
      if (day === 'L') return 'the last day of the month'
      return day === 'LW'
        ? 'the last weekday (Monday to Friday) of the month'
        : `the weekday nearest to day ${day.slice(0, -1)}`
    })
  return listOf([...(numbers.length === 0 ? [] : [valuesOf('day', numbers)]), ...others])
}

function describeWeekdays(days: string[]): string {
  // Weeks start on Monday here, so that Saturday and Sunday are adjacent.
  const plain = days
    .filter((day) => day.length === 1)
    .map((day) => (Number(day) + 6) % 7)
    .sort((one, other) => one - other)
  const nth = days
    .filter((day) => day.length > 1)
    .map((day) => {
      const rank = day[2] === 'L' ? 'last' : ORDINALS[Number(day[2]) - 1]
      return `the ${rank} ${WEEKDAYS[Number(day[0])]} of the month`
    })
  const names = plain.length === 0 ? [] : [namesOf(plain, (day) => WEEKDAYS[(day + 1) % 7] as string)]
  return listOf([...names, ...nth])
}

function valuesOf(noun: string, values: number[]): string {
  return `${noun}${values.length === 1 ? '' : 's'} ${namesOf(values, String)}`
}

function namesOf(values: number[], nameOf: (value: number) => string): string {
  const ranges: [number, number][] = []
  for (const value of values) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === value - 1) last[1] = value
    else ranges.push([value, value])
  }
  return listOf(
    ranges.flatMap(([from, to]) => {
      if (to - from >= 2) return [`${nameOf(from)} to ${nameOf(to)}`]
      return from === to ? [nameOf(from)] : [nameOf(from), nameOf(to)]
    })
  )
}

function listOf(parts: string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

function clock(hour = 0, minute = 0, second = 0, isOnMinute = true): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}${isOnMinute ? '' : `:${twoDigits(second)}`}`
}
