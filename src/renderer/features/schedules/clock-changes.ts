import { occurrencesToShow } from '../../../shared/calendar/index.ts'
import { readCron } from '../../../shared/calendar/cron-fields.ts'
import { stretchAt } from '../../../shared/calendar/zones.ts'
import type { ScheduleTiming } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { texts } from '../../../shared/texts/ui/schedules.ts'

export interface ClockChange {
  atMs: number
  /** `Sun 28 Mar: clocks go forward` */
  title: string
  /** `02:30 does not exist on that day: it runs at 03:00.` */
  effect: string
  isTouched: boolean
}

const DAY_MS = 86_400_000
const AHEAD_MS = 370 * DAY_MS
/** The maximum number of runs to compute for one day. More would add no information. */
const RUNS_LOOKED_AT = 2_000

/** The next clock changes within a year, at most two, and what each does to that day's runs. */
export function clockChangesOf(timing: ScheduleTiming, fromMs: number): ClockChange[] {
  const found: ClockChange[] = []
  let stretch = stretchAt(timing.zone, fromMs)
  while (stretch.endMs < fromMs + AHEAD_MS && found.length < 2) {
    const atMs = stretch.endMs
    const next = stretchAt(timing.zone, atMs)
    // If the offset stays the same, the stretch ended only because the search ended.
    if (next.offsetMs !== stretch.offsetMs && (timing.endMs === null || atMs <= timing.endMs))
      found.push(describeChange(timing, atMs, stretch.offsetMs, next.offsetMs))
    if (next.endMs <= stretch.endMs) break
    stretch = next
  }
  return found
}

function describeChange(timing: ScheduleTiming, atMs: number, beforeMs: number, afterMs: number): ClockChange {
  const byMs = afterMs - beforeMs
  const by = formatDuration(Math.abs(byMs) / 1000)
  const title = (byMs > 0 ? texts.clocksForward : texts.clocksBack)(dayOf(atMs, beforeMs), by)
  // Computes the runs under each policy. The difference is the effect of the clock change.
  const around = { afterMs: atMs - Math.abs(byMs) - 1, untilMs: atMs + Math.abs(byMs), limit: RUNS_LOOKED_AT }
  if (byMs > 0) {
    const moved = occurrencesToShow({ ...timing, gap: 'run_at_shift' }, around).filter(({ kind }) => kind === 'gap')
    const wallMs = atMs + beforeMs
    const lost = timesLost(timing, atMs, byMs)
    if (moved.length === 0) return { atMs, title, effect: untouched(timing, atMs, byMs), isTouched: false }
    const times = lost.length === 0 ? texts.timesBetween(clock(wallMs), clock(atMs + afterMs)) : texts.timesOfDay(lost)
    return {
      atMs,
      title,
      effect:
        timing.gap === 'skip'
          ? texts.skippedByClocks(times, lost.length)
          : texts.movedByClocks(times, lost.length, clock(atMs + afterMs)),
      isTouched: true
    }
  }
  const twice = occurrencesToShow({ ...timing, doubled: 'run_twice' }, around).filter(({ kind }) => kind !== 'normal')
  const firsts = twice.filter(({ kind }) => kind === 'first_of_two')
  const isElapsed = isOpenOnly(timing)
  if (firsts.length === 0 || isElapsed) return { atMs, title, effect: untouched(timing, atMs, byMs), isTouched: false }
  const times = texts.timesOfDay([...new Set(firsts.map(({ local }) => local.slice(11, 16)))])
  return {
    atMs,
    title,
    effect:
      timing.doubled === 'run_twice'
        ? texts.repeatedTwice(times, firsts.length)
        : texts.repeatedOnce(times, firsts.length),
    isTouched: true
  }
}

/**
 * The times of day that the rules name and the clocks skip. Finds them by evaluating the rules in a zone without the
 * clock change.
 */
function timesLost(timing: ScheduleTiming, atMs: number, byMs: number): string[] {
  const { offsetMs } = stretchAt(timing.zone, atMs - 1)
  const fromMs = atMs + offsetMs
  const named = occurrencesToShow(
    { ...timing, zone: 'UTC', rules: timing.rules.filter(({ kind }) => kind === 'cron'), startMs: null, endMs: null },
    { afterMs: fromMs - 1, untilMs: fromMs + byMs - 1, limit: 4 }
  )
  return named.map(({ nominalMs }) => clock(nominalMs))
}

/** Explains why no run is affected: the rules follow elapsed time, or name other times. */
function untouched(timing: ScheduleTiming, atMs: number, byMs: number): string {
  const isByClock = timing.rules.some(({ kind }) => kind === 'cron') && !isOpenOnly(timing)
  if (!isByClock) return texts.intervalUnaffected
  const dayRuns = occurrencesToShow(timing, { afterMs: atMs - DAY_MS, untilMs: atMs + DAY_MS, limit: 1 }).length
  const shift = formatDuration(Math.abs(byMs) / 1000)
  const after = byMs > 0 ? texts.earlierInUtc(shift) : texts.laterInUtc(shift)
  return dayRuns > 0 ? `${texts.noRunAffected} ${after}` : after
}

/** Whether all cron rules recur within the hour. Such rules follow elapsed time (contract/schedules.ts). */
function isOpenOnly({ rules }: ScheduleTiming): boolean {
  return rules.every((rule) => rule.kind !== 'cron' || readCron(rule.expression).isOpen)
}

const clock = (wallMs: number) => new Date(wallMs).toISOString().slice(11, 16)
const WEEKDAYS = [texts.sun, texts.mon, texts.tue, texts.wed, texts.thu, texts.fri, texts.sat]
const MONTHS = [
  texts.jan,
  texts.feb,
  texts.mar,
  texts.apr,
  texts.may,
  texts.jun,
  texts.jul,
  texts.aug,
  texts.sep,
  texts.oct,
  texts.nov,
  texts.dec
]

function dayOf(atMs: number, offsetMs: number): string {
  const day = new Date(atMs + offsetMs)
  return `${WEEKDAYS[day.getUTCDay()]} ${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]} ${day.getUTCFullYear()}`
}
