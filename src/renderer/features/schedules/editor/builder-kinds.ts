import { type Builder, readBuilder, writeBuilder } from '../../../../shared/calendar/index.ts'

export type BuilderKind = Builder['kind'] | 'custom'

export const KIND_WORDS: Record<BuilderKind, string> = {
  minutes: 'Minutes',
  hourly: 'Hourly',
  daily: 'Daily',
  weekly: 'Weekly',
  monthly: 'Monthly',
  custom: 'Custom'
}

/** Divisors of 60: others would be uneven over the hour. */
export const EVERY_MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30]

/** The same times in another kind, as far as it can represent them. */
export function toKind(expression: string, kind: Builder['kind']): string {
  const builder = readBuilder(expression)
  const minute = builder !== null && 'minute' in builder ? builder.minute : 0
  const hours = builder !== null && 'hours' in builder && builder.hours.length < 24 ? builder.hours : [3]
  const shapes: Record<Builder['kind'], Builder> = {
    minutes: { kind: 'minutes', every: 15 },
    hourly: { kind: 'hourly', minute },
    daily: { kind: 'daily', hours, minute },
    weekly: { kind: 'weekly', days: [1, 2, 3, 4, 5], hours, minute },
    monthly: { kind: 'monthly', days: [1], hours, minute }
  }
  return writeBuilder(shapes[kind])
}

/** Adds or removes a value; the last one stays, since an empty list would never run. */
export function toggle<Value>(list: readonly Value[], value: Value): Value[] {
  if (!list.includes(value)) return [...list, value]
  return list.length === 1 ? [...list] : list.filter((each) => each !== value)
}

export const CRON_FIELDS = ['minute', 'hour', 'day', 'month', 'weekday'] as const

/** The five (or six) fields as written; null if it is a nickname or has another number of fields. */
export function fieldsOf(expression: string): { name: string; value: string }[] | null {
  const values = expression.trim().split(/\s+/)
  if (values.length !== 5 && values.length !== 6) return null
  const names = values.length === 6 ? ['second', ...CRON_FIELDS] : CRON_FIELDS
  return values.map((value, index) => ({ name: names[index] as string, value }))
}
