/** Spreads a crowded minute: moves some of its schedules by several minutes. Pure. */
import { NICKNAMES, readCron } from '../../../../shared/calendar/cron-fields.ts'
import { occurrencesToShow, problemOfTiming } from '../../../../shared/calendar/index.ts'
import { type Schedule, type ScheduleRule, ScheduleSettings } from '../../../../shared/contract/index.ts'
import { jobsOf } from '../schedule-words.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'
import { textOfProblem } from '../../../api/in-language.ts'

const MINUTE_MS = 60_000
const OFTEN_WITHIN_MS = 12 * 3_600_000

export interface LoadMinute {
  readonly atMs: number
  readonly firings: number
  readonly jobs: number
}

export interface SpreadPlan {
  readonly moves: readonly { schedule: Schedule; minutes: number; settings: ScheduleSettings }[]
  readonly stays: readonly { schedule: Schedule; why: string | null }[]
  /** Jobs per minute, from the crowded minute to the longest possible move. */
  readonly before: readonly number[]
  readonly after: readonly number[]
}

/** The moved rule, or why it cannot be moved, in words that follow "it". */
export function shiftRule(rule: ScheduleRule, minutes: number): { rule: ScheduleRule } | { why: string } {
  if (rule.kind === 'once') return { rule: { ...rule, atMs: rule.atMs + minutes * MINUTE_MS } }
  if (rule.kind === 'interval') return { rule: { ...rule, anchorMs: rule.anchorMs + minutes * MINUTE_MS } }
  const fields = (NICKNAMES[rule.expression.trim().toLowerCase()] ?? rule.expression).trim().split(/\s+/)
  const values = readCron(rule.expression).minutes
  if (values.length === 60) return { why: texts.runsEveryMinute }
  const moved = values.map((value) => value + minutes)
  if (moved.some((value) => value < 0 || value > 59)) return { why: texts.wouldLeaveItsHour }
  fields[fields.length - 5] = writeMinutes(moved)
  return { rule: { ...rule, expression: fields.join(' ') } }
}

/** How much later than scheduled the schedule fires. Jitter is constant per schedule, so the next run shows it. */
export const jitterMsOf = ({ nextAtMs, nextNominalMs }: Schedule): number =>
  nextAtMs === null || nextNominalMs === null ? 0 : Math.max(0, nextAtMs - nextNominalMs)

/** Whether the schedule fires within the minute, including jitter. */
export const firesIn = (schedule: Schedule, minuteMs: number): boolean => {
  if (schedule.paused) return false
  const fromMs = minuteMs - jitterMsOf(schedule)
  return occurrencesToShow(schedule, { afterMs: fromMs - 1, untilMs: fromMs + 59_999, limit: 1 }).length > 0
}

/**
 * Returns the schedule's settings, but with the rules that fire in the minute starting at `atMs` moved by `minutes`. If
 * a rule cannot be moved, returns why.
 */
export function shiftSchedule(
  schedule: Schedule,
  atMs: number,
  minutes: number
): { settings: ScheduleSettings } | { why: string } {
  // Exclusions name times, too. They would not match a moved rule, so excluded runs would start.
  if (schedule.excludedCrons.length > 0) return { why: texts.hasExclusions }
  const rules: ScheduleRule[] = []
  for (const rule of schedule.rules) {
    const moved = firesIn({ ...schedule, rules: [rule] }, atMs) ? shiftRule(rule, minutes) : { rule }
    if ('why' in moved) return moved
    rules.push(moved.rule)
  }
  const settings = ScheduleSettings.parse({ ...schedule, rules })
  const problem = problemOfTiming(settings)
  return problem === null ? { settings } : { why: texts.cannotBeMoved(textOfProblem(problem)) }
}

/**
 * Moves only as many schedules as necessary to keep every minute within `mostJobs`. Each goes to the nearest minute
 * with room, or to the emptiest one if none has room. Schedules that run often are placed first, while the crowded
 * minute still has room for them, because moving them would affect more minutes. Next are those with the most jobs,
 * which are hardest to fit.
 */
export function planSpread(
  crowd: readonly Schedule[],
  load: readonly LoadMinute[],
  atMs: number,
  { windowMinutes, mostJobs }: { windowMinutes: number; mostJobs: number }
): SpreadPlan {
  const before = Array.from({ length: windowMinutes + 1 }, () => 0)
  for (const { atMs: minuteMs, jobs } of load) {
    const index = Math.round((minuteMs - atMs) / MINUTE_MS)
    if (index >= 0 && index < before.length) before[index] = jobs
  }
  const after = [...before]
  const moves: SpreadPlan['moves'][number][] = []
  const stays: SpreadPlan['stays'][number][] = []
  const often = new Set(crowd.filter((schedule) => runsOften(schedule, atMs)))
  const bySize = [...crowd].sort(
    (left, right) => Number(often.has(right)) - Number(often.has(left)) || jobsOf(right.jobs) - jobsOf(left.jobs)
  )
  // Schedules that cannot be moved are counted before any other schedule is placed.
  const movable = bySize.filter((schedule) => {
    const first = offsets(windowMinutes).map((minutes) => shiftSchedule(schedule, atMs, minutes))
    const isMovable = first.some((moved) => 'settings' in moved)
    if (!isMovable) stays.push({ schedule, why: (first[0] as { why: string } | undefined)?.why ?? null })
    else after[0] = (after[0] as number) - jobsOf(schedule.jobs)
    return isMovable
  })
  for (const schedule of movable) {
    const jobs = jobsOf(schedule.jobs)
    const choices = [0, ...offsets(windowMinutes)].flatMap((minutes) => {
      const moved = minutes === 0 ? { settings: null } : shiftSchedule(schedule, atMs, minutes)
      return 'settings' in moved ? [{ minutes, settings: moved.settings, load: (after[minutes] as number) + jobs }] : []
    })
    const roomy = choices.find((choice) => choice.load <= mostJobs)
    const chosen = roomy ?? choices.reduce((least, choice) => (choice.load < least.load ? choice : least))
    after[chosen.minutes] = (after[chosen.minutes] as number) + jobs
    if (chosen.settings === null) stays.push({ schedule, why: null })
    else moves.push({ schedule, minutes: chosen.minutes, settings: chosen.settings })
  }
  return { moves, stays, before, after }
}

const runsOften = (schedule: Schedule, atMs: number) =>
  occurrencesToShow(schedule, { afterMs: atMs, untilMs: atMs + OFTEN_WITHIN_MS, limit: 2 }).length > 1

const offsets = (windowMinutes: number) => Array.from({ length: windowMinutes }, (_, index) => index + 1)

/** The fullest minutes among those with several schedules, because only these are worth spreading. */
export function crowdedMinutes(load: readonly LoadMinute[], limit: number): LoadMinute[] {
  return load
    .filter(({ firings }) => firings > 1)
    .sort((left, right) => right.jobs - left.jobs || right.firings - left.firings || left.atMs - right.atMs)
    .slice(0, limit)
}

/** The shortest readable form: `7-59/15` if it recurs to the end of the hour, otherwise the minutes. */
function writeMinutes(values: readonly number[]): string {
  const [first, second] = values as [number, number | undefined]
  if (second === undefined) return String(first)
  const step = second - first
  const isEven = values.every((value, index) => value === first + index * step)
  if (isEven && values.length > 2 && (values.at(-1) as number) + step > 59)
    return first === 0 ? `*/${step}` : `${first}-59/${step}`
  return values.join(',')
}
