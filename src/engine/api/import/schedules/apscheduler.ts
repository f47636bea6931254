/**
 * Converts triggers of APScheduler 3, which ScrapydWeb and Gerapy use. Differences from cron: Monday is 0, a day of
 * the month and a weekday must both match, days can be `last` or `2nd fri`, and there are years and ISO weeks.
 */

export const CRON_FIELDS = ['year', 'month', 'day', 'week', 'day_of_week', 'hour', 'minute', 'second'] as const
type Field = (typeof CRON_FIELDS)[number]
type CronTexts = Record<Field, string>

/** Defaults for the fields that are finer than the finest given field. Coarser fields default to `*`. */
const FIRST: CronTexts = {
  year: '*',
  month: '1',
  day: '1',
  week: '*',
  day_of_week: '*',
  hour: '0',
  minute: '0',
  second: '0'
}
const RANGES: Record<Exclude<Field, 'year' | 'week'>, [number, number]> = {
  month: [1, 12],
  day: [1, 31],
  day_of_week: [0, 6],
  hour: [0, 23],
  minute: [0, 59],
  second: [0, 59]
}
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const POSITIONS = ['1st', '2nd', '3rd', '4th', '5th', 'last']

/** A trigger feature that our rules do not support. */
export class TriggerProblem extends Error {}

export interface CronTrigger {
  expressions: string[]
  years: { from: number; to: number } | null
}

/** Throws TriggerProblem. */
export function readCronTrigger(given: Partial<CronTexts>): CronTrigger {
  const last = CRON_FIELDS.findLastIndex((field) => given[field] !== undefined)
  const texts = Object.fromEntries(
    CRON_FIELDS.map((field, index) => [field, (given[field] ?? (index > last ? FIRST[field] : '*')).trim()])
  ) as CronTexts
  if (texts.week !== '*') throw new TriggerProblem(`it is limited to weeks ${texts.week} of the year`)
  const [second, minute, hour, month] = (['second', 'minute', 'hour', 'month'] as const).map((field) =>
    cronField(field, texts[field])
  )
  const clock = second === '0' ? `${minute} ${hour}` : `${second} ${minute} ${hour}`
  const days = readDays(texts.day, texts.day_of_week)
  return {
    expressions: days.map(({ day, weekday }) => `${clock} ${day} ${month} ${weekday}`),
    years: readYears(texts.year)
  }
}

/** Numbered days, the last day and nth weekdays need different fields in cron. */
function readDays(dayText: string, weekdayText: string): { day: string; weekday: string }[] {
  const weekday = weekdayText === '*' ? '*' : cronField('day_of_week', weekdayText)
  if (dayText === '*') return [{ day: '*', weekday }]
  const plain: string[] = []
  const kinds: { day: string; weekday: string }[] = []
  for (const part of partsOf(dayText)) {
    const [, position, name] = new RegExp(`^(${POSITIONS.join('|')}) +([a-z]+)$`).exec(part) ?? []
    if (position === undefined || name === undefined) {
      plain.push(part === 'last' ? 'L' : cronField('day', part))
      continue
    }
    const cronWeekday = toCronWeekday(indexOf(WEEKDAYS, name, 'weekday'))
    if (weekday !== '*') throw new TriggerProblem(`it combines the ${part} of a month with weekdays`)
    const nth = POSITIONS.indexOf(position) + 1
    kinds.push({ day: '*', weekday: position === 'last' ? `${cronWeekday}L` : `${cronWeekday}#${nth}` })
  }
  if (plain.includes('*')) return [{ day: '*', weekday }]
  // The plus means that day and weekday must both match.
  if (plain.length > 0) kinds.unshift({ day: plain.join(','), weekday: weekday === '*' ? '*' : `+${weekday}` })
  return kinds
}

/** Converts a field to cron, which numbers weekdays differently. Lists all values unless the field is a step. */
function cronField(field: keyof typeof RANGES, text: string): string {
  const [min, max] = RANGES[field]
  const values = new Set<number>()
  for (const part of partsOf(text)) {
    if (part === '*') return '*'
    const step = /^\*\/(\d+)$/.exec(part)?.[1]
    // A step stays a step, because rules with listed times treat clock changes differently.
    if (step !== undefined && field !== 'day_of_week' && partsOf(text).length === 1)
      return checkedStep(part, step, min, max)
    for (const value of valuesOf(field, part, min, max)) values.add(value)
  }
  if (values.size === max - min + 1) return '*'
  const numbers = [...values].map((value) => (field === 'day_of_week' ? toCronWeekday(value) : value))
  return ranges(numbers.sort((one, other) => one - other))
}

function valuesOf(field: keyof typeof RANGES, part: string, min: number, max: number): number[] {
  const names = field === 'month' ? MONTHS : field === 'day_of_week' ? WEEKDAYS : null
  const [, firstText, lastText, stepText] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part) ?? []
  if (firstText === undefined) throw new TriggerProblem(`its ${field} "${part}" is not understood`)
  const numberOf = (text: string) => {
    if (names !== null && /^[a-z]/.test(text)) return indexOf(names, text, field) + (field === 'month' ? 1 : 0)
    if (!/^\d+$/.test(text)) throw new TriggerProblem(`its ${field} "${part}" is not understood`)
    return Number(text)
  }
  const step = stepText === undefined ? 1 : Number(stepText)
  const first = firstText === '*' ? min : numberOf(firstText)
  const last = lastText !== undefined ? numberOf(lastText) : firstText === '*' || stepText !== undefined ? max : first
  if (step < 1 || first < min || last > max || first > last) {
    throw new TriggerProblem(`its ${field} "${part}" is not within ${min} to ${max}`)
  }
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step)
}

function checkedStep(part: string, step: string, min: number, max: number): string {
  const size = max - min + 1
  if (Number(step) < 1) throw new TriggerProblem(`"${part}" has no step`)
  return Number(step) === 1 ? '*' : Number(step) > size ? String(min) : part
}

function readYears(text: string): CronTrigger['years'] {
  if (text === '*') return null
  const [, from, to] = /^(\d{4})(?:-(\d{4}))?$/.exec(text) ?? []
  if (from === undefined) throw new TriggerProblem(`it is limited to the years ${text}`)
  return { from: Number(from), to: Number(to ?? from) }
}

const partsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

function indexOf(names: string[], name: string, what: string): number {
  const index = names.indexOf(name)
  if (index < 0) throw new TriggerProblem(`"${name}" is not a ${what}`)
  return index
}

const toCronWeekday = (monday0: number): number => (monday0 + 1) % 7

/** Converts `1,2,3,7` to `1-3,7`. */
function ranges(numbers: number[]): string {
  const runs: [number, number][] = []
  for (const number of numbers) {
    const run = runs.at(-1)
    if (run !== undefined && run[1] === number - 1) run[1] = number
    else runs.push([number, number])
  }
  return runs
    .map(([from, to]) => (to - from > 1 ? `${from}-${to}` : from === to ? `${from}` : `${from},${to}`))
    .join(',')
}
