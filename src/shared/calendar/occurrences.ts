/**
 * When a schedule fires. Expressions are computed on walls (what clocks show, cron.ts). This file converts walls to
 * moments, one stretch of constant offset at a time (zones.ts). A policy handles clock changes:
 *
 * gap      clocks skip the wall: run at the change, or not at all
 * doubled  clocks show the wall twice: run at the first, or at both
 *
 * The policies apply only to rules that name times of day. Rules that recur within the hour (`isOpen`) run at every
 * moment whose wall they match: never in a gap, and twice in a doubled hour. Intervals and single times are
 * absolute.
 */
import type { Occurrence, ScheduleRule, ScheduleTiming } from '../contract/schedules.ts'
import { compileCron, type CompiledCron } from './cron.ts'
import { Exclusions, FreeWalls } from './exclusions.ts'
import { SearchBudget, TimingTooCostly } from './search-budget.ts'
import { formatLocal, stretchAt, type Stretch } from './zones.ts'

type Moment = Pick<Occurrence, 'nominalMs' | 'kind'>

const DAY_MS = 86_400_000
/** Searches end here and start no earlier than 1970. */
const LAST_MS = Date.UTC(2300, 0, 1)
/** The cost of finding a stretch that is not cached: a third of a millisecond. */
const STRETCH_WORK = 1_000
const INTERVAL_WORK = 4
/** The number of stretches that a search for one moment can cross for free. Ordinary rules need no more. */
const CROSSED_FREE = 4

export interface OccurrenceRange {
  afterMs: number
  untilMs?: number
  limit: number
}

/**
 * Returns the occurrences after `afterMs`, up to and including `untilMs`, sorted. Throws TimingTooCostly. Several
 * calls can share a budget.
 */
export function occurrencesOf(
  timing: ScheduleTiming,
  range: OccurrenceRange,
  budget = new SearchBudget(timing)
): Occurrence[] {
  return [...iterate(timing, range, budget)]
}

/** Like occurrencesOf, for display only: returns the occurrences that are found within the budget. */
export function occurrencesToShow(timing: ScheduleTiming, range: OccurrenceRange): Occurrence[] {
  const found: Occurrence[] = []
  try {
    for (const one of iterate(timing, range, new SearchBudget(timing))) found.push(one)
  } catch (error) {
    if (!(error instanceof TimingTooCostly)) throw error
  }
  return found
}

function* iterate(timing: ScheduleTiming, range: OccurrenceRange, budget: SearchBudget): Generator<Occurrence> {
  const untilMs = Math.min(range.untilMs ?? LAST_MS, timing.endMs ?? LAST_MS)
  let fromMs = firstMoment(timing, range.afterMs)
  if (fromMs > untilMs) return
  const exclusions = new Exclusions(timing)
  const searches = timing.rules.map((rule) => searchOf(timing, rule, { exclusions, budget }))
  const next = searches.map((search) => search(fromMs, untilMs))
  for (let count = 0; count < range.limit; count += 1) {
    const moment = earliest(next)
    if (moment === null || moment.nominalMs > untilMs) return
    yield describe(timing.zone, moment, budget)
    fromMs = moment.nominalMs + 1
    if (count + 1 === range.limit) return
    for (const [index, one] of next.entries()) {
      if (one !== null && one.nominalMs < fromMs) next[index] = searches[index]!(fromMs, untilMs)
    }
  }
}

/** Returns null if the timing never fires again. Throws TimingTooCostly. */
export function nextOccurrence(timing: ScheduleTiming, afterMs: number): Occurrence | null {
  return occurrencesOf(timing, { afterMs, limit: 1 })[0] ?? null
}

function firstMoment(timing: ScheduleTiming, afterMs: number): number {
  return Math.max(0, Math.floor(afterMs) + 1, timing.startMs ?? 0)
}

function stretchOf(zone: string, atMs: number, budget: SearchBudget): Stretch {
  budget.visit(atMs)
  return stretchAt(zone, atMs)
}

/**
 * If several rules give the same moment, prefers one that a clock change moves or doubles, because users should see
 * the effect.
 */
function earliest(moments: (Moment | null)[]): Moment | null {
  return moments.reduce((best, one) => {
    if (one === null || best === null) return one ?? best
    if (one.nominalMs !== best.nominalMs) return one.nominalMs < best.nominalMs ? one : best
    return best.kind === 'normal' || (one.kind === 'gap' && best.kind !== 'gap') ? one : best
  }, null)
}

function describe(zone: string, moment: Moment, budget: SearchBudget): Occurrence {
  const { offsetMs } = stretchOf(zone, moment.nominalMs, budget)
  return { nominalMs: moment.nominalMs, local: formatLocal(moment.nominalMs, offsetMs), kind: moment.kind }
}

type Search = (fromMs: number, untilMs: number) => Moment | null

interface Means {
  exclusions: Exclusions
  budget: SearchBudget
}

function searchOf(timing: ScheduleTiming, rule: ScheduleRule, { exclusions, budget }: Means): Search {
  if (rule.kind === 'cron') {
    const cron = compileCron(rule.expression)
    const walls = new FreeWalls(cron, exclusions, budget)
    return (fromMs, untilMs) => cronMoment(timing, { cron, walls, exclusions, budget }, fromMs, untilMs)
  }
  const anySecond = new FreeWalls(compileCron('* * * * * *'), exclusions, budget)
  const everyMs = rule.kind === 'once' ? Number.POSITIVE_INFINITY : rule.everySeconds * 1000
  const firstMs = rule.kind === 'once' ? rule.atMs : rule.anchorMs
  return (fromMs, untilMs) => {
    for (let earliestMs = fromMs; ; ) {
      const steps = Math.max(0, Math.ceil((earliestMs - firstMs) / everyMs))
      if (rule.kind === 'once' && firstMs < earliestMs) return null
      const atMs = rule.kind === 'once' ? firstMs : firstMs + steps * everyMs
      if (atMs > untilMs) return null
      const stretch = stretchOf(timing.zone, atMs, budget)
      const wallMs = atMs + stretch.offsetMs
      if (!exclusions.includes(wallMs)) return { nominalMs: atMs, kind: kindOf(stretch, wallMs) }
      const freeMs = anySecond.atOrAfter(wallMs, untilMs + DAY_MS)
      budget.spend(freeMs === null || freeMs - stretch.offsetMs < stretch.endMs ? INTERVAL_WORK : STRETCH_WORK)
      earliestMs = Math.max(atMs + 1, Math.min((freeMs ?? Infinity) - stretch.offsetMs, stretch.endMs))
    }
  }
}

interface CronMeans extends Means {
  cron: CompiledCron
  walls: FreeWalls
}

function cronMoment(timing: ScheduleTiming, means: CronMeans, firstMs: number, untilMs: number): Moment | null {
  const { cron, walls, budget } = means
  let fromMs = firstMs
  let stretch = stretchOf(timing.zone, fromMs, budget)
  for (let crossed = 1; fromMs <= untilMs; crossed += 1) {
    if (fromMs <= stretch.startMs && hasRunAtShift(timing, means, stretch))
      return { nominalMs: stretch.startMs, kind: 'gap' }
    let wallFromMs = Math.max(fromMs, stretch.startMs) + stretch.offsetMs
    if (!cron.isOpen && timing.doubled === 'run_once') wallFromMs = Math.max(wallFromMs, repeatedUntil(stretch))
    const wallMs = walls.atOrAfter(wallFromMs, untilMs + 2 * DAY_MS) ?? Number.POSITIVE_INFINITY
    if (wallMs < stretch.endMs + stretch.offsetMs)
      return { nominalMs: wallMs - stretch.offsetMs, kind: kindOf(stretch, wallMs) }
    // Walls before the start of this search can recur if clocks go back at the end of the stretch.
    const isShownAgain = wallFromMs > stretch.endMs + stretch.nextOffsetMs
    // The next match is no earlier than two days before this wall, read as UTC.
    fromMs = isShownAgain ? stretch.endMs : Math.max(stretch.endMs, wallMs - 2 * DAY_MS)
    if (fromMs > untilMs) return null
    stretch = stretchOf(timing.zone, fromMs, budget)
    if (crossed > CROSSED_FREE) budget.spend(STRETCH_WORK)
  }
  return null
}

/** Whether clocks skip a wall of this rule at the start of the stretch. All skipped walls run once, at the change. */
function hasRunAtShift(timing: ScheduleTiming, { cron, walls, exclusions }: CronMeans, stretch: Stretch): boolean {
  if (cron.isOpen || timing.gap === 'skip') return false
  const untilWallMs = stretch.startMs + stretch.offsetMs
  const fromWallMs = stretch.startMs + stretch.previousOffsetMs
  if (fromWallMs >= untilWallMs || exclusions.includes(untilWallMs)) return false
  const wallMs = walls.atOrAfter(fromWallMs, untilWallMs)
  return wallMs !== null && wallMs < untilWallMs
}

/** The wall at which the stretch stops repeating walls that clocks have already shown. */
function repeatedUntil(stretch: Stretch): number {
  return stretch.startMs + stretch.previousOffsetMs
}

function kindOf(stretch: Stretch, wallMs: number): Occurrence['kind'] {
  if (wallMs < repeatedUntil(stretch)) return 'second_of_two'
  return wallMs >= stretch.endMs + stretch.nextOffsetMs ? 'first_of_two' : 'normal'
}
