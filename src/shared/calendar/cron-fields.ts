import { type CronField, sentence } from '../texts/errors/values.ts'
import type { Sentence } from '../texts/sentence.ts'

export interface CronFields {
  seconds: number[]
  minutes: number[]
  hours: number[]
  hasSeconds: boolean
  /** Whether minutes or hours are `*` or stepped. Such a rule follows elapsed time, not times of day. */
  isOpen: boolean
  days: DayFields
}

/** Which days match; null: all days. Lists all values, with numbers in ascending order. */
export interface DayFields {
  /** `1` to `31`, `L` (the last day), `15W` (the weekday nearest to the 15th), `LW` (the last weekday). */
  daysOfMonth: string[] | null
  months: number[] | null
  /** `0` (Sunday) to `6`, `5#2` (the second Friday), `5#L` (the last Friday). */
  weekdays: string[] | null
  /** Whether both kinds of days are restricted and both must match. If false, a match of either kind is enough. */
  isBoth: boolean
}

export class CronProblem extends Error {
  readonly sentence: Sentence

  constructor(said: Sentence) {
    super(said.text)
    this.sentence = said
  }
}

export const NICKNAMES: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *'
}

interface Field {
  name: CronField
  from: number
  to: number
  names: string[]
}
const SECOND: Field = { name: 'second', from: 0, to: 59, names: [] }
const MINUTE: Field = { name: 'minute', from: 0, to: 59, names: [] }
const HOUR: Field = { name: 'hour', from: 0, to: 23, names: [] }
const DAY: Field = { name: 'day', from: 1, to: 31, names: [] }
const MONTH: Field = {
  name: 'month',
  from: 1,
  to: 12,
  names: ['', 'JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
}
const WEEKDAY: Field = { name: 'weekday', from: 0, to: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] }

export function readCron(expression: string): CronFields {
  const texts = splitCron(expression)
  const [second, minute, hour, day, month, weekday] = texts.length === 5 ? ['0', ...texts] : texts
  return {
    seconds: readField(SECOND, second as string),
    minutes: readField(MINUTE, minute as string),
    hours: readField(HOUR, hour as string),
    hasSeconds: texts.length === 6,
    isOpen: /[*?/]/.test(`${minute}${hour}`),
    days: readDays(day as string, month as string, weekday as string)
  }
}

function splitCron(expression: string): string[] {
  const trimmed = expression.trim().toUpperCase()
  if (trimmed.startsWith('@')) {
    const meant = NICKNAMES[trimmed.toLowerCase()]
    if (meant !== undefined) return meant.split(' ')
    const text = expression.trim()
    throw new CronProblem(sentence('values.cron_nickname_unknown', { text, known: Object.keys(NICKNAMES) }))
  }
  const texts = trimmed === '' ? [] : trimmed.split(/\s+/)
  if (texts.length === 5 || texts.length === 6) return texts
  throw new CronProblem(sentence('values.cron_field_count', { fields: texts.length }))
}

function readField(field: Field, text: string): number[] {
  const values = new Set(text.split(',').flatMap((part) => readPart(field, part)))
  return [...values].sort((one, other) => one - other)
}

function readPart(field: Field, text: string): number[] {
  const [range = '', stepText, ...rest] = text.split('/')
  if (rest.length > 0) throw problemOf(field, text, (of) => sentence('values.cron_several', { ...of, sign: '/' }))
  const step = stepText === undefined ? 1 : readNumber(field, text, stepText)
  if (step < 1) throw problemOf(field, text, (of) => sentence('values.cron_step_zero', of))
  const to = field === WEEKDAY ? 6 : field.to
  const values = to - field.from + 1
  if (step > values)
    throw problemOf(field, text, (of) => sentence('values.cron_step_too_large', { ...of, step, values }))
  const [fromText = '', toText, ...more] = range.split('-')
  if (more.length > 0) throw problemOf(field, text, (of) => sentence('values.cron_several', { ...of, sign: '-' }))
  if (range === '*' || range === '?') return count(field.from, to, step)
  const from = readValue(field, text, fromText)
  if (toText !== undefined) return readRange(field, from, readValue(field, text, toText), step)
  return stepText === undefined ? [from % (field === WEEKDAY ? 7 : 1_000)] : count(from, to, step)
}

function readRange(field: Field, from: number, to: number, step: number): number[] {
  const size = field === WEEKDAY ? 7 : field.to - field.from + 1
  const end = from <= to ? to : to + size
  return count(from, end, step).map((value) =>
    field === WEEKDAY ? value % 7 : ((value - field.from) % size) + field.from
  )
}

function count(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
}

function readValue(field: Field, part: string, text: string): number {
  const named = field.names.indexOf(text)
  return named >= 0 && text !== '' ? named : readNumber(field, part, text, field.from, field.to)
}

function readNumber(field: Field, part: string, text: string, from = 0, to = 1_000): number {
  if (text === '') throw problemOf(field, part, (of) => sentence('values.cron_incomplete', of))
  if (!/^\d{1,4}$/.test(text))
    throw problemOf(field, part, (of) =>
      sentence('values.cron_no_number', { ...of, text, hasNames: field.names.length > 0 })
    )
  const value = Number(text)
  if (value < from || value > to)
    throw problemOf(field, part, (of) => sentence('values.cron_out_of_range', { ...of, value, from, to }))
  return value
}

function problemOf(
  { name }: Field,
  part: string,
  what: (of: { field: CronField; part: string }) => Sentence
): CronProblem {
  return new CronProblem(
    part === '' ? sentence('values.cron_part_empty', { field: name }) : what({ field: name, part })
  )
}

/**
 * If both kinds of days are restricted, a match of either is enough, unless a field starts with `*` (crontab(5)) or the
 * weekday field with `+`.
 */
function readDays(day: string, month: string, weekday: string): DayFields {
  const isStar = (text: string) => text === '*' || text === '?'
  const weekdayText = weekday.startsWith('+') ? weekday.slice(1) : weekday
  const daysOfMonth = isStar(day) ? null : readDaysOfMonth(day)
  const weekdays = isStar(weekdayText) ? null : readWeekdays(weekdayText)
  return {
    daysOfMonth,
    months: isStar(month) ? null : readField(MONTH, month),
    weekdays,
    isBoth:
      daysOfMonth !== null &&
      weekdays !== null &&
      (weekday.startsWith('+') || /^\*/.test(day) || /^\*/.test(weekdayText))
  }
}

function readDaysOfMonth(text: string): string[] {
  if (text === 'LW' || text === 'WL') return ['LW']
  const days = text.split(',').flatMap((part) => {
    if (part === 'L') return ['L']
    if (part === 'LW') throw problemOf(DAY, text, (of) => sentence('values.cron_last_workday_combined', of))
    const nearest = /^(\d+)W$/.exec(part)?.[1]
    if (nearest !== undefined) return [`${readNumber(DAY, part, nearest, 1, 31)}W`]
    if (/[LW]/.test(part)) throw problemOf(DAY, part, (of) => sentence('values.cron_day_unknown', of))
    return readPart(DAY, part).map(String)
  })
  return sorted(days)
}

function readWeekdays(text: string): string[] {
  const days = text.split(',').flatMap((part) => {
    const [, dayText, nth] = /^([^#]+?)(?:#(.+)|L)$/.exec(part) ?? []
    if (dayText === undefined) {
      if (part === 'L') throw problemOf(WEEKDAY, part, (of) => sentence('values.cron_last_needs_day', of))
      return readPart(WEEKDAY, part).map(String)
    }
    const value = readValue(WEEKDAY, part, dayText) % 7
    if (nth === undefined || nth === 'L') return [`${value}#L`]
    return [`${value}#${readNumber(WEEKDAY, part, nth, 1, 5)}`]
  })
  return sorted(days)
}

function sorted(days: string[]): string[] {
  const rank = (day: string) => (/^\d/.test(day) ? Number.parseInt(day, 10) : 99)
  return [...new Set(days)].sort((one, other) => rank(one) - rank(other))
}
