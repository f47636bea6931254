import type { ScheduleTiming } from '../contract/schedules.ts'
import { CronProblem, readCron } from './cron-fields.ts'
import { nextOccurrence } from './occurrences.ts'
import { TimingTooCostly } from './search-budget.ts'
import { isZone } from './zones.ts'

export function problemOfTiming(timing: ScheduleTiming): string | null {
  if (!isZone(timing.zone)) return `"${timing.zone}" is not a time zone. Use a name such as Europe/Berlin or UTC.`
  for (const [index, rule] of timing.rules.entries()) {
    const problem = rule.kind === 'cron' ? problemOfCron(rule.expression) : null
    if (problem !== null) return `${timing.rules.length > 1 ? `Rule ${index + 1}: ` : ''}${problem}`
  }
  for (const expression of timing.excludedCrons) {
    const problem = problemOfCron(expression)
    if (problem !== null) return `Exclusion "${expression}": ${problem}`
  }
  const noDate = timing.excludedDates.find((date) => !isCalendarDate(date))
  if (noDate !== undefined) return `Excluded date ${noDate} is not a day of the calendar.`
  if (timing.startMs !== null && timing.endMs !== null && timing.startMs > timing.endMs)
    return 'The schedule ends before it starts.'
  try {
    if (nextOccurrence(timing, (timing.startMs ?? 0) - 1) !== null) return null
  } catch (error) {
    if (error instanceof TimingTooCostly) return error.message
    throw error
  }
  const isUnlimited = { ...timing, startMs: null, endMs: null, excludedDates: [], excludedCrons: [] }
  if (nextOccurrence(isUnlimited, -1) === null) return 'It never fires: no day of any year matches its rules.'
  return 'It never fires: its start, end and exclusions leave no run times.'
}

export function problemOfCron(expression: string): string | null {
  try {
    readCron(expression)
    return null
  } catch (error) {
    if (error instanceof CronProblem) return error.message
    throw error
  }
}

function isCalendarDate(text: string): boolean {
  const atMs = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text)
}
