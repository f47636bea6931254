/**
 * When a schedule fires. Expressions are computed on walls (what clocks show, cron.ts). Here walls become moments, one
 * stretch of constant offset at a time (zones.ts), and a policy handles clock changes:
 *
 *   gap      clocks skip the wall: run at the change, or not at all
 *   doubled  clocks show the wall twice: run at the first, or at both
 *
 * The policies apply only to rules that name times of day. Rules that recur within the hour (`isOpen`) run at every
 * moment whose wall they match: never in a gap, and twice in a doubled hour. Intervals and single times are absolute.
 */
import type { Occurrence, ScheduleRule, ScheduleTiming } from '../contract/schedules.ts'
import { compileCron, meansWall, wallAtOrAfter, type CompiledCron } from './cron.ts'
import { formatLocal, stretchAt, type Stretch } from './zones.ts'

type Moment = Pick<Occurrence, 'nominalMs' | 'kind'>

const DAY_MS = 86_400_000
/** Searches end here and start no earlier than 1970. */
const LAST_MS = Date.UTC(2300, 0, 1)
/** Consecutive excluded moments that one search skips. A timing with more is rejected as one that never fires. */
const MOST_EXCLUDED = 20_000

export interface OccurrenceRange {
  afterMs: number
  untilMs?: number
  limit: number
}

/** Sorted, after `afterMs`, up to and including `untilMs`; coinciding rules fire once. The timing must be valid. */
export function occurrencesOf(timing: ScheduleTiming, range: OccurrenceRange): Occurrence[] {
  const untilMs = Math.min(range.untilMs ?? LAST_MS, timing.endMs ?? LAST_MS)
  const found: Occurrence[] = []
  const searches = timing.rules.map((rule) => searchOf(timing, rule))
  let fromMs = firstMoment(timing, range.afterMs)
  if (fromMs > untilMs) return []
  const next = searches.map((search) => search(fromMs, untilMs))
  while (found.length < range.limit) {
    const moment = earliest(next)
    if (moment === null || moment.nominalMs > untilMs) break
    found.push(describe(timing.zone, moment))
    fromMs = moment.nominalMs + 1
    next.forEach((one, index) => {
      if (one !== null && one.nominalMs < fromMs) next[index] = searches[index]?.(fromMs, untilMs) ?? null
    })
  }
  return found
}

/** The first occurrence after a moment; null: it never fires again. */
export function nextOccurrence(timing: ScheduleTiming, afterMs: number): Occurrence | null {
  return occurrencesOf(timing, { afterMs, limit: 1 })[0] ?? null
}

function firstMoment(timing: ScheduleTiming, afterMs: number): number {
  return Math.max(0, Math.floor(afterMs) + 1, timing.startMs ?? 0)
}

/** If several coincide, prefers the one that a clock change moved or doubled, because users should see that. */
function earliest(moments: (Moment | null)[]): Moment | null {
  return moments.reduce((best, one) => {
    if (one === null || best === null) return one ?? best
    if (one.nominalMs !== best.nominalMs) return one.nominalMs < best.nominalMs ? one : best
    return best.kind === 'normal' || (one.kind === 'gap' && best.kind !== 'gap') ? one : best
  }, null)
}

function describe(zone: string, moment: Moment): Occurrence {
  const { offsetMs } = stretchAt(zone, moment.nominalMs)
  return { nominalMs: moment.nominalMs, local: formatLocal(moment.nominalMs, offsetMs), kind: moment.kind }
}

/** The first moment of a rule at or after `fromMs`; the search ends at or soon after `untilMs`. */
type Search = (fromMs: number, untilMs: number) => Moment | null

function searchOf(timing: ScheduleTiming, rule: ScheduleRule): Search {
  const isExcluded = excluder(timing)
  if (rule.kind === 'cron') {
    const cron = compileCron(rule.expression)
    return (fromMs, untilMs) => cronMoment(timing, cron, isExcluded, fromMs, untilMs)
  }
  const everyMs = rule.kind === 'once' ? Number.POSITIVE_INFINITY : rule.everySeconds * 1000
  const firstMs = rule.kind === 'once' ? rule.atMs : rule.anchorMs
  return (fromMs, untilMs) => {
    let earliestMs = fromMs
    for (let excluded = 0; excluded < MOST_EXCLUDED; excluded += 1) {
      const steps = Math.max(0, Math.ceil((earliestMs - firstMs) / everyMs))
      if (rule.kind === 'once' && firstMs < earliestMs) return null
      const atMs = rule.kind === 'once' ? firstMs : firstMs + steps * everyMs
      if (atMs > untilMs) return null
      const stretch = stretchAt(timing.zone, atMs)
      const resumeWallMs = isExcluded(atMs + stretch.offsetMs)
      if (resumeWallMs === null) return { nominalMs: atMs, kind: kindOf(stretch, atMs + stretch.offsetMs) }
      earliestMs = Math.max(atMs + 1, Math.min(resumeWallMs - stretch.offsetMs, stretch.endMs))
    }
    return null
  }
}

function cronMoment(
  timing: ScheduleTiming,
  cron: CompiledCron,
  isExcluded: Excluder,
  firstMs: number,
  untilMs: number
): Moment | null {
  let fromMs = firstMs
  let stretch = stretchAt(timing.zone, fromMs)
  for (let looks = 0; looks < MOST_EXCLUDED && fromMs <= untilMs; looks += 1) {
    if (fromMs <= stretch.startMs && hasRunAtShift(timing, cron, isExcluded, stretch))
      return { nominalMs: stretch.startMs, kind: 'gap' }
    let wallFromMs = Math.max(fromMs, stretch.startMs) + stretch.offsetMs
    if (!cron.isOpen && timing.doubled === 'run_once') wallFromMs = Math.max(wallFromMs, repeatedUntil(stretch))
    const wallMs = wallAtOrAfter(cron, wallFromMs)
    if (wallMs === null) return null
    if (wallMs < stretch.endMs + stretch.offsetMs) {
      const resumeWallMs = isExcluded(wallMs)
      if (resumeWallMs === null) return { nominalMs: wallMs - stretch.offsetMs, kind: kindOf(stretch, wallMs) }
      fromMs = Math.min(resumeWallMs - stretch.offsetMs, stretch.endMs)
    } else {
      // Nothing matches earlier than two days before this wall, unless this stretch ends in a doubled hour.
      const isDoubledNext = stretch.nextOffsetMs < stretch.offsetMs
      fromMs = isDoubledNext ? stretch.endMs : Math.max(stretch.endMs, wallMs - 2 * DAY_MS)
    }
    if (fromMs >= stretch.endMs) stretch = stretchAt(timing.zone, fromMs)
  }
  return null
}

/** Whether clocks skip a wall of this rule where the stretch begins. All skipped walls run once, at the change. */
function hasRunAtShift(timing: ScheduleTiming, cron: CompiledCron, isExcluded: Excluder, stretch: Stretch): boolean {
  if (cron.isOpen || timing.gap === 'skip') return false
  const untilWallMs = stretch.startMs + stretch.offsetMs
  if (isExcluded(untilWallMs) !== null) return false
  let wallMs = wallAtOrAfter(cron, stretch.startMs + stretch.previousOffsetMs)
  while (wallMs !== null && wallMs < untilWallMs) {
    const resumeWallMs = isExcluded(wallMs)
    if (resumeWallMs === null) return true
    wallMs = wallAtOrAfter(cron, resumeWallMs)
  }
  return false
}

/** Walls before this one were already shown before the stretch began. */
function repeatedUntil(stretch: Stretch): number {
  return stretch.startMs + stretch.previousOffsetMs
}

function kindOf(stretch: Stretch, wallMs: number): Occurrence['kind'] {
  if (wallMs < repeatedUntil(stretch)) return 'second_of_two'
  return wallMs >= stretch.endMs + stretch.nextOffsetMs ? 'first_of_two' : 'normal'
}

/** null: not excluded. Otherwise the first wall that might not be excluded. */
type Excluder = (wallMs: number) => number | null

const MINUTE_MS = 60_000
const dateSets = new WeakMap<readonly string[], Set<number>>()

function excluder(timing: ScheduleTiming): Excluder {
  if (timing.excludedDates.length === 0 && timing.excludedCrons.length === 0) return () => null
  const dates = dateSetOf(timing.excludedDates)
  const crons = timing.excludedCrons.map(compileCron)
  return (wallMs) => {
    const day = Math.floor(wallMs / DAY_MS)
    if (dates.has(day)) return (day + 1) * DAY_MS
    const cron = crons.find((one) => meansWall(one, wallMs))
    return cron === undefined ? null : resumeAfter(cron, wallMs)
  }
}

/** Skips everything the exclusion obviously covers around a wall. */
function resumeAfter(cron: CompiledCron, wallMs: number): number {
  const after = (unitMs: number) => (Math.floor(wallMs / unitMs) + 1) * unitMs
  if (cron.hasSeconds && cron.seconds.length < 60) return after(1000)
  if (cron.minutes.length < 60) return after(MINUTE_MS)
  return after(cron.hours.length < 24 ? 60 * MINUTE_MS : DAY_MS)
}

function dateSetOf(dates: readonly string[]): Set<number> {
  const known = dateSets.get(dates)
  if (known !== undefined) return known
  const made = new Set(dates.map((date) => Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY_MS)))
  dateSets.set(dates, made)
  return made
}
