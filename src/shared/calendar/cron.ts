/**
 * Cron expressions on a calendar without clock changes: walls in, walls out (a wall is what a clock shows, read as
 * UTC). croner finds the days. Times of day are computed here: they are just three short lists, and a croner pattern
 * takes 80 kB, so ten thousand schedules at distinct minutes share a few day patterns.
 */
import { Cron } from 'croner'
import { type CronFields, type DayFields, readCron } from './cron-fields.ts'

export interface CompiledCron extends CronFields {
  /** null: every day. */
  finder: DayFinder | null
}

const DAY_MS = 86_400_000
/** Searches end here. */
const LAST_MS = Date.UTC(2300, 0, 1)
const MOST_EXPRESSIONS = 20_000
const MOST_DAY_PATTERNS = 500

const compiled = new Map<string, CompiledCron>()
const dayFinders = new Map<string, DayFinder>()

/** Throws CronProblem if the expression is invalid. */
export function compileCron(expression: string): CompiledCron {
  const known = compiled.get(expression)
  if (known !== undefined) return known
  const fields = readCron(expression)
  const pattern = patternOf(fields.days)
  const made = { ...fields, finder: pattern === null ? null : dayFinderOf(pattern) }
  if (compiled.size >= MOST_EXPRESSIONS) compiled.clear()
  compiled.set(expression, made)
  return made
}

/** The first wall of the expression at or after `wallMs`; null if there is none before LAST_MS. */
export function wallAtOrAfter(cron: CompiledCron, wallMs: number): number | null {
  let dayMs = Math.floor(wallMs / DAY_MS) * DAY_MS
  let second = Math.ceil((wallMs - dayMs) / 1000)
  for (;;) {
    const foundMs: number | null = cron.finder === null ? dayMs : cron.finder.atOrAfter(dayMs)
    if (foundMs === null || foundMs >= LAST_MS) return null
    if (foundMs !== dayMs) second = 0
    const time = timeAtOrAfter(cron, second)
    if (time !== null) return foundMs + time * 1000
    dayMs = foundMs + DAY_MS
    second = 0
  }
}

/** Whether the expression matches this wall. With five fields it matches the whole minute, as exclusions need. */
export function meansWall(cron: CompiledCron, wallMs: number): boolean {
  const dayMs = Math.floor(wallMs / DAY_MS) * DAY_MS
  const second = Math.floor((wallMs - dayMs) / 1000)
  return (
    cron.hours.includes(Math.floor(second / 3600)) &&
    cron.minutes.includes(Math.floor(second / 60) % 60) &&
    (!cron.hasSeconds || cron.seconds.includes(second % 60)) &&
    (cron.finder === null || cron.finder.atOrAfter(dayMs) === dayMs)
  )
}

/** The first matching second of the day at or after `second`; null if there is none. */
function timeAtOrAfter(cron: CronFields, second: number): number | null {
  for (const hour of cron.hours) {
    if (hour * 3600 + 3599 < second) continue
    for (const minute of cron.minutes) {
      const start = hour * 3600 + minute * 60
      if (start + 59 < second) continue
      for (const one of cron.seconds) if (start + one >= second) return start + one
    }
  }
  return null
}

class DayFinder {
  readonly #cron: Cron
  // Caches the last result: queries mostly ascend, with many per matching day.
  #askedMs = 0
  #foundMs: number | null = Number.NaN

  constructor(pattern: string) {
    this.#cron = new Cron(pattern, { utcOffset: 0, paused: true })
  }

  /** Midnight in, midnight out. */
  atOrAfter(dayMs: number): number | null {
    if (dayMs >= this.#askedMs && (this.#foundMs === null || dayMs <= this.#foundMs)) return this.#foundMs
    this.#foundMs = this.#cron.nextRun(new Date(dayMs - 1000))?.getTime() ?? null
    this.#askedMs = dayMs
    return this.#foundMs
  }
}

/** In croner's syntax, without anything that croner might interpret differently; null: every day. */
function patternOf({ daysOfMonth, months, weekdays, isBoth }: DayFields): string | null {
  if (daysOfMonth === null && months === null && weekdays === null) return null
  const weekdayText = `${isBoth ? '+' : ''}${weekdays?.join(',') ?? '*'}`
  return `0 0 ${daysOfMonth?.join(',') ?? '*'} ${months?.join(',') ?? '*'} ${weekdayText}`
}

function dayFinderOf(pattern: string): DayFinder {
  const known = dayFinders.get(pattern)
  if (known !== undefined) return known
  if (dayFinders.size >= MOST_DAY_PATTERNS) dayFinders.clear()
  const finder = new DayFinder(pattern)
  dayFinders.set(pattern, finder)
  return finder
}
