import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { occurrencesToShow, problemOfTiming } from '../../../../shared/calendar/index.ts'
import type { ScheduleTiming } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { plural } from '../../../ui/numbers.ts'
import { shiftRule } from '../load/spread.ts'
import { formatMoment } from '../zoned-time.ts'
import classes from './editor.module.css'

const MINUTE_MS = 60_000
const SPREAD_MINUTES = 30
/** With this many other schedules another minute is better even with enough slots: all of them start at once. */
const MANY = 5

interface LoadHintProps {
  timing: ScheduleTiming
  /** Jobs per firing. */
  jobs: number
  /** The saved version, which must not be counted as another schedule; null if it is new or paused. */
  saved: ScheduleTiming | null
  savedJobs: number
  onSpread: (timing: ScheduleTiming) => void
}

/** How many schedules fire in the minute of the next run, compared with the slots; suggests a quieter minute nearby. */
export function LoadHint({ timing, jobs, saved, savedJobs, onSpread }: LoadHintProps) {
  const { query } = useApi()
  const nextMs = occurrencesToShow(timing, { afterMs: Date.now(), limit: 1 })[0]?.nominalMs ?? null
  const fromMs = Math.floor((nextMs ?? 0) / MINUTE_MS) * MINUTE_MS
  const untilMs = fromMs + SPREAD_MINUTES * MINUTE_MS
  const { data } = useQuery(
    query.schedules.load.queryOptions({
      input: { fromMs, untilMs },
      enabled: nextMs !== null,
      placeholderData: keepPreviousData,
      staleTime: 10_000
    })
  )
  if (data === undefined || nextMs === null) return null
  const own = new Set(
    saved === null
      ? []
      : occurrencesToShow(saved, { afterMs: fromMs - 1, untilMs, limit: 100 }).map(
          ({ nominalMs }) => Math.floor(nominalMs / MINUTE_MS) * MINUTE_MS
        )
  )
  const at = (atMs: number) => {
    const minute = data.minutes.find((each) => each.atMs === atMs)
    const isOwn = own.has(atMs)
    return { firings: (minute?.firings ?? 0) - (isOwn ? 1 : 0), jobs: (minute?.jobs ?? 0) - (isOwn ? savedJobs : 0) }
  }
  const here = at(fromMs)
  if (here.firings <= 0) return null
  const isCrowded = here.jobs + jobs > data.slots
  const quieter = Array.from({ length: SPREAD_MINUTES }, (_, index) => index + 1)
    .map((minutes) => ({
      minutes,
      load: at(fromMs + minutes * MINUTE_MS).jobs,
      timing: shifted(timing, fromMs, minutes)
    }))
    .filter((each) => each.timing !== null && each.load < here.jobs)
    .reduce<{ minutes: number; load: number; timing: ScheduleTiming | null } | null>(
      (best, each) => (best === null || each.load < best.load ? each : best),
      null
    )
  const clock = (atMs: number) => formatMoment(atMs, timing.zone, atMs).split(' ').at(-1)
  return (
    <div className={classes.load} data-crowded={isCrowded || undefined} role="status" aria-label="Load">
      {isCrowded && <IconAlertTriangle size={15} aria-hidden />}
      <span>
        <strong>
          {plural(here.firings, 'other schedule')} {here.firings === 1 ? 'fires' : 'fire'} at {clock(fromMs)}
        </strong>{' '}
        <span className="dim">
          – {plural(here.jobs + jobs, 'job')} for {plural(data.slots, 'slot')}
          {isCrowded && ': some will wait'}
        </span>
      </span>
      {(isCrowded || here.firings >= MANY) && quieter?.timing && (
        <Button variant="subtle" onClick={() => onSpread(quieter.timing as ScheduleTiming)}>
          Spread to {clock(fromMs + quieter.minutes * MINUTE_MS)}
        </Button>
      )}
    </div>
  )
}

/** The timing with the rules that fire in that minute moved by this many minutes; null if one cannot be moved. */
function shifted(timing: ScheduleTiming, fromMs: number, minutes: number): ScheduleTiming | null {
  const moved = timing.rules.map((rule) => {
    const minute = { afterMs: fromMs - 1, untilMs: fromMs + MINUTE_MS - 1, limit: 1 }
    const fires = occurrencesToShow({ ...timing, rules: [rule] }, minute).length > 0
    return fires ? shiftRule(rule, minutes) : { rule }
  })
  const rules = moved.flatMap((each) => ('rule' in each ? [each.rule] : []))
  const next = { ...timing, rules }
  return rules.length === timing.rules.length && problemOfTiming(next) === null ? next : null
}
