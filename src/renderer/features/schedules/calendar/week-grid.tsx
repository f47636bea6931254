import type { ScheduleId } from '../../../../shared/contract/index.ts'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import classes from './calendar.module.css'
import { RunIcon } from '../run-look.tsx'
import { dateOf, type Day, hourOf, type OftenRow, type Run, type Week, dayWords, hourStart, timeWords } from './week.ts'
import { OftenStrip } from './often-strip.tsx'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

export interface WeekViewProps {
  week: Week
  utc: boolean
  nowMs: number
  nameOf: (scheduleId: ScheduleId) => string | null
  isReading: boolean
  openHourMs: number | null
  onHour: (hourMs: number) => void
}

/** The number of runs shown per hour. Further runs are only counted. */
const SHOWN_PER_HOUR = 3
const OFTEN_ROWS = 5

/** Shows days as columns and hours as rows. The rows of hours without runs are lower. */
export function WeekGrid({ week, utc, nowMs, nameOf, openHourMs, onHour }: WeekViewProps) {
  const today = dateOf(nowMs, utc)
  const nowHour = hourOf(nowMs, utc)
  const often = byName(week.often, nameOf)
  const [areAllShown, setAllShown] = useState(false)
  return (
    <div className={classes.gridBox}>
      <table className={`${classes.grid} card`}>
        <thead>
          <tr>
            <th aria-label={texts.hour} />
            {week.days.map((day) => (
              <th key={day.date} scope="col" data-today={day.date === today || undefined}>
                <DayHead day={day} />
              </th>
            ))}
          </tr>
        </thead>
        {often.length > 0 && (
          <tbody className={classes.often} aria-label={texts.frequentSchedules}>
            {often.slice(0, areAllShown ? undefined : OFTEN_ROWS).map((row) => (
              <tr key={row.scheduleId}>
                <th scope="row" aria-label={nameOf(row.scheduleId) ?? undefined} />
                {row.days.map((day, index) => (
                  <td key={week.days[index]?.date}>
                    {index === 0 && (
                      <Link
                        to="/schedules"
                        search={{ schedule: row.scheduleId }}
                        className={`${classes.oftenName} text-link small`}
                      >
                        {nameOf(row.scheduleId) ?? '…'}
                      </Link>
                    )}
                    <OftenStrip day={day} />
                  </td>
                ))}
              </tr>
            ))}
            {often.length > OFTEN_ROWS && (
              <tr>
                <th aria-label={texts.more} />
                <td colSpan={7} className={`${classes.oftenMore} small`}>
                  <button type="button" onClick={() => setAllShown(!areAllShown)} aria-expanded={areAllShown}>
                    {areAllShown ? texts.showFewer : texts.moreFrequentSchedules(often.length - OFTEN_ROWS)}
                  </button>
                </td>
              </tr>
            )}
          </tbody>
        )}
        <tbody>
          {Array.from({ length: 24 }, (_, hour) => (
            <tr key={hour} data-empty={week.hours.every((day) => day[hour]?.length === 0) || undefined}>
              <th scope="row">{`${String(hour).padStart(2, '0')}:00`}</th>
              {week.days.map((day, index) => {
                const runs = week.hours[index]?.[hour] ?? []
                const hourMs = hourStart(day, hour, utc)
                const isNow = day.date === today && hour === nowHour
                return (
                  <td
                    key={day.date}
                    data-today={day.date === today || undefined}
                    data-past={(hourMs ?? day.startMs) + 3_600_000 <= nowMs || undefined}
                    data-none={hourMs === null || undefined}
                    title={hourMs === null ? texts.hourSkipped : undefined}
                  >
                    {isNow && (
                      <i className={classes.now} style={{ top: `${((nowMs - (hourMs ?? nowMs)) / 36_000) % 100}%` }} />
                    )}
                    {runs.length > 0 && (
                      <HourButton
                        label={texts.hourRuns(dayWords(day), `${String(hour).padStart(2, '0')}:00`, runs.length)}
                        runs={runs}
                        utc={utc}
                        nameOf={nameOf}
                        isOpen={hourMs === openHourMs}
                        onOpen={() => onHour(hourMs ?? day.startMs)}
                      />
                    )}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function DayHead({ day }: { day: Day }) {
  return (
    <>
      {dayWords(day)}
      {day.clocks !== null && (
        <span className={classes.clocks}>{day.clocks === 'forward' ? texts.clocksGoForward : texts.clocksGoBack}</span>
      )}
    </>
  )
}

interface HourButtonProps {
  label: string
  runs: readonly Run[]
  utc: boolean
  nameOf: (scheduleId: ScheduleId) => string | null
  isOpen: boolean
  onOpen: () => void
}

function HourButton({ label, runs, utc, nameOf, isOpen, onOpen }: HourButtonProps) {
  // Runs without a known name are only counted. A fourth run is shown, because a number would take the same space.
  const named = runs.filter(({ scheduleId }) => nameOf(scheduleId) !== null)
  const shown = named.slice(0, runs.length === SHOWN_PER_HOUR + 1 ? SHOWN_PER_HOUR + 1 : SHOWN_PER_HOUR)
  const inOrder = [...shown].sort((left, right) => left.atMs - right.atMs)
  return (
    <button type="button" className={classes.hour} data-open={isOpen || undefined} aria-label={label} onClick={onOpen}>
      {inOrder.map((run) => (
        <span key={`${run.scheduleId} ${run.atMs} ${run.firing?.id}`} className={classes.run} data-look={run.look}>
          <RunIcon look={run.look} />
          {/* The row already shows the hour. */}
          <span className="fixed dim" title={timeWords(run.atMs, utc)}>
            {timeWords(run.atMs, utc).slice(2)}
          </span>
          <span className="ellipsis" title={nameOf(run.scheduleId) ?? undefined}>
            {nameOf(run.scheduleId)}
            {run.count > 1 && ` ×${run.count}`}
          </span>
        </span>
      ))}
      {runs.length > shown.length && (
        <span className={classes.moreRuns}>{texts.moreCount(runs.length - shown.length)}</span>
      )}
    </button>
  )
}

export const byName = (rows: readonly OftenRow[], nameOf: (id: ScheduleId) => string | null): OftenRow[] =>
  [...rows].sort((left, right) =>
    (nameOf(left.scheduleId) ?? '\uffff').localeCompare(nameOf(right.scheduleId) ?? '\uffff')
  )
