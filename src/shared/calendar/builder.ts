/** The editor's builder: the shapes of expressions that most people mean, to and from text. `writeBuilder` undoes `readBuilder`. */
import { compileCron } from './cron.ts'
import { problemOfCron } from './problems.ts'

export type Builder =
  /** Every so many minutes; 1, or a divisor of 60. */
  | { kind: 'minutes'; every: number }
  /** Each hour at this minute. */
  | { kind: 'hourly'; minute: number }
  /** At these hours, all of them at the same minute. */
  | { kind: 'daily'; hours: number[]; minute: number }
  /** 0 is Sunday. */
  | { kind: 'weekly'; days: number[]; hours: number[]; minute: number }
  /** 1 to 31; `L`: the last. */
  | { kind: 'monthly'; days: (number | 'L')[]; hours: number[]; minute: number }

/** null: the builder cannot show this expression; it is edited as text (“custom”). */
export function readBuilder(expression: string): Builder | null {
  if (problemOfCron(expression) !== null) return null
  const { hasSeconds, minutes, hours, dayTexts } = compileCron(expression)
  const [day, month, weekday] = dayTexts.map((text) => (text === '?' ? '*' : text)) as [string, string, string]
  if (hasSeconds || month !== '*') return null
  if (hours.length === 24 && day === '*' && weekday === '*') {
    const every = 60 / minutes.length
    const isEven = minutes.every((minute, index) => minute === index * every)
    if (minutes.length > 1) return isEven ? { kind: 'minutes', every } : null
  }
  const minute = minutes[0] as number
  if (minutes.length > 1) return null
  if (day === '*' && weekday === '*')
    return hours.length === 24 ? { kind: 'hourly', minute } : { kind: 'daily', hours, minute }
  if (day === '*') {
    const days = listOf(weekday, WEEKDAYS)
    return days === null
      ? null
      : { kind: 'weekly', days: [...new Set(days.map((one) => one % 7))].sort(ascending), hours, minute }
  }
  if (weekday !== '*') return null
  const parts = day.split(',')
  const days = listOf(parts.filter((part) => part !== 'L').join(','), [])
  if (days === null) return null
  return { kind: 'monthly', days: [...days, ...(parts.includes('L') ? (['L'] as const) : [])], hours, minute }
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

/** A list of values and plain ranges, ascending; null for anything else. */
function listOf(text: string, names: string[]): number[] | null {
  if (text === '') return []
  const valueOf = (word: string) =>
    names.includes(word) ? names.indexOf(word) : /^\d+$/.test(word) ? Number(word) : Number.NaN
  const values = text.split(',').flatMap((part) => {
    const [from = '', to = from, ...rest] = part.split('-')
    const first = valueOf(from)
    const last = valueOf(to) < first && names.length > 0 ? valueOf(to) + 7 : valueOf(to)
    if (rest.length > 0 || Number.isNaN(first) || Number.isNaN(last) || last < first) return [Number.NaN]
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
  return values.some(Number.isNaN) ? null : [...new Set(values)].sort(ascending)
}
