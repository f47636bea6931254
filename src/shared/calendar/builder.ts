/** The editor's builder for the most common cron expressions. `writeBuilder` is the inverse of `readBuilder`. */
import { readCron } from './cron-fields.ts'
import { problemOfCron } from './problems.ts'

export type Builder =
  /** `every`: 1, or another divisor of 60. */
  | { kind: 'minutes'; every: number }
  | { kind: 'hourly'; minute: number }
  /** `minute` applies to all hours. */
  | { kind: 'daily'; hours: number[]; minute: number }
  /** `days`: 0 (Sunday) to 6. */
  | { kind: 'weekly'; days: number[]; hours: number[]; minute: number }
  /** `days`: 1 to 31, or `L` (the last day of the month). */
  | { kind: 'monthly'; days: (number | 'L')[]; hours: number[]; minute: number }

/** Returns null if the builder cannot represent the expression, which is then edited as text ("custom"). */
export function readBuilder(expression: string): Builder | null {
  if (problemOfCron(expression) !== null) return null
  const { hasSeconds, minutes, hours, days } = readCron(expression)
  const { daysOfMonth, months, weekdays } = days
  const isDaily = daysOfMonth === null && weekdays === null
  if (hasSeconds || months !== null) return null
  const minute = minutes[0] as number
  if (minutes.length > 1) {
    const every = 60 / minutes.length
    const isEven = minutes.every((one, index) => one === index * every)
    return isDaily && isEven && hours.length === 24 ? { kind: 'minutes', every } : null
  }
  if (isDaily) return hours.length === 24 ? { kind: 'hourly', minute } : { kind: 'daily', hours, minute }
  if (daysOfMonth !== null && weekdays !== null) return null
  if (weekdays !== null)
    return weekdays.every((day) => /^\d$/.test(day))
      ? { kind: 'weekly', days: weekdays.map(Number), hours, minute }
      : null
  if (daysOfMonth?.every((day) => /^(\d+|L)$/.test(day)) !== true) return null
  return { kind: 'monthly', days: daysOfMonth.map((day) => (day === 'L' ? day : Number(day))), hours, minute }
}

export function writeBuilder(builder: Builder): string {
  if (builder.kind === 'minutes')
    return builder.every === 1 ? '* * * * *' : builder.every === 60 ? '0 * * * *' : `*/${builder.every} * * * *`
  if (builder.kind === 'hourly') return `${builder.minute} * * * *`
  const hours = [...builder.hours].sort(ascending)
  const time = `${builder.minute} ${hours.length === 24 ? '*' : hours.join(',')}`
  if (builder.kind === 'daily') return `${time} * * *`
  if (builder.kind === 'weekly')
    return `${time} * * ${[...builder.days]
      .sort(ascending)
      .map((day) => WEEKDAYS[day])
      .join(',')}`
  const numbers = builder.days.filter((day) => day !== 'L').sort(ascending)
  return `${time} ${[...numbers, ...(builder.days.includes('L') ? ['L'] : [])].join(',')} * *`
}

const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const ascending = (one: number, other: number) => one - other
