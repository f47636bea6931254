import type { ScheduleTiming } from '../contract/schedules.ts'
import { sentence } from '../texts/errors/values.ts'
import type { Sentence } from '../texts/sentence.ts'
import { CronProblem, readCron } from './cron-fields.ts'
import { nextOccurrence } from './occurrences.ts'
import { TimingTooCostly } from './search-budget.ts'
import { isZone } from './zones.ts'

export function problemOfTiming(timing: ScheduleTiming): Sentence | null {
  const { zone, rules, startMs, endMs } = timing
  if (!isZone(zone)) return sentence('values.time_zone_unknown', { zone })
  for (const [index, rule] of rules.entries()) {
    const problem = rule.kind === 'cron' ? problemOfCron(rule.expression) : null
    if (problem !== null)
      return rules.length > 1 ? sentence('values.rule_invalid', { number: index + 1, problem }) : problem
  }
  for (const expression of timing.excludedCrons) {
    const problem = problemOfCron(expression)
    if (problem !== null) return sentence('values.exclusion_invalid', { expression, problem })
  }
  const noDate = timing.excludedDates.find((date) => !isCalendarDate(date))
  if (noDate !== undefined) return sentence('values.excluded_date_unknown', { date: noDate })
  if (startMs !== null && endMs !== null && startMs > endMs) return sentence('values.schedule_ends_before_start')
  try {
    if (nextOccurrence(timing, (startMs ?? 0) - 1) !== null) return null
  } catch (error) {
    if (error instanceof TimingTooCostly) return error.sentence
    throw error
  }
  const isUnlimited = { ...timing, startMs: null, endMs: null, excludedDates: [], excludedCrons: [] }
  if (nextOccurrence(isUnlimited, -1) === null) return sentence('values.rules_never_fire')
  return sentence('values.schedule_never_fires')
}

export function problemOfCron(expression: string): Sentence | null {
  try {
    readCron(expression)
    return null
  } catch (error) {
    if (error instanceof CronProblem) return error.sentence
    throw error
  }
}

function isCalendarDate(text: string): boolean {
  const atMs = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text)
}
